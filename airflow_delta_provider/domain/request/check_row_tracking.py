"""The options of a row tracking check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.names import DistinctNames
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Choice, Version

#: Levels of a check or an audit. Each level reads more than the one before it.
LEVELS = ("log", "footers", "data")


@dataclass(frozen=True, kw_only=True)
class CheckRowTrackingOptions(ReadsFiles):
    """Options to check that row ids are unique and stable."""

    kind: ClassVar[str] = "check-row-tracking"

    level: str = option(
        Choice(LEVELS),
        "how deep to look: log; footers = also Parquet footers; data = also row ids (default)",
        default="data",
    )
    compare_to_version: int | None = option(
        Version(), "also check that rows kept their ids since this version", flag="--compare-to", metavar="VERSION"
    )
    key_columns: tuple[str, ...] = option(
        DistinctNames(),
        "column of a key: also check that keys kept their row ids; with --compare-to",
        flag="--key",
        metavar="COLUMN",
    )

    @property
    def needs_rows(self) -> bool:
        """True at level ``data``, which reads rows and so needs Spark."""
        return self.level == "data"

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return True if the job needs Delta on Spark's classpath.

        It does for names in a catalog, and to read the keys in the rows of each version.
        """
        return by_name or bool(self.key_columns)

    def check(self) -> None:
        """Check that the level reads the rows that a comparison needs."""
        version = self.compare_to_version
        if version is not None and self.level != "data":
            raise RequestError(
                "{compare_to_version} is {value} with {level} {given!r}, which reads no row ids. Use {level} 'data', "
                "or leave out {compare_to_version}.",
                value=version,
                given=self.level,
            )
        if self.key_columns and version is None:
            raise RequestError(
                "{key_columns} is {value!r} without {compare_to_version}. Give the version to compare the keys with, "
                "or leave out {key_columns}.",
                value=list(self.key_columns),
            )
