"""The preflight of a change: which recent writers and declared engines it locks out."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from airflow_delta_provider.domain.changes.expected_protocol import written_types
from airflow_delta_provider.domain.changes.lockouts import kept_engines, lockouts, unreadable_demands
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.step import SetProperties, Step, WidenColumns, each_step
from airflow_delta_provider.domain.changes.widen_types import Widening
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import (
    READ_LOCKED,
    UNIDENTIFIED_WRITER,
    UNKNOWN_SUPPORT,
    WRITE_LOCKED,
)
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, parse_type
from airflow_delta_provider.domain.delta.demands import demands_of, unlisted_features
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named, with_requirements
from airflow_delta_provider.domain.delta.features.types import (
    TIMESTAMP_NTZ_FEATURE,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.type_widening import TypeChange
from airflow_delta_provider.domain.engine.fleet import Member, TableFleet
from airflow_delta_provider.domain.engine.profiles.access import Demands
from airflow_delta_provider.domain.engine.recent_writer import RecentWriters
from airflow_delta_provider.domain.report.finding import Finding

#: Codes of findings about engines whose support for the table is unknown.
UNKNOWN_ENGINES = frozenset(rule.code for rule in (UNKNOWN_SUPPORT, UNIDENTIFIED_WRITER))


def demands_with(state: TableState, features: Iterable[str], widenings: Sequence[Widening]) -> Demands:
    """Return a table's demands once features are enabled and columns are widened.

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
    """Return a table's demands once a plan is applied.

    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    each = list(each_step(plan.steps))
    columns = [column for step in each if isinstance(step, WidenColumns) for column in step.columns]
    types = written_types(each)
    after = demands_of(
        plan.protocol_after,
        _with_properties(state.metadata, each),
        [TypeChange(str(parse_type(column.old)), str(parse_type(column.new))) for column in columns],
        {
            *(plan.protocol_after.features - state.protocol.features),
            *(feature.name for feature in FEATURES.values() if feature.column_type in types),
        },
    )
    # The engine lists the features that a change needs, and stops using a feature before it drops it.
    still_unlisted = unlisted_features(state.protocol, state.metadata) - plan.protocol_after.features
    return replace(after, unlisted=still_unlisted)


def _with_properties(metadata: Metadata, each: Iterable[Step]) -> Metadata:
    """Return metadata with the properties that steps set: a property can put a feature in use."""
    properties = {name: value for step in each if isinstance(step, SetProperties) for name, value in step.properties}
    if not properties:
        return metadata
    wire = metadata.to_json()
    return Metadata.from_json({**wire, "configuration": {**wire.get("configuration", {}), **properties}})


def affects_engines(plan: Plan, state: TableState) -> bool:
    """Return True if a plan may lock out an engine that can use the table now.

    :param state: state of the table when the plan was made
    """
    if plan.upgrades_protocol or any(isinstance(step, WidenColumns) for step in each_step(plan.steps)):
        return True
    try:
        return demands_of(state.protocol, state.metadata) != demands_after(plan, state)
    except (ValueError, BrokenLogError):
        return False


@dataclass(frozen=True)
class Preflight:
    """The engines that a plan locks out, or may lock out.

    :param found: findings about all engines that are known
    :param kept: findings about the engines that a fleet file keeps, each with its engine
    """

    found: tuple[Finding, ...] = ()
    kept: tuple[tuple[Member, Finding], ...] = ()

    @classmethod
    def of(cls, plan: Plan, state: TableState, fleet: TableFleet, writers: RecentWriters) -> Preflight:
        """Check a plan against the engines of a table.

        :param state: state of the table when the plan was made
        """
        try:
            before, after = demands_of(state.protocol, state.metadata), demands_after(plan, state)
        except (ValueError, BrokenLogError) as error:
            kept = unreadable_demands(error, fleet)
            return cls(tuple(finding for _, finding in kept), kept)
        return cls(lockouts(before, after, fleet, writers), kept_engines(before, after, fleet, writers))

    def unknown(self) -> Iterator[tuple[Member, Finding]]:
        """Yield the engines that a fleet file keeps and whose support is unknown."""
        return ((member, finding) for member, finding in self.kept if finding.code == UNKNOWN_SUPPORT.code)


@dataclass(frozen=True)
class Cleared:
    """A plan after its preflight.

    :param plan: the plan, with notes about engines that it locks out or may lock out
    :param refusals: reasons not to apply it; no permission allows a lock-out that a fleet file forbids
    :param undecided: findings about kept engines whose support is unknown; until the request accepts them, the plan
        must not be applied
    """

    plan: Plan
    refusals: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()


def with_lockouts(
    plan: Plan, refusals: Sequence[Finding], preflight: Preflight, accepted: Collection[str] = ()
) -> Cleared:
    """Return the plan and its refusals, with the locked-out engines named in them.

    :param accepted: names of kept engines whose unknown support the request accepts
    """
    sentences = [str(finding.evidence) for finding in preflight.found]
    named = tuple(_naming(refusal, [*_headline(preflight.found), *sentences]) for refusal in refusals)
    undecided, notes = [], []
    for member, finding in preflight.unknown():
        if any(member.is_called(name) for name in accepted):
            notes.append(f"The request accepts that the support of {member.name} is unknown.")
        else:
            undecided.append(_to_accept(finding))
    forbidden = tuple(finding for _, finding in preflight.kept if finding.code != UNKNOWN_SUPPORT.code)
    noted = replace(plan, notes=(*plan.notes, *sentences, *notes))
    return Cleared(noted, (*named, *forbidden), tuple(undecided))


def _to_accept(finding: Finding) -> Finding:
    """Return a finding about unknown support whose remedy says how to accept it."""
    known = UNKNOWN_SUPPORT.remedy if finding.remedy is None else finding.remedy
    accept = (
        f"To change the table nevertheless, repeat the request with accept_unknown=[{finding.subject!r}] "
        f"(--accept-unknown {shlex.quote(str(finding.subject))})."
    )
    return UNKNOWN_SUPPORT.worded(replace(finding, remedy=f"{known} {accept}"))


def _headline(found: Iterable[Finding]) -> Iterator[str]:
    """Yield a sentence that names the locked-out engines that wrote recently."""
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
