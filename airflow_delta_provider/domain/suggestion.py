"""Suggestions of known names for a mistyped one."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """Return `` Did you mean 'x'?`` for the nearest of ``known``, or an empty string.

    :param most: maximum number of names to suggest
    """
    import difflib  # late: few names are mistyped

    by_folded = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=most, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(by_folded[each]) for each in near)}?" if near else ""
