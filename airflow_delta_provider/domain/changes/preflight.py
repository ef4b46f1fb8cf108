"""The preflight of a change: which engines it locks out, of those that wrote recently and those that are declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.changes.lockouts import lockouts
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.step import WidenColumns, each_step
from airflow_delta_provider.domain.changes.widen_types import Widening
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import READ_LOCKED, WRITE_LOCKED
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, parse_type
from airflow_delta_provider.domain.delta.demands import demands_of
from airflow_delta_provider.domain.delta.features.registry import feature_named, with_requirements
from airflow_delta_provider.domain.delta.features.types import (
    TIMESTAMP_NTZ_FEATURE,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.type_widening import TypeChange
from airflow_delta_provider.domain.engine.fleet import TableFleet
from airflow_delta_provider.domain.engine.profiles.access import Demands
from airflow_delta_provider.domain.engine.recent_writer import RecentWriters
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


def demands_with(state: TableState, features: Iterable[str], widenings: Sequence[Widening]) -> Demands:
    """Return what a table demands once features are enabled and columns are widened.

    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    named = [feature_named(name).name for name in features]
    changed = [widening for widening in widenings if widening.column.data_type != widening.new]
    if changed and not (state.protocol.supports(TYPE_WIDENING) or state.protocol.supports(TYPE_WIDENING_PREVIEW)):
        named.append(TYPE_WIDENING.name)
    if any(widening.new == TIMESTAMP_NTZ for widening in changed):
        named.append(TIMESTAMP_NTZ_FEATURE.name)
    return demands_of(
        state.protocol.supporting(named),
        state.metadata,
        [TypeChange.of(widening.column, widening.new) for widening in changed],
        with_requirements(frozenset(named)),
    )


def demands_after(plan: Plan, state: TableState) -> Demands:
    """Return what a table demands once a plan is carried out.

    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    columns = [column for step in each_step(plan.steps) if isinstance(step, WidenColumns) for column in step.columns]
    return demands_of(
        plan.protocol_after,
        state.metadata,
        [TypeChange(str(parse_type(column.old)), str(parse_type(column.new))) for column in columns],
        plan.protocol_after.features - state.protocol.features,
    )


def affects_engines(plan: Plan) -> bool:
    """Whether a plan may lock an engine out that can use the table now."""
    return plan.upgrades_protocol or any(isinstance(step, WidenColumns) for step in each_step(plan.steps))


def plan_lockouts(plan: Plan, state: TableState, fleet: TableFleet, writers: RecentWriters) -> tuple[Finding, ...]:
    """Return which engines a plan locks out, or may; nothing where the table's schema is damaged."""
    try:
        before, after = demands_of(state.protocol, state.metadata), demands_after(plan, state)
    except (ValueError, BrokenLogError):
        return ()
    return lockouts(before, after, fleet, writers)


def with_lockouts(
    plan: Plan, refusals: Sequence[Finding], found: Sequence[Finding], fleet: TableFleet
) -> tuple[Plan, tuple[Finding, ...]]:
    """Return the plan and its refusals with the engines that are locked out named in them.

    Where a fleet says that an engine has to stay, that is another refusal: no permission allows the change.

    :param found: as :func:`plan_lockouts` returns them
    """
    sentences = [str(finding.evidence) for finding in found]
    named = tuple(_naming(refusal, [*_headline(found), *sentences]) for refusal in refusals)
    return replace(plan, notes=(*plan.notes, *sentences)), (*named, *kept_by_policy(found, fleet))


def _headline(found: Iterable[Finding]) -> Iterator[str]:
    """Yield which of those that are locked out wrote recently, in a sentence."""
    codes = {READ_LOCKED.code, WRITE_LOCKED.code}
    wrote = [str(finding.subject) for finding in found if finding.code in codes and "commits" in (finding.facts or {})]
    if wrote:
        yield f"Recent writers that would be locked out: {', '.join(sorted(wrote))}."


def _naming(refusal: Finding, sentences: Sequence[str]) -> Finding:
    rule = requests.PROTOCOL_UPGRADE
    if refusal.code != rule.code or not sentences:
        return refusal
    effect = " ".join([*sentences, rule.effect if refusal.effect is None else refusal.effect])
    return rule.worded(replace(refusal, effect=effect))


def kept_by_policy(found: Iterable[Finding], fleet: TableFleet) -> Iterator[Finding]:
    """Yield those lock-outs that a fleet file forbids."""
    writing = {member.name for member in fleet.members if member.must_write}
    using = writing | {member.name for member in fleet.members if member.must_read}
    for finding in found:
        kept = writing if finding.code == WRITE_LOCKED.code else using
        if finding.severity is Severity.ERROR and finding.subject in kept:
            yield finding
