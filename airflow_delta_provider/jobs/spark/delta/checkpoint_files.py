"""Parquet files of checkpoints that PyArrow does not read, read by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.checks import faults
from airflow_delta_provider.domain.delta.commit import KINDS, Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.jobs.delta.log.arrow_checkpoint import PARSED_COUNT
from airflow_delta_provider.jobs.delta.log.checkpoint_files import PARSED_FIELDS, CheckpointFiles, Wanted
from airflow_delta_provider.jobs.spark.session.engine_errors import condition_of, damage, understand
from airflow_delta_provider.jobs.spark.session.sql_settings import configured
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import literal
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

_PARTITION_BYTES = "spark.sql.files.maxPartitionBytes"
#: Size of the part of a checkpoint that the driver reads at once: some 80,000 files. The default is 32 times as much,
#: and the driver's heap would hold all of its rows.
_SMALL_PARTITION = "4m"
#: Several tables are read at once, and they share the session that this setting belongs to.
_configuring = Lock()
#: Expressions for the number of rows of a file in a checkpoint, by the field of ``add`` that contains it.
_NUM_RECORDS = {
    "stats": "CAST(get_json_object(add.stats, '$.numRecords') AS BIGINT)",
    "stats_parsed": "add.stats_parsed.numRecords",
}


class SparkCheckpointFiles(CheckpointFiles):
    """Reads small checkpoint files with PyArrow if it is installed: one Spark job takes longer than many of them.

    Spark reads files that PyArrow cannot read, so the result does not depend on installed packages.
    """

    _most_bytes = 16 * 1024 * 1024  # some 100,000 files of a table

    def __init__(self, spark: SparkSession, storage: TableStorage) -> None:
        super().__init__(storage)
        self._spark = spark

    def _read_otherwise(self, path: str, wanted: Wanted, budget: Budget, refused: Sequence[str]) -> Iterator[Action]:
        """Yield the actions of a file that PyArrow did not read, whatever its error."""
        name = path.rsplit("/", 1)[-1]
        before, yielded = budget.left, 0
        try:
            for action in self._read_with_spark(path, wanted, budget):
                yield action
                yielded += 1
        except (PySparkException, Py4JJavaError) as error:
            if (found := damage(error)) is not None:
                raise BrokenLogError(f"checkpoint file {name} is damaged: {found}") from error
            size = self._storage.size(path)  # fails if the file does not exist
            meaning = understand(error)
            is_of_columns = isinstance(error, AnalysisException)
            if yielded or meaning.rule is faults.STORAGE or (size > self._most_bytes and not is_of_columns):
                raise
            budget.give_back_to(before)
            said = condition_of(error) if is_of_columns else None
            refused = [*refused, f"Spark: {said or meaning.evidence.rstrip('.')}"]
            try:
                yield from self._read_with_python(path, wanted, budget, refused)
            except UnreadCheckpointError:
                if is_of_columns:
                    raise
                raise error from None

    def _read_with_spark(self, path: str, wanted: Wanted, budget: Budget) -> Iterator[Action]:
        rows = self._spark.read.parquet(*literal([self._storage.permitted(path)]))
        columns = {}
        for column in rows.schema.fields:
            kind, names = column.name, wanted.fields.get(column.name)
            if (wanted.kinds is not None and kind not in wanted.kinds) or names == ():
                continue
            if not isinstance(column.dataType, StructType):
                if kind in KINDS:
                    raise BrokenLogError(f"the {kind} of checkpoint file {path.rsplit('/', 1)[-1]} is not a struct")
                continue
            columns[kind] = _as_json(kind, column.dataType, names)
        if not columns:
            return
        condition = " OR ".join(f"{kind} IS NOT NULL" for kind in columns)
        # One small partition at a time: a table may have more files than fit into memory as rows.
        with _configuring, configured(self._spark, {_PARTITION_BYTES: _SMALL_PARTITION}):
            found = rows.where(condition).selectExpr(*columns.values()).toLocalIterator()
        for row in found:
            texts = {kind: text for kind, text in row.asDict().items() if text is not None}
            budget.take(sum(map(len, texts.values())))
            yield {kind: json.loads(text) for kind, text in texts.items()}


def _as_json(kind: str, struct: Any, wanted: Sequence[str] | None) -> str:
    """Return the expression for an action as JSON."""
    if wanted is None:
        return f"to_json(`{kind}`) AS `{kind}`"
    counted = PARSED_COUNT in wanted
    fields = [
        f"'{name}', {kind}.{name}" for name in wanted if name in struct.names and not (counted and name in _NUM_RECORDS)
    ]
    counts = [expression for name, expression in _NUM_RECORDS.items() if counted and _has_count(struct, name)]
    if counts:
        fields.append(f"'stats', coalesce({', '.join(counts)})")
    options = ", map('ignoreNullFields', 'false')" if PARSED_FIELDS[0] in wanted else ""
    described = f"to_json(named_struct({', '.join(fields)}){options})" if fields else "'{}'"
    return f"CASE WHEN {kind} IS NOT NULL THEN {described} END AS {kind}"


def _has_count(add: Any, name: str) -> bool:
    """Return True if a checkpoint's ``add`` can have the number of rows in the field ``name``."""
    if name not in add.names:
        return False
    names = getattr(add[name].dataType, "names", None)
    return names is None or "numRecords" in names
