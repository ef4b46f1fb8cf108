"""What a check does not look at, by its level: said once in a report, so that nobody takes it for checked."""

from __future__ import annotations

_ROWS = "row ids inside rows: that they are unique, and that commits which moved rows kept them (level data)"
_NOT_CHECKED = {
    "log": (
        "data files and deletion vectors: that they exist and can be read, and that columns, types and row counts are "
        "as in the log (level footers)",
        _ROWS,
    ),
    "footers": (_ROWS,),
}


def not_checked(level: str) -> list[str]:
    """Return what a check at a level leaves to a deeper one, in phrases."""
    return list(_NOT_CHECKED.get(level, ()))
