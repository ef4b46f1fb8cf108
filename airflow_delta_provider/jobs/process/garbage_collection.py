"""How often Python looks for garbage in a job's process."""

from __future__ import annotations

import gc

#: Objects made since the last look before the next; Python's own 700 make it look thousands of times, in vain.
_YOUNG = 50_000
#: Looks at young objects before one at older ones, and of those before one at all.
_OLDER, _ALL = 20, 100


def collect_seldom() -> None:
    """Look for garbage less often: what a job reads it needs, and it makes few cycles.

    A history of a thousand snapshots of Paimon is judged in three quarters of the time.
    """
    gc.set_threshold(_YOUNG, _OLDER, _ALL)
