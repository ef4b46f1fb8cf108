"""The kind ``drop-feature``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property

from airflow_delta_provider.domain.changes.drop_features.plan import DropSurvey, plan_drop
from airflow_delta_provider.domain.changes.drop_features.verify import features_of, verify_dropped
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.traces import (
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
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.jobs.changes.own_commits import audited
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.migrations.rewrite_costs import rewrite_costs


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
        """When the history may be truncated, by feature that waits for nothing else."""
        return _earliest(self.options, self.table, self.state)

    @cached_property
    def planned(self) -> Planned:
        """The statements, and the commits for features that SQL cannot drop."""
        features = features_of(self.options, self.state.protocol)
        survey = DropSurvey(
            rewrite_costs(DeltaFiles(self.session.storage, self.table.location), features, self.state),
            self.earliest,
        )
        now = datetime.now(timezone.utc)
        return plan_drop(self.table.name, self.options, self.state, self.session.engine, survey, now)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return what is wrong with the table afterwards, and which rules the commits of this run broke."""
        unchanged = after is self.state  # else there may be other checkpoints
        earliest = self.earliest if unchanged else _earliest(self.options, self.table, after)
        promised = self.planned.plan.protocol_after if self.planned.plan and commits else None
        return (
            *verify_dropped(self.options, after, earliest, promised=promised),
            *audited(self.table, self.state, commits),
        )


def _earliest(options: DropFeatureOptions, table: OpenTable, state: TableState) -> Mapping[str, datetime]:
    """Return when the history may be truncated, by feature that waits for nothing else."""
    waiting = [
        name
        for name in features_of(options, state.protocol)
        if options.truncate_history and name in REMOVALS and REMOVALS[name].truncates
    ]
    idle = [name for name in waiting if REMOVALS[name].only_truncating or not is_in_use(name, state)]
    return _earliest_of(idle, table, state)


def _earliest_of(features: Sequence[str], table: OpenTable, state: TableState) -> dict[str, datetime]:
    """Return when the history with traces of each may be truncated; features whose history is gone are left out."""
    retention = state.metadata.properties.truncation_retention
    if retention is None or not features:
        return {}
    names = table.log.list_names()
    kept, checkpoints = commit_versions(names), checkpoint_versions(names)
    found: dict[str, datetime] = {}
    for name, trace in last_traces(features, state, _first_metadata(table, names), table.log.commits_after(-1)).items():
        checkpoint = barrier(trace, checkpoints)
        before = [] if checkpoint is None else [version for version in kept if trace <= version < checkpoint]
        if before:  # else that history is gone
            newest = max(table.log.written_at(commit_name(version)) for version in before)
            found[name] = earliest_truncation(newest, retention)
    return found


def _first_metadata(table: OpenTable, names: list[str]) -> Metadata | None:
    """Return the metadata that held before the first commit that is kept."""
    first = earliest_version(names)
    return None if not first else table.log.read_state(version=first).metadata
