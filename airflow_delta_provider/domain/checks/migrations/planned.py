"""The effects of a migration on a table, as values for the rules to check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from airflow_delta_provider.domain.checks.check import Checks
from airflow_delta_provider.domain.checks.migrations import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.data_type import (
    DataType,
    StructField,
    StructType,
    all_columns,
    lowered,
    path_text,
)
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.table_properties import ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding

#: A column's names from the top-level column down, including ``element``, ``key`` and ``value`` in between.
Path = tuple[str, ...]


class RenamedColumn(NamedTuple):
    """A column that gets another name.

    :param old: path before the migration
    :param new: path after the migration
    """

    old: Path
    new: Path


class AddedColumn(NamedTuple):
    path: Path
    data_type: DataType


class RetypedColumn(NamedTuple):
    """A column whose type changes.

    :param path: path before the migration
    :param null_on_loss: True if values that the new type cannot hold become NULL
    """

    path: Path
    old: DataType
    new: DataType
    null_on_loss: bool = False


class DroppedFeature(NamedTuple):
    """A table feature that is dropped.

    :param truncate_history: True if the history with traces of it is deleted
    """

    name: str
    truncate_history: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedMigration:
    """The effects of a migration on a table.

    Paths refer to the schema before it, except the paths of new columns and new names.

    :param before: state of the table before it
    :param dropped_earlier: columns that earlier versions had, as far as they are known
    :param reordered: structs whose fields change their order; the empty path is the table
    :param defaults: new default expressions by column
    :param constraints: expressions of CHECK constraints by name; None for a dropped constraint
    :param properties: values of table properties by name; None for a property that is unset
    :param partition_by: new partition columns; None if they stay
    :param cluster_by: new clustering columns; None if they stay
    :param rewritten_files: number of data files that are rewritten
    :param rewritten_size: their total size in bytes
    :param rewrites_all: True if the whole table is overwritten
    :param most_rewritten: number of bytes that the policy lets a migration rewrite; None for no limit
    """

    before: TableState
    dropped_earlier: tuple[Path, ...] = ()
    added: tuple[AddedColumn, ...] = ()
    renamed: tuple[RenamedColumn, ...] = ()
    dropped: tuple[Path, ...] = ()
    retyped: tuple[RetypedColumn, ...] = ()
    reordered: tuple[Path, ...] = ()
    nulls_forbidden: tuple[Path, ...] = ()
    nulls_allowed: tuple[Path, ...] = ()
    defaults: Mapping[Path, str] = field(default_factory=dict)
    constraints: Mapping[str, str | None] = field(default_factory=dict)
    properties: Mapping[str, str | None] = field(default_factory=dict)
    features_added: tuple[str, ...] = ()
    features_dropped: tuple[DroppedFeature, ...] = ()
    partition_by: tuple[str, ...] | None = None
    cluster_by: tuple[Path, ...] | None = None
    rewritten_files: int = 0
    rewritten_size: int = 0
    rewrites_all: bool = False
    most_rewritten: int | None = None

    @property
    def is_additive(self) -> bool:
        """Return True if it only adds columns, and changes comments and the users' own properties."""
        return not (
            self.renamed
            or self.dropped
            or self.retyped
            or self.reordered
            or self.nulls_forbidden
            or self.nulls_allowed
            or self.constraints
            or self.features_added
            or self.features_dropped
            or self.partition_by is not None
            or self.cluster_by is not None
            or self.rewrites
            or any(name.lower().startswith("delta.") for name in self.properties)
        )

    @property
    def rewrites(self) -> bool:
        return self.rewrites_all or self.rewritten_files > 0

    @property
    def new_names(self) -> Iterator[Path]:
        """Paths of new columns and nested fields, and of renamed ones, unless only the case changes."""
        for each in self.added:
            schema = StructType((StructField(each.path[-1], each.data_type),))
            for column in all_columns(schema):
                if column.kinds[-1] == "field":
                    yield (*each.path[:-1], *column.parts)
        yield from (each.new for each in self.renamed if lowered(each.old[-1:]) != lowered(each.new[-1:]))

    def turns_on(self, name: str) -> bool:
        """Return True if a property is true after the migration."""
        value = self.properties.get(name, self.before.metadata.configuration.get(name))
        return value is not None and value.lower() == "true"


#: Checks of a migration before anything is changed.
on_plan: Checks[PlannedMigration] = Checks(lambda _: {})


_plan = FAMILY.of(Scope.PLAN)

#: Effects on readers; plans use the same sentences for their steps.
STREAMS_RESTART = "Streams that read the table stop once; after a restart they continue from the same checkpoint."
STREAMS_OVERWRITTEN = (
    "Streams that read the table fail at this commit, because it removes rows; with skipChangeCommits they skip it."
)
STREAM_BREAKS = _plan.warning(
    15,
    "streams that read the table fail",
    name="migration-stops-streams",
    effect="Streams that read the table stop at this commit, and with Delta Spark after each restart, unless they "
    "have a schemaTrackingLocation.",
    remedy="Before the migration, restart each stream with a schemaTrackingLocation; or let it finish, and start it "
    "afterwards with a new checkpoint.",
    source="Delta Lake documentation, Streaming with column mapping; Delta Spark v4.4.0, "
    "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG",
)
CHANGE_DATA_BREAKS = _plan.warning(
    16,
    "change data cannot be read across the change",
    name="migration-interrupts-change-data",
    effect="A batch read of the change data feed fails if its range of versions includes this commit and earlier ones.",
    remedy="Read the changes up to the version before the migration first, then from the migration on.",
    source="Delta Spark v4.4.0, DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA",
)


@on_plan(STREAM_BREAKS, CHANGE_DATA_BREAKS)
def _readers_of_changes(plan: PlannedMigration) -> Iterator[Finding]:
    has_feed = plan.before.metadata.properties.change_data_feed
    changes = [f"drops {path_text(path)}" for path in plan.dropped]
    changes += [f"renames {path_text(each.old)}" for each in plan.renamed]
    changes += ["disables column mapping" for each in plan.features_dropped if each.name == COLUMN_MAPPING.name]
    if changes:
        yield STREAM_BREAKS.found("The migration {changes}.", changes=changes)
    if plan.rewrites_all:
        yield STREAM_BREAKS.found(
            "The migration overwrites the table.",
            effect=STREAMS_OVERWRITTEN,
            remedy="Let each stream finish, and start it afterwards with a new checkpoint.",
        )
    changes += [f"changes the type of {path_text(each.path)}" for each in plan.retyped]
    if has_feed and changes:
        yield CHANGE_DATA_BREAKS.found(
            "The table has the change data feed, and the migration {changes}.", changes=changes
        )
    elif has_feed and plan.rewrites_all:
        yield CHANGE_DATA_BREAKS.found(
            "The table has the change data feed, and the migration overwrites the table.",
            effect="The change data of this commit has every row as deleted and as inserted.",
            remedy="Make sure that readers of the feed can process so many changes, or let them skip this version.",
        )


CHANGE_DATA_ENDS = _plan.warning(
    17,
    "change data feed ends",
    name="migration-ends-change-data-feed",
    effect="Reading the changes of later versions fails, and they are lost.",
    remedy="Keep delta.enableChangeDataFeed until nothing reads the feed.",
    source="PROTOCOL.md, Add CDC File",
)


@on_plan(CHANGE_DATA_ENDS)
def _feed_ends(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.before.metadata.properties.change_data_feed and not plan.turns_on(ENABLE_CHANGE_DATA_FEED):
        yield CHANGE_DATA_ENDS.found("{subject} is no longer true.", subject=ENABLE_CHANGE_DATA_FEED)
