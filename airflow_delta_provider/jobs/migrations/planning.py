"""Plans a migration of one table from its log: the steps, the questionable changes, the engines locked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, cast

from airflow_delta_provider.domain.changes.drop_features import DropSurvey, FileDifference, FileDifferences, RewriteCost
from airflow_delta_provider.domain.changes.lockouts import engines_of
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import (
    NOT_REHEARSED,
    UNKNOWN_ENGINES,
    Preflight,
    affects_engines,
    steps_to_rehearse,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.data_type import lowered
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS, is_in_use
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING, records_types
from airflow_delta_provider.domain.delta.features.feature import Rewrites
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_parts
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import Demands
from airflow_delta_provider.domain.engine.conditions import Clause, Decision
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.domain.migrations.disproof import claims_of, disproved, values_in
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.migrations.planner import MigrationPlanned, plan_migration, planned_migration
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import RECENT_DAYS, fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import JudgesPlans, PlanMigrationOptions
from airflow_delta_provider.domain.spec.policy import Policy, why_ask
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.spec.writing import with_columns_of
from airflow_delta_provider.jobs.delta.engines import decisions_about_files, writers_within
from airflow_delta_provider.jobs.delta.session import DeltaFiles, DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import UnreadFileError
from airflow_delta_provider.jobs.storage.storage import MissingFileError
from airflow_delta_provider.jobs.tables.session import TableError


def completed(session: DeltaSession, spec: TableSpec) -> TableSpec:
    """Return a spec with the columns of the table that its ``like`` names.

    :raises TableError: if there is no such table, or its log is damaged; the message has the place in the spec
    """
    if spec.like is None:
        return spec
    try:
        return with_columns_of(spec, session.open_table(spec.like).log.read_state())
    except TableError as error:
        raise TableError(_of_like(spec, error.finding)) from error
    except BrokenLogError as error:
        raise TableError(_of_like(spec, requests.broken_log(spec.like, error))) from error


def _of_like(spec: TableSpec, finding: Finding) -> Finding:
    """Return the finding for the table named by ``like``, with its place in the spec."""
    where = spec.places.get("like")
    named = f"The spec{f' ({where})' if where else ''} says like: {spec.like}."
    return RULES[finding.code].worded(replace(finding, evidence=f"{named} {finding.evidence}"))


def rewrite_costs(data: DeltaFiles, features: Iterable[str], state: TableState) -> dict[str, RewriteCost]:
    """Return the cost of rewriting, by feature. A file whose footer cannot be read is included.

    :param state: state of the table, with its files
    """
    rewrites = {name: REMOVALS[name].rewrites for name in features if name in REMOVALS}
    types = Rewrites.OF_OTHER_TYPES in rewrites.values() and records_types(state.metadata)
    columns = Rewrites.WITH_VECTORS in rewrites.values() and state.protocol.supports(COLUMN_MAPPING)
    files = list(state.live_files)
    differences = dict(zip((file.path for file in files), _differences(data, files, state))) if types or columns else {}
    found: dict[str, RewriteCost] = {}
    for name, kind in rewrites.items():
        if kind is Rewrites.ALL:
            written = files if is_in_use(name, state) else []
        elif kind is Rewrites.OF_OTHER_TYPES:
            written = [f for f in files if types and _is(differences[f.path], "types")]
        elif kind is Rewrites.WITH_VECTORS:
            written = [f for f in files if _deletes(f) or (columns and _is(differences[f.path], "columns"))]
        else:
            continue
        unread = sum(1 for file in written if file.path in differences and differences[file.path] is None)
        found[name] = RewriteCost(len(written), sum(file.size for file in written), unread)
    return found


def _differences(data: DeltaFiles, files: list[LiveFile], state: TableState) -> Iterable[FileDifference | None]:
    compared = FileDifferences(state.metadata)

    def compare(file: LiveFile) -> FileDifference | None:
        try:
            return compared.of(data.footer(file).schema)
        except (MissingFileError, FooterError, UnreadFileError):
            return None

    return data.map(compare, files)


def _is(difference: FileDifference | None, what: str) -> bool:
    """Return True if a file differs, or may differ because its footer could not be read."""
    return difference is None or bool(getattr(difference, what))


def _deletes(file: LiveFile) -> bool:
    return file.deletion_vector is not None and file.deletion_vector.cardinality > 0


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
    return TableReport.of_findings(table.name.text, *plan.findings, **known)


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
    locking = policy.applied(preflight.found, name, now.date())
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
        has_policy=options.policy is not None,
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
    known = fleet_of(fleet, table.name, table.location)

    def files(before: Demands, after: Demands) -> Mapping[Clause, Decision]:
        return decisions_about_files(table.log, None, state, engines_of(known, writers), after, before)

    return Preflight.of(plan, state, known, writers, files)
