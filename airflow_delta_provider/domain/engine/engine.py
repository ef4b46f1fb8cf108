"""Capabilities of the engine of a session."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, ...]

#: First Delta release with the whole matrix of type changes, and the changes in earlier releases: names of types.
WIDENING_SINCE: Version = (4, 0)
FIRST_WIDENINGS = (("byte", "short"), ("byte", "integer"), ("short", "integer"))
#: First Delta release that can enable a feature on an existing table, if an earlier release already knows the feature.
_ENABLED_SINCE: Mapping[str, Version] = {"columnmapping": (3, 3), "rowtracking": (3, 3)}
#: First Delta release that can set the mode of column mapping back to none.
_UNMAPPING_SINCE: Version = (3, 3)
#: First Spark release whose ALTER COLUMN accepts several columns, measured with Delta 4.4.
_MANY_COLUMNS_SINCE: Version = (4, 2)


@dataclass(frozen=True)
class Engine:
    """Delta Spark in a session.

    :param spark: Spark's version
    :param delta: Delta's version
    :param features: names of the table features that it knows, case-folded
    """

    spark: str
    delta: str
    features: frozenset[str]

    def __str__(self) -> str:
        return f"Delta {self.delta} on Spark {self.spark}"

    def knows(self, feature: str) -> bool:
        """Return True if this engine reads and writes tables with the feature."""
        return feature.casefold() in self.features

    def widens(self, old: str, new: str) -> bool:
        """Return True if it makes this change of the type-widening matrix, and reads tables with it.

        :param old: name of the old type, as in a schema
        :param new: name of the new type, as in a schema
        """
        return version_of(self.delta) >= WIDENING_SINCE or (old, new) in FIRST_WIDENINGS

    @property
    def prefers_preview(self) -> bool:
        """Return True if setting the property of type widening alone adds the preview of the feature."""
        return version_of(self.delta) < WIDENING_SINCE

    def enabled_since(self, feature: str) -> str | None:
        """Return the first Delta release that enables a feature on an existing table; None if this one does."""
        since = _ENABLED_SINCE.get(feature.casefold(), ())
        return ".".join(map(str, since)) if version_of(self.delta) < since else None

    @property
    def rewrites_without_mapping(self) -> bool:
        """Return True if it disables column mapping by rewriting the files."""
        return version_of(self.delta) >= _UNMAPPING_SINCE

    @property
    def alters_many_columns(self) -> bool:
        """Return True if one ALTER TABLE, and so one commit, can change the types of several columns."""
        return version_of(self.spark) >= _MANY_COLUMNS_SINCE


def version_of(text: str) -> Version:
    """Return the numbers at the start of a version: ``4.2.0-SNAPSHOT`` gives (4, 2, 0)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in match[0].split(".")) if match else ()
