"""Type widening: legal changes, and their record in the schema.

PROTOCOL.md, Type Widening; the RFC ``type-widening.md``. The third example of the RFC says ``element.key`` although a
map's value changed; PROTOCOL.md has ``element.value``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    MAX_PRECISION,
    SHORT,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    sql_name,
)

TYPE_CHANGES_KEY = "delta.typeChanges"

_WIDER: dict[DataType, tuple[DataType, ...]] = {
    BYTE: (SHORT, INTEGER, LONG, DOUBLE),
    SHORT: (INTEGER, LONG, DOUBLE),
    INTEGER: (LONG, DOUBLE),
    FLOAT: (DOUBLE,),
    DATE: (TIMESTAMP_NTZ,),
}
#: Digits before the point that a decimal needs for every value of the integer type.
_DECIMAL_DIGITS: dict[DataType, int] = {BYTE: 10, SHORT: 10, INTEGER: 10, LONG: 20}


def can_widen(old: DataType, new: DataType) -> bool:
    """Return True if changing ``old`` to ``new`` is a supported widening; False for the same type."""
    if old == new:
        return False
    if isinstance(new, DecimalType):
        digits = new.precision - new.scale
        if isinstance(old, DecimalType):
            return new.scale >= old.scale and digits >= old.precision - old.scale
        return old in _DECIMAL_DIGITS and digits >= _DECIMAL_DIGITS[old]
    return new in _WIDER.get(old, ())


def legal_targets(old: DataType) -> str:
    """Return the types that ``old`` may be widened to, for people; empty if there are none."""
    targets = [sql_name(wider) for wider in _WIDER.get(old, ())]
    if old in _DECIMAL_DIGITS:
        digits = _DECIMAL_DIGITS[old]
        targets.append(f"decimal(p,s) with p - s >= {digits}")
    if isinstance(old, DecimalType) and old.precision < MAX_PRECISION:
        digits = old.precision - old.scale
        targets.append(f"decimal(p,s) with s >= {old.scale} and p - s >= {digits}")
    return ", ".join(targets)


def allowed_with_iceberg(old: DataType, new: DataType) -> bool:
    """Return True if a table with Iceberg compatibility V1 or V2 allows this widening.

    Not allowed are integer to double, date to timestamp, integer to decimal, and a larger scale.
    """
    if isinstance(new, DecimalType):
        return isinstance(old, DecimalType) and old.scale == new.scale
    return new not in (TIMESTAMP_NTZ,) and (new != DOUBLE or old == FLOAT)


@dataclass(frozen=True)
class TypeChange:
    """One entry of ``delta.typeChanges``; types are named as in the schema's JSON."""

    from_type: str
    to_type: str
    field_path: str | None = None

    @classmethod
    def of(cls, column: Column, new: DataType) -> TypeChange:
        """Create the entry that changing ``column`` to ``new`` must leave."""
        return cls(str(column.data_type), str(new), ".".join(column.field_path) or None)

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TypeChange:
        """Read an entry; ``tableVersion``, left by the preview feature, is ignored."""
        return cls(_normal(wire["fromType"]), _normal(wire["toType"]), wire.get("fieldPath"))


def recorded_changes(metadata: Mapping[str, Any]) -> tuple[TypeChange, ...]:
    """Return the changes that a field's metadata records, oldest first.

    :raises ValueError: if the record is malformed
    """
    recorded = metadata.get(TYPE_CHANGES_KEY, ())
    try:
        return tuple(TypeChange.from_json(entry) for entry in recorded)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{TYPE_CHANGES_KEY} is malformed: {recorded!r}") from error


def _normal(name: str) -> str:
    return name.replace(" ", "")
