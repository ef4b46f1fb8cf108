"""Plans the migration of one table from its log: the steps, findings about them, and engines that they lock out."""

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
from airflow_delta_provider.domain.changes.step import Parts
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
from airflow_delta_provider.domain.migrations.planner import PlanningResult, migration_to_lint, plan_migration
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import RECENT_DAYS, fleet_of
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import JudgesPlans, PlanMigrationOptions
from airflow_delta_provider.domain.spec.policy import Policy, approval_reasons
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.spec.writing import with_columns_of
from airflow_delta_provider.jobs.delta.engines import decisions_about_files, writers_within
from airflow_delta_provider.jobs.delta.session import DeltaFiles, DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError
from airflow_delta_provider.jobs.tables.session import TableError


def with_like_columns(session: DeltaSession, spec: TableSpec) -> TableSpec:
    """Return a spec with the columns of the table that its ``like`` names.

    :raises TableError: if there is no such table, or its log is damaged; the message says where ``like`` is in the
        spec
    """
    if spec.like is None:
        return spec
    try:
        return with_columns_of(spec, session.open_table(spec.like).log.read_state())
    except TableError as error:
        raise TableError(_about_like(spec, error.finding)) from error
    except BrokenLogError as error:
        raise TableError(_about_like(spec, requests.broken_log(spec.like, error))) from error


def _about_like(spec: TableSpec, finding: Finding) -> Finding:
    """Return the finding about the table that ``like`` names, with the place of ``like`` in the spec."""
    place = spec.places.get("like")
    sentence = f"The spec{f' ({place})' if place else ''} has like: {spec.like}."
    return RULES[finding.code].worded(replace(finding, evidence=f"{sentence} {finding.evidence}"))


def rewrite_costs(data: DeltaFiles, features: Iterable[str], state: TableState) -> dict[str, RewriteCost]:
    """Return, for each table feature to drop, the cost of the rewrite that dropping it requires.

    A file whose footer cannot be read counts as one to rewrite.

    :param features: names of the features
    :param state: state of the table, with its files
    """
    rewrites = {name: REMOVALS[name].rewrites for name in features if name in REMOVALS}
    has_other_types = Rewrites.OF_OTHER_TYPES in rewrites.values() and records_types(state.metadata)
    # A rewrite of files with deletion vectors also rewrites those with dropped columns, which mapped tables may have.
    has_dropped_columns = Rewrites.WITH_VECTORS in rewrites.values() and state.protocol.supports(COLUMN_MAPPING)
    files = list(state.live_files)
    differences: dict[str, FileDifference | None] = {}
    if has_other_types or has_dropped_columns:
        differences = dict(zip((file.path for file in files), _differences(data, files, state)))

    def may_have_other_types(file: LiveFile) -> bool:
        difference = differences[file.path]
        return difference is None or difference.types

    def may_have_dropped_columns(file: LiveFile) -> bool:
        difference = differences[file.path]
        return difference is None or difference.columns

    costs: dict[str, RewriteCost] = {}
    for name, kind in rewrites.items():
        if kind is Rewrites.ALL:
            rewritten = files if is_in_use(name, state) else []
        elif kind is Rewrites.OF_OTHER_TYPES:
            rewritten = [file for file in files if has_other_types and may_have_other_types(file)]
        elif kind is Rewrites.WITH_VECTORS:
            rewritten = [
                file for file in files if _deletes(file) or (has_dropped_columns and may_have_dropped_columns(file))
            ]
        else:
            continue
        unread = sum(1 for file in rewritten if file.path in differences and differences[file.path] is None)
        costs[name] = RewriteCost(len(rewritten), sum(file.size for file in rewritten), unread)
    return costs


def _differences(data: DeltaFiles, files: list[LiveFile], state: TableState) -> Iterable[FileDifference | None]:
    """Return for each file how its schema differs from the table's; None if its footer cannot be read."""
    differences = FileDifferences(state.metadata)

    def compare(file: LiveFile, tail: bytes | Exception) -> FileDifference | None:
        try:
            return differences.of(data.footer(file, tail).schema)
        except (MissingFileError, FooterError, UnreadFileError):
            return None

    return (compare(file, tail) for file, tail in data.read_each(data.tail, files))


def _deletes(file: LiveFile) -> bool:
    """Return True if a deletion vector deletes rows of the file."""
    return file.deletion_vector is not None and file.deletion_vector.cardinality > 0


#: Tries a plan on an empty copy of the table. Returns the plan with its notes, and the engine's refusals.
Rehearse = Callable[[OpenTable, MigrationPlan], tuple[MigrationPlan, tuple[Finding, ...]]]


def without_rehearsal(_table: OpenTable, plan: MigrationPlan) -> tuple[MigrationPlan, tuple[Finding, ...]]:
    """Return a plan with a note that no engine has tried it."""
    notes = (NOT_REHEARSED,) if steps_to_rehearse(plan.steps) else ()
    return replace(plan, notes=(*plan.notes, *notes)), ()


def run(
    session: DeltaSession,
    text: str,
    request: JobRequest,
    progress: Progress,
    rehearse: Rehearse = without_rehearsal,
) -> TableReport:
    """Plan the migration of one table, and report the plan or why there is none.

    :param text: name of the table
    """
    options, timings = cast("PlanMigrationOptions", request.options), Timings()
    table = session.open_table(text)
    with timings.phase("plan"):
        state = table.log.read_state()
        planned = plan_for_table(session, table, options.spec_of(text), options, state)
    plan, refusals = planned.plan, planned.refusals
    if plan is not None:
        plan, refusals = rehearse(table, plan)
    fields: dict[str, Any] = {
        "version": state.version,
        "version_before": state.version,
        "protocol_before": state.protocol.to_json(),
        "protocol_after": (state.protocol if plan is None else plan.protocol_after).to_json(),
        "plan": None if plan is None else plan.to_json(),
        "timings": timings,
    }
    if plan is None or refusals:
        return TableReport.refused(table.name.text, *refusals, **fields)
    summary = f"{len(plan.steps)} step{'s' * (len(plan.steps) != 1)}" if plan.steps else "nothing to do"
    progress(f"{table.name.text}: {summary} at version {state.version}")
    return TableReport.of_findings(table.name.text, *plan.findings, **fields)


def plan_for_table(
    session: DeltaSession,
    table: OpenTable,
    spec: TableSpec,
    options: JudgesPlans,
    state: TableState,
    engine: Engine | None = None,
    *,
    disprove: bool = True,
) -> PlanningResult:
    """Plan the migration of a table to its declared state, and check the plan against the policy.

    :func:`plan_migration` makes the plan. This function reads from the table what it needs.

    :param state: state to plan on
    :param engine: engine that will execute the plan; None if it is not known yet
    :param disprove: True to refuse a plan that statistics in the log disprove; not needed if the rows are read
        afterwards
    :raises BrokenLogError: if the log is damaged
    :raises TableError: if the table that the spec's ``like`` names does not exist
    """
    spec = with_like_columns(session, spec)
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
    return replace(planned, plan=_check_policy(table, planned.plan, options))


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


def _check_policy(table: OpenTable, plan: MigrationPlan, options: JudgesPlans) -> MigrationPlan:
    """Return a plan with findings about its changes and about engines that it locks out, and why it needs approval."""
    now, name = datetime.now(timezone.utc), table.name.text
    policy = Policy.parse(options.policy)
    table_policy = policy.of(name)
    preflight = preflight_of(table, plan, plan.before, options.fleet)
    lockouts = policy.applied(preflight.found, name, now.date())
    migration = migration_to_lint(
        plan.steps,
        plan.before,
        features_added=plan.protocol_after.features - plan.protocol_before.features,
        most_rewritten=table_policy.most_rewritten,
    )
    if any(migration.new_names):  # a new name may be that of a column that was dropped earlier
        migration = replace(migration, dropped_earlier=dropped_columns(table.log, plan.before))
    lint = policy.lint(migration, name, now.date())
    codes = {finding.code for finding in lockouts if finding.is_open}
    approval = approval_reasons(
        migration,
        (*lint, *lockouts),
        table_policy,
        locks_out=bool(codes - UNKNOWN_ENGINES),
        may_lock_out=bool(codes & UNKNOWN_ENGINES),
        has_policy=options.policy is not None,
    )
    unknown_engines = tuple(member.name for member, _ in preflight.unknown())
    return replace(plan, lint=lint, locked_out=lockouts, approval=approval, unknown=unknown_engines)


#: Only so many of the newest commits are searched for dropped columns.
_MOST_COMMITS = 1_000
#: A commit without it changes no column.
_METADATA = b'"metaData"'


def dropped_columns(log: TableLog, head: TableState) -> tuple[Parts, ...]:
    """Return columns that recent versions had and that were dropped since. Renamed columns do not count.

    The result is only for a warning. So, unlike :class:`PastColumns`, it may be incomplete: commits that cannot be read
    are skipped.

    :param head: newest state
    """
    present = {stored for _, stored in _columns(head.metadata)}
    versions = [version for version in commit_versions(log.list_names()) if version <= head.version]
    names = [commit_name(version) for version in versions[-_MOST_COMMITS:]]
    dropped: dict[Parts, Parts] = {}
    with suppress(MissingFileError):  # cleaned up in the meantime
        for name, content in zip(names, log.read_files(names)):
            with suppress(BrokenLogError, ValueError):
                for metadata in _metadata_in(name, content):
                    dropped |= {lowered(path): path for path, stored in _columns(metadata) if stored not in present}
    return tuple(dropped.values())


def _metadata_in(name: str, content: bytes) -> list[Metadata]:
    actions = parse_commit(name, content) if _METADATA in content else []
    return [Metadata.from_json(action["metaData"]) for action in actions if "metaData" in action]


def _columns(metadata: Metadata) -> Iterator[tuple[Parts, Parts]]:
    """Yield the columns and fields, each with its path in data files, which a rename does not change."""
    mode = metadata.properties.mapping_mode
    for column in metadata.readable_columns or ():
        if column.kinds[-1] == "field":
            yield column.parts, lowered(physical_parts(column, metadata.schema, mode))


def preflight_of(table: OpenTable, plan: Plan, state: TableState, fleet: Mapping[str, Any] | None) -> Preflight:
    """Return the engines that a plan locks out or may lock out. Reads the log only if the plan can affect engines.

    :param state: state that the plan was made on
    :param fleet: content of the fleet file
    """
    if not affects_engines(plan, state):
        return Preflight()
    writers = writers_within(table.log, state, RECENT_DAYS, datetime.now(timezone.utc))
    members = fleet_of(fleet, table.name, table.location)

    def decide(before: Demands, after: Demands) -> Mapping[Clause, Decision]:
        engines = engines_of(members, writers)
        return decisions_about_files(table.log, files=None, state=state, engines=engines, demands=after, before=before)

    return Preflight.of(plan, state, members, writers, decide)
