from __future__ import annotations

import json
import os
import time
from dataclasses import replace

import pytest

from airflow_delta_provider.domain.changes.widen_types import Widening
from airflow_delta_provider.domain.delta.data_type import LONG, find_column
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.domain.text import quote
from airflow_delta_provider.jobs.changes import values as values_module
from airflow_delta_provider.jobs.changes.sql_changes import WidenTypes
from airflow_delta_provider.jobs.changes.values import differing_columns
from tests.tables import log
from tests.tables.protocols import mapped_by_id
from tests.tables.widening import (
    AWKWARD_NAMES,
    awkwardly_named,
    constrained,
    flat,
    generated,
    iceberg_compatible,
    mapped,
    nested,
    two_columns,
    with_deletion_vectors,
)

EVERYWHERE = {
    "id": "bigint",
    "q": "decimal(12,2)",
    "f": "double",
    "d": "decimal(10,4)",
    "day": "timestamp_ntz",
    "s.a": "double",
    "s.b.c": "smallint",
    "arr.element": "bigint",
    "m.key": "int",
    "m.value": "bigint",
    "lines.element.price": "decimal(8,2)",
    "lines.element.tags.key": "bigint",
    "lines.element.tags.value.element": "bigint",
    "mm.key.k": "bigint",
    "mm.value.v": "bigint",
    "aa.element.element": "bigint",
}


def change(old: str, new: str, at: str | None = None) -> dict[str, str]:
    return {"fromType": old, "toType": new, **({"fieldPath": at} if at else {})}


def changes(field: dict) -> list[dict[str, str]]:
    return field["metadata"]["delta.typeChanges"]


def values(spark, path, columns="*"):
    return [
        str(row.asDict(recursive=True))
        for row in spark.sql(f"SELECT {columns} FROM delta.`{path}` ORDER BY id").collect()
    ]


def test_columns_in_every_kind_of_place_are_widened_in_one_commit_each_recorded_where_it_belongs(table, widen, spark):
    path = table(nested)
    old = spark.sql(f"SELECT id, q, arr, m, lines, mm, aa, s FROM delta.`{path}` ORDER BY id").collect()
    planned = widen(path, EVERYWHERE, dry_run=True)
    report = widen(path, EVERYWHERE)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert planned.plan["commits"] == 2  # timestampNtz first
    assert report.version == report.version_before + 2
    assert log.protocol(path) == planned.protocol_after == report.protocol_after

    fields = log.fields(path)
    assert changes(fields["id"]) == [change("integer", "long")]
    assert changes(fields["q"]) == [change("short", "decimal(12,2)")]
    assert changes(fields["day"]) == [change("date", "timestamp_ntz")]
    assert changes(fields["arr"]) == [change("integer", "long", "element")]
    assert changes(fields["m"]) == [change("short", "integer", "key"), change("integer", "long", "value")]
    assert changes(fields["aa"]) == [change("integer", "long", "element.element")]
    price, tags = fields["lines"]["type"]["elementType"]["fields"]
    assert changes(price) == [change("decimal(6,2)", "decimal(8,2)")]
    assert changes(tags) == [change("integer", "long", "key"), change("integer", "long", "value.element")]
    assert "delta.typeChanges" not in fields["lines"]["metadata"]
    assert changes(fields["mm"]["type"]["keyType"]["fields"][0]) == [change("integer", "long")]

    new = spark.sql(f"SELECT id, q, arr, m, lines, mm, aa, s FROM delta.`{path}` ORDER BY id").collect()
    assert new == old  # Python compares 1 == 1.0 == Decimal('1.00')
    again = widen(path, EVERYWHERE, allow=False)
    assert (again.verdict, again.changed, again.version) == (Verdict.PASS, False, report.version)


def test_earlier_changes_stay_and_the_new_ones_follow(table, widen):
    path = table(nested)
    for columns in ({"q": "int", "m.value": "bigint"}, {"q": "bigint", "m.key": "int"}):
        report = widen(path, columns)
        assert (report.verdict, report.findings) == (Verdict.PASS, ())
    fields = log.fields(path)
    assert changes(fields["q"]) == [change("short", "integer"), change("integer", "long")]
    assert changes(fields["m"]) == [change("integer", "long", "value"), change("short", "integer", "key")]


def test_table_without_the_feature_gets_it_in_a_commit_of_its_own_before(table, widen):
    path = table(nested, enabled=False)
    before = log.contents(path)
    assert [finding.code for finding in widen(path, {"q": "int"}, allow=False).findings] == ["RQ13"]
    refused = widen(path, {"q": "int"}, allow=False, enable=True)
    assert [finding.code for finding in refused.findings] == ["RQ09"]
    assert log.contents(path) == before

    report = widen(path, {"q": "int", "s.a": "bigint"})
    assert (report.verdict, report.plan["commits"]) == (Verdict.PASS, 2)
    assert report.version == report.version_before + 2
    digests = {log.user_metadata(path, report.version - back)["plan_digest"] for back in (0, 1)}
    assert digests == {report.plan["digest"]}


def test_partition_column_is_widened_and_reads_as_before(table, widen, spark):
    path = table(flat)
    old = values(spark, path, "id, part")
    report = widen(path, {"part": "bigint", "q": "double"})
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert values(spark, path, "id, part") == old


def test_renamed_column_of_a_mapped_table_is_widened_by_its_new_name(table, widen, spark):
    path = table(mapped)
    old = values(spark, path)
    assert widen(path, {"q": "bigint"}).findings[0].code == "RQ10"
    report = widen(path, {"QUANTITY": "bigint", "part": "int"})
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert changes(log.fields(path)["quantity"]) == [change("integer", "long")]
    assert values(spark, path) == old


def test_rows_deleted_by_deletion_vectors_stay_deleted_and_out_of_the_comparison(table, widen, spark):
    path = table(with_deletion_vectors)
    report = widen(path, {"q": "bigint"})
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    assert spark.sql(f"SELECT max(q) FROM delta.`{path}`").first()[0] == 89


def test_names_that_look_like_sql_are_widened_and_nothing_else_happens(table, widen, spark):
    path = table(awkwardly_named)
    old = values(spark, path, "x AS id, *")
    columns = {quote(name): "bigint" for name in AWKWARD_NAMES} | {"`a`.`b`": "bigint"}
    report = widen(path, columns)
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    fields = log.fields(path)
    assert {name: fields[name]["type"] for name in AWKWARD_NAMES} == dict.fromkeys(AWKWARD_NAMES, "long")
    assert fields["x"]["type"] == "integer"
    assert values(spark, path, "x AS id, *") == old


def test_text_that_names_two_columns_is_refused_with_both(table, widen):
    path = table(awkwardly_named)
    (finding,) = widen(path, {"a.b": "bigint"}).findings
    assert "write `a`.`b` or `a.b`" in finding.message


def test_table_at_a_path_that_looks_like_sql_is_widened(table, widen):
    path = table(flat, name="a`; DROP TABLE x; --'列 #%20")
    report = widen(path, {"q": "bigint"})
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)


def test_table_at_a_relative_path_is_the_one_below_the_working_directory(table, widen, monkeypatch):
    path = table(flat)
    monkeypatch.chdir(path.parent)  # of Python only: the JVM keeps the directory that it was started in
    relative = os.path.relpath(path, _working_directory_of_the_jvm(widen))
    report = widen(relative, {"q": "bigint"})
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)
    assert log.fields(path)["q"]["type"] == "long"


def test_catalog_table_is_found_by_its_name_and_changed_in_place(table, widen, spark):
    path = table(flat, name="t [1] #%20 é")
    spark.sql("CREATE SCHEMA IF NOT EXISTS my_schema")
    spark.sql(f"CREATE TABLE my_schema.`orders` USING delta LOCATION '{path}'")
    try:
        report = widen("my_schema.`orders`", {"q": "bigint"})
        assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)
        assert spark.table("my_schema.`orders`").schema["q"].dataType.simpleString() == "bigint"
    finally:
        spark.sql("DROP SCHEMA my_schema CASCADE")


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("builder", "columns", "code", "message"),
    [
        (flat, {"q": "smallint"}, "RQ11", "Allowed from int: bigint, double, decimal(p,s) with p - s >= 10."),
        (flat, {"q": "string", "day": "timestamp"}, "RQ11", "Allowed from date: timestamp_ntz."),
        (flat, {"qq": "bigint"}, "RQ10", "Did you mean 'q'?"),
        (flat, {"q": "bigint", "Q": "double"}, "RQ18", "'q' and 'Q' are the same column"),
        (flat, {"q": "bigint; DROP TABLE x"}, "RQ11", "not a primitive SQL type"),
        (nested, {"arr": "bigint"}, "RQ11", "array<int>"),
        (nested, {"lines.price": "decimal(8,2)"}, "RQ10", "Did you mean 'lines.element.price'"),
        (constrained, {"q": "bigint"}, "RQ12", "'positive' (q IS NULL OR q > 0)"),
        (generated, {"q": "bigint"}, "RQ12", "generated column twice"),
        (iceberg_compatible, {"q": "double"}, "RQ14", "icebergCompatV2"),
        (iceberg_compatible, {"d": "decimal(10,4)"}, "RQ14", "icebergCompatV2"),
    ],
)
def test_request_that_cannot_be_done_is_refused_with_the_remedy_and_nothing_changes(
    table, widen, builder, columns, code, message
):
    path = table(builder)
    before = log.contents(path)
    report = widen(path, columns)
    assert (report.verdict, report.changed, report.retryable) == (Verdict.REFUSED, False, False)
    assert {finding.code for finding in report.findings} == {code}
    assert message in report.findings[-1].message
    assert log.contents(path) == before


@pytest.mark.parametrize(
    ("builder", "columns"),
    [
        (constrained, {"id": "bigint"}),
        (generated, {"id": "bigint"}),
        (iceberg_compatible, {"q": "bigint", "d": "decimal(8,2)"}),
    ],
)
def test_column_beside_the_one_that_is_in_the_way_is_widened(table, widen, builder, columns):
    report = widen(table(builder), columns)
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)


# -- comparing values -----------------------------------------------------------------------------


def differing(session, path, column, edit=lambda field: None):
    """Compare what ``column`` reads as under the table's schema and under one where ``edit`` changed its field."""
    opened = session.open_table(str(path))
    state = opened.log.read_state(with_files=True)
    schema = json.loads(state.metadata.schema_string)
    edit({field["name"]: field for field in schema["fields"]})
    edited = replace(state.metadata, schema_string=json.dumps(schema))
    found = find_column(state.metadata.schema, column)
    files = list(state.files.values())
    differences = differing_columns(session, opened.location, files, state.metadata, edited, [Widening(found, LONG)])
    return {str(column): measures for column, measures in differences}


def swap(one, other):
    """Let two columns read each other's values."""
    key = "delta.columnMapping.physicalName"

    def edit(fields):
        first, second = fields[one]["metadata"], fields[other]["metadata"]
        first[key], second[key] = second[key], first[key]

    return edit


def lose(name):
    """Let a column read what is in no file: nulls."""
    return lambda fields: fields[name]["metadata"].update({"delta.columnMapping.physicalName": "nowhere"})


def test_comparison_of_equal_schemas_finds_nothing(table, session):
    assert differing(session, table(nested, mapping="name"), "m.value") == {}


@pytest.mark.parametrize(
    ("values", "measures"),
    [
        ("(1, 1), (2, 3)", ["maximum", "values by file"]),
        ("(2, 1), (5, 5)", ["minimum", "values by file"]),
        ("(1, 1), (2, 2), (2, NULL)", ["number of nulls", "values by file"]),
        ("(1, 2), (2, 1), (9, 9), (0, 0)", []),
        ("(1, 1), (2, 3), (3, 3)", ["values by file"]),
    ],
)
def test_comparison_tells_what_differs_between_two_columns(tmp_path, session, values, measures):
    path = tmp_path / "t"
    two_columns(session.spark, path, values=values)
    assert differing(session, path, "q", swap("q", "r")) == ({"q": measures} if measures else {})


def test_comparison_sees_values_that_changed_places_between_files(tmp_path, session):
    path = tmp_path / "t"
    two_columns(session.spark, path, values="(1, 2)")
    session.sql(f"INSERT INTO delta.`{path}` VALUES (2, 1)")
    assert differing(session, path, "q", swap("q", "r")) == {"q": ["values by file"]}


def test_comparison_by_several_tasks_sees_the_same_as_by_one(tmp_path, session, monkeypatch):
    path = tmp_path / "t"
    two_columns(session.spark, path, values="(1, 2)")
    session.sql(f"INSERT INTO delta.`{path}` VALUES (9, 1)")
    by_one = differing(session, path, "q", swap("q", "r"))
    monkeypatch.setattr(values_module, "_ONE_TASK", 0)
    assert differing(session, path, "q", swap("q", "r")) == by_one == {"q": ["maximum", "values by file"]}
    assert differing(session, path, "q") == {}


@pytest.mark.parametrize(
    "column",
    [
        "s.a",
        "s.b.c",
        "arr.element",
        "m.key",
        "m.value",
        "lines.element.price",
        "lines.element.tags.key",
        "lines.element.tags.value.element",
        "mm.key.k",
        "mm.value.v",
        "aa.element.element",
    ],
)
def test_comparison_looks_into_nested_values(table, session, column):
    path = table(nested, mapping="name")
    found = differing(session, path, column, lose(column.partition(".")[0]))
    assert {"minimum", "maximum", "values by file"} <= set(found[column])


@pytest.mark.parametrize("builder", [mapped, mapped_by_id])
def test_columns_of_mapped_tables_are_compared_by_what_the_files_hold(table, widen, session, builder):
    path = table(builder)
    assert widen(path, {"id": "bigint"}).verdict is Verdict.PASS
    assert "maximum" in differing(session, path, "id", lose_id("id"))["id"]


def lose_id(name):
    """Let a column read what is in no file, by its physical name and by its id."""

    def edit(fields):
        lose(name)(fields)
        fields[name]["metadata"]["delta.columnMapping.id"] = 999

    return edit


def test_table_last_changed_before_the_retention_is_compared_all_the_same(table, widen):
    path = table(flat)
    long_ago = time.time() - 40 * 24 * 3600
    for file in (path / "_delta_log").iterdir():
        os.utime(file, (long_ago, long_ago))
    report = widen(path, {"q": "bigint"})
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)


def test_table_whose_older_file_is_gone_is_changed_but_undetermined(table, widen):
    path = table(flat)
    next(path.glob("part=1/*.parquet")).unlink()
    report = widen(path, {"q": "bigint"})
    assert (report.verdict, report.changed) == (Verdict.UNDETERMINED, True)
    assert [finding.code for finding in report.findings] == ["FT04"]


# -- other writers --------------------------------------------------------------------------------


def when_applying(act):
    """A progress callback that acts once, between plan and apply; let it use a Spark session of its own."""
    done = []

    def progress(line: str) -> None:
        if "widen" in line and not done:
            done.append(line)
            act()

    return progress


def test_append_between_plan_and_apply_is_harmless(table, widen, spark):
    path = table(flat)
    act = when_applying(lambda: spark.newSession().sql(f"INSERT INTO delta.`{path}` VALUES (3, 3, NULL, 3)"))
    report = widen(path, {"q": "bigint"}, progress=act)
    assert (report.verdict, report.findings, report.changed) == (Verdict.PASS, (), True)
    assert report.version == report.version_before + 2
    assert spark.sql(f"SELECT count(*) FROM delta.`{path}`").first()[0] == 5


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {t} ADD COLUMN other int",
        "ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'b')",
    ],
)
def test_metadata_changed_between_plan_and_apply_is_refused_retryable_and_nothing_is_done(
    table, widen, spark, statement
):
    path = table(flat)
    act = when_applying(lambda: spark.newSession().sql(statement.format(t=f"delta.`{path}`")))
    report = widen(path, {"q": "double"}, progress=act)
    assert (report.verdict, report.retryable, report.changed) == (Verdict.REFUSED, True, False)
    assert [finding.code for finding in report.findings] == ["RQ15"]
    assert f"in version {report.version}" in report.findings[0].message
    assert log.newest(path) == report.version_before + 1
    assert log.fields(path)["q"]["type"] != "double"


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("ALTER TABLE {t} ALTER COLUMN q TYPE bigint", "RQ11"),
        ("ALTER TABLE {t} ADD CONSTRAINT c CHECK (q IS NULL OR q > 0)", "RQ12"),
    ],
)
def test_metadata_changed_so_that_the_request_no_longer_fits_is_not_retryable(table, widen, spark, statement, code):
    path = table(flat)
    act = when_applying(lambda: spark.newSession().sql(statement.format(t=f"delta.`{path}`")))
    report = widen(path, {"q": "double"}, progress=act)
    assert (report.verdict, report.retryable, report.changed) == (Verdict.REFUSED, False, False)
    assert [finding.code for finding in report.findings] == ["RQ15", code]
    assert "Running the job again does not help" in report.findings[0].message
    assert [finding.code for finding in widen(path, {"q": "double"}).findings] == [code], "as was said"


def test_same_plan_carried_out_by_another_run_meanwhile_is_another_writer(table, widen, spark):
    path = table(flat)
    digest = widen(path, {"q": "bigint"}, dry_run=True).plan["digest"]
    other = spark.newSession()
    other.conf.set(
        "spark.databricks.delta.commitInfo.userMetadata", json.dumps({"run_id": "theirs", "plan_digest": digest})
    )
    act = when_applying(lambda: other.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN q TYPE bigint"))
    report = widen(path, {"q": "bigint"}, labels={"run_id": "ours"}, progress=act)
    assert (report.verdict, report.retryable, report.changed) == (Verdict.REFUSED, True, False)


def test_metadata_changed_after_the_preparation_leaves_that_and_says_so(table, widen, spark):
    path = table(flat, enabled=False)
    act = when_applying(lambda: spark.newSession().sql(f"ALTER TABLE delta.`{path}` ADD COLUMN other int"))
    report = widen(path, {"q": "bigint"}, progress=act)
    assert (report.verdict, report.retryable, report.changed) == (Verdict.REFUSED, True, True)
    told = [(event["version"] - report.version_before, event["kind"]) for event in report.history["events"]]
    assert told == [(1, "protocol"), (2, "added")], "also what the other writer did"
    assert report.history["columns"]["other"] == "int"
    assert "Step 1 of 2 was committed; a rerun resumes there." in report.findings[0].message
    again = widen(path, {"q": "bigint"}, allow=False)
    assert (again.verdict, again.changed, again.plan["commits"]) == (Verdict.PASS, True, 1)


def _working_directory_of_the_jvm(widen) -> str:
    from pyspark.sql import SparkSession

    return str(SparkSession.getActiveSession()._jvm.java.lang.System.getProperty("user.dir"))


def test_values_that_read_differently_after_widening_are_a_violation(session, spark, table, widen):
    """Once widened, a writer gives a column another physical name: engines read NULL, and say nothing."""
    path = table(mapped)
    opened = session.open_table(str(path))
    before = opened.log.read_state(with_files=True)
    column = next(name for name, field in log.fields(path).items() if field["type"] in ("integer", "short", "byte"))
    widened = widen(path, {column: "bigint"})
    assert widened.verdict is Verdict.PASS
    metadata = log.last(path, "metaData")
    schema = json.loads(metadata["schemaString"])
    damaged = next(each for each in schema["fields"] if each["name"] == column)
    damaged["metadata"]["delta.columnMapping.physicalName"] = "elsewhere"
    log.commit(path, {"metaData": {**metadata, "schemaString": json.dumps(schema)}})
    commits = dict(opened.log.commits_after(before.version))
    change = WidenTypes(WidenTypesOptions(columns={column: "bigint"}), session, opened, before)
    findings = change.verify(opened.log.read_state(with_files=True), commits)
    assert [(finding.code, finding.column) for finding in findings] == [("TW18", column)]
    assert "minimum" in findings[0].message or "nulls" in findings[0].message
