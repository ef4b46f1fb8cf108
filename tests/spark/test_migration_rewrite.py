"""Rewriting a table with other types: nothing is lost unseen, and nobody's rows are overwritten."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.changes.steps import Cast, RewriteTable
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.migrations.casting import is_lost
from airflow_delta_provider.jobs.changes import engine_transaction
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction, rewrite_table
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.session import configured
from tests.engine_errors import ENGINE_ERRORS
from tests.tables import log
from tests.tables.migrating import mapped, plain

pytestmark = pytest.mark.nightly

ZONE = "spark.sql.session.timeZone"
NESTED = (
    Cast(("b",), "string", "int"),
    Cast(("s", "x"), "int", "smallint"),
    Cast(("l", "element", "u"), "int", "string"),
    Cast(("m", "value"), "smallint", "tinyint"),
)


def run(session, path, step):
    table = session.open_table(str(path))
    return rewrite_table(session, table, table.log.read_state(), step)


@pytest.mark.parametrize("builder", [pytest.param(plain, marks=pytest.mark.soak), mapped])
def test_rewrite_casts_nested_values_and_keeps_everything_else(session, spark, table, audit, builder):
    path = table(builder)
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN id COMMENT 'number'")
    before = log.last(path, "metaData")
    version = run(session, path, RewriteTable(NESTED, partition_by=("id",)))
    assert version == log.newest(path)
    after = log.last(path, "metaData")
    assert {key: value for key, value in before.items() if key not in ("schemaString", "partitionColumns")} == {
        key: value for key, value in after.items() if key not in ("schemaString", "partitionColumns")
    }
    assert after["partitionColumns"] == ["id"]
    for field, old in zip(json.loads(after["schemaString"])["fields"], json.loads(before["schemaString"])["fields"]):
        assert {**field, "type": 0} == {**old, "type": 0}
    rows = spark.sql(f"SELECT id, b, s, l, m FROM delta.`{path}` ORDER BY id").collect()
    assert [row.asDict(recursive=True) for row in rows] == [
        {"id": 1, "b": 1, "s": {"x": 11, "y": "y1"}, "l": [{"u": "12", "v": 13}], "m": {"k": 1}},
        {"id": 2, "b": 2, "s": {"x": 21, "y": "y2"}, "l": [{"u": "22", "v": 23}, None], "m": {"k": 2, "l": None}},
        {"id": 3, "b": None, "s": None, "l": None, "m": None},
    ]
    assert log.last(path, "commitInfo")["operation"] == "WRITE"
    assert audit(path, level="data").findings == ()


def test_values_that_a_cast_loses_are_refused_with_examples_or_become_null_as_asked(session, spark, table):
    path = table(plain)
    spark.sql(
        f"UPDATE delta.`{path}` SET b = 'x', s = named_struct('x', 40000, 'y', 'y'), m = map('k', 300S) WHERE id = 1"
    )
    version = log.newest(path)
    with pytest.raises(CommitRefusedError) as refused:
        run(session, path, RewriteTable(NESTED))
    assert [(each.code, each.column, each.facts["examples"]) for each in refused.value.findings] == [
        ("RQ71", "b", ["x"]),
        ("RQ71", "s.x", ["40000"]),
        ("RQ71", "m.value", ["300"]),
    ]
    assert "1 value of b would be lost as int, among them x" in refused.value.findings[0].message
    assert log.newest(path) == version
    nulls = tuple(Cast(cast.parts, cast.old, cast.new, null_on_loss=True) for cast in NESTED)
    assert run(session, path, RewriteTable(nulls)) == version + 1
    rows = spark.sql(f"SELECT b, s.x, s.y, m FROM delta.`{path}` ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (None, None, "y", {"k": None}),
        (2, 21, "y2", {"k": 2, "l": None}),
        (None,) * 4,
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {table} (id, day) VALUES (4, DATE'2024-01-01')",
        pytest.param("DELETE FROM {table} WHERE id = 1", marks=pytest.mark.soak),
        "ALTER TABLE {table} SET TBLPROPERTIES ('meanwhile' = 'x')",
    ],
)
def test_writer_between_count_and_commit_is_not_overwritten(session, spark, table, monkeypatch, statement):
    path = table(mapped)
    find_lost = engine_transaction.find_lost

    def found(*arguments):
        lost = find_lost(*arguments)
        spark.newSession().sql(statement.format(table=f"delta.`{path}`"))
        return lost

    monkeypatch.setattr(engine_transaction, "find_lost", found)
    version = log.newest(path)
    with pytest.raises(ENGINE_ERRORS) as refused:
        run(session, path, RewriteTable(NESTED))
    assert understand(refused.value).retryable
    assert log.newest(path) == version + 1


def test_engine_checks_constraints_and_generated_columns_of_the_new_values(session, spark, tmp_path, audit):
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (a bigint, b string) USING delta CLUSTER BY (a) TBLPROPERTIES ("
              "'delta.enableRowTracking' = 'true', 'delta.enableChangeDataFeed' = 'true', "
              "'delta.enableDeletionVectors' = 'true', 'delta.enableInCommitTimestamps' = 'true')")  # fmt: skip
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, '1'), (2, null), (3, '3')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE a = 1")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK (a < 9)")
    run(session, path, RewriteTable((Cast(("b",), "string", "tinyint"), Cast(("a",), "bigint", "int"))))
    assert sorted(map(tuple, spark.sql(f"SELECT * FROM delta.`{path}`").collect())) == [(2, None), (3, 3)]
    assert session.sql(f"DESCRIBE DETAIL delta.`{path}`")[0]["clusteringColumns"] == ["a"]
    assert audit(path, level="data").findings == ()


@pytest.mark.parametrize("builder", [pytest.param(plain, marks=pytest.mark.soak), mapped])
@pytest.mark.parametrize(
    ("written", "columns"),
    [
        (lambda rows: rows.filter("id > 1"), [None, "id", "a", "b", "s", "l", "m", "day"]),
        (lambda rows: rows.withColumn("day", sql.date_add("day", 1)), ["day"]),
        (lambda rows: rows.withColumn("s", sql.col("s").withField("x", sql.lit(3).cast("smallint"))), ["s"]),
    ],
)
def test_rows_that_are_written_otherwise_are_never_committed(
    session, spark, table, monkeypatch, builder, written, columns
):
    path = table(builder)
    version, rows = log.newest(path), sorted(map(str, spark.read.format("delta").load(str(path)).collect()))
    write = EngineTransaction.write
    monkeypatch.setattr(EngineTransaction, "write", lambda self, rows: write(self, written(rows)))
    with pytest.raises(CommitRefusedError) as refused:
        run(session, path, RewriteTable(NESTED))
    assert {each.code for each in refused.value.findings} == {"DF10"}
    assert {each.column for each in refused.value.findings} <= set(columns)
    assert log.newest(path) == version
    assert sorted(map(str, spark.read.format("delta").load(str(path)).collect())) == rows


def test_value_that_no_partition_can_have_is_not_lost_unseen(session, spark, table):
    path = table(mapped)
    spark.sql(f"UPDATE delta.`{path}` SET b = '' WHERE id = 2")  # Delta writes it as NULL
    version = log.newest(path)
    with pytest.raises(CommitRefusedError) as refused:
        run(session, path, RewriteTable((), partition_by=("b",)))
    assert [(each.code, each.column) for each in refused.value.findings] == [("DF10", "b")]
    assert log.newest(path) == version


def test_partitions_of_every_type_are_compared(session, spark, tmp_path):
    path = tmp_path / "t"
    names = {"n": "decimal(5,2)", "d": "date", "t": "timestamp", "z": "timestamp_ntz", "f": "double", "x y": "string"}
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id int, {', '.join(f'`{name}` {kind}' for name, kind in names.items())}) "
        "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(
        f"INSERT INTO delta.`{path}` VALUES (1, 1.5, DATE'2024-02-29', TIMESTAMP'2024-03-31 01:30:00.25+00:00', "
        "TIMESTAMP_NTZ'2024-03-31 02:30:00', 0.1, 'a/b=c%20 ü'), (2, null, null, null, null, null, null)"
    )
    before = sorted(map(str, spark.read.format("delta").load(str(path)).collect()))
    run(session, path, RewriteTable((), partition_by=tuple(names)))
    assert sorted(map(str, spark.read.format("delta").load(str(path)).collect())) == before


def test_time_zone_of_the_step_counts_and_not_that_of_the_session(session, spark, tmp_path):
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (a string, b timestamp, c date) USING delta")
    spark.sql(
        f"INSERT INTO delta.`{path}` VALUES ('2024-07-01 12:00:00', TIMESTAMP'2024-07-01 04:00:00Z', DATE'2024-07-01')"
    )
    casts = (Cast(("a",), "string", "timestamp"), Cast(("b",), "timestamp", "date"), Cast(("c",), "date", "timestamp"))
    with configured(spark, {ZONE: "Asia/Tokyo"}):
        with pytest.raises(CommitRefusedError) as refused:  # in Rome, the timestamp is not midnight
            run(session, path, RewriteTable(casts, time_zone="Europe/Rome"))
        assert [(each.code, each.column) for each in refused.value.findings] == [("RQ71", "b")]
        run(session, path, RewriteTable(casts, time_zone="America/New_York"))
        assert spark.conf.get(ZONE) == "Asia/Tokyo"
    (row,) = spark.sql(f"SELECT unix_seconds(a), CAST(b AS string), unix_seconds(c) FROM delta.`{path}`").collect()
    assert tuple(row) == (1719849600, "2024-07-01", 1719806400)


def test_time_that_a_zone_skips_or_has_twice_is_lost(spark):
    cases = {
        ("string", "timestamp", "'2024-03-31 02:30:00'"): True,
        ("string", "timestamp", "'2024-03-31T02:30'"): True,
        ("string", "timestamp", "'2024-03-31 02:30:00+00:00'"): False,
        ("string", "timestamp", "'2024-03-31 03:00:00'"): False,
        ("string", "timestamp", "'2024-03-31'"): False,
        ("timestamp_ntz", "timestamp", "'2024-03-31 02:30:00'"): True,
        ("timestamp_ntz", "timestamp", "'2024-03-31 03:30:00'"): False,
        ("timestamp", "timestamp_ntz", "'2024-10-27 01:30:00Z'"): True,
        ("timestamp", "timestamp_ntz", "'2024-10-27 00:30:00Z'"): False,
        ("timestamp", "string", "'2024-10-27 01:30:00Z'"): True,
    }
    with configured(spark, {ZONE: "Europe/Berlin"}):
        lost = [
            is_lost(f"CAST({value} AS {old})", parse_sql_type(old), parse_sql_type(new), new)
            for old, new, value in cases
        ]
        (row,) = spark.range(1).selectExpr(*lost).collect()
    assert dict(zip(cases, row)) == cases


LOST = {
    ("string", "int"): ("'x'", "'1.5'", "'99999999999'", "'0x10'"),
    ("string", "decimal(10,1)"): ("'1.26'", "'0.04'", "'12345678901'", "'1.0000000000000000000000000000001'"),
    ("string", "double"): ("'0.12345678901234567891'", "'1e999'", "'1e-999'", "'one'", "'0.10000000000000001'"),
    ("string", "date"): ("'2024-01-01 10:00:00'", "'2024-01-01 x'", "'2024-13-01'", "'today'"),
    ("string", "timestamp"): ("'2024-01-01 00:00:00.1234567'", "'12:00:00'", "'x'"),
    ("string", "timestamp_ntz"): ("'2024-01-01T00:00:00+02:00'", "'2024-01-01 00:00:00.1234567'"),
    ("string", "boolean"): ("'maybe'", "'2'"),
    ("binary", "string"): ("X'ff'",),
    ("bigint", "int"): ("2147483648L",),
    ("bigint", "double"): ("9007199254740993L", "9223372036854775807L"),
    ("bigint", "float"): ("16777217L", "9223372036854775807L"),
    ("int", "float"): ("16777217", "2147483647"),
    ("int", "boolean"): ("5",),
    ("double", "int"): ("1.5D", "double('NaN')", "1e10D"),
    ("double", "float"): ("0.1D", "1e300D"),
    ("double", "decimal(4,1)"): ("0.25D", "10000D", "double('Infinity')"),
    ("decimal(5,2)", "decimal(5,1)"): ("1.25BD",),
    ("decimal(5,2)", "int"): ("1.25BD",),
    ("decimal(38,0)", "double"): ("12345678901234567890123BD",),
    ("timestamp", "date"): ("TIMESTAMP'2024-01-01 00:00:01'",),
    ("timestamp", "bigint"): ("TIMESTAMP'2024-01-01 00:00:01.5'",),
}
KEPT = {
    ("string", "int"): ("'1'", "' 007 '", "'-2'", "'+2'", "'0'", "'100'", "null"),
    ("string", "decimal(10,1)"): ("'1.20'", "'125e-1'", "'0.0'", "'-.5'", "'10'"),
    ("string", "double"): ("'0.1'", "'1.50'", "'1e5'", "'100000'", "'NaN'", "'-Infinity'"),
    ("string", "date"): ("'2024-01-01'", "' 2024-1-1 '", "'2024-01-01 00:00:00'", "'2024-01-01T00:00:00.000'"),
    ("string", "timestamp"): ("'2024-01-01'", "'2024-01-01 10:00:00.123456'", "'2024-01-01T00:00:00Z'"),
    ("string", "timestamp_ntz"): ("'2024-01-01 10:00:00.1234560'", "'2024-01-01'"),
    ("string", "boolean"): ("'true'", "'N'", "'1'"),
    ("string", "binary"): ("'ü'",),
    ("binary", "string"): ("X'c3bc'",),
    ("bigint", "int"): ("2147483647L", "-2147483648L", "null"),
    ("bigint", "double"): ("9007199254740992L", "1152921504606846976L", "-9223372036854775808L"),
    ("int", "boolean"): ("1", "0"),
    ("int", "string"): ("-5",),
    ("double", "int"): ("2D", "-0.0D"),
    ("double", "float"): ("0.5D", "double('NaN')", "double('Infinity')"),
    ("double", "decimal(4,1)"): ("0.1D", "12D"),
    ("double", "string"): ("1e300D", "0.1D", "double('NaN')"),
    ("decimal(5,2)", "decimal(5,1)"): ("1.20BD",),
    ("decimal(5,2)", "string"): ("1.20BD",),
    ("timestamp", "date"): ("TIMESTAMP'2024-01-01 00:00:00'",),
    ("timestamp", "timestamp_ntz"): ("TIMESTAMP'2024-01-01 00:00:01.5'",),
    ("timestamp", "string"): ("TIMESTAMP'2024-01-01 00:00:01.5'",),
    ("date", "string"): ("DATE'2024-01-01'", "DATE'-0001-01-01'"),
    ("boolean", "int"): ("true",),
}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_value_is_lost_where_the_cast_gives_another_one_or_none(spark, ansi):
    expected = {
        (pair, value): lost for lost, cases in ((True, LOST), (False, KEPT)) for pair, values in cases.items()
        for value in values
    }  # fmt: skip
    columns = []
    for (old, new), value in expected:
        of = is_lost("v", parse_sql_type(old), parse_sql_type(new), new)
        columns.append(f"element_at(transform(array(CAST({value} AS {old})), v -> {of}), 1)")
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        (row,) = spark.range(1).selectExpr(*columns).collect()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
    assert [key for key, lost, found in zip(expected, expected.values(), row) if lost != found] == []
