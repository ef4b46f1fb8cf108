"""What checking row tracking may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, names, version_or_none
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.suggestion import did_you_mean

#: What a check reads, each level what the one before it reads and more.
LEVELS = ("log", "footers", "data")


@dataclass(frozen=True, kw_only=True)
class CheckRowTrackingOptions(ReadsFiles):
    """Check that row ids are unique, and stable since a version.

    :param level: ``log`` applies the rules of the log; ``footers`` also reads row counts and id
        statistics in the footers of data files; ``data`` also the materialized ids: the proof
    :param compare_to_version: also check that rows kept their ids from this version to the latest
    :param key_columns: columns whose values name a row: a key keeps its row id from
        ``compare_to_version`` to the latest version
    """

    kind: ClassVar[str] = "check-row-tracking"

    level: str = "data"
    compare_to_version: int | None = None
    key_columns: tuple[str, ...] = ()

    def needs_delta(self, *, by_name: bool) -> bool:
        """Whether the job needs Delta on Spark's classpath: to read keys, each version's rows are asked for."""
        return by_name or bool(self.key_columns)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            hint = did_you_mean(self.level, LEVELS) if isinstance(self.level, str) else ""
            raise RequestError(f"level is {self.level!r}; it has to be 'log', 'footers' or 'data'.{hint}")
        version = version_or_none("compare_to_version", self.compare_to_version)
        if version is not None and self.level != "data":
            raise RequestError(
                f"compare_to_version is {version} with level {self.level!r}, which reads no row ids. "
                "Use level 'data', or leave compare_to_version out."
            )
        key_columns = names("key_columns", self.key_columns)
        if len(key_columns) < len(self.key_columns):
            twice = next(name for name in key_columns if self.key_columns.count(name) > 1)
            raise RequestError(f"key_columns names {twice!r} more than once. Name it once.")
        if key_columns and version is None:
            raise RequestError(
                f"key_columns is {list(key_columns)!r} without compare_to_version. "
                "Give the version since which a key has to have kept its row id, or leave key_columns out."
            )
        object.__setattr__(self, "key_columns", key_columns)
