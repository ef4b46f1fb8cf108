"""Readers that can no longer follow a table's changes after a migration: MG15 to MG17.

Measured with Delta Spark 4.4: another order of columns and new columns stop no reader; wider types stop only batch
reads of change data.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.migrations.family import FAMILY
from airflow_delta_provider.domain.checks.migrations.planned import PlannedMigration, on_plan
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.features.column_mapping import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.table_properties import ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.report.finding import Finding

_plan = FAMILY.of(Scope.PLAN)

#: Effects on readers; plans use the same sentences for their steps.
STREAMS_RESTART = "Streams that read the table stop once; after a restart they continue from the same checkpoint."
STREAMS_OVERWRITTEN = (
    "Streams that read the table fail at this commit, because it removes rows; with skipChangeCommits they skip it."
)
STREAM_BREAKS = _plan.warning(
    15,
    "streams that read the table fail",
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
    effect="Reading the changes of later versions fails, and they are lost.",
    remedy="Keep delta.enableChangeDataFeed until nothing reads the feed.",
    source="PROTOCOL.md, Add CDC File",
)


@on_plan(CHANGE_DATA_ENDS)
def _feed_ends(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.before.metadata.properties.change_data_feed and not plan.turns_on(ENABLE_CHANGE_DATA_FEED):
        yield CHANGE_DATA_ENDS.found("{subject} is no longer true.", subject=ENABLE_CHANGE_DATA_FEED)
