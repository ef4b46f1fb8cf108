"""Conditions that a table must meet before any plan may change it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.external_owners import managing
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.lists import reader_features
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.engine.lockout import known_lockouts
from airflow_delta_provider.domain.engine.profiles.access import Access
from airflow_delta_provider.domain.engine.profiles.delta_spark import release_with
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.suggestion import did_you_mean


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
        steps=Prose("; ".join(map(explain, plan.steps))),
    )


def _lockouts(plan: Plan) -> Iterator[str]:
    """Yield sentences that name the engines a protocol change locks out."""
    yield requests.PROTOCOL_UPGRADE.effect
    before, after = plan.protocol_before, plan.protocol_after
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
