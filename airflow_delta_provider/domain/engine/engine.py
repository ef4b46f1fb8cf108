"""What the engine of a session can do."""

from __future__ import annotations

import re
from dataclasses import dataclass

Version = tuple[int, ...]

#: First Delta release that takes the whole matrix of type changes; 3.3 takes byte, short and int only.
_WIDENING_SINCE: Version = (4, 0)
#: First Spark release whose ALTER COLUMN takes several columns, measured with Delta 4.4.
_MANY_COLUMNS_SINCE: Version = (4, 2)


@dataclass(frozen=True)
class Engine:
    """Delta Spark, as it stands in a session.

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
        """Whether this engine reads and writes tables with the feature."""
        return feature.casefold() in self.features

    @property
    def widens_types(self) -> bool:
        """Whether it takes every change of the type-widening matrix."""
        return version_of(self.delta) >= _WIDENING_SINCE

    @property
    def alters_many_columns(self) -> bool:
        """Whether one ALTER TABLE, and so one commit, changes the types of several columns."""
        return version_of(self.spark) >= _MANY_COLUMNS_SINCE


def version_of(text: str) -> Version:
    """Return the numbers that a version begins with: ``4.2.0-SNAPSHOT`` gives (4, 2, 0)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(number) for number in match[0].split(".")) if match else ()
