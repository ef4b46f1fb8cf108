"""The Parquet files of checkpoints, read into actions: small ones by PyArrow, if it is there, others by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.jobs.delta.log import arrow_checkpoint
from airflow_delta_provider.jobs.session.engine_errors import damage
from airflow_delta_provider.jobs.session.spark_settings import configured
from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage, literal

_STATE_KINDS = ("protocol", "metaData", "domainMetadata", "sidecar")
_FILE_FIELDS = ("path", "size", "baseRowId", "defaultRowCommitVersion", "deletionVector")
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
    """Reads them where the session's Spark can read them."""

    def __init__(self, spark: SparkSession, storage: HadoopStorage) -> None:
        self._spark = spark
        self._storage = storage

    def actions(self, path: str, with_files: bool) -> Iterator[Action]:
        """Yield the actions of a Parquet file of a checkpoint.

        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        """
        name = path.rsplit("/", 1)[-1]
        if arrow_checkpoint.is_available() and self._storage.size(path) <= arrow_checkpoint.MOST_BYTES:
            fields = (*_FILE_FIELDS, "stats") if with_files else ()
            try:
                yield from arrow_checkpoint.read_actions(self._storage.read(path), _STATE_KINDS, fields)
            except BrokenLogError as error:
                raise BrokenLogError(f"checkpoint file {name} is damaged: {error}") from error
            return
        try:
            yield from self._read_parquet(path, with_files)
        except (PySparkException, Py4JJavaError) as error:
            found = damage(error)
            if found is None:
                self._storage.size(path)  # whether it is there at all
                if not isinstance(error, AnalysisException):
                    raise
                found = f"its columns are not those of a checkpoint ({error.getCondition()})"
            raise BrokenLogError(f"checkpoint file {name} is damaged: {found}") from error

    def _read_parquet(self, path: str, with_files: bool) -> Iterator[Action]:
        rows = self._spark.read.parquet(*literal([path]))
        columns = [kind for kind in _STATE_KINDS if kind in rows.columns]
        condition = " OR ".join(f"{kind} IS NOT NULL" for kind in columns)
        selected = [f"to_json({kind}) AS {kind}" for kind in columns]
        if with_files and "add" in rows.columns:
            present: Any = rows.schema["add"].dataType
            if not isinstance(present, StructType):
                raise BrokenLogError(f"the add actions of checkpoint file {path.rsplit('/', 1)[-1]} are no structs")
            fields = [f"'{name}', add.{name}" for name in _FILE_FIELDS if name in present.names]
            counts = [expression for name, expression in _NUM_RECORDS.items() if _has_count(present, name)]
            if counts:
                fields.append(f"'stats', coalesce({', '.join(counts)})")
            selected.append(f"CASE WHEN add IS NOT NULL THEN to_json(named_struct({', '.join(fields)})) END AS add")
            condition = " OR ".join(filter(None, [condition, "add IS NOT NULL"]))
        if not selected:
            raise BrokenLogError(f"checkpoint file {path.rsplit('/', 1)[-1]} holds no actions")
        # One small partition at a time: a table may have more files than fit here as rows all at once.
        with configured(self._spark, {_PARTITION_BYTES: _SMALL_PARTITION}):
            found = rows.where(condition).selectExpr(*selected).toLocalIterator()
        for row in found:
            yield {kind: json.loads(text) for kind, text in row.asDict().items() if text is not None}


def _has_count(add: Any, name: str) -> bool:
    """Whether a checkpoint's ``add`` can have the number of rows in the field ``name``."""
    if name not in add.names:
        return False
    names = getattr(add[name].dataType, "names", None)
    return names is None or "numRecords" in names
