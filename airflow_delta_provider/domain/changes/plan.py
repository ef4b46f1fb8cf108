"""A plan: the steps of a job on one table, decided before anything is changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.steps import SetProperties, Step
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.engine_conditions import FutureVectors
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol, reader_features
from airflow_delta_provider.domain.delta.table_features import demands_of, managing
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import Access, known_lockouts, known_misreaders
from airflow_delta_provider.domain.engine.profile import release_with
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.report.answers import PlanAnswer, PlanStep
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import did_you_mean

#: Old names of steps and fields that were renamed. Digests use them, so digests stay the same.
_DIGEST_NAMES = {
    "Alteration": "AlterColumns",
    "DisableMapping": "RemoveMapping",
    "RewriteWithoutMapping": "RewriteUnmapped",
    "without_sql": "by_hand",
}


@dataclass(frozen=True)
class Plan:
    """Steps for one table, in order, and the resulting protocol.

    :param steps: steps; empty if there is nothing to do
    :param protocol_before: protocol of the version that the plan was made on
    :param notes: notes for users, to read before applying the plan
    :param once: True if applying it again would discard data written since
    """

    table: TableName
    steps: tuple[Step, ...]
    protocol_before: Protocol
    protocol_after: Protocol
    notes: tuple[str, ...] = ()
    once: bool = False

    @property
    def upgrades_protocol(self) -> bool:
        """True if the protocol changes, so readers or writers may be locked out."""
        return self.protocol_after != self.protocol_before

    @property
    def commits(self) -> int:
        """Expected number of commits."""
        return sum(step.commits for step in self.steps)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of table and steps, equal for plans with the same effect."""
        named = [{"step": _digest_name(type(step).__name__), **asdict(step)} for step in self.steps]
        steps = [{_digest_name(key): value for key, value in step.items()} for step in named]
        canonical = json.dumps({"table": self.table.text, "steps": steps}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports."""
        return PlanAnswer(
            digest=self.digest,
            commits=self.commits,
            steps=tuple(PlanStep(sql=step.sql(self.table), explanation=step.explanation) for step in self.steps),
            notes=self.notes,
        ).to_json()


def _digest_name(name: str) -> str:
    return _DIGEST_NAMES.get(name, name)


@dataclass(frozen=True)
class Planned:
    """A plan and the reasons against it. A plan with any refusal must not be applied.

    :param plan: the plan; None if none could be made
    """

    plan: Plan | None
    refusals: tuple[Finding, ...] = ()


class Draft:
    """A plan in the making, of one change or of a migration. Parts add steps to it, or refuse.

    :param state: state of the table before the first step
    """

    def __init__(self, table: TableName, state: TableState, engine: Engine) -> None:
        self.table = table
        self.before = self.state = state
        self.engine = engine
        self.steps: list[Step] = []
        self.refusals: list[Finding] = []
        self.notes: list[str] = []

    def take(self, *planned: Step) -> None:
        """Add steps."""
        self.steps += planned

    def support(self, names: Iterable[str]) -> None:
        """Continue with a protocol that supports more features."""
        self.state = replace(self.state, protocol=self.state.protocol.supporting(names))

    def plan(self) -> Plan:
        """Return the plan of the steps added so far."""
        return Plan(self.table, tuple(self.steps), self.before.protocol, self.state.protocol, tuple(self.notes))

    def planned(self) -> Planned:
        """Return the plan, or the refusals if there are any."""
        return Planned(None, tuple(self.refusals)) if self.refusals else Planned(self.plan())


def check_table(table: str, protocol: Protocol, engine: Engine) -> tuple[Finding, ...]:
    """Return why the engine must not change a table with this protocol; empty if it may."""
    if managed := managing(protocol, {}):
        return (requests.catalog_managed(table, managed[0]),)
    features = (protocol.reader_features or frozenset()) | (protocol.writer_features or frozenset())
    unknown = sorted(name for name in features if not engine.knows(name))
    if not unknown:
        return ()
    evidence = "{engine} does not support these table features of {table}: {features}."
    remedy = use_release_with(unknown)
    return (
        requests.UNSUPPORTED_BY_ENGINE.found(evidence, remedy=remedy, engine=engine, table=table, features=unknown),
    )


def check_needed(features: Collection[str], engine: Engine) -> Iterator[Finding]:
    """Yield a refusal if a change would add features that the engine does not know."""
    if unknown := sorted(name for name in features if not engine.knows(name)):
        yield requests.UNSUPPORTED_BY_ENGINE.found(
            "The change needs {features}, which {engine} does not support.",
            remedy=use_release_with(unknown),
            engine=engine,
            features=unknown,
        )


def use_release_with(features: Collection[str]) -> str | None:
    """Return a remedy that names the Delta release supporting the features; None if none is known."""
    release = release_with(features)
    return release and f"Use Delta {release} or later."


def unknown_feature(name: str, engine: Engine, subject: str | None = None) -> Finding:
    """Return the refusal for a table feature that neither the engine nor this provider knows."""
    return requests.UNKNOWN_FEATURE.found(
        "There is no table feature {feature!r}.{hint} {engine} and this provider know {known}.",
        subject=subject,
        feature=name,
        hint=Prose(did_you_mean(name, FEATURES)),
        engine=engine,
        known=Prose(", ".join(sorted(FEATURES))),
    )


def check_upgrade(plan: Plan, *, allowed: bool) -> Iterator[Finding]:
    """Yield a refusal if the plan changes the protocol and ``allowed`` is False."""
    if allowed or not plan.upgrades_protocol:
        return
    yield requests.PROTOCOL_UPGRADE.found(
        "The protocol of {table} would change from {before} to {after}, adding {added}. The plan: {steps}.",
        effect=" ".join(_lockouts(plan)),
        table=plan.table.text,
        before=plan.protocol_before,
        after=plan.protocol_after,
        added=sorted(plan.protocol_after.features - plan.protocol_before.features),
        steps=Prose("; ".join(step.explanation for step in plan.steps)),
    )


def _lockouts(plan: Plan) -> Iterator[str]:
    """Yield sentences that name the engines that misread the table after a protocol change, and those locked out."""
    before, after = plan.protocol_before, plan.protocol_after
    now, then = (replace(demands_of(each), traits=FutureVectors(each.features)) for each in (before, after))
    already = set(known_misreaders(now))
    if misreading := [engine for engine in known_misreaders(then) if engine not in already]:
        yield f"Engines that are known to misread the table then, without an error: {', '.join(misreading)}."
    yield requests.PROTOCOL_UPGRADE.effect
    reading = _newly(Access.READ, reader_features(before), reader_features(after))
    writing = [engine for engine in _newly(Access.WRITE, before.features, after.features) if engine not in reading]
    if reading:
        yield f"Engines that are known not to read the table then: {', '.join(reading)}."
    if writing:
        yield f"Engines that are known not to write it then: {', '.join(writing)}."


def _newly(access: Access, before: Collection[str], after: Collection[str]) -> list[str]:
    already = set(known_lockouts(access, before))
    return [engine for engine in known_lockouts(access, after) if engine not in already]


def is_tracked(state: TableState) -> bool:
    """Return True if the table has usage tracking of column mapping, so no engine writes to it."""
    return state.protocol.supports(USAGE_TRACKING)


def check_not_tracked(table: str, state: TableState) -> Iterator[Finding]:
    """Yield a refusal if a table has the property of usage tracking but not the feature.

    Nothing may rely on such a property.
    """
    value = state.metadata.properties.dropped_or_renamed
    if value is not None:
        yield requests.TRACKING_INCOMPLETE.found(
            "{table} has {property} = {value!r} but not the feature {feature}.",
            effect="Engines drop and rename columns without setting the property, so its value means nothing.",
            remedy=f"Unset it first: ALTER TABLE … UNSET TBLPROPERTIES ('{DROPPED_OR_RENAMED}').",
            table=table,
            property=DROPPED_OR_RENAMED,
            value=value,
            feature=USAGE_TRACKING,
        )


def check_tracked(table: str, state: TableState) -> Iterator[Finding]:
    """Yield a refusal if a table with usage tracking lacks a valid value of the tracking property."""
    value = state.metadata.properties.dropped_or_renamed
    if value not in ("true", "false"):
        yield requests.TRACKING_INCOMPLETE.found(
            "{table} has the feature {feature}, but {property} is " + ("missing." if value is None else "{value!r}."),
            table=table,
            feature=USAGE_TRACKING,
            property=DROPPED_OR_RENAMED,
            value=value,
        )


def left_behind(done: Sequence[Step], before: TableState, after: Protocol) -> str:
    """Return the effects of the first steps of a plan and how to undo them, in sentences.

    :param done: steps that succeeded
    :param before: state that the plan was made on
    :param after: current protocol
    """
    return " ".join(_sentences(done, before, after))


def _sentences(done: Sequence[Step], before: TableState, after: Protocol) -> Iterator[str]:
    if done:
        yield f"Done: {'; '.join(step.action for step in done)}."
    if after != before.protocol:
        yield f"The protocol was {before.protocol} and is now {after}."
    added = sorted(after.features - before.protocol.features)
    if removable := [name for name in added if name in REMOVALS]:
        yield f"To give the change up, drop {', '.join(removable)} (drop-feature)."
    if lasting := [name for name in added if name not in REMOVALS]:
        yield f"{', '.join(lasting)} cannot be dropped."
    undos = dict.fromkeys(step.effects(before).undo for step in done if not _only_enables(step))
    if undos:
        yield f"To undo these steps: {' '.join(undos)}"


def _only_enables(step: Step) -> bool:
    return isinstance(step, SetProperties) and bool(step.enables)
