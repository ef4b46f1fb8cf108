"""Options of the kinds that change tables by request, and options that they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.check_options import FleetFile, check_engine_names
from airflow_delta_provider.domain.request.option import Choice, Flag, option
from airflow_delta_provider.domain.request.options import (
    DistinctNames,
    FeatureNames,
    Names,
    NewNames,
    Options,
    Properties,
    SqlTypes,
)


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(Options):
    """Options of a kind that changes tables."""

    changes: ClassVar[bool] = True

    allow_unsafe_log_store: bool = option(
        Flag(), "confirm that nothing else writes to the table (needed on S3 without a multi-writer LogStore)"
    )


@dataclass(frozen=True, kw_only=True)
class KeepsFleet(ChangeOptions):
    """Options of a change that may lock engines out."""

    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "fleet file, YAML or JSON: the engines that use the tables, and which of them must keep access; a change "
        "that locks one of these out, or may do so, is refused",
        metavar="FILE",
    )
    accept_unknown: tuple[str, ...] = option(
        Names(),
        "engine of the fleet that is accepted although its support of the changed table is unknown",
        metavar="ENGINE",
    )

    def check(self) -> None:
        """Check that each engine with accepted unknown support is an engine of the fleet."""
        super().check()
        check_engine_names(self.fleet, "accept_unknown", self.accept_unknown)


@dataclass(frozen=True, kw_only=True)
class UpgradesProtocol(KeepsFleet):
    """Options of a change that may add table features."""

    allow_protocol_upgrade: bool = option(Flag(), "allow protocol upgrades that lock out older readers and writers")


@dataclass(frozen=True, kw_only=True)
class RewritesFiles(ChangeOptions):
    """Options of a change that may rewrite data files."""

    allow_rewrite: bool = option(Flag(), "allow rewriting all data files")


@dataclass(frozen=True, kw_only=True)
class LocksWritersOut(ChangeOptions):
    """Options of a change that may leave no engine able to write to the table."""

    acknowledge_writer_lockout: bool = option(
        Flag(), "allow columnMappingUsageTracking (experimental); with it, no engine can write to the table"
    )


def _features() -> Any:
    """Return the option for requested features."""
    return option(
        FeatureNames(),
        "table feature, by its name in the protocol, in any case",
        flag="--feature",
        metavar="NAME",
        one="one table feature, for instance 'typeWidening'",
    )


@dataclass(frozen=True, kw_only=True)
class EnableFeatureOptions(UpgradesProtocol, LocksWritersOut):
    """Options to enable table features."""

    kind: ClassVar[str] = "enable-feature"

    features: tuple[str, ...] = _features()
    properties: Mapping[str, str] = option(
        Properties(), "table property to set in the same commit", flag="--property", metavar="NAME=VALUE"
    )
    allow_special: bool = option(
        Flag(), "allow previews, catalogManaged, checkpointProtection and icebergCompat*, which few engines know"
    )


@dataclass(frozen=True, kw_only=True)
class WidenTypesOptions(UpgradesProtocol):
    """Options to widen the types of columns."""

    kind: ClassVar[str] = "widen-types"

    columns: Mapping[str, str] = option(
        SqlTypes(parse_type),
        "column and its new type",
        flag="--column",
        metavar="PATH=TYPE",
        one="one column with its new type",
    )
    enable_type_widening: bool = option(Flag(), "set delta.enableTypeWidening first, if it is off")
    verify: str = option(
        Choice(("data", "log")),
        "verification afterwards: data (default) = values and log; log = the log only",
        default="data",
    )


@dataclass(frozen=True, kw_only=True)
class AlterColumnsOptions(KeepsFleet):
    """Options to drop, rename and add columns, in this order."""

    kind: ClassVar[str] = "alter-columns"

    drop: tuple[str, ...] = option(DistinctNames(), "drop a column (applied first)", metavar="PATH")
    rename: Mapping[str, str] = option(NewNames(), "rename a column", metavar="OLD=NEW")
    add: Mapping[str, str] = option(
        SqlTypes(parse_sql_type, ordered=True),
        "add a column, last in its struct, by its path after drops and renames",
        metavar="PATH=TYPE",
    )

    def check(self) -> None:
        """Check that there is something to do, and that each column is changed once."""
        super().check()
        for path in self.drop:
            if path in self.rename:
                raise RequestError("{path!r} is both dropped and renamed. Ask for one change per column.", path=path)
        if not (self.add or self.rename or self.drop):
            raise RequestError("Nothing to do. Pass at least one of {add}, {rename} and {drop}.")


@dataclass(frozen=True, kw_only=True)
class DropFeatureOptions(UpgradesProtocol, RewritesFiles):
    """Options to drop table features."""

    kind: ClassVar[str] = "drop-feature"

    features: tuple[str, ...] = _features()
    truncate_history: bool = option(
        Flag(), "delete the history that has traces of the features, instead of protecting it"
    )
    acknowledge_history_loss: bool = option(Flag(), "confirm that time travel to older versions will be lost")
    acknowledge_row_id_loss: bool = option(Flag(), "confirm that rows will lose their ids")


@dataclass(frozen=True, kw_only=True)
class DisableColumnMappingOptions(RewritesFiles):
    """Options to disable column mapping."""

    kind: ClassVar[str] = "disable-column-mapping"

    strategy: str = option(
        Choice(("auto", "metadata-only", "rewrite")),
        "auto (default) = metadata-only if that is proven to be safe, else a rewrite if allowed; metadata-only, "
        "rewrite = only that",
        default="auto",
    )
    verify: str = option(
        Choice(("footers", "full")),
        "comparison afterwards: footers (default) = schema, files and the nulls of every column; full = also all rows",
        default="footers",
    )

    def check(self) -> None:
        """Check that a rewrite is allowed only if the strategy can rewrite."""
        if self.strategy == "metadata-only" and self.allow_rewrite:
            raise RequestError(
                "{strategy} is 'metadata-only', which never rewrites. Use {strategy} 'auto', or leave out "
                "{allow_rewrite}."
            )


@dataclass(frozen=True, kw_only=True)
class CreateTableOptions(LocksWritersOut):
    """Options to create an empty table with usage tracking of column mapping (experimental)."""

    kind: ClassVar[str] = "create-table"

    columns: Mapping[str, str] = option(
        SqlTypes(parse_sql_type, ordered=True),
        "column with its type, in the table's order; all are nullable",
        flag="--column",
        metavar="NAME=TYPE",
        one="one column with its type",
    )
    partition_by: tuple[str, ...] = option(Names(), "partition column", metavar="NAME")

    def check(self) -> None:
        """Check that partition columns are columns, and that not all columns are partition columns."""
        for name in self.partition_by:
            if name not in self.columns:
                raise RequestError("{partition_by} names {name!r}, which is not one of {columns}.", name=name)
        if len(self.partition_by) == len(self.columns):
            raise RequestError("{partition_by} names all columns. At least one has to be in the data files.")
