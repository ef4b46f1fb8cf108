"""What a check does not look at, by its level: said once in a report, so that nobody takes it for checked."""

from __future__ import annotations

_ROWS = "that deletion vectors can be read, that row ids in files are unique and were kept (level data)"
_NOT_CHECKED = {
    "log": ("that data files exist and have the columns, types and row counts of the log (level footers)", _ROWS),
    "footers": (_ROWS,),
}


def not_checked(level: str) -> list[str]:
    """Return what a check at a level leaves to a deeper one, in phrases."""
    return list(_NOT_CHECKED.get(level, ()))
