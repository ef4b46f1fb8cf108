"""Columns dropped, renamed and added: by SQL, and on tables with usage tracking by commits of our own."""

from __future__ import annotations

import random

import pytest

from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.report.report import Verdict
from tests.tables import log
from tests.tables.altering import oddly_named
from tests.tables.protocols import legacy
from tests.tables.usage_tracking_model import ID, NAME, Model, quote
from tests.unit.tracked_tables import TrackedTable, play

CHANGES = {
    "drop": ["`a.b`", "s.`y z`", "m.value.w"],
    "rename": {'`it\'s "so"`': "`a.b`", "l.element.y": "`back``tick`", "id": "größe"},
    "add": {"s.`y z`": "int", "l.element.y": "int", "m.value.w": "int", "id": "decimal(5,2)", "t": "struct<`u v`:int>"},
}
AFTER = (
    "SELECT `größe`, `a.b`, s.x, s.`y z`, l[0].x, l[0].`back``tick`, l[0].y, m['k'].v, m['k'].w, id, t "
    "FROM delta.`{path}` ORDER BY 1"
)


def rows(spark, statement, path):
    return [tuple(row) for row in spark.sql(statement.replace("{path}", str(path))).collect()]


def operations(path, after):
    found = {version: actions for version, actions in log.commits(path).items() if version > after}
    return [info["commitInfo"]["operation"] for actions in found.values() for info in actions if "commitInfo" in info]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_odd_and_nested_columns_change_by_sql_and_no_old_value_comes_back(spark, table, alter, audit, mode):
    path = table(oddly_named, mode=mode)
    version = log.newest(path)
    report = alter(path, **CHANGES)
    assert (report.verdict, report.changed, report.findings) == (Verdict.PASS, True, ())
    assert operations(path, version) == ["DROP COLUMNS", *["RENAME COLUMN"] * 3, "ADD COLUMNS"]
    assert rows(spark, AFTER, path) == [
        (n, n * 10 + 2, n * 10 + 3, None, n * 10 + 5, n * 10 + 6, None, n * 10 + 7, None, None, None) for n in (1, 2)
    ]
    # The renamed columns and those that were added under their old names: the history tells them apart.
    again = alter(path, rename=CHANGES["rename"], add=CHANGES["add"])
    assert (again.verdict, again.changed, again.findings) == (Verdict.PASS, False, ())
    assert audit(path).findings == ()


def test_rerun_goes_on_after_a_failure_between_two_statements(spark, table, alter):
    path = table(oddly_named)
    before = log.newest(path)

    def someone_else(line):
        if "rename" in line and log.newest(path) == before + 1:
            spark.newSession().sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('team' = 'b')")

    asked = {"drop": ["`a.b`"], "rename": {"id": "number"}, "add": {"note": "string"}}
    failed = alter(path, **asked, progress=someone_else)
    assert (failed.verdict, failed.changed, failed.retryable) == (Verdict.REFUSED, True, True), failed.findings
    assert [finding.code for finding in failed.findings] == ["RQ15"]
    assert "a rerun resumes there" in failed.findings[0].message
    done = alter(path, **asked)
    assert (done.verdict, done.changed) == (Verdict.PASS, True)
    assert operations(path, before) == ["DROP COLUMNS", "SET TBLPROPERTIES", "RENAME COLUMN", "ADD COLUMNS"]
    assert alter(path, **asked).changed is False


def test_table_without_mapping_takes_new_columns_only(spark, table, alter):
    path = table(legacy)
    before = log.contents(path)
    for asked in ({"drop": ["name"]}, {"rename": {"name": "n"}}):
        refused = alter(path, **asked)
        assert (refused.verdict, [finding.code for finding in refused.findings]) == (Verdict.REFUSED, ["RQ54"])
    assert log.contents(path) == before
    assert alter(path, add={"note": "string"}, dry_run=True).changed is False
    assert log.contents(path) == before
    assert alter(path, add={"note": "string"}).changed is True
    assert rows(spark, "SELECT note FROM delta.`{path}`", path) == [(None,)] * 4


def test_tracked_table_is_changed_in_one_commit_and_every_reader_follows(spark, table, enable, alter, audit):
    path = table(legacy)
    assert enable(path, USAGE_TRACKING.name, acknowledge_writer_lockout=True).changed
    assert enable(path, "columnMapping").changed
    assert alter(path, add={"note": "string", "x y": "int"}).changed
    names = {name: field["metadata"][NAME] for name, field in log.fields(path).items()}
    assert names["note"] == "note"
    assert names["x y"].startswith("col-")
    assert log.configuration(path)[DROPPED_OR_RENAMED] == "false"

    version = log.newest(path)
    asked = {"drop": ["name"], "rename": {"id": "number"}, "add": {"name": "string", "id": "int"}}
    planned = alter(path, **asked, dry_run=True)
    assert (planned.plan["commits"], planned.plan["steps"][0]["sql"]) == (1, None)
    report = alter(path, **asked, labels={"dag_id": "d"})
    assert (report.verdict, report.changed, report.findings) == (Verdict.PASS, True, ())
    assert operations(path, version) == ["ALTER COLUMNS"]
    assert log.user_metadata(path, version + 1) == {"dag_id": "d", "plan_digest": report.plan["digest"]}
    fields = log.fields(path)
    assert list(fields) == ["number", "day", "note", "x y", "name", "id"]
    assert fields["number"]["metadata"] == {ID: 1, NAME: "id"}
    assert [fields[name]["metadata"][ID] for name in ("name", "id")] == [6, 7]
    assert all(fields[name]["metadata"][NAME].startswith("col-") for name in ("name", "id"))
    assert log.configuration(path)[DROPPED_OR_RENAMED] == "true"
    assert rows(spark, "SELECT number, name, id FROM delta.`{path}` ORDER BY 1", path) == [
        (n, None, None) for n in (1, 2, 3, 4)
    ]
    assert audit(path).findings == ()


def test_column_that_is_dropped_and_added_is_emptied_once_a_run_however_often_that_tries(spark, table, alter):
    path = table(oddly_named)
    asked = {"drop": ["id"], "add": {"id": "int"}, "labels": {"run_id": "first"}}
    assert alter(path, **asked).changed is True
    spark.sql(f"INSERT INTO delta.`{path}` (id) VALUES (7)")
    again = alter(path, **asked)
    assert (again.verdict, again.changed) == (Verdict.PASS, False)
    assert (7,) in rows(spark, "SELECT id FROM delta.`{path}`", path)
    assert alter(path, **{**asked, "labels": {"run_id": "second"}}).changed is True
    assert rows(spark, "SELECT DISTINCT id FROM delta.`{path}`", path) == [(None,)]


def told_by_spark(spark, path, model):
    """Read the row of each file, in the order in which they were written."""
    leaves = [logical for logical, _, _ in model.leaves]
    columns = [".".join(map(quote, parts)).replace(".`element`", "[0]") for parts in leaves]
    found = rows(spark, f"SELECT {', '.join(columns)} FROM delta.`{{path}}` ORDER BY _metadata.file_name", path)
    return [dict(zip(leaves, row)) for row in found]


def compare_with_model(spark, tmp_path, seed, steps, every):
    """Play a random sequence, its rows in Parquet files, and read them after every so many steps."""
    model = Model()
    table = TrackedTable(tmp_path / str(seed), model, with_files=True)

    def read(number):
        if number % every == every - 1:
            assert told_by_spark(spark, table.path, model) == model.rows(), (seed, number)

    play(table, model, random.Random(seed), steps, unmaps=True, then=read)
    return table


def test_rows_of_tracked_tables_read_as_in_the_model_after_random_changes(spark, tmp_path, audit):
    for seed in range(3):
        table = compare_with_model(spark, tmp_path, seed, steps=8, every=8)
        assert audit(table.path).findings == ()


@pytest.mark.soak
def test_rows_of_many_tracked_tables_read_as_in_the_model_after_each_random_change(spark, tmp_path):
    for seed in range(100, 130):
        compare_with_model(spark, tmp_path, seed, steps=10, every=2)
