"""Types of columns, from the JSON of a schema file.

Apache Paimon, Specification, Schema. Types that this module does not know are kept by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.formats.json_values import integer_of, text_of

#: A type without parts: its name, its arguments, the rest of its name, its nullability.
_SIMPLE = re.compile(
    r"([A-Z_]+(?: PRECISION)?)\s*(?:\(([^)]*)\))?((?: WITH(?:OUT)?(?: LOCAL)? TIME ZONE)?)( NOT NULL| NULL)?"
)
#: Alternative names of types.
_SYNONYMS = {
    "INTEGER": "INT",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
    "DOUBLE PRECISION": "DOUBLE",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
    "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ",
    "TIME WITHOUT TIME ZONE": "TIME",
}
#: Default arguments, as far as they affect the storage of values.
_DEFAULTS = {"DECIMAL": (10, 0), "TIMESTAMP": (6,), "TIMESTAMP_LTZ": (6,), "TIME": (0,)}
#: The parts of a nested type.
_PARTS = {"ARRAY": ("element",), "MULTISET": ("element",), "VECTOR": ("element",), "MAP": ("key", "value")}


@dataclass(frozen=True)
class DataType:
    """A type.

    :param root: canonical name without arguments: ``INT``, ``VARCHAR``, ``ROW``...
    :param arguments: precision and scale, or length
    :param nullable: True if it allows null
    :param parts: fields of a ROW; for other nested types, the parts by name: ``element``, ``key``, ``value``
    """

    root: str
    arguments: tuple[int, ...] = ()
    nullable: bool = True
    parts: tuple[DataField, ...] = ()

    @classmethod
    def from_json(cls, wire: Any) -> DataType:
        """Read a type.

        :raises ValueError: if it is not a type
        """
        if isinstance(wire, str):
            return _simple(wire)
        if not isinstance(wire, Mapping):
            raise ValueError(f"its type is {wire!r:.60}")
        root, *rest = text_of(wire, "type").split()
        nullable = rest != ["NOT", "NULL"]
        if root == "ROW":
            return cls(root, (), nullable, fields_of(wire))
        if root not in _PARTS:
            raise ValueError(f"its type {root!r:.60} has parts that are not known")
        parts = tuple(DataField(None, name, cls.from_json(wire[name])) for name in _PARTS[root])
        return cls(root, (integer_of(wire, "length"),) if root == "VECTOR" else (), nullable, parts)


@dataclass(frozen=True)
class DataField:
    """A column, or a part of one.

    :param id: identifier that stays when a column is renamed; None for elements, keys and values
    """

    id: int | None
    name: str
    type: DataType


def fields_of(wire: Mapping[str, Any]) -> tuple[DataField, ...]:
    """Read the fields of a schema or of a ROW.

    :raises KeyError: if something is missing
    :raises ValueError: if something is of another type
    """
    fields = wire["fields"]
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise ValueError("its fields are not a list of objects")
    return tuple(
        DataField(integer_of(field, "id", 32), text_of(field, "name"), DataType.from_json(field["type"]))
        for field in fields
    )


def _simple(text: str) -> DataType:
    match = _SIMPLE.fullmatch(text.strip())
    if match is None:
        return DataType(text.removesuffix(" NOT NULL"), nullable=not text.endswith(" NOT NULL"))
    words, arguments, zone, nullability = match.groups()
    root = words + zone
    root = _SYNONYMS.get(root, root)
    numbers = tuple(int(number) for number in re.findall(r"\d{1,9}", arguments or ""))
    defaults = _DEFAULTS.get(root, ())
    return DataType(root, numbers + defaults[len(numbers) :], nullability != " NOT NULL")
