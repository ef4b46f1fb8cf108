"""Reliance of engines on the statistics of files: the files that they skip, and the queries that they answer.

PROTOCOL.md, Per-file Statistics. Facts of a release stand in its profile, as far as a source covers them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

#: Types of columns that may have statistics, as in the schema's JSON, without parameters.
TYPES = tuple("byte short integer long float double decimal string date timestamp timestamp_ntz boolean binary".split())
#: Stands for all types, and for the fields of structs.
ALL, STRUCT = "all", "struct"
#: Precedes a type that no source covers.
UNKNOWN = "?"


class Reliance(Enum):
    """A use of the statistics of files. The value is the key in a profile."""

    BOUNDS = "bounds"
    """Files are skipped by minValues and maxValues."""
    NULLS = "nulls"
    """Files are skipped by nullCount."""
    EXTREMES = "min_max"
    """MIN and MAX of a column are answered from minValues and maxValues."""
    COUNTS = "counts"
    """COUNT of a column is answered from nullCount and numRecords."""
    ROWS = "rows"
    """COUNT(*) is answered from numRecords."""

    @property
    def meaning(self) -> str:
        """The use as a phrase that follows the name of an engine."""
        return _MEANINGS[self]

    @property
    def is_of_columns(self) -> bool:
        """Return True if it depends on the type of a column."""
        return self is not Reliance.ROWS


_MEANINGS = {
    Reliance.BOUNDS: "skip files by bounds of this type",
    Reliance.NULLS: "skip files by nullCount of this type",
    Reliance.EXTREMES: "answer MIN and MAX from bounds of this type",
    Reliance.COUNTS: "answer COUNT of such a column from nullCount",
    Reliance.ROWS: "answer COUNT(*) from numRecords",
}


@dataclass(frozen=True)
class StatisticsUse:
    """The statistics that a release relies on.

    :param types: for each use, the types; the uses that no source covers are left out, and types that none covers have
        a question mark. ``struct`` stands for the fields of structs, whose own types must be listed, too
    :param source: source of the record
    """

    types: Mapping[Reliance, frozenset[str]] = field(hash=False)
    source: str = ""

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> StatisticsUse:
        """Read a record of a profile: for each use, types separated by spaces; ``rows`` is true or false.

        :raises ValueError: if it is invalid; the message names the key
        """
        types: dict[Reliance, frozenset[str]] = {}
        for key, value in wire.items():
            if key == "source":
                continue
            use = Reliance(key)
            if use.is_of_columns:
                types[use] = _types(key, value)
            elif isinstance(value, bool):
                types[use] = frozenset({ALL} if value else ())
            else:
                raise ValueError(f"{key} is {value!r}; it has to be true or false")
        return cls(types, str(wire.get("source") or ""))

    def relies(self, use: Reliance, of: str, *, is_field: bool = False) -> bool | None:
        """Return True if the release relies on statistics in this way; None if no source covers it.

        :param of: type of the column, as in the schema's JSON; empty for the number of rows
        :param is_field: whether the column is a field of a struct
        """
        types = self.types.get(use)
        if types is None:
            return None
        name = of.partition("(")[0]
        needed = [name if ALL not in types else ALL, *([STRUCT] if is_field else [])]
        if all(word in types for word in needed):
            return True
        return None if all(word in types or f"{UNKNOWN}{word}" in types for word in needed) else False


#: The keys of a record.
KEYS = (*(use.value for use in Reliance), "source")


def _types(key: str, value: Any) -> frozenset[str]:
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, (list, tuple)):
        raise ValueError(f"{key} is {value!r}; it has to be a list of types")
    for word in words:
        if not isinstance(word, str) or word.removeprefix(UNKNOWN) not in (*TYPES, ALL, STRUCT):
            raise ValueError(f"{key} has {word!r}; the types are {', '.join((*TYPES, STRUCT, ALL))}")
    return frozenset(words)


def answer(found: list[bool | None], *, any_release: bool) -> bool | None:
    """Return the answer of an engine from those of its releases that may be in use; None if it is unknown.

    :param any_release: True if one release that relies on statistics is enough: the version is not known
    """
    if any_release and True in found:
        return True
    return found[0] if len(set(found)) == 1 else None
