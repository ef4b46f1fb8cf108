"""What changing the columns of a table may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.request.change_options import KeepsFleet
from airflow_delta_provider.domain.request.names import DistinctNames
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.pairs import NewNames, SqlTypes
from airflow_delta_provider.domain.request.request_error import RequestError


@dataclass(frozen=True, kw_only=True)
class AlterColumnsOptions(KeepsFleet):
    """Drop, rename and add columns, in this order."""

    kind: ClassVar[str] = "alter-columns"

    drop: tuple[str, ...] = option(DistinctNames(), "drop a column (applied first)", metavar="PATH")
    rename: Mapping[str, str] = option(NewNames(), "rename a column", metavar="OLD=NEW")
    add: Mapping[str, str] = option(
        SqlTypes(parse_sql_type),
        "add a column, last in its struct, by its path after drops and renames",
        metavar="PATH=TYPE",
    )

    def check(self) -> None:
        """Check that there is something to do, and each column is changed once."""
        for path in self.drop:
            if path in self.rename:
                raise RequestError("{path!r} is both dropped and renamed. Ask for one change per column.", path=path)
        if not (self.add or self.rename or self.drop):
            raise RequestError("Nothing to do. Pass at least one of {add}, {rename} and {drop}.")
