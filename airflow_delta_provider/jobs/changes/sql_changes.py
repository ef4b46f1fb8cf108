"""Changes that the engine makes by SQL: features, types, columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property, partial
from typing import Any

from airflow_delta_provider.domain.changes.alter_columns.plan import plan_altering, verify_altered
from airflow_delta_provider.domain.changes.alter_columns.resolution import needs_past_columns, resolve
from airflow_delta_provider.domain.changes.drop_features import DropSurvey, features_of, plan_drop, verify_dropped
from airflow_delta_provider.domain.changes.enable_features import plan_enabling, verify_enabled
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.preflight import one_at_a_time, proposed_metadata
from airflow_delta_provider.domain.changes.schema import PastColumns
from airflow_delta_provider.domain.changes.steps import Step
from airflow_delta_provider.domain.changes.widen_types import Widening, plan_widening, resolve_widenings, verify_widened
from airflow_delta_provider.domain.checks.type_widening.changes import VALUES_CHANGED
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.feature_traces import (
    REMOVALS,
    barrier,
    earliest_truncation,
    is_in_use,
    last_traces,
)
from airflow_delta_provider.domain.delta.log_files import (
    checkpoint_versions,
    commit_name,
    commit_versions,
    earliest_version,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange, audited
from airflow_delta_provider.jobs.changes.values import differing_columns
from airflow_delta_provider.jobs.column_mapping import read_past_columns
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.migrations.planning import rewrite_costs
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession

_NOTHING = {"schemaString": '{"fields":[]}'}
#: Class that runs most of the statements. It fails to load if this Delta was built for another Spark release.
_COMMAND = "org.apache.spark.sql.delta.commands.AlterTableSetPropertiesDeltaCommand"


def expected_protocol(session: SparkDeltaSession, location: str, steps: Sequence[Step]) -> Protocol | None:
    """Return the protocol that the engine gives a table for ``steps``; None if they do not affect it.

    :raises PySparkException: if the engine would refuse the properties or the types
    :raises Py4JJavaError: for the same reasons, or if the releases of Spark and Delta are incompatible
    """
    if proposed_metadata(_NOTHING, steps) is None:
        return None
    jvm: Any = session.spark._jvm
    jvm.org.apache.spark.util.Utils.classForName(_COMMAND, True, False)
    transaction = EngineTransaction(session, location)
    metadata = transaction.metadata
    proposed = proposed_metadata(metadata, steps)
    if proposed is None:
        return None
    features: frozenset[str] = frozenset()
    for each in one_at_a_time(metadata, proposed):
        transaction = EngineTransaction(session, location)
        transaction.update_metadata(each)
        written = Protocol.from_json(transaction.protocol)
        features |= written.features
    return written.supporting(features)


@dataclass(frozen=True)
class EnableFeatures(PlannedChange):
    """Enable table features by SQL."""

    options: EnableFeatureOptions

    @cached_property
    def planned(self) -> Planned:
        """The statements. Features that this engine does not add for a property alone are requested by name."""
        plan = partial(plan_enabling, self.table.name, self.options, self.state, self.session.engine)
        planned = plan()
        if planned.refusals or planned.plan is None or not planned.plan.steps:
            return planned
        try:
            expected = expected_protocol(self.session, self.table.location, planned.plan.steps)
        except Exception:  # the refusal is reported later, in one place for all changes
            return planned
        missing = planned.plan.protocol_after.features - expected.features if expected else ()
        return plan(missing) if missing else planned

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return findings for features that are still missing."""
        del commits
        return verify_enabled(self.options, after)


@dataclass(frozen=True)
class WidenTypes(PlannedChange):
    """Widen column types by SQL."""

    options: WidenTypesOptions

    @cached_property
    def planned(self) -> Planned:
        return plan_widening(self.table.name, self.options, self.state, self.session.engine)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return problems with the recorded type changes and with the values of the widened columns."""
        widenings, _ = resolve_widenings(self.options, self.state.metadata)
        findings = list(verify_widened(widenings, self.state.metadata, after.metadata, after.version))
        if commits and self.options.verify == "data":
            findings += self._verify_values(widenings, min(commits), after)
        return tuple(findings)

    def _verify_values(self, widenings: list[Widening], first: int, after: TableState) -> Iterator[Finding]:
        """Compare the values of files older than version ``first``, the first of this run, before and after."""
        old = self.table.log.read_state(version=first - 1, with_files=True)
        files = sorted((old.files or {}).values(), key=lambda file: file.path)
        location, metadata = self.table.location, (old.metadata, after.metadata)
        for column, measures in differing_columns(self.session, location, files, *metadata, widenings):
            yield VALUES_CHANGED.found(
                "{column} reads differently at version {version} than before version {first}: {measures} differ.",
                remedy=f"Do not write to the table; RESTORE it to version {first - 1}, and report the engine that "
                "wrote its files.",
                version=after.version,
                column=column,
                first=first,
                measures=list(measures),
            )


@dataclass(frozen=True)
class AlterColumns(PlannedChange):
    """Drop, rename and add columns by SQL."""

    options: AlterColumnsOptions

    @cached_property
    def past(self) -> PastColumns:
        """The columns that the table has had.

        The whole log is read only if that decides which changes are already done.
        """
        needed = needs_past_columns(self.options, self.state.metadata)
        return read_past_columns(self.table.log) if needed else PastColumns()

    @cached_property
    def planned(self) -> Planned:
        return plan_altering(self.table.name, self.options, self.state, self.session.engine, self.past)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return findings for columns that differ from the request."""
        if not commits:
            return ()
        alteration, _ = resolve(self.options, self.state.metadata, self.past)
        return tuple(verify_altered(alteration, self.state, after))


@dataclass(frozen=True)
class DropFeatures(PlannedChange):
    """Drop table features, or report that they wait until their history is old enough."""

    options: DropFeatureOptions

    unfinished = frozenset(
        {
            "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
            "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
            "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
        }
    )

    @cached_property
    def earliest(self) -> Mapping[str, datetime]:
        """The earliest time to truncate the history, by feature. Features that are still in use are left out."""
        return _earliest(self.options, self.table, self.state)

    @cached_property
    def planned(self) -> Planned:
        """The statements, and the commits for features that SQL cannot drop."""
        features = features_of(self.options, self.state.protocol)
        survey = DropSurvey(
            rewrite_costs(self.session.data_files(self.table.location), features, self.state),
            self.earliest,
        )
        now = datetime.now(timezone.utc)
        return plan_drop(self.table.name, self.options, self.state, self.session.engine, survey, now)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return problems with the table afterwards, and rules that the commits of this run broke."""
        unchanged = after is self.state  # otherwise checkpoints may differ
        earliest = self.earliest if unchanged else _earliest(self.options, self.table, after)
        promised = self.planned.plan.protocol_after if self.planned.plan and commits else None
        return (
            *verify_dropped(self.options, after, earliest, promised=promised),
            *audited(self.table, self.state, commits),
        )


def _earliest(options: DropFeatureOptions, table: OpenTable, state: TableState) -> Mapping[str, datetime]:
    """Return, by feature, the earliest time to truncate the history with its traces.

    Features that are still in use, or whose history has already been removed, are left out.
    """
    waiting = [
        name
        for name in features_of(options, state.protocol)
        if options.truncate_history and name in REMOVALS and REMOVALS[name].truncates
    ]
    unused = [name for name in waiting if REMOVALS[name].only_truncating or not is_in_use(name, state)]
    retention = state.metadata.properties.truncation_retention
    if retention is None or not unused:
        return {}
    names = table.log.list_names()
    kept, checkpoints = commit_versions(names), checkpoint_versions(names)
    found: dict[str, datetime] = {}
    for name, trace in last_traces(unused, state, _first_metadata(table, names), table.log.commits_after(-1)).items():
        checkpoint = barrier(trace, checkpoints)
        before = [] if checkpoint is None else [version for version in kept if trace <= version < checkpoint]
        if before:  # otherwise that history has been removed
            newest = max(table.log.written_at(commit_name(version)) for version in before)
            found[name] = earliest_truncation(newest, retention)
    return found


def _first_metadata(table: OpenTable, names: list[str]) -> Metadata | None:
    """Return the metadata in effect before the first commit that is kept."""
    first = earliest_version(names)
    return None if not first else table.log.read_state(version=first).metadata
