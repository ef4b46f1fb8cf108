"""What creating a table with usage tracking may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.request.change_options import LocksWritersOut
from airflow_delta_provider.domain.request.names import Names
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.pairs import SqlTypes
from airflow_delta_provider.domain.request.request_error import RequestError


@dataclass(frozen=True, kw_only=True)
class CreateTableOptions(LocksWritersOut):
    """Create an empty table with usage tracking of column mapping (experimental)."""

    kind: ClassVar[str] = "create-table"

    columns: Mapping[str, str] = option(
        SqlTypes(parse_sql_type),
        "column with its type, in the table's order; all are nullable",
        flag="--column",
        metavar="NAME=TYPE",
        one="one column with its type",
    )
    partition_by: tuple[str, ...] = option(Names(), "partition column", metavar="NAME")

    def check(self) -> None:
        """Check that partition columns are columns, and not all of them."""
        for name in self.partition_by:
            if name not in self.columns:
                raise RequestError("{partition_by} names {name!r}, which is not one of {columns}.", name=name)
        if len(self.partition_by) == len(self.columns):
            raise RequestError("{partition_by} names all columns. At least one has to lie in the data files.")
