"""The options of a row tracking check of Apache Paimon tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.names import Names
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import SavesState
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Choice, Flag, Version


@dataclass(frozen=True, kw_only=True)
class PaimonCheckRowTrackingOptions(SavesState):
    """Options to check row tracking of Apache Paimon tables."""

    kind: ClassVar[str] = "check-paimon-row-tracking"
    selecting: ClassVar[tuple[str, ...]] = ("since_snapshot",)

    level: str = option(
        Choice(("metadata", "data")),
        "how deep to look: metadata = snapshots, schemas and manifests (default); data = also the rows' ids",
        default="metadata",
    )
    since_snapshot: int | None = option(Version(), "check only the commits after this snapshot", metavar="ID")
    key_columns: tuple[str, ...] = option(
        Names(),
        "column of a key: also check that keys keep their row ids; with --level data",
        flag="--key",
        metavar="COLUMN",
    )
    source: str = option(
        Choice(("auto", "native", "catalog")),
        "native = read files; catalog = ask the table's Paimon catalog in Spark; auto (default) = native for paths, "
        "catalog for names",
        default="auto",
    )
    fail_on_reassigned: bool = option(Flag(), "count row ids that Paimon itself reassigned as an error")

    @property
    def needs_rows(self) -> bool:
        """True if the job reads rows or uses a catalog, and so needs Spark."""
        return self.level == "data" or self.source == "catalog"

    def needs_delta(self, *, by_name: bool) -> bool:
        """Return False: the job never needs Delta, since a catalog here is Paimon's."""
        del by_name
        return False

    def check(self) -> None:
        """Check that the level reads the rows that ``key_columns`` needs."""
        if self.key_columns and self.level != "data":
            raise RequestError(
                "{key_columns} is {value!r} with {level} {given!r}, which reads no rows. Use {level} 'data', or leave "
                "out {key_columns}.",
                value=list(self.key_columns),
                given=self.level,
            )
        super().check()
