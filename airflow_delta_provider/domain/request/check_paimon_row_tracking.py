"""What checking row tracking of Apache Paimon tables may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags, names, version_or_none
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.suggestion import did_you_mean

#: What a check reads: snapshots, schemas and manifests; or the rows, too.
LEVELS = ("metadata", "data")
#: Who reads the table: the job itself, or the table's own catalog in Spark; ``auto`` goes by how the table is named.
SOURCES = ("auto", "native", "catalog")


@dataclass(frozen=True, kw_only=True)
class PaimonCheckRowTrackingOptions(ReadsFiles):
    """Check that row tracking holds, in the metadata of all snapshots that are kept, or in the rows, too.

    :param level: ``metadata``, or ``data``: also ids and sequence numbers of rows
    :param since_snapshot: judge only the commits after this snapshot
    :param key_columns: columns whose values name a row: a key keeps its row id; at level ``data``
    :param source: ``native`` reads files, ``catalog`` asks the user's Paimon catalog in Spark; ``auto`` takes the
        first for paths and the second for names
    :param state_path: directory where checks remember up to which snapshot all was well
    :param fail_on_reassigned: whether it is an error where Paimon gave rows new ids that nobody changed
    """

    kind: ClassVar[str] = "check-paimon-row-tracking"

    level: str = "metadata"
    since_snapshot: int | None = None
    key_columns: tuple[str, ...] = ()
    source: str = "auto"
    state_path: str | None = None
    fail_on_reassigned: bool = False

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath: never, a catalog is Paimon's here."""
        del by_name
        return False

    def __post_init__(self) -> None:
        for argument, known in (("level", LEVELS), ("source", SOURCES)):
            value = getattr(self, argument)
            if value not in known:
                hint = did_you_mean(value, known) if isinstance(value, str) else ""
                raise RequestError(f"{argument} is {value!r}; it has to be one of {', '.join(known)}.{hint}")
        since = version_or_none("since_snapshot", self.since_snapshot)
        object.__setattr__(self, "key_columns", names("key_columns", self.key_columns))
        if self.key_columns and self.level != "data":
            raise RequestError(
                f"key_columns is {list(self.key_columns)!r} with level {self.level!r}, which reads no rows. "
                "Use level 'data', or leave key_columns out."
            )
        if self.state_path is not None and (not isinstance(self.state_path, str) or not self.state_path):
            raise RequestError(f"state_path is {self.state_path!r}; it has to be a directory: a path or a URI.")
        if self.state_path is not None and since is not None:
            raise RequestError(
                f"state_path is {self.state_path!r} and since_snapshot {since}: a check that remembers goes on where "
                "the last one ended. Leave since_snapshot out."
            )
        check_flags(self, "fail_on_reassigned")
