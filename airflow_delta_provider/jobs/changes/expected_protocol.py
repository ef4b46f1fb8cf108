"""The protocol that the engine will write, obtained from a transaction that is never committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_delta_provider.domain.changes.expected_protocol import one_at_a_time, proposed_metadata
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession

_NOTHING = {"schemaString": '{"fields":[]}'}
#: Class that runs most of the statements. It fails to load if this Delta was built for another Spark release.
_COMMAND = "org.apache.spark.sql.delta.commands.AlterTableSetPropertiesDeltaCommand"


def expected_protocol(session: SparkDeltaSession, location: str, steps: Sequence[Step]) -> Protocol | None:
    """Return the protocol that the engine gives a table for ``steps``; None if they do not affect it.

    :raises PySparkException: if the engine would refuse the properties or the types
    :raises Py4JJavaError: for the same reasons, or if the releases of Spark and Delta are incompatible
    """
    if proposed_metadata(_NOTHING, steps) is None:
        return None
    jvm: Any = session.spark._jvm
    jvm.org.apache.spark.util.Utils.classForName(_COMMAND, True, False)
    transaction = EngineTransaction(session, location)
    metadata = transaction.metadata
    proposed = proposed_metadata(metadata, steps)
    if proposed is None:
        return None
    features: frozenset[str] = frozenset()
    for each in one_at_a_time(metadata, proposed):
        transaction = EngineTransaction(session, location)
        transaction.update_metadata(each)
        written = Protocol.from_json(transaction.protocol)
        features |= written.features
    return written.supporting(features)
