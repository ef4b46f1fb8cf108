"""What is read of rows without the engine is what the engine reads."""

from __future__ import annotations

import pytest

from airflow_delta_provider.jobs.delta.session import DeltaFiles
from airflow_delta_provider.jobs.spark.row_tracking.row_reader import FileRows, RowReader
from tests.spark.test_check_row_tracking import STORIES, name_of
from tests.tables import row_tracking

pytestmark = pytest.mark.nightly

TABLES = [(row_tracking.operations, {}), (row_tracking.operations_without_vectors, {}), *STORIES]
AT_ONCE = ("operations", "partitioned", "mapped-name", "enabled_again")


@pytest.mark.parametrize(
    ("builder", "arguments"),
    [
        pytest.param(*table, id=name_of(*table), marks=[] if name_of(*table) in AT_ONCE else [pytest.mark.soak])
        for table in TABLES
    ],
)
def test_ids_and_commit_versions_are_those_that_spark_gives_every_row(built, session, builder, arguments):
    path = built(builder, **arguments)
    read = f"SELECT _metadata.row_id AS id, _metadata.row_commit_version AS version FROM delta.`{path}`"
    expected = sorted((row["id"], row["version"]) for row in session.sql(read))

    table = session.open_table(str(path))
    state = table.log.read_state(with_files=True)
    tracking = state.row_tracking
    data = DeltaFiles(session.storage, table.location)
    rows = [FileRows(file, data.deleted(file, data.footer(file).num_rows)) for file in (state.files or {}).values()]
    reader = RowReader(session, data, tracking.row_id_column, tracking.commit_version_column)
    with session.reading_files():
        found = reader.rows(rows).collect() if rows else []
    assert sorted((row["id"], row["commit_version"]) for row in found) == expected
