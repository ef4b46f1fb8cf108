"""Identity columns: the values that they have assigned so far. PROTOCOL.md, Identity Columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

KEY = "delta.identity"
START = f"{KEY}.start"
STEP = f"{KEY}.step"
HIGH_WATER_MARK = f"{KEY}.highWaterMark"
ALLOW_EXPLICIT_INSERT = f"{KEY}.allowExplicitInsert"


class Identity(NamedTuple):
    """The values of an identity column that accepts no explicit ones.

    :param start: first value
    :param step: difference between consecutive values; not 0
    :param mark: last assigned value, None before the first
    """

    start: int
    step: int
    mark: int | None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Identity | None:
        """Read the metadata of a column; None unless it is an identity column that accepts no explicit values."""
        start, step, mark = map(metadata.get, (START, STEP, HIGH_WATER_MARK))
        if metadata.get(ALLOW_EXPLICIT_INSERT) is not False or type(start) is not int or type(step) is not int:
            return None
        return cls(start, step, mark) if step and (mark is None or type(mark) is int) else None

    def in_order(self, least: int, most: int) -> tuple[int, int]:
        """Return the bounds of values in the order of assignment."""
        return (least, most) if self.step > 0 else (most, least)

    def has_assigned(self, value: int) -> bool:
        """Return True if a value of the column is not past the high water mark."""
        return self.mark is not None and (value - self.mark) * self.step <= 0
