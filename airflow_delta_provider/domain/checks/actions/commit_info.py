"""The ``commitInfo`` of commits, and their in-commit timestamps: AC01, AC02, AC11, and provenance."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.actions import FAMILY, UPDATE
from airflow_delta_provider.domain.checks.check import on_transition
from airflow_delta_provider.domain.checks.rule import Details, Healing, Need, RepairMethod, Scope
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.table_properties import ENABLEMENT_VERSION
from airflow_delta_provider.domain.delta.table_state import Transition, due_enablement, has_timestamps
from airflow_delta_provider.domain.report.report import Finding

NO_TRANSACTION_ID = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Commit Provenance Information").error(
    20,
    "commit of a catalog-managed table without a transaction id",
    name="catalog-commit-without-transaction-id",
    effect="Clients cannot tell whether a commit that the catalog ratified is their own, and may write it twice.",
    remedy=UPDATE,
    shows="commitInfo",
)


@on_transition(NO_TRANSACTION_ID, reads=("commitInfo.txnId", "protocol"))
def _transaction_id(transition: Transition) -> Iterator[Finding]:
    if CATALOG_MANAGED.isdisjoint(transition.after.protocol.features):
        return
    txn_id = transition.commit.info.get("txnId")
    if not isinstance(txn_id, str) or not txn_id:
        yield NO_TRANSACTION_ID.found(
            "The catalog manages the table, but the commitInfo of the commit "
            + ("has no txnId." if txn_id is None else "has the txnId {txn_id!r}."),
            txn_id=txn_id,
        )


_SOURCE = "PROTOCOL.md, Writer Requirements for In-Commit Timestamps"
_CANNOT_BE_REPAIRED = "The log cannot be repaired; update the engine that wrote the commit."
_pair = FAMILY.of(Scope.PAIR, _SOURCE)
_OF_TIMESTAMPS = ("commitInfo.inCommitTimestamp", "order", "metaData", "protocol")

NO_TIMESTAMP = FAMILY.of(Scope.COMMIT, _SOURCE).error(
    1,
    "in-commit timestamp missing or not first",
    name="in-commit-timestamp-missing-or-misplaced",
    effect="Readers that look for a version by its time, or follow the table by time, fail or use wrong versions.",
    remedy=_CANNOT_BE_REPAIRED,
)
TIMESTAMP_NOT_LATER = _pair.error(
    2,
    "in-commit timestamp not later than the previous version's",
    name="in-commit-timestamp-not-increasing",
    effect="Readers that look for a version by its time get the wrong one.",
    remedy=_CANNOT_BE_REPAIRED,
    needs=(Need.STATE, Need.COMMIT),
)


@on_transition(NO_TIMESTAMP, TIMESTAMP_NOT_LATER, reads=(*_OF_TIMESTAMPS, "commitInfo.timestamp", "previous"))
def _timestamp(transition: Transition) -> Iterator[Finding]:
    if not has_timestamps(transition.after):
        return
    commit, previous = transition.commit, transition.past.previous
    now = commit.info.get("inCommitTimestamp")
    if not _is_timestamp(transition):
        yield NO_TIMESTAMP.found(
            "In-commit timestamps are enabled, but the commit "
            + ("does not begin with its commitInfo." if isinstance(now, int) else "has no inCommitTimestamp.")
        )
        return
    before = None if previous is None else previous.info.get("inCommitTimestamp")
    if has_timestamps(transition.before) and isinstance(before, int) and int(now or 0) <= before:
        yield TIMESTAMP_NOT_LATER.found(
            "The inCommitTimestamp of the commit is {now}, which is not later than {before}, the timestamp of the "
            "previous version.",
            now=now,
            before=before,
        )
    made = None if previous is None else previous.info.get("timestamp")
    if not has_timestamps(transition.before) and isinstance(made, int) and int(now or 0) < made:
        # The file time of the previous commit, which decides, is hardly earlier.
        yield TIMESTAMP_NOT_LATER.found(
            "The commit enables in-commit timestamps with {now}, which is before {made}, when the previous commit was "
            "made.",
            now=now,
            made=made,
        )


def _is_timestamp(transition: Transition) -> bool:
    """Return True if a commit begins with a ``commitInfo`` that has a timestamp."""
    now = transition.commit.info.get("inCommitTimestamp")
    return isinstance(now, int) and not isinstance(now, bool) and transition.commit.first_kind == "commitInfo"


def _due(_: Finding, transition: Transition) -> Details:
    return {"due": dict(due_enablement(transition))}


def _enablement_is_wrong(later: Transition, _: Finding, details: Details) -> bool:
    """Return True until the properties are right, or the timestamps are disabled."""
    right = dict(details["due"]).items() <= later.after.metadata.configuration.items()
    enabled_again = bool(later.commit.metadata) and not has_timestamps(later.before)
    return has_timestamps(later.after) and not right and not enabled_again


def _is_possible(name: str, value: str, transition: Transition) -> bool:
    """Return True if an enablement may have been at a version or time, as seen from a later commit."""
    latest = transition.commit.version if name == ENABLEMENT_VERSION else transition.commit.info["inCommitTimestamp"]
    return value.isdecimal() and 0 < int(value) <= latest


NO_ENABLEMENT = _pair.error(
    11,
    "in-commit timestamps enabled without recording since when",
    name="in-commit-timestamp-start-not-recorded",
    effect="Readers that look for a version by its time mistake file times for commit times, or fail.",
    remedy="Disable delta.enableInCommitTimestamps, and enable it again with an up-to-date engine, which sets "
    "delta.inCommitTimestampEnablementVersion and -Timestamp.",
    healing=Healing(_enablement_is_wrong, _due, needs_details=True),
    needs=(Need.STATE,),
    shows="metaData",
    repairs=(RepairMethod.TIMESTAMP_START, RepairMethod.EARLIER_VALUES),
)


@on_transition(NO_ENABLEMENT, reads=(*_OF_TIMESTAMPS, "version"))
def _enablement(transition: Transition) -> Iterator[Finding]:
    """Yield a finding about the enablement properties.

    For a later commit, only missing or impossible values are wrong: others may be corrections.
    """
    if not has_timestamps(transition.after) or not _is_timestamp(transition):
        return
    configuration, due = transition.after.metadata.configuration, due_enablement(transition)
    later = has_timestamps(transition.before)
    now = {name: configuration.get(name) for name in due}
    wrong = [
        name
        for name, value in now.items()
        if value is None or (value != due[name] and not (later and _is_possible(name, value, transition)))
    ]
    if wrong:
        yield NO_ENABLEMENT.found(
            f"The commit {'leaves' if later else 'enables'} in-commit timestamps{' enabled' if later else ''} on a "
            "table that has versions without them, but {wrong}.",
            wrong=[f"{name} is {configuration.get(name, 'missing')}, not {due[name]}" for name in wrong],
        )
