"""What is left of features that were dropped, or wait for their history to be old enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from airflow_delta_provider.domain.checks.protocol import rules as protocol_rules
from airflow_delta_provider.domain.delta.features.lists import has_feature
from airflow_delta_provider.domain.delta.features.log import CHECKPOINT_PROTECTION
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.features.removal import REMOVALS, in_order
from airflow_delta_provider.domain.delta.features.traces import is_in_use
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions


def features_of(options: DropFeatureOptions, protocol: Protocol) -> tuple[str, ...]:
    """Return the features of a request that a table has, in the order in which they have to go."""
    return in_order(tuple(n for n in (feature_named(f).name for f in options.features) if n in protocol.features))


def verify_dropped(
    options: DropFeatureOptions, state: TableState, earliest: Mapping[str, datetime], *, promised: Protocol | None
) -> Iterator[Finding]:
    """Yield what is wrong with a table whose features should be gone, or wait for their history.

    :param state: the table, with its files
    :param earliest: by feature that no longer is in use, when the history with traces of it may be truncated
    :param promised: the protocol that the plan led to; None where nothing was done
    """
    present = features_of(options, state.protocol)
    for name in present:
        if options.truncate_history and REMOVALS[name].truncates and not _is_used(name, state):
            yield waiting(name, state.version, earliest.get(name))
        else:
            yield protocol_rules.FEATURE_NOT_DROPPED.finding(
                f"{name} is still in the protocol at version {state.version}. Run the job again; if it stays so, "
                "another writer takes it back: look at the table's history.",
                version=state.version,
                subject=name,
            )
    for name in (feature_named(text).name for text in options.features) if promised else ():
        if name not in present and name in REMOVALS and _left_over(name, state):
            yield protocol_rules.FEATURE_NOT_DROPPED.finding(
                f"{name} is no longer in the protocol, but the table still has traces of it at version "
                f"{state.version}: engines that do not know the feature misread them. RESTORE the table to the version "
                "before, and run the job again.",
                version=state.version,
                subject=name,
            )
    unexpected = state.protocol.features - promised.features if promised and not present else frozenset()
    if CHECKPOINT_PROTECTION.name in unexpected:
        yield protocol_rules.FEATURE_NOT_DROPPED.finding(
            f"{CHECKPOINT_PROTECTION} was added, which this plan does not do: "
            f"{CHECKPOINT_PROTECTION.who_is_locked_out(())} Look into the table's history; {CHECKPOINT_PROTECTION} can "
            "be dropped by truncating it.",
            version=state.version,
            subject=CHECKPOINT_PROTECTION.name,
        )


def _left_over(name: str, state: TableState) -> bool:
    """Whether a table has traces of a feature that it no longer has, be it as a preview or as a stable one."""
    return not has_feature(state.protocol.features, name) and is_in_use(name, state)


def _is_used(name: str, state: TableState) -> bool:
    """Whether a table still uses a feature; what only protects history is in use as long as that is there."""
    return not REMOVALS[name].only_truncating and is_in_use(name, state)


def waiting(name: str, version: int, earliest: datetime | None) -> Finding:
    """Return the finding about a feature that waits for its history.

    :param earliest: when that may be truncated; None where the table does not say
    """
    when = None if earliest is None else earliest.isoformat(timespec="milliseconds")
    at = f"from {_shown(earliest)} on" if earliest else "when the retention period is over"
    return protocol_rules.DROP_WAITS.finding(
        f"The table no longer uses {name}, but its history has traces of it that may be truncated {at}. Run the same "
        "job again then; it drops the feature.",
        version=version,
        subject=name,
        earliest=when,
    )


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time.second == 0 else f"{time:%Y-%m-%d %H:%M:%S} UTC"
