"""Steps that this provider commits itself, without SQL: no engine changes a table with usage tracking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.changes.schema import (
    Mapper,
    add_column,
    drop_columns,
    map_by_name,
    remove_mapping,
    rename_columns,
)
from airflow_delta_provider.domain.changes.step import (
    ColumnName,
    Edit,
    Json,
    NewColumn,
    Parts,
    Step,
    new_column_texts,
    path_texts,
    rename_texts,
)
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING, USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import CommitBase
from airflow_delta_provider.domain.table_name import TableName

_NOT_BY_SQL = ", not by SQL"


@dataclass(frozen=True)
class _ProviderStep(Step):
    def sql(self, table: TableName) -> str | None:
        return None

    @property
    def can_be_rehearsed(self) -> bool:
        return False


@dataclass(frozen=True)
class TrackUsage(_ProviderStep):
    """Enables usage tracking of column mapping.

    :param dropped_or_renamed: value of the property, ``true`` or ``false``
    """

    remark: ClassVar[str] = _NOT_BY_SQL

    dropped_or_renamed: str

    @property
    def action(self) -> str:
        return f"add columnMappingUsageTracking to the protocol and set {DROPPED_OR_RENAMED}={self.dropped_or_renamed}"

    def edit(self, base: CommitBase) -> Edit:
        properties = {DROPPED_OR_RENAMED: self.dropped_or_renamed}
        return Edit(
            "SET TBLPROPERTIES",
            {"properties": {USAGE_TRACKING.support_property: "supported", **properties}},
            protocol=base.state.protocol.supporting([USAGE_TRACKING.name]),
            set_properties=properties,
        )


@dataclass(frozen=True)
class MapColumns(_ProviderStep):
    """Enables column mapping by name on a table with usage tracking."""

    remark: ClassVar[str] = _NOT_BY_SQL

    @property
    def action(self) -> str:
        return "map all columns by name, each to its own name"

    def edit(self, base: CommitBase) -> Edit:
        schema_string, mapping = map_by_name(base.state.metadata.schema_string)
        return Edit(
            "SET TBLPROPERTIES",
            {"properties": {COLUMN_MAPPING_MODE: mapping[COLUMN_MAPPING_MODE]}},
            protocol=base.state.protocol.supporting([COLUMN_MAPPING.name]),
            schema_string=schema_string,
            set_properties=mapping,
        )


@dataclass(frozen=True)
class DisableMapping(_ProviderStep):
    """Disables column mapping in the metadata; SQL would rewrite every file.

    :param rests_on: proof that this is safe: ``history``, ``footers`` or ``no files``
    """

    rests_on: str

    @property
    def action(self) -> str:
        proof = {
            "history": "as the history proves safe",
            "footers": "as the footers of all live files prove safe",
            "no files": "while there is no data file",
        }[self.rests_on]
        return f"disable column mapping in the metadata without rewriting data, {proof}"

    def edit(self, base: CommitBase) -> Edit:
        schema_string, unset = remove_mapping(base.state.metadata.schema_string)
        return Edit(
            "SET TBLPROPERTIES",
            {"properties": {COLUMN_MAPPING_MODE: "none"}},
            schema_string=schema_string,
            unset_properties=unset,
        )


@dataclass(frozen=True)
class Alteration(_ProviderStep):
    """Drops, then renames, then adds columns.

    Each path refers to the schema that the changes before it leave. As a step, it is one commit for a table with usage
    tracking.
    """

    drops: tuple[Parts, ...] = ()
    renames: tuple[ColumnName, ...] = ()
    adds: tuple[NewColumn, ...] = ()

    @property
    def drops_or_renames(self) -> bool:
        """True if a physical name may then differ from its logical one, or be unused but still in files."""
        return bool(self.drops or self.renames)

    @property
    def action(self) -> str:
        parts = (
            f"drop {path_texts(self.drops)}" if self.drops else "",
            f"rename {rename_texts(self.renames)}" if self.renames else "",
            f"add {new_column_texts(self.adds)}" if self.adds else "",
        )
        return f"{', then '.join(filter(None, parts))}, in one commit by this provider"

    def altered(self, schema: Json, mapper: Mapper | None = None) -> Json:
        """Return the schema after the change; ``schema`` itself is not modified.

        :param mapper: mapper for a table with column mapping; None without column mapping
        :raises LookupError: if a path does not exist
        """
        schema = rename_columns(drop_columns(schema, self.drops), self.renames)
        for add in self.adds:
            schema = add_column(schema, add, mapper)
        return schema


@dataclass(frozen=True)
class CreateTable(_ProviderStep):
    """Creates an empty table with usage tracking of column mapping.

    :param columns: (name, SQL type) pairs, in their order
    :param partition_by: names of the partition columns
    """

    remark: ClassVar[str] = _NOT_BY_SQL

    columns: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        columns = ", ".join(f"{path_text((name,))} {data_type}" for name, data_type in self.columns)
        by = f", partitioned by {path_texts((name,) for name in self.partition_by)}" if self.partition_by else ""
        return f"create an empty table with {columns}{by}, tracked and mapped by name"
