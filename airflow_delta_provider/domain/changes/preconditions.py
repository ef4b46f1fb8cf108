"""Conditions that a table has to meet before any plan may change it."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.external_owners import managing
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.suggestion import did_you_mean


def check_table(table: str, protocol: Protocol, engine: Engine) -> Finding | None:
    """Return a refusal if this engine must not change a table with this protocol."""
    if managed := managing(protocol, {}):
        return requests.catalog_managed(table, managed[0])
    features = (protocol.reader_features or frozenset()) | (protocol.writer_features or frozenset())
    unknown = sorted(name for name in features if not engine.knows(name))
    if unknown:
        return requests.UNSUPPORTED_BY_ENGINE.finding(
            f"{engine} does not support these table features of {table}: {', '.join(unknown)}. Use an engine that does."
        )
    return None


def unknown_feature(name: str, engine: Engine, subject: str | None = None) -> Finding:
    """Return the refusal of a table feature that neither the engine nor this provider knows."""
    return requests.UNKNOWN_FEATURE.finding(
        f"There is no table feature {name!r}.{did_you_mean(name, FEATURES)} "
        f"{engine} and this provider know {', '.join(sorted(FEATURES))}.",
        subject=subject,
    )


def check_upgrade(plan: Plan, *, allowed: bool) -> Finding | None:
    """Return a refusal if the plan changes the protocol and that is not allowed."""
    if allowed or not plan.upgrades_protocol:
        return None
    added = sorted(plan.protocol_after.features - plan.protocol_before.features)
    steps = "\n".join(f"- {step['explanation']}" for step in plan.to_json()["steps"])
    return requests.PROTOCOL_UPGRADE.finding(
        f"This would change the protocol of {plan.table.text} from {plan.protocol_before} to "
        f"{plan.protocol_after}, adding {', '.join(added)}: readers and writers that do not support these are "
        f"locked out. The plan:\n{steps}\nIf every reader and writer of the table supports them, repeat the request "
        "with allow_protocol_upgrade=True (--allow-protocol-upgrade)."
    )


def is_tracked(state: TableState) -> bool:
    """Whether the table has usage tracking of column mapping, so no engine writes to it."""
    return state.protocol.supports(USAGE_TRACKING)


def check_not_tracked(table: str, state: TableState) -> Iterator[Finding]:
    """Yield a refusal where a table without usage tracking has its property: nothing may rely on that."""
    value = state.metadata.properties.dropped_or_renamed
    if value is not None:
        yield requests.TRACKING_INCOMPLETE.finding(
            f"{table} has {DROPPED_OR_RENAMED} = {value!r} but not the feature {USAGE_TRACKING}: engines drop and "
            "rename columns without setting the property, so its value means nothing. Unset it first: ALTER TABLE … "
            f"UNSET TBLPROPERTIES ('{DROPPED_OR_RENAMED}')."
        )


def check_tracked(table: str, state: TableState) -> Iterator[Finding]:
    """Yield a refusal where a table with usage tracking does not say whether columns were dropped or renamed."""
    value = state.metadata.properties.dropped_or_renamed
    if value not in ("true", "false"):
        yield requests.TRACKING_INCOMPLETE.finding(
            f"{table} has the feature {USAGE_TRACKING}, but {DROPPED_OR_RENAMED} is "
            f"{'missing' if value is None else repr(value)}: it is unknown whether a column was ever dropped or "
            "renamed, and nothing may rely on it. Drop the feature, then enable it again."
        )
