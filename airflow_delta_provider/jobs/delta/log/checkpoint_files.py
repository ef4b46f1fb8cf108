"""The Parquet files of checkpoints, read into actions: small ones by PyArrow, if it is there, others by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.delta.commit import KINDS, Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.jobs.delta.log import arrow_checkpoint
from airflow_delta_provider.jobs.session.engine_errors import damage
from airflow_delta_provider.jobs.session.spark_settings import configured
from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage, literal

_STATE_KINDS = ("protocol", "metaData", "domainMetadata", "sidecar")
_FILE_FIELDS = ("path", "size", "baseRowId", "defaultRowCommitVersion", "deletionVector")
#: What a state is made of, by kinds of actions: of others all fields.
_STATE_FIELDS: Mapping[str, Sequence[str]] = {"add": (*_FILE_FIELDS, "stats", "stats_parsed")}
#: What a checkpoint is compared by: nothing that it has parsed, and nothing that it may leave out.
_COMPARED_FIELDS: Mapping[str, Sequence[str]] = {
    "add": (*_FILE_FIELDS, "partitionValues", "modificationTime", "tags", "clusteringProvider", "stats"),
    "remove": ("path", "deletionTimestamp", "deletionVector"),
}
_PARTITION_BYTES = "spark.sql.files.maxPartitionBytes"
#: Of a checkpoint, what the driver takes at once: some 80,000 files. By default it is 32 times as much, of which the
#: driver's heap would hold the rows.
_SMALL_PARTITION = "4m"
#: Where a checkpoint has the number of rows of a file, by the field of ``add`` that holds it.
_NUM_RECORDS = {
    "stats": "CAST(get_json_object(add.stats, '$.numRecords') AS BIGINT)",
    "stats_parsed": "add.stats_parsed.numRecords",
}


class CheckpointFiles:
    """Reads them where the session's Spark can read them.

    What PyArrow cannot read Spark is asked for, so that it does not matter which packages there are.
    """

    def __init__(self, spark: SparkSession | None, storage: HadoopStorage) -> None:
        self._spark = spark
        self._storage = storage

    def actions(self, path: str, with_files: bool) -> Iterator[Action]:
        """Yield the actions of a Parquet file of a checkpoint that make up a state.

        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        """
        return self._read(path, _STATE_FIELDS if with_files else {"add": ()}, (*_STATE_KINDS, "add"))

    def all_actions(self, path: str) -> Iterator[Action]:
        """Yield all actions of a Parquet file of a checkpoint, with what it has to say of them.

        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        """
        return self._read(path, _COMPARED_FIELDS, None)

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if it is missing
        """
        return self._storage.size(path)

    def _read(self, path: str, fields: Mapping[str, Sequence[str]], kinds: Sequence[str] | None) -> Iterator[Action]:
        name = path.rsplit("/", 1)[-1]
        found: object
        if arrow_checkpoint.is_available() and self._storage.size(path) <= arrow_checkpoint.MOST_BYTES:
            try:
                table = arrow_checkpoint.read_table(self._storage.read(path), fields, kinds)
            except BrokenLogError as error:
                found = error
            else:
                yield from _named(name, arrow_checkpoint.actions(table))
                return
            if self._spark is None:
                raise BrokenLogError(f"checkpoint file {name} is damaged: {found}")
        try:
            yield from self._read_with_spark(path, fields, kinds)
        except (PySparkException, Py4JJavaError) as error:
            found = damage(error)
            if found is None:
                self._storage.size(path)  # whether it is there at all
                if not isinstance(error, AnalysisException):
                    raise
                found = f"its columns are not those of a checkpoint ({error.getCondition()})"
            raise BrokenLogError(f"checkpoint file {name} is damaged: {found}") from error

    def _read_with_spark(
        self, path: str, fields: Mapping[str, Sequence[str]], kinds: Sequence[str] | None
    ) -> Iterator[Action]:
        assert self._spark is not None
        rows = self._spark.read.parquet(*literal([path]))
        columns = {}
        for column in rows.schema.fields:
            kind, wanted = column.name, fields.get(column.name)
            if (kinds is not None and kind not in kinds) or wanted == ():
                continue
            if not isinstance(column.dataType, StructType):
                if kind in KINDS:
                    raise BrokenLogError(f"the {kind} of checkpoint file {path.rsplit('/', 1)[-1]} is no struct")
                continue
            columns[kind] = _as_json(kind, column.dataType, wanted)
        if not columns:
            return
        condition = " OR ".join(f"{kind} IS NOT NULL" for kind in columns)
        # One small partition at a time: a table may have more files than fit here as rows all at once.
        with configured(self._spark, {_PARTITION_BYTES: _SMALL_PARTITION}):
            found = rows.where(condition).selectExpr(*columns.values()).toLocalIterator()
        for row in found:
            yield {kind: json.loads(text) for kind, text in row.asDict().items() if text is not None}


def _named(name: str, actions: Iterator[Action]) -> Iterator[Action]:
    try:
        yield from actions
    except BrokenLogError as error:
        raise BrokenLogError(f"checkpoint file {name} is damaged: {error}") from error


def _as_json(kind: str, struct: Any, wanted: Sequence[str] | None) -> str:
    """Return the expression that gives an action as JSON."""
    if wanted is None:
        return f"to_json(`{kind}`) AS `{kind}`"
    counted = "stats_parsed" in wanted
    fields = [
        f"'{name}', {kind}.{name}" for name in wanted if name in struct.names and not (counted and name in _NUM_RECORDS)
    ]
    counts = [expression for name, expression in _NUM_RECORDS.items() if counted and _has_count(struct, name)]
    if counts:
        fields.append(f"'stats', coalesce({', '.join(counts)})")
    described = f"to_json(named_struct({', '.join(fields)}))" if fields else "'{}'"
    return f"CASE WHEN {kind} IS NOT NULL THEN {described} END AS {kind}"


def _has_count(add: Any, name: str) -> bool:
    """Whether a checkpoint's ``add`` can have the number of rows in the field ``name``."""
    if name not in add.names:
        return False
    names = getattr(add[name].dataType, "names", None)
    return names is None or "numRecords" in names
