"""The kind ``drop-feature``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.audit.version_range import find_span
from airflow_delta_provider.domain.changes.drop_features.plan import DropSurvey, plan_drop
from airflow_delta_provider.domain.changes.drop_features.verify import features_of, verify_dropped
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.step import DropFeature, Step
from airflow_delta_provider.domain.changes.usage_tracking.drop import drop_edit
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.removal import REMOVALS
from airflow_delta_provider.domain.delta.features.traces import barrier, earliest_truncation, is_in_use, last_traces
from airflow_delta_provider.domain.delta.log_files import (
    checkpoint_versions,
    commit_name,
    commit_versions,
    earliest_version,
    newest_version,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.jobs.audit.judging import Judging
from airflow_delta_provider.jobs.changes.commit.hand_made_commit import HandMadeCommit, MakeEdit
from airflow_delta_provider.jobs.changes.rewrite_costs import rewrite_costs
from airflow_delta_provider.jobs.changes.table_change import Change, changing
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.log.recent_writers import recent_writers
from airflow_delta_provider.jobs.session.progress import silent
from airflow_delta_provider.jobs.session.time_budget import TimeBudget
from airflow_delta_provider.jobs.session.timings import Timings

#: Features that no SQL can drop, with the change of protocol and metadata that does.
_BY_HAND: Mapping[str, MakeEdit] = {USAGE_TRACKING.name: drop_edit}


class DropFeatures(Change):
    """Drops table features and verifies that they are gone, or wait for their history to be old enough."""

    needs_files = True
    unfinished = frozenset(
        {
            "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD",
            "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST",
            "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD",
        }
    )

    def __init__(self, options: DropFeatureOptions, session: DeltaSession) -> None:
        self._options = options
        self._session = session
        self._promised: Protocol | None = None
        self._found: tuple[TableState, Mapping[str, datetime]] | None = None

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table."""
        features = features_of(self._options, state.protocol)
        survey = DropSurvey(
            rewrite_costs(DeltaFiles(self._session.storage, table.location), features, state),
            self._earliest(table, state),
            recent_writers(table.log) if features else (),
            _BY_HAND.keys(),
        )
        now = datetime.now(timezone.utc)
        planned = plan_drop(table.name, self._options, state, self._session.engine, survey, now)
        self._promised = planned.plan.protocol_after if planned.plan else None
        return planned

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is wrong with the table afterwards, and what the commits of this run broke."""
        promised = self._promised if commits else None
        return (
            *verify_dropped(self._options, after, self._earliest(table, after), promised=promised),
            *_audit(table, before, commits),
        )

    def commit(self, table: OpenTable, step: Step, labels: Mapping[str, Any]) -> None:
        """Drop a feature that SQL does not know."""
        assert isinstance(step, DropFeature)
        del labels  # the session has them
        commit = HandMadeCommit.in_session(
            self._session,
            table,
            table.log.read_state(),
            allow_unsafe_log_store=self._options.allow_unsafe_log_store,
        )
        commit.write(_BY_HAND[step.feature])

    def _earliest(self, table: OpenTable, state: TableState) -> Mapping[str, datetime]:
        """Return when the history may be truncated, of those features that wait for nothing else."""
        if self._found is None or self._found[0] is not state:  # read anew, it may have other checkpoints
            waiting = [
                name
                for name in features_of(self._options, state.protocol)
                if self._options.truncate_history and name in REMOVALS and REMOVALS[name].truncates
            ]
            idle = [name for name in waiting if REMOVALS[name].only_truncating or not is_in_use(name, state)]
            self._found = state, _earliest_of(idle, table, state)
        return self._found[1]


def _earliest_of(features: Sequence[str], table: OpenTable, state: TableState) -> dict[str, datetime]:
    """Return when the history with traces of each may be truncated, but for those of which that has to be found out."""
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


def _audit(table: OpenTable, before: TableState, commits: Mapping[int, list[Action]]) -> Iterator[Finding]:
    """Yield what the commits of this run broke, by all rules of the log; nothing where their history was truncated."""
    names = table.log.list_names()
    first = earliest_version(names)
    if not commits or first is None or first > before.version:
        return
    span = find_span(names, newest_version(names), before.version)
    audit = Judging(table.log, names, table.name.text, Timings(), silent, TimeBudget(None)).judge(span, known=True)
    yield from (finding for finding in audit.findings() if finding.version in commits and finding.is_open)


run = changing(DropFeatures)
