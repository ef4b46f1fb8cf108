"""Tables that this provider must not commit to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from airflow_delta_provider.domain.changes.commit.edit import NoTimestampError, has_in_commit_timestamps, timestamp_of
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.external_owners import iceberg_settings, managing
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import READER_FEATURES_VERSION, WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def check_writable(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons why this provider must not commit to a table itself; empty if it may."""
    return tuple(finding for rule in _RULES for finding in rule(table, state))


def check_timestamp(table: str, base: CommitBase) -> tuple[Finding, ...]:
    """Return a refusal if the next commit must be later than one whose timestamp is unknown."""
    if not has_in_commit_timestamps(base.state):
        return ()
    try:
        if base.previous is not None:
            timestamp_of(base.previous)
            return ()
        why = f"commit {base.state.version} is no longer in the log"
    except NoTimestampError as error:
        why = str(error)
    return (
        requests.NOT_WRITABLE.found(
            "The next commit of {table} needs a timestamp later than the previous one (feature inCommitTimestamp), but "
            "{why}.",
            remedy="Let an engine commit to the table first, then run the job again.",
            table=table,
            why=Prose(why),
        ),
    )


def _catalog_managed(table: str, state: TableState) -> Iterator[Finding]:
    if managed := managing(state.protocol, state.metadata.configuration):
        yield requests.catalog_managed(table, managed[0])


def _unknown_features(table: str, state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    newer = protocol.min_reader_version > READER_FEATURES_VERSION or protocol.min_writer_version > (
        WRITER_FEATURES_VERSION
    )
    unknown = sorted(protocol.features - FEATURES.keys())
    if newer or unknown:
        what = "the table features {unknown} of {table}" if unknown else "the protocol {protocol} of {table}"
        yield requests.NOT_WRITABLE.found(
            f"This provider does not know {what}, so it cannot tell which rules a commit must follow.",
            remedy="Use a version of the provider that does.",
            table=table,
            unknown=unknown,
            protocol=protocol,
        )


def _iceberg(table: str, state: TableState) -> Iterator[Finding]:
    if kept := iceberg_settings(state.metadata.configuration):
        yield requests.NOT_WRITABLE.found(
            "{table} is also an Iceberg table ({settings}). Its Iceberg readers would not see a commit that no "
            "engine wrote.",
            remedy="Disable that first.",
            table=table,
            settings=list(kept),
        )


_RULES: tuple[Callable[[str, TableState], Iterator[Finding]], ...] = (_catalog_managed, _unknown_features, _iceberg)
