"""Steps of a migration on real tables: what they commit is what the engine's own SQL makes of an equal table."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.jobs.changes import engine_transaction
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError, TableMovedError
from airflow_delta_provider.jobs.changes.engine_transaction import commit_metadata
from airflow_delta_provider.jobs.spark.engine_errors import understand
from tests.engine_errors import ENGINE_ERRORS
from tests.tables import log
from tests.tables.migrating import mapped, plain

COLUMN = steps.ColumnName
SWAP = steps.RenameColumns((COLUMN(("a",), "b"), COLUMN(("b",), "a"), COLUMN(("s", "x"), "y"), COLUMN(("s", "y"), "x")))
STEPS = {
    "properties": steps.SetProperties((("delta.appendOnly", "true"), ("team", "a"))),
    "properties in another case": steps.SetProperties((("delta.enablechangedatafeed", "true"),)),
    "feature": steps.SetProperties((("delta.feature.allowColumnDefaults", "supported"),)),
    "unset": steps.UnsetProperties(("team",)),
    "add": steps.AddColumns(
        (
            steps.NewColumn(("n",), "struct<p:int,q:array<string>>"),
            steps.NewColumn(("s", "z"), "decimal(5,2)"),
            steps.NewColumn(("l", "element", "w"), "int"),
        )
    ),
    "widen": steps.WidenColumns(
        (
            steps.ColumnType(("a",), "int", "bigint"),
            steps.ColumnType(("s", "x"), "int", "bigint"),
            steps.ColumnType(("m", "value"), "smallint", "int"),
            steps.ColumnType(("l", "element", "u"), "int", "bigint"),
        )
    ),
    "rename": steps.RenameColumns((COLUMN(("a",), "c"), COLUMN(("s", "x"), "xx"), COLUMN(("day",), "date"))),
    "swap": SWAP,
    "drop": steps.DropColumns((("b",), ("s", "y"), ("l", "element", "u"))),
    "reorder": steps.OrderFields((), ("b", "id", "a", "s", "l", "m", "day")),
    "reorder nested": steps.OrderFields(("s",), ("y", "x")),
    "allow nulls": steps.AllowNulls((("id",),)),
    "comments": steps.CommentColumns((steps.ColumnText(("a",), 'it\'s \\ "a"'), steps.ColumnText(("s", "x"), "x"))),
    "defaults": steps.SetDefaults((steps.ColumnText(("a",), "1 + 1"), steps.ColumnText(("b",), "'x'"))),
    "comment": steps.CommentTable("All of 'it'"),
    "no comment": steps.CommentTable(None),
    "drop constraint": steps.DropConstraint("positive"),
    "mapping": steps.SetProperties((("delta.columnMapping.mode", "name"),)),
}
ON_PLAIN = {"mapping", "feature"}


def without_ids(wire):
    if isinstance(wire, dict):
        return {
            key: "" if key == "delta.columnMapping.physicalName" else without_ids(value) for key, value in wire.items()
        }
    return [without_ids(value) for value in wire] if isinstance(wire, list) else wire


def head(path):
    metadata = log.last(path, "metaData")
    schema = without_ids(json.loads(metadata["schemaString"]))
    return schema, metadata["partitionColumns"], metadata["configuration"], metadata.get("description") or None


def commit(session, path, step):
    table = session.open_table(str(path))
    return commit_metadata(session, table, table.log.read_state(), step)


@pytest.mark.parametrize("name", STEPS)
def test_commit_makes_of_a_table_what_the_engines_sql_makes_of_it(session, table, audit, name):
    step, builder = STEPS[name], plain if name in ON_PLAIN else mapped
    ours, engines = table(builder), table(builder, name="engines")
    before, version = head(ours), log.newest(ours)
    for statement in step.sql(session.open_table(str(engines)).name).split(";\n"):
        session.sql(statement)
    assert commit(session, ours, step) == log.newest(ours) == version + 1
    assert head(ours) == head(engines)
    assert head(ours) != before or name == "feature"
    assert log.protocol(ours) == log.protocol(engines)
    assert audit(ours).findings == audit(engines).findings == ()


MANY = steps.InOneCommit(
    (
        steps.SetProperties((("delta.feature.allowColumnDefaults", "supported"), ("team", "b"))),
        steps.AddColumns((steps.NewColumn(("n",), "int"),)),
        SWAP,
        steps.WidenColumns((steps.ColumnType(("b",), "int", "bigint"),)),
        steps.ForbidNulls((("day",),)),
        steps.SetDefaults((steps.ColumnText(("b",), "7"),)),
        steps.DropColumns((("m",),)),
    )
)


def test_many_changes_are_one_commit_and_every_row_reads_as_before(session, spark, table, audit):
    path = table(mapped)
    version = log.newest(path)
    assert commit(session, path, MANY) == version + 1 == log.newest(path)
    rows = spark.sql(f"SELECT id, b, a, s.y, s.x, n FROM delta.`{path}` ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, 10, "1", 11, "y1", None),
        (2, 20, "2", 21, "y2", None),
        (3, *[None] * 5),
    ]
    assert log.last(path, "commitInfo")["operation"] == "UPDATE SCHEMA"
    assert audit(path).findings == ()


def test_append_in_the_meantime_is_kept_and_a_change_of_metadata_is_not_undone(session, spark, table, monkeypatch):
    path = table(mapped)

    def meanwhile(statement):
        def checked(*arguments):
            spark.newSession().sql(statement)
            return check(*arguments)

        check = engine_transaction.check_commit
        monkeypatch.setattr(engine_transaction, "check_commit", checked)

    with monkeypatch.context():
        meanwhile(f"INSERT INTO delta.`{path}` (id, day) VALUES (4, DATE'2024-01-01')")
        assert commit(session, path, STEPS["comments"]) == log.newest(path)
        assert spark.read.format("delta").load(str(path)).count() == 4
    meanwhile(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('meanwhile' = 'x')")
    with pytest.raises(ENGINE_ERRORS) as refused:
        commit(session, path, STEPS["defaults"])
    assert understand(refused.value).retryable
    assert log.configuration(path)["meanwhile"] == "x"


def test_plan_of_other_metadata_is_refused(session, spark, table):
    path = table(mapped)
    opened = session.open_table(str(path))
    since = opened.log.read_state()
    spark.sql(f"COMMENT ON TABLE delta.`{path}` IS 'another'")
    with pytest.raises(TableMovedError):
        commit_metadata(session, opened, since, STEPS["comments"])


def test_commit_that_breaks_a_rule_is_refused(session, table):
    path = table(mapped)
    version = log.newest(path)
    with pytest.raises((CommitRefusedError, *ENGINE_ERRORS)):
        commit(session, path, steps.WidenColumns((steps.ColumnType(("a",), "int", "smallint"),)))
    assert log.newest(path) == version


def test_not_null_is_set_only_where_no_row_has_null(session, spark, table, audit):
    path = table(mapped)
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    nullable = (("a",), ("s", "x"), ("day",))
    with pytest.raises(CommitRefusedError) as refused:
        commit(session, path, steps.ForbidNulls(nullable))
    assert [(each.code, each.column, each.facts["nulls"], each.facts["rows"]) for each in refused.value.findings] == [
        ("RQ70", "a", 1, 3),
        ("RQ70", "s.x", 1, 3),
    ]
    assert refused.value.findings[0].path.endswith(".parquet")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")  # by a deletion vector: the file still has the NULLs
    renamed = steps.InOneCommit(
        (SWAP, steps.AddColumns((steps.NewColumn(("n",), "int"),)), steps.ForbidNulls((("b",), ("day",), ("n",))))
    )
    with pytest.raises(CommitRefusedError) as refused:
        commit(session, path, renamed)
    assert [(each.column, each.facts["nulls"]) for each in refused.value.findings] == [("n", 2)]
    commit(session, path, steps.ForbidNulls((("a",), ("day",))))
    assert {name for name, field in log.fields(path).items() if not field["nullable"]} == {"id", "a", "day"}
    with pytest.raises(Exception, match="NULL"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (4, null, '4', null, null, null, DATE'2024-01-01')")
    assert audit(path, level="data").findings == ()


def test_rows_with_null_that_come_in_the_meantime_are_not_missed(session, spark, table, monkeypatch):
    path = table(mapped)

    def checked(*arguments):
        spark.newSession().sql(f"INSERT INTO delta.`{path}` (id, day) VALUES (4, null)")
        return check(*arguments)

    check = engine_transaction.check_commit
    monkeypatch.setattr(engine_transaction, "check_commit", checked)
    with pytest.raises(ENGINE_ERRORS) as refused:
        commit(session, path, steps.ForbidNulls((("day",),)))
    assert understand(refused.value).retryable
    assert log.fields(path)["day"]["nullable"]
