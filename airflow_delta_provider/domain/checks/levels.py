"""Subjects that a check level does not cover. A report lists them once, so that nobody takes them for checked."""

from __future__ import annotations

_ROWS = "that deletion vectors can be read, that row ids in files are unique and were kept (level data)"
_CONDITIONS = "that rows satisfy constraints, NOT NULL and generation expressions (level data)"
_NOT_CHECKED = {
    "log": ("that data files exist and have the columns, types and row counts of the log (level footers)", _ROWS),
    "footers": (_ROWS,),
}


def not_checked(level: str, *, has_conditions: bool = False) -> list[str]:
    """Return the subjects that a check at this level leaves to a deeper level, in phrases.

    :param has_conditions: whether the table has conditions on its rows, which a deeper check would evaluate
    """
    return [*_NOT_CHECKED.get(level, ()), *([_CONDITIONS] if has_conditions and level in _NOT_CHECKED else [])]
