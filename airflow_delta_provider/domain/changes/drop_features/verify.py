"""Verification that features were dropped, or wait until their history is old enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.protocol.outcomes import DROP_WAITS, FEATURE_NOT_DROPPED
from airflow_delta_provider.domain.delta.features.lists import has_feature
from airflow_delta_provider.domain.delta.features.log import CHECKPOINT_PROTECTION
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.features.traces import REMOVALS, in_order, is_in_use
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions


def features_of(options: DropFeatureOptions, protocol: Protocol) -> tuple[str, ...]:
    """Return the requested features that a table has, in the required order of dropping them."""
    return in_order(tuple(n for n in (feature_named(f).name for f in options.features) if n in protocol.features))


@on_demand(FEATURE_NOT_DROPPED)
def verify_dropped(
    options: DropFeatureOptions, state: TableState, earliest: Mapping[str, datetime], *, promised: Protocol | None
) -> Iterator[Finding]:
    """Yield problems of a table whose features should be dropped, or wait for their history.

    :param state: state of the table, with its files
    :param earliest: time when history with traces may be truncated, by feature that is no longer in use
    :param promised: protocol that the plan leads to; None if nothing was done
    """
    present = features_of(options, state.protocol)
    for name in present:
        if options.truncate_history and REMOVALS[name].truncates and not _is_used(name, state):
            yield waiting(name, state.version, earliest.get(name))
        else:
            yield FEATURE_NOT_DROPPED.found(
                "{subject} is still in the protocol at version {version}.", version=state.version, subject=name
            )
    for name in (feature_named(text).name for text in options.features) if promised else ():
        if name not in present and name in REMOVALS and _left_over(name, state):
            yield FEATURE_NOT_DROPPED.found(
                "{subject} is no longer in the protocol, but the table still has traces of it at version {version}.",
                effect="Engines that do not know the feature misread them.",
                remedy="RESTORE the table to the previous version, and run the job again.",
                version=state.version,
                subject=name,
            )
    unexpected = state.protocol.features - promised.features if promised and not present else frozenset()
    if CHECKPOINT_PROTECTION.name in unexpected:
        yield FEATURE_NOT_DROPPED.found(
            "{subject} was added, which this plan does not do.",
            effect=CHECKPOINT_PROTECTION.who_is_locked_out(()),
            remedy="Check the table's history for another writer; to drop the feature, truncate the history.",
            version=state.version,
            subject=CHECKPOINT_PROTECTION.name,
        )


def _left_over(name: str, state: TableState) -> bool:
    """Return True if a table has traces of a feature that it no longer has.

    A preview and its stable feature count as the same feature.
    """
    return not has_feature(state.protocol.features, name) and is_in_use(name, state)


def _is_used(name: str, state: TableState) -> bool:
    """Return True if a table still uses a feature.

    A feature that only protects history does not count: it is in use as long as that history exists.
    """
    return not REMOVALS[name].only_truncating and is_in_use(name, state)


@on_demand(DROP_WAITS)
def waiting(name: str, version: int, earliest: datetime | None) -> Finding:
    """Return the finding for a feature that waits for its history.

    :param earliest: time when the history may be truncated; None if unknown
    """
    waits = "The table's history has traces of {subject}, which may be truncated "
    if earliest is None:
        return DROP_WAITS.found(f"{waits}when the retention period is over.", version=version, subject=name)
    found = DROP_WAITS.found(f"{waits}from {{since}} on.", version=version, subject=name, since=_shown(earliest))
    return replace(found, earliest=earliest.isoformat(timespec="milliseconds"))


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time.second == 0 else f"{time:%Y-%m-%d %H:%M:%S} UTC"
