"""How often Python collects garbage in a job's process."""

from __future__ import annotations

import gc

#: New objects before a collection. Python's own 700 cause thousands of collections that find nothing.
_YOUNG = 50_000
#: Collections of the young generation before one of the middle, and of the middle before a full one.
_OLDER, _ALL = 20, 100


def collect_seldom() -> None:
    """Collect garbage less often: a job needs nearly all that it reads, and creates few cycles.

    Checking a history of a thousand Paimon snapshots takes three quarters of the time.
    """
    gc.set_threshold(_YOUNG, _OLDER, _ALL)
