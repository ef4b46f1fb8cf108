"""Effects of a migration on the table as a whole: MG18 to MG26; the table after it: MG40."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.migrations import FAMILY
from airflow_delta_provider.domain.checks.migrations.planned import PlannedMigration, on_plan
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.expression import called_names, references
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS
from airflow_delta_provider.domain.delta.features.feature import SUPPORT_PREFIX, FeatureKind
from airflow_delta_provider.domain.delta.features.log import (
    CHECKPOINT_PROTECTION,
    CLUSTERING_DOMAIN,
    clustering_columns,
)
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES, feature_named
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX, SETTABLE
from airflow_delta_provider.domain.report.report import Finding, Severity

_plan = FAMILY.of(Scope.PLAN)

CONSTRAINT_DROPPED = _plan.warning(
    18,
    "CHECK constraint is dropped",
    name="migration-drops-check-constraint",
    effect="No data changes, but rows that break the condition can be written from then on.",
    remedy="Keep the constraint, unless nothing relies on the condition.",
    source="PROTOCOL.md, CHECK Constraints",
)
UNSTABLE_CONSTRAINT = _plan.warning(
    19,
    "constraint depends on more than the values of the row",
    name="constraint-depends-on-more-than-row",
    effect="A row that was valid when it was written may fail when an UPDATE, MERGE or OPTIMIZE writes it again.",
    remedy="Compare columns with each other or with constants.",
    source="PROTOCOL.md, CHECK Constraints",
)
#: Functions of Spark SQL whose result depends on more than their arguments.
_UNSTABLE = frozenset(
    """
    rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_date curdate current_timestamp now localtimestamp
    current_time current_timezone current_user user session_user current_catalog current_database current_schema version
    """.split()
)
#: Unstable functions that need no parentheses.
_UNSTABLE_WORDS = frozenset(
    ("current_date", "current_timestamp", "current_time", "current_user", "user", "session_user", "localtimestamp")
)


@on_plan(CONSTRAINT_DROPPED, UNSTABLE_CONSTRAINT)
def _constraints(plan: PlannedMigration) -> Iterator[Finding]:
    for name, expression in plan.constraints.items():
        if expression is None:
            yield CONSTRAINT_DROPPED.found("The CHECK constraint {subject} is dropped.", subject=name)
        elif unstable := _unstable(expression, plan):
            yield UNSTABLE_CONSTRAINT.found(
                "The CHECK constraint {subject} ({expression}) calls {functions}.",
                subject=name,
                expression=expression,
                functions=unstable,
            )


def _unstable(expression: str, plan: PlannedMigration) -> list[str]:
    columns = {field.name.lower() for field in plan.before.metadata.schema.fields}
    columns |= {path[0].lower() for path in plan.new_names if len(path) == 1}
    called = _UNSTABLE.intersection(called_names(expression))
    words = {
        reference.parts[0].lower()
        for reference in references(expression)
        if len(reference.parts) == 1 and not reference.quoted
    }
    return sorted(called | (words & _UNSTABLE_WORDS) - columns)


UNKNOWN_PROPERTY = _plan.error(
    20,
    "property with the prefix delta. that Delta does not know",
    name="unknown-delta-property",
    effect="Delta Spark refuses to set it; if it is set in another way, it has no effect.",
    remedy="Correct the name; for a property of your own, leave out the prefix.",
    source="PROTOCOL.md, Table Properties; DeltaConfig.scala of Delta Spark v4.4.0",
)


@on_plan(UNKNOWN_PROPERTY)
def _properties(plan: PlannedMigration) -> Iterator[Finding]:
    for name, value in plan.properties.items():
        if value is None or is_known(name):
            continue
        meant = nearest(name)
        knows = OF_OTHERS.get(name)
        yield UNKNOWN_PROPERTY.found(
            f"{knows} the property {{subject}}, but Delta Spark v4.4.0 does not: it refuses to set it."
            if knows
            else "Delta does not know the property {subject}." + (" Did you mean {meant}?" if meant else ""),
            severity=Severity.UNDECIDED if knows else None,
            remedy="Apply the plan with an engine that knows the property, or leave it out." if knows else None,
            subject=name,
            meant=None if knows else meant,
        )


CLUSTERING_ENDS = _plan.warning(
    21,
    "clustering ends",
    name="migration-ends-clustering",
    effect="Data written from then on is not clustered, so queries that filter by these columns read more and more "
    "files.",
    remedy="Name the columns to cluster by instead.",
    source="PROTOCOL.md, Clustered Table",
)


@on_plan(CLUSTERING_ENDS)
def _clustering(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.cluster_by == () and clustering_columns(plan.before.domains.get(CLUSTERING_DOMAIN)):
        yield CLUSTERING_ENDS.found("The table is no longer clustered.")


PARTITIONING_CHANGES = _plan.warning(
    22,
    "table gets another partitioning",
    name="migration-changes-partitioning",
    effect="Queries that filter by the old partition columns read all files; jobs that overwrite partitions replace "
    "other rows than before.",
    remedy="Check the jobs that read or overwrite single partitions; clustering may make partitions unnecessary.",
)


@on_plan(PARTITIONING_CHANGES)
def _partitioning(plan: PlannedMigration) -> Iterator[Finding]:
    before = plan.before.metadata.partition_columns
    after = plan.partition_by
    if after is not None and [name.lower() for name in after] != [name.lower() for name in before]:
        yield PARTITIONING_CHANGES.found(
            "The table is partitioned by {after} instead of {before}.",
            after=list(after) or "nothing",
            before=list(before) or "nothing",
        )


LARGE_REWRITE = _plan.error(
    23,
    "migration rewrites more than the policy allows",
    name="migration-rewrites-beyond-policy",
    effect="The rewrite takes time and money, and conflicts with every writer until it is done.",
    remedy="Make the change in another way; or raise max_rewrite_gb for this table.",
)
_GIGABYTE = 10**9


@on_plan(LARGE_REWRITE)
def _rewrite(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.most_rewritten is not None and plan.rewritten_size > plan.most_rewritten:
        yield LARGE_REWRITE.found(
            "{files:data file} with {size:.1f} GB are rewritten; the policy allows {most:.1f} GB.",
            files=plan.rewritten_files,
            size=plan.rewritten_size / _GIGABYTE,
            most=plan.most_rewritten / _GIGABYTE,
        )


ROW_IDS_LOST = _plan.warning(
    24,
    "rewrite gives rows other row ids",
    name="migration-replaces-row-ids",
    effect="Consumers that keep row ids take every row for a new one.",
    remedy="Add a column with the new type, fill it with UPDATE, which keeps row ids, and drop the old one.",
    source="PROTOCOL.md, Row Tracking",
)


@on_plan(ROW_IDS_LOST)
def _row_ids(plan: PlannedMigration) -> Iterator[Finding]:
    if plan.rewrites_all and plan.before.metadata.properties.row_tracking:
        yield ROW_IDS_LOST.found("The table is overwritten, so all of its rows get new row ids.")


PROTOCOL_UPGRADE = _plan.warning(
    25,
    "protocol upgrade",
    name="migration-upgrades-protocol",
    effect="Engines that do not support the feature are locked out. RESTORE does not undo it.",
    remedy="Check that every engine that uses the table supports the feature.",
    source="PROTOCOL.md, Protocol Evolution",
)


@on_plan(PROTOCOL_UPGRADE)
def _upgrade(plan: PlannedMigration) -> Iterator[Finding]:
    for name in plan.features_added:
        yield PROTOCOL_UPGRADE.found(
            "The feature {subject} is added, which {who} have to support.",
            subject=name,
            who="writers" if feature_named(name).kind is FeatureKind.WRITER else "readers and writers",
        )


HISTORY_PROTECTED = _plan.warning(
    26,
    "dropping a feature adds checkpointProtection",
    name="feature-drop-adds-checkpoint-protection",
    effect="Writers that do not support checkpointProtection are locked out, and old history is cleaned up only as a "
    "whole. RESTORE does not undo it.",
    remedy="If the history is not needed, drop the feature with TRUNCATE HISTORY.",
    source="RFC checkpoint-protection.md",
)


@on_plan(HISTORY_PROTECTED)
def _protection(plan: PlannedMigration) -> Iterator[Finding]:
    if CHECKPOINT_PROTECTION.name in plan.before.protocol.features:
        return
    for feature in plan.features_dropped:
        removal = REMOVALS.get(feature.name)
        if removal is not None and removal.protects and not feature.truncate_history:
            yield HISTORY_PROTECTED.found(
                "Dropping {subject} adds checkpointProtection to the protocol, because the history keeps traces of "
                "{subject}.",
                subject=feature.name,
            )


_PREFIX = "delta."
#: Prefixes of names whose rest is free.
_FAMILIES = tuple(map(str.lower, (SUPPORT_PREFIX, CONSTRAINT_PREFIX, "delta.universalFormat.config.")))
#: Properties that Delta Spark v4.4.0 refuses and others know, with who knows them. The log does not show which engine
#: will set them.
OF_OTHERS = {
    "delta.parquet.compression.codec": "PROTOCOL.md has",
    "delta.targetFileSize": "Databricks knows",
    "delta.tuneFileSizesForRewrites": "Databricks knows",
}
_KNOWN = {
    name.lower(): name
    for name in (
        *(f"{_PREFIX}{name}" for name in SETTABLE),
        *WRITER_OWNED_PROPERTIES,
        *(feature.enabling_property for feature in FEATURES.values() if feature.enabling_property),
        *(feature.suspending_property for feature in FEATURES.values() if feature.suspending_property),
    )
}


def is_known(name: str) -> bool:
    """Return True if a property is the users' own or known to Delta, ignoring case."""
    folded = name.lower()
    return not folded.startswith(_PREFIX) or folded in _KNOWN or folded.startswith(_FAMILIES)


def nearest(name: str) -> str | None:
    """Return the known name that a mistyped name most likely means; None if there is none."""
    import difflib  # late: few names are mistyped

    near = difflib.get_close_matches(name.lower(), _KNOWN, n=1, cutoff=0.75)
    return _KNOWN[near[0]] if near else None


NOT_AS_DECLARED = FAMILY.of(Scope.OUTCOME).error(
    40,
    "table differs from its declared state, although every step was done",
    name="table-differs-after-migration",
    effect="Queries and jobs that rely on the declared state may fail.",
    remedy="Check the table's history for another writer, and run the migration again.",
)


@on_demand(NOT_AS_DECLARED)
def still_needed(table: str, left: Sequence[str], version: int) -> Iterator[Finding]:
    """Yield a finding if a table still needs changes after a migration.

    :param left: steps of a new plan, as sentences
    """
    if left:
        yield NOT_AS_DECLARED.found(
            "{table} still needs this at version {version}: {steps}.", table=table, version=version, steps=list(left)
        )
