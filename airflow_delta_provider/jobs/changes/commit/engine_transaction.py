"""A transaction of the engine: the version that it reads, and one commit of actions made here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

from pyspark.sql import DataFrame

from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession

_DELTA = "org.apache.spark.sql.delta"


@dataclass(frozen=True)
class WrittenFile:
    """A data file that a transaction has written.

    :param action: Java's ``AddFile``
    :param path: path, as in the log
    :param partition_values: values by physical name, as in the log
    """

    action: Any
    path: str
    partition_values: Mapping[str, str | None]

    @classmethod
    def of(cls, action: Any) -> WrittenFile:
        add = json.loads(action.json())["add"]
        return cls(action, add["path"], add["partitionValues"])


class EngineTransaction:
    """A transaction that starts on the newest version.

    The engine rebases its commit over commits that only add or remove files. If another commit changed metadata or
    protocol in the meantime, it fails with ``DELTA_METADATA_CHANGED`` or ``DELTA_PROTOCOL_CHANGED``.
    """

    def __init__(self, session: SparkDeltaSession, location: str) -> None:
        self._jvm: Any = session.spark._jvm
        path = self._jvm.org.apache.hadoop.fs.Path(location)
        log = self._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session.spark._jsparkSession, path)
        self._transaction = log.startTransaction()

    def bar_new_files(self) -> None:
        """Let the commit fail with ``DELTA_CONCURRENT_APPEND`` if another commit adds files in the meantime."""
        self._transaction.readWholeTable()

    @property
    def version(self) -> int:
        """The version that the transaction reads."""
        return int(self._transaction.snapshot().version())

    @property
    def metadata(self) -> dict[str, Any]:
        """The metaData action of that version; after an update, the action that the commit will write."""
        wire: dict[str, Any] = json.loads(self._transaction.metadata().json())["metaData"]
        return wire

    @property
    def protocol(self) -> dict[str, Any]:
        """The protocol action of that version; after an update, the action that the commit will write."""
        wire: dict[str, Any] = json.loads(self._transaction.protocol().json())["protocol"]
        return wire

    def update_metadata(self, metadata: Mapping[str, Any]) -> None:
        """Set the metaData action that the commit will write. May be called once.

        The engine assigns ids and physical names to new columns. It also adds the features to the protocol that
        properties and types need.

        :raises Py4JJavaError: if the engine refuses a property or the schema
        """
        before = self.metadata.get("configuration", {})
        after: Mapping[str, str] = metadata.get("configuration", {})
        same = {name: value for name, value in after.items() if before.get(name) == value}
        new = {name: value for name, value in after.items() if name not in same}
        configuration = {**same, **self._validated(new)}
        self._transaction.updateMetadata(
            self._action({"metaData": {**metadata, "configuration": configuration}}), False
        )

    def commit_metadata(self) -> int:
        """Commit the updated metadata; return the version.

        The operation is one of the engine's own: ``UPDATE SCHEMA`` if the schema changes, else ``SET TBLPROPERTIES``
        or ``UNSET TBLPROPERTIES``.
        """
        old, new = self._transaction.snapshot().metadata(), self._transaction.metadata()
        was, now = (json.loads(each.json())["metaData"] for each in (old, new))
        before, after = (each.get("configuration", {}) for each in (was, now))
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        if was.get("description") != now.get("description"):
            changed["comment"] = now.get("description") or ""
        gone = sorted(before.keys() - after.keys())
        if was["schemaString"] != now["schemaString"]:
            operation = self._operation("UpdateSchema", old.schema(), new.schema())
        elif gone and not changed:
            operation = self._operation("UnsetTableProperties", self._sequence(gone), True)
        else:
            operation = self._operation("SetTableProperties", self._jvm.PythonUtils.toScalaMap(changed))
        return self._commit([], operation)

    def write(self, rows: DataFrame) -> list[WrittenFile]:
        """Write rows into new files, which no reader sees until they are committed.

        The engine checks constraints and NOT NULL. It does not cast: the rows need the types of the updated schema.

        :raises Py4JJavaError: if the engine refuses a row
        """
        return [WrittenFile.of(action) for action in _each(self._transaction.writeFiles(rows._jdf))]

    def replace_all(self, files: Iterable[WrittenFile]) -> int:
        """Replace all files of the version that the transaction reads, and commit the updated metadata.

        The commit fails with ``DELTA_CONCURRENT_APPEND`` or a similar error if another commit adds or removes files
        in the meantime.

        :raises Py4JJavaError: if another writer was faster
        """
        self.bar_new_files()
        removed = [file.remove() for file in _each(self._transaction.filterFiles())]
        return self._commit([*(file.action for file in files), *removed], self._overwriting())

    def remove_column_mapping(self, actions: Sequence[Mapping[str, Any]]) -> int:
        """Commit ``actions`` as the operation ``REMOVE COLUMN MAPPING``; return the version."""
        nothing = getattr(getattr(self._jvm, "scala.None$"), "MODULE$")
        return self._commit(list(map(self._action, actions)), self._operation("RemoveColumnMapping", nothing))

    def _validated(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Return properties as SET TBLPROPERTIES would set them, in Delta's own spelling."""
        known = getattr(getattr(self._jvm, f"{_DELTA}.DeltaConfigs$"), "MODULE$")
        pairs = known.validateConfigurations(self._jvm.PythonUtils.toScalaMap(dict(properties)))
        return {pair._1(): pair._2() for pair in _each(pairs)}

    def _overwriting(self) -> Any:
        """Return the operation ``WRITE`` in mode Overwrite. Its number of further parameters depends on the release."""
        write = getattr(getattr(self._jvm, f"{_DELTA}.DeltaOperations$Write$"), "MODULE$")
        methods = {method.getName() for method in write.getClass().getMethods()}
        defaults = takewhile(methods.__contains__, (f"apply$default${number}" for number in count(2)))
        arguments = [getattr(write, name)() for name in defaults]
        return self._operation("Write", self._jvm.org.apache.spark.sql.SaveMode.Overwrite, *arguments)

    def _commit(self, actions: Sequence[Any], operation: Any) -> int:
        return int(self._transaction.commit(self._sequence(actions), operation))

    def _action(self, wire: Mapping[str, Any]) -> Any:
        return getattr(self._jvm, f"{_DELTA}.actions.Action").fromJson(json.dumps(wire))

    def _operation(self, name: str, *arguments: Any) -> Any:
        return getattr(self._jvm, f"{_DELTA}.DeltaOperations${name}")(*arguments)

    def _sequence(self, values: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(values))


def _each(values: Any) -> Iterator[Any]:
    """Yield the items of a Scala collection."""
    iterator = values.iterator()
    while iterator.hasNext():
        yield iterator.next()
