"""A transaction of the engine: what it sees, and one commit of actions made here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession

_DELTA = "org.apache.spark.sql.delta"


class EngineTransaction:
    """Starts on the newest version.

    Its commit is rebased by the engine over commits that only add or remove files; one that changed metadata or
    protocol in the meantime makes it fail with ``DELTA_METADATA_CHANGED`` or ``DELTA_PROTOCOL_CHANGED``.
    """

    def __init__(self, session: SparkDeltaSession, location: str) -> None:
        self._jvm: Any = session.spark._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session.spark._jsparkSession, path)
        self._transaction = log.startTransaction()

    def bar_new_files(self) -> None:
        """Let the commit fail with ``DELTA_CONCURRENT_APPEND`` if another one adds files in the meantime."""
        self._transaction.readWholeTable()

    @property
    def version(self) -> int:
        """The version that it sees."""
        return int(self._transaction.snapshot().version())

    @property
    def metadata(self) -> dict[str, Any]:
        """The metaData action that it sees."""
        wire: dict[str, Any] = json.loads(self._transaction.metadata().json())["metaData"]
        return wire

    def protocol_with(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the protocol action that a commit of this metaData action would write, without committing.

        Do not use the transaction for anything else afterwards.
        """
        action = getattr(self._jvm, f"{_DELTA}.actions.Action").fromJson(json.dumps({"metaData": metadata}))
        self._transaction.updateMetadata(action, False)
        wire: dict[str, Any] = json.loads(self._transaction.protocol().json())["protocol"]
        return wire

    def remove_column_mapping(self, actions: Sequence[Mapping[str, Any]]) -> int:
        """Commit ``actions`` as the operation ``REMOVE COLUMN MAPPING``; return the version."""
        read = getattr(self._jvm, f"{_DELTA}.actions.Action").fromJson
        listed = [read(json.dumps(action)) for action in actions]
        operation = getattr(self._jvm, f"{_DELTA}.DeltaOperations$RemoveColumnMapping")
        nothing = getattr(getattr(self._jvm, "scala.None$"), "MODULE$")
        return int(self._transaction.commit(self._jvm.PythonUtils.toSeq(listed), operation(nothing)))
