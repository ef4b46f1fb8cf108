"""Plans a migration of one table from its log: the steps, the questionable changes, the engines locked out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, cast

from airflow_delta_provider.domain.changes.drop_features.plan import DropSurvey
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import UNKNOWN_ENGINES, Preflight, affects_engines
from airflow_delta_provider.domain.changes.rehearsal import NOT_REHEARSED, steps_to_rehearse
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.column_mapping import physical_parts
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.migrations.disproof import claims_of, disproved, values_in
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.migrations.planned import planned_migration
from airflow_delta_provider.domain.migrations.planner import MigrationPlanned, plan_migration
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.check_compatibility import RECENT_DAYS
from airflow_delta_provider.domain.request.fleet import fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import JudgesPlans, PlanMigrationOptions
from airflow_delta_provider.domain.spec.policy import Policy, why_ask
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.log.recent_writers import writers_within
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.migrations.declared import completed
from airflow_delta_provider.jobs.migrations.rewrite_costs import rewrite_costs
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Tries a plan on an empty copy of the table. Returns the plan with its notes, and the engine's refusals.
Rehearse = Callable[[OpenTable, MigrationPlan], tuple[MigrationPlan, tuple[Finding, ...]]]


def without_rehearsal(table: OpenTable, plan: MigrationPlan) -> tuple[MigrationPlan, tuple[Finding, ...]]:
    """Return a plan with a note that no engine has tried it."""
    del table
    notes = (NOT_REHEARSED,) if steps_to_rehearse(plan.steps) else ()
    return replace(plan, notes=(*plan.notes, *notes)), ()


def run(
    session: DeltaSession,
    text: str,
    request: JobRequest,
    progress: Progress,
    rehearse: Rehearse = without_rehearsal,
) -> TableReport:
    options, timings = cast("PlanMigrationOptions", request.options), Timings()
    table = session.open_table(text)
    with timings.phase("plan"):
        state = table.log.read_state()
        planned = plan_for(session, table, options.spec_of(text), options, state)
    plan, refusals = planned.plan, planned.refusals
    if plan is not None:
        plan, refusals = rehearse(table, plan)
    known: dict[str, Any] = {
        "version": state.version,
        "version_before": state.version,
        "protocol_before": state.protocol.to_json(),
        "protocol_after": (state.protocol if plan is None else plan.protocol_after).to_json(),
        "plan": None if plan is None else plan.to_json(),
        "timings": timings,
    }
    if plan is None or refusals:
        return TableReport.refused(table.name.text, *refusals, **known)
    commits = f"{len(plan.steps)} step{'s' * (len(plan.steps) != 1)}" if plan.steps else "nothing to do"
    progress(f"{table.name.text}: {commits} at version {state.version}")
    return TableReport.judged(table.name.text, *plan.findings, **known)


def plan_for(
    session: DeltaSession,
    table: OpenTable,
    spec: TableSpec,
    options: JudgesPlans,
    state: TableState,
    engine: Engine | None = None,
    *,
    disprove: bool = True,
) -> MigrationPlanned:
    """Plan the migration of a table to its declared state, and check the plan against the policy.

    :param state: state to plan on
    :param engine: engine that will do it; None if it is not known yet
    :param disprove: True to refuse a plan that statistics in the log disprove; not needed if the rows are read
        afterwards
    :raises BrokenLogError: if the log is damaged
    :raises TableError: if the table that the spec's ``like`` names does not exist
    """
    spec = completed(session, spec)
    planned = plan_migration(table.name, spec, state, engine)
    if planned.wants_files:
        state = table.log.read_state(with_files=True, version=state.version)
        names = [feature_named(name).name for name in spec.drop_features]
        costs = rewrite_costs(session.data_files(table.location), names, state)
        planned = plan_migration(table.name, spec, state, engine, DropSurvey(costs))
    if planned.plan is None or not planned.plan.steps:
        return planned
    if disprove and (refusals := _disproved(table, planned.plan, state)):
        return replace(planned, plan=None, refusals=refusals)
    return replace(planned, plan=_judged(table, planned.plan, options))


def _disproved(table: OpenTable, plan: MigrationPlan, state: TableState) -> tuple[Finding, ...]:
    """Return refusals of a plan that existing rows contradict, as far as statistics in the log prove that."""
    claims = claims_of(plan.steps, state)
    if not claims:
        return ()
    if state.files is None:
        state = table.log.read_state(with_files=True, version=state.version)
    for add in table.log.live_adds(state):
        for claim in claims:
            claim.take(add["path"], values_in(add, claim.column, state))
    return disproved(claims, state.version)


def _judged(table: OpenTable, plan: MigrationPlan, options: JudgesPlans) -> MigrationPlan:
    now, name = datetime.now(timezone.utc), table.name.text
    policy = Policy.parse(options.policy)
    its_policy = policy.of(name)
    preflight = preflight_of(table, plan, plan.before, options.fleet)
    locking = policy.judged(preflight.found, name, now.date())
    migration = planned_migration(
        plan.steps,
        plan.before,
        features_added=plan.protocol_after.features - plan.protocol_before.features,
        most_rewritten=its_policy.most_rewritten,
    )
    if any(migration.new_names):  # only new names may have been used before
        migration = replace(migration, gone=gone_columns(table.log, plan.before))
    lint = policy.lint(migration, name, now.date())
    codes = {finding.code for finding in locking if finding.is_open}
    asks = why_ask(
        migration,
        (*lint, *locking),
        its_policy,
        locks_out=bool(codes - UNKNOWN_ENGINES),
        may_lock_out=bool(codes & UNKNOWN_ENGINES),
    )
    unknown = tuple(member.name for member, _ in preflight.unknown())
    return replace(plan, lint=lint, locked_out=locking, approval=asks, unknown=unknown)


#: Number of newest commits that are searched.
_SEARCHED = 1_000
#: A commit without it changes no column.
_MARK = b'"metaData"'
_Path = tuple[str, ...]


def gone_columns(log: TableLog, head: TableState) -> tuple[_Path, ...]:
    """Return columns that recent versions had and that were dropped since. Renamed columns do not count.

    Commits that cannot be read are skipped.

    :param head: newest state
    """
    here = {stored for _, stored in _columns(head.metadata)}
    versions = [version for version in commit_versions(log.list_names()) if version <= head.version]
    names = [commit_name(version) for version in versions[-_SEARCHED:]]
    gone: dict[_Path, _Path] = {}
    with suppress(MissingFileError):  # cleaned up in the meantime
        for name, content in zip(names, log.read_files(names)):
            with suppress(BrokenLogError, ValueError):
                for metadata in _metadata_in(name, content):
                    gone |= {lowered(path): path for path, stored in _columns(metadata) if stored not in here}
    return tuple(gone.values())


def _metadata_in(name: str, content: bytes) -> list[Metadata]:
    actions = parse_commit(name, content) if _MARK in content else []
    return [Metadata.from_json(action["metaData"]) for action in actions if "metaData" in action]


def _columns(metadata: Metadata) -> Iterator[tuple[_Path, _Path]]:
    """Yield the columns and fields, each with its path in data files, which a rename does not change."""
    mode = metadata.properties.mapping_mode
    for column in metadata.readable_columns or ():
        if column.kinds[-1] == "field":
            yield column.parts, lowered(physical_parts(column, metadata.schema, mode))


def preflight_of(table: OpenTable, plan: Plan, state: TableState, fleet: Mapping[str, Any] | None) -> Preflight:
    """Return the engines that a plan locks out or may lock out. The log is read only if there may be any.

    :param state: state that the plan was made on
    :param fleet: content of the fleet file
    """
    if not affects_engines(plan, state):
        return Preflight()
    writers = writers_within(table.log, state, RECENT_DAYS, datetime.now(timezone.utc))
    return Preflight.of(plan, state, fleet_of(fleet, table.name, table.location), writers)
