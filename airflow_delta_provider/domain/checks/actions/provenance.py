"""The provenance information of a commit: AC20."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.actions.family import FAMILY, UPDATE
from airflow_delta_provider.domain.checks.check import on_transition
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

NO_TRANSACTION_ID = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Commit Provenance Information").error(
    20,
    "commit of a catalog-managed table without a transaction id",
    effect="Clients cannot tell whether a commit that the catalog ratified is their own, and may write it twice.",
    remedy=UPDATE,
    shows="commitInfo",
)


@on_transition(NO_TRANSACTION_ID)
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
