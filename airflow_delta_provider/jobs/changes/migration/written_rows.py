"""The rows of files that a transaction has written and not committed."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import basename

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from airflow_delta_provider.domain.delta.column_mapping import file_schema, physical_name
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.jobs.changes.commit.engine_transaction import WrittenFile
from airflow_delta_provider.jobs.delta.delta_files import file_uri
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.shipped_rows import ship
from airflow_delta_provider.jobs.spark.storage.hadoop_storage import literal

_FILE, _PARTITION = "file of the row", "partition value "


def written_rows(
    session: SparkDeltaSession, location: str, metadata: Metadata, files: Sequence[WrittenFile]
) -> DataFrame:
    """Return the rows, with the columns of the table, as readers will see them once the files are committed.

    The session has to be :meth:`reading files <SparkDeltaSession.reading_files>` as long as they are read.

    :param metadata: that will be committed with the files, of which there is at least one
    """
    mode, partitions = metadata.properties.mapping_mode, metadata.partition_columns
    fields = metadata.schema.fields
    inside = frozenset(field.name for field in fields if field.name not in partitions)
    schema: StructType = StructType.fromJson(file_schema(metadata, inside))
    rows: DataFrame = session.spark.read.schema(schema).parquet(*literal([file_uri(location, f.path) for f in files]))
    stored = {field.name: physical_name(field, mode) for field in fields}
    if partitions:
        known = [{"f": basename(f.path), **_numbered(f, [stored[name] for name in partitions])} for f in files]
        columns = ", ".join(f"p{index}: string" for index in range(len(partitions)))
        values = ship(session.spark, known, f"f: string, {columns}")
        named = [sql.col(f"p{index}").alias(f"{_PARTITION}{stored[name]}") for index, name in enumerate(partitions)]
        rows = rows.select("*", sql.col("_metadata.file_name").alias(_FILE))
        rows = rows.join(sql.broadcast(values.select(sql.col("f").alias(_FILE), *named)), _FILE)
        stored |= {name: f"{_PARTITION}{stored[name]}" for name in partitions}
    return rows.selectExpr(
        *(f"CAST({quote(stored[f.name])} AS {render_sql_type(f.data_type)}) AS {quote(f.name)}" for f in fields)
    )


def _numbered(file: WrittenFile, names: Sequence[str]) -> dict[str, str | None]:
    return {f"p{index}": file.partition_values[name] for index, name in enumerate(names)}
