"""What creating a table with usage tracking may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_delta_provider.domain.request.arguments import RequestError, check_flags, names
from airflow_delta_provider.domain.request.options import Options


@dataclass(frozen=True, kw_only=True)
class CreateTableOptions(Options):
    """Create an empty table with ``columnMappingUsageTracking`` and column mapping by name.

    :param columns: SQL type by name, in their order; all are nullable
    :param partition_by: those that the table is partitioned by
    :param acknowledge_writer_lockout: say that no engine can write to it is meant
    :param allow_unsafe_log_store: allow commits where Delta's log store does not keep writers apart
    """

    kind: ClassVar[str] = "create-table"

    columns: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    acknowledge_writer_lockout: bool = False
    allow_unsafe_log_store: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not all(
            isinstance(text, str) and text for pair in self.columns.items() for text in pair
        ):
            raise RequestError(f"columns has to map names to types, for instance {{'id': 'bigint'}}: {self.columns!r}.")
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "partition_by", names("partition_by", self.partition_by))
        check_flags(self, "acknowledge_writer_lockout", "allow_unsafe_log_store")
        if not self.columns:
            raise RequestError("columns is empty. Name at least one column and its type.")
        for name in self.partition_by:
            if name not in self.columns:
                raise RequestError(f"partition_by names {name!r}, which is none of columns.")
        if len(self.partition_by) == len(self.columns):
            raise RequestError("partition_by names all columns. At least one has to lie in the data files.")
