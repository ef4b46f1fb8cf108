"""Checkpoints are read by PyArrow or by Spark: both find the same table in them."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.delta.log_files import BrokenLogError, select_segment
from airflow_delta_provider.jobs.delta import arrow_checkpoint, python_checkpoint
from airflow_delta_provider.jobs.spark import delta
from tests.tables import log, row_tracking
from tests.unit.audit.test_audit_log_files import AT, history
from tests.unit.audits_in_parts import Kept
from tests.unit.checkpoint_builder import actions_of, classic_name

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("kind", ["v2", "struct"])
def test_both_readers_find_the_same_table(built, session, kind, monkeypatch):
    path = built(row_tracking.checkpointed, kind=kind)
    table = session.open_table(str(path)).log
    by_arrow = table.read_state(with_files=True)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: False)
    assert table.read_state(with_files=True) == by_arrow
    assert {file.num_records for file in by_arrow.files.values()} != {None}
    assert by_arrow.version == log.newest(path)


def test_spark_passes_on_a_row_group_in_parts_and_in_order(session, tmp_path, monkeypatch):
    path, table = tmp_path / "t", history()
    files = Kept(table.commits).clean_up(table, AT).files
    (tmp_path / "t/_delta_log").mkdir(parents=True)
    for name, content in files.items():
        (path / "_delta_log" / name).write_bytes(content)
    assert pq.read_metadata(io.BytesIO(files[classic_name(AT)])).num_row_groups == 1
    table_log = session.open_table(str(path)).log
    segment = select_segment(table_log.list_names(), AT)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: False)
    found = []
    for small, at_once in ((1 << 20, 1), (0, 1000), (0, 2)):
        monkeypatch.setattr(delta, "_SMALL", small)
        monkeypatch.setattr(delta, "_AT_ONCE", at_once)
        parts = table_log.checkpoint_parts(segment)
        found.append([action for part in parts for batch in part.batches for action in batch.actions()])
    assert len(found[0]) > 6
    assert found[0] == found[1] == found[2]


def test_checkpoint_is_read_without_packages_whichever_codec_spark_compressed_it_with(spark, tmp_path):
    path = tmp_path / "t"
    spark.range(0, 300, 1, 300).write.format("delta").save(str(path))
    delta_log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    found = set()
    for version, codec in enumerate(("snappy", "gzip", "zstd", "lz4", "lz4_raw"), start=1):
        spark.range(1).write.format("delta").mode("append").save(str(path))
        spark.conf.set("spark.sql.parquet.compression.codec", codec)
        try:
            delta_log.checkpoint()
        finally:
            spark.conf.unset("spark.sql.parquet.compression.codec")
        content = path.joinpath("_delta_log", f"{version:020}.checkpoint.parquet").read_bytes()
        found.add(pq.read_metadata(io.BytesIO(content)).row_group(0).column(0).compression)
        by_arrow = actions_of(arrow_checkpoint.batches(content, {}, None))
        assert len(by_arrow) > 300
        assert actions_of(python_checkpoint.batches(content, {}, None)) == by_arrow
    assert found == {"SNAPPY", "GZIP", "ZSTD", "UNKNOWN", "LZ4"}  # of Hadoop's LZ4, PyArrow does not know the name


@pytest.mark.parametrize("available", [True, False], ids=["arrow", "spark"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 100], ids=["empty", "garbage"])
def test_checkpoint_that_does_not_open_is_a_damaged_log(table, session, available, content, monkeypatch):
    path = table(row_tracking.checkpointed, kind="struct")
    for checkpoint in path.glob("_delta_log/*.checkpoint*.parquet"):
        checkpoint.write_bytes(content)
        checkpoint.with_name(f".{checkpoint.name}.crc").unlink(missing_ok=True)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: available)
    with pytest.raises(BrokenLogError, match=r"checkpoint file .* is damaged"):
        session.open_table(str(path)).log.read_state()


def _name(content: bytes) -> bytes:
    """Damage the name of a column in the footer, which says there in another place how it was."""
    return content.replace(b"provider", b"provid\xffr", 1)


def _page(content: bytes) -> bytes:
    """Damage the paths of files."""
    group = pq.read_metadata(io.BytesIO(content)).row_group(0)
    column = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == "add.path")
    start = column.dictionary_page_offset or column.data_page_offset
    end = start + column.total_compressed_size
    return content[:start] + bytes(byte ^ 0xFF for byte in content[start:end]) + content[end:]


@pytest.mark.parametrize("available", [True, False], ids=["arrow", "spark"])
@pytest.mark.parametrize("damage", [_name, _page])
def test_file_that_spark_fails_on_is_a_damaged_log_if_it_is(table, session, damage, available, monkeypatch):
    path = table(row_tracking.checkpointed, kind="struct")
    for checkpoint in path.glob("_delta_log/*.checkpoint*.parquet"):
        checkpoint.write_bytes(damage(checkpoint.read_bytes()))
        checkpoint.with_name(f".{checkpoint.name}.crc").unlink(missing_ok=True)
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: available)
    with pytest.raises(BrokenLogError, match=r"checkpoint file .* is damaged"):
        list(session.open_table(str(path)).log.read_state(with_files=True).files)


#: A column of each type that has bounds, and two values, with the ends of what engines write.
TYPES = {
    "BYTE": ("-128Y", "5Y"),
    "BIGINT": ("9223372036854775807L", "9007199254740993L"),
    "FLOAT": ("float('NaN')", "1.1F"),
    "DOUBLE": ("double('-Infinity')", "1e-300D"),
    "DECIMAL(38,18)": ("-1.000000000000000001BD", "99999999999999999999.999999999999999999BD"),
    "STRING": ("'a string that is longer than thirty-two characters é'", "''"),
    "BOOLEAN": ("true", "NULL"),
    "BINARY": ("X'61FF'", "X''"),
    "DATE": ("DATE'0001-01-01'", "DATE'+12000-01-01'"),
    "TIMESTAMP": ("TIMESTAMP'2024-03-31 02:30:00.123456'", "TIMESTAMP'9999-12-31 23:59:59.999999'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'1582-10-10 00:00:00'", "TIMESTAMP_NTZ'2024-03-31 02:30:00.987654'"),
}


@pytest.mark.parametrize("mode", [pytest.param("none", marks=pytest.mark.soak), "name"])
def test_what_spark_has_parsed_is_as_in_the_commits(spark, audit, tmp_path, mode, monkeypatch):
    path = tmp_path / "t"
    columns = [f"c{n} {type_}, p{n} {type_}" for n, type_ in enumerate(TYPES)]
    by = ", ".join(f"p{n}" for n in range(len(TYPES)))
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({', '.join(columns)}) USING delta PARTITIONED BY ({by}) TBLPROPERTIES ("
        "'delta.checkpoint.writeStatsAsStruct' = 'true', 'delta.checkpointInterval' = '2', "
        f"'delta.columnMapping.mode' = '{mode}')"
    )
    for row in (0, 1):
        values = [f"{two[row]}, {two[row]}" for two in TYPES.values()]
        spark.sql(f"INSERT INTO delta.`{path}` VALUES ({', '.join(values)})")
    (checkpoint,) = path.glob("_delta_log/*.checkpoint.parquet")
    for available in (True, False):
        monkeypatch.setattr(arrow_checkpoint, "is_available", lambda there=available: there)
        found = {finding.code for finding in audit(path).findings}
        assert found <= {"AC40"}, "deltalake cannot read negative fractions of partitions"
    parsed = spark.read.parquet(str(checkpoint)).where("add.partitionValues_parsed IS NOT NULL")
    assert parsed.where("add.stats_parsed.numRecords = 1").count() == 2
