"""Materialized row ids are read by PyArrow or Spark: both find the same; where PyArrow is not sure, Spark reads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.row_tracking.row_proofs import survey
from airflow_delta_provider.jobs.spark.row_tracking import row_reader
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowIds, RowReader
from tests.spark.test_check_row_tracking import STORIES, name_of
from tests.tables import row_tracking
from tests.tables.row_tracking_model import ID, Model

TABLES = [(row_tracking.operations, {}), (row_tracking.operations_without_vectors, {}), *STORIES]
AT_ONCE = ("operations", "mapped-name")


def reader_and_rows(session, path):
    """Return what reads the ids of a table's files that hold materialized ones, and those files."""
    table = session.open_table(str(path))
    state = table.log.read_state(with_files=True)
    tracking = state.row_tracking
    data = DeltaFiles(session.storage, table.location)
    files = (state.files or {}).values()
    found = survey(data, files, tracking.row_id_column).ids
    holding = [file for file in files if not found[file.path].all_fresh]
    rows = [FileRows(file, data.deleted(file, found[file.path].rows), rows=found[file.path].rows) for file in holding]
    return RowReader(session, data, tracking.row_id_column), rows


def by_arrow(reader, rows, **limits):
    return row_reader.read_buckets(reader.files, reader.id_column, rows, **limits)


def by_spark(session, reader, rows, expected):
    """Return them as Spark finds them; it collects single ids where not many are expected."""
    unknown = [replace(row, rows=None) for row in rows]
    assert by_arrow(reader, unknown) is None
    return RowIds(session, reader, unknown, lambda _: 0).buckets(expected)


@pytest.mark.parametrize(
    ("builder", "arguments"),
    [
        pytest.param(*table, id=name_of(*table), marks=[] if name_of(*table) in AT_ONCE else [pytest.mark.soak])
        for table in TABLES
    ],
)
def test_both_readers_find_the_same_ids(built, session, builder, arguments):
    reader, rows = reader_and_rows(session, built(builder, **arguments))
    if not rows:
        assert by_arrow(reader, rows) == []
        return
    found = by_arrow(reader, rows)
    assert sum(bucket.rows for bucket in found) > 0
    assert found == by_spark(session, reader, rows, expected=1)


def model():
    """Return a table with nulls beside ids, deletion vectors, the same id twice, and ids of several buckets."""
    model = Model()
    model.insert([40_000, 30_000, 40])
    model.update(lambda row_id: row_id % 100 == 7, vectors=True, inserted=20)
    model.update(lambda row_id: row_id % 300 == 7, vectors=True)
    model.settle()
    one, *_, other = (file for file in model.files.values() if file.ids and file.live())
    other.ids[other.live()[0]] = one.id_at(one.live()[1])
    other.ids[other.live()[1]] = -40_000
    return model


@pytest.mark.parametrize("layout", [{"row_group_size": 7}, {"compression": "zstd", "use_dictionary": False}])
def test_both_readers_find_the_same_in_any_layout(session, tmp_path, layout):
    model().write(tmp_path / "t", **layout)
    reader, rows = reader_and_rows(session, tmp_path / "t")
    assert any(row.deleted for row in rows)
    found = by_arrow(reader, rows)
    assert sum(bucket.repeated for bucket in found) == 1
    assert [bucket.number for bucket in found] == [-2, 0, 1, 2]
    assert found == by_spark(session, reader, rows, expected=1)
    assert found == by_spark(session, reader, rows, expected=1_000_000)


def as_other_type(table):
    return table.set_column(table.column_names.index(ID), ID, table.column(ID).cast(pa.timestamp("us")))


def with_a_second_one(table):
    return table.append_column(ID.upper(), table.column(ID))


def without_a_row(table):
    return table.slice(1)


@pytest.mark.parametrize("change", [as_other_type, with_a_second_one, without_a_row, None])
def test_file_that_is_not_plain_is_left_to_spark(session, tmp_path, change):
    model().write(tmp_path / "t")
    reader, rows = reader_and_rows(session, tmp_path / "t")
    assert by_arrow(reader, rows)
    file = tmp_path / "t" / rows[0].file.path
    if change is None:
        file.unlink()
    else:
        pq.write_table(change(pq.ParquetFile(file).read()), file)
        rows[0] = replace(rows[0], file=rows[0].file._replace(size=file.stat().st_size))
    assert by_arrow(reader, rows) is None


def test_values_that_do_not_decompress_are_left_to_spark(session, tmp_path):
    model().write(tmp_path / "t", compression="zstd")
    reader, rows = reader_and_rows(session, tmp_path / "t")
    file = tmp_path / "t" / rows[0].file.path
    content = bytearray(file.read_bytes())
    column = pq.ParquetFile(file).metadata.row_group(0).column(1)
    start, size = column.data_page_offset, column.total_compressed_size
    content[start + size // 4 : start + size // 2] = bytes(size // 2 - size // 4)
    file.write_bytes(content)
    assert by_arrow(reader, rows) is None


def test_many_rows_or_files_are_left_to_spark(session, tmp_path):
    model().write(tmp_path / "t")
    reader, rows = reader_and_rows(session, tmp_path / "t")
    count = sum(row.rows for row in rows)
    assert by_arrow(reader, rows, most_files=len(rows), most_rows=count + 1)
    assert by_arrow(reader, rows, most_files=len(rows) - 1, most_rows=count + 1) is None
    assert by_arrow(reader, rows, most_files=len(rows), most_rows=count) is None


def test_check_says_the_same_without_pyarrow(check, tmp_path, monkeypatch):
    model().write(tmp_path / "t", row_group_size=1000)
    report = check(tmp_path / "t")
    assert {finding.code for finding in report.findings} == {"RT19", "RT21"}
    monkeypatch.setattr(row_reader, "is_available", lambda: False)
    assert check(tmp_path / "t").findings == report.findings


def test_submitted_job_has_pyarrow_though_pyspark_does_without():
    program = (
        "from airflow_delta_provider.jobs.process import forgo_pandas, have\n"
        "forgo_pandas()\n"
        "import sys, pyspark.sql\n"
        "assert not {'numpy.core', 'pandas.core', 'pyarrow.lib'} & set(sys.modules)\n"
        "assert have('numpy', 'pyarrow.parquet')\n"
        "assert not have('no_such_package')\n"
        "assert 'pandas' not in sys.modules\n"
        "import pyarrow\n"
        "print(pyarrow.array([1, 2]).to_numpy().sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")
