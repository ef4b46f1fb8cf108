"""Example DAGs through ``dag.test()`` and real spark-submits; what counts is what became of the tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from demo.airflow_home import AirflowHome
from tests.system.orders_table import ROW_TRACKING, orders, with_row_tracking, with_shared_row_ids, without_row_ids
from tests.tables import log
from tests.tables.paimon.archive import table_of, unpack

RunDag = Callable[..., dict[str, list[Any]]]
EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"
WIDENING = "'delta.enableTypeWidening' = 'true'"


def types(path: Path) -> dict[str, str]:
    """Return the types of the columns that the tests widen."""
    fields = log.fields(path)
    return {
        "quantity": fields["quantity"]["type"],
        "lines.element.price": fields["lines"]["type"]["elementType"]["fields"][1]["type"],
    }


def tasks_of(path: Path) -> list[str]:
    """Return the task of each commit that a task made, oldest first."""
    labels = [log.user_metadata(path, version) for version in sorted(log.commits(path))]
    return [label["task_id"] for label in labels if label]


def states(outcomes: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {task_id: [outcome.state for outcome in mapped] for task_id, mapped in outcomes.items()}


def verdicts(xcoms: dict[str, Any]) -> dict[str, str]:
    """Return the verdicts by table that a task pushed."""
    return {row["table"]: row["verdict"] for row in xcoms["return_value"]["tables"]}


@pytest.fixture
def dags(airflow: AirflowHome) -> Path:
    """The folder of the DAGs, with the files that examples name."""
    folder = Path(airflow.environment["AIRFLOW__CORE__DAGS_FOLDER"])
    (folder / "specs").mkdir(exist_ok=True)
    for file in ("fleet.yaml", "migrations_policy.yaml"):
        shutil.copy(EXAMPLES / file, folder)
    return folder


def test_every_example_is_run_by_a_test() -> None:
    folders = (Path(__file__).parent, Path(__file__).parents[1] / "incidents")
    source = "".join(file.read_text(encoding="utf-8") for folder in folders for file in folder.glob("test_*.py"))
    assert [f.stem for f in EXAMPLES.glob("*.py") if f'"{f.stem}"' not in source] == []


def test_enable_features_and_widen_makes_one_commit_for_both_columns(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "it's a table, äöü")
    wanted = {"quantity": "bigint", "lines.element.price": "decimal(12,2)"}
    outcomes = run_dag("enable_features_and_widen", table=str(table), columns=wanted)
    assert states(outcomes) == {"enable_features": ["success"], "widen_columns": ["success"]}
    assert types(table) == {"quantity": "long", "lines.element.price": "decimal(12,2)"}
    assert tasks_of(table).count("widen_columns") == 1
    assert {"rowTracking", "typeWidening"} <= set(log.protocol(table)["writerFeatures"])
    assert spark.sql(f"SELECT sum(quantity), sum(lines[0].price) FROM delta.`{table}`").first() == (450, 45)
    assert spark.sql(f"SELECT count(DISTINCT _metadata.row_id) FROM delta.`{table}`").first() == (10,)


def test_refused_change_fails_tells_why_and_changes_nothing(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders", properties=WIDENING)
    before = log.contents(table)
    outcomes = run_dag("refused_change", table=str(table), columns={"quantity": "smallint", "id": "bigint"})
    assert states(outcomes) == {"change_types": ["failed"], "tell_the_owners": ["success"]}
    assert outcomes["change_types"][0].xcoms["return_value"]["verdict"] == "REFUSED"
    (sentence,) = outcomes["tell_the_owners"][0].xcoms["return_value"]
    assert sentence.startswith("RQ11: quantity is int and cannot be widened to smallint. Allowed from int: bigint")
    assert log.contents(table) == before


@pytest.mark.nightly
def test_check_before_vacuum_stops_it_until_the_stream_has_caught_up(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders", properties="'delta.deletedFileRetentionDuration' = 'interval 0 hours'")
    checkpoint = tmp_path / "checkpoint"

    def advance() -> None:
        rows = spark.readStream.format("delta").load(str(table)).writeStream.format("delta")
        rows = rows.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        rows.start(str(tmp_path / "sink")).awaitTermination()

    advance()
    spark.sql(f"INSERT INTO delta.`{table}` SELECT * FROM delta.`{table}`")
    spark.sql(f"OPTIMIZE delta.`{table}`")
    outcomes = run_dag("check_before_vacuum", table=str(table), checkpoint=str(checkpoint))
    assert states(outcomes) == {"check": ["failed"], "vacuum": ["upstream_failed"]}
    assert [found["code"] for found in outcomes["check"][0].xcoms["findings"]["findings"]] == ["RE02"]
    advance()
    outcomes = run_dag("check_before_vacuum", table=str(table), checkpoint=str(checkpoint))
    assert states(outcomes) == {"check": ["success"], "vacuum": ["success"]}


@pytest.mark.nightly
def test_widen_many_tables_maps_over_the_tables(spark: SparkSession, run_dag: RunDag, tmp_path: Path) -> None:
    tables = [orders(spark, tmp_path / name) for name in ("a", "b")]
    outcomes = run_dag(
        "widen_many_tables", tables=[str(t) for t in (*tables, tables[0])], columns={"quantity": "bigint"}
    )
    assert states(outcomes) == {"tables": ["success"], "widen": ["success", "success"]}
    assert [types(table)["quantity"] for table in tables] == ["long", "long"]
    labels = [log.user_metadata(table, log.newest(table)) for table in tables]
    assert [label["map_index"] for label in labels] == [0, 1]


@pytest.mark.nightly
def test_repair_violated_tables_repairs_the_broken_one_only(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    broken = without_row_ids(spark, tmp_path / "broken")
    sound, plain = with_row_tracking(spark, tmp_path / "sound"), orders(spark, tmp_path / "plain")
    others = {path: log.contents(path) for path in (sound, plain)}
    outcomes = run_dag("repair_violated_tables", tables=[str(path) for path in (sound, broken, plain)])
    assert states(outcomes) == {
        "audit": ["success"],
        "without_row_ids": ["success"],
        "disable_row_tracking": ["success"],
        "enable_row_tracking": ["success"],
    }
    audit = outcomes["audit"][0].xcoms
    assert verdicts(audit) == {str(sound): "PASS", str(broken): "VIOLATED", str(plain): "UNDETERMINED"}
    assert [f["table"] for f in audit["findings"]["findings"] if f["code"] == "RT05"] == [str(broken)]
    assert outcomes["without_row_ids"][0].xcoms["return_value"] == [str(broken)]
    assert {path: log.contents(path) for path in (sound, plain)} == others
    assert {"baseRowId", "defaultRowCommitVersion"} <= log.last(broken, "add").keys()
    assert log.configuration(broken)["delta.enableRowTracking"] == "true"
    assert spark.sql(f"SELECT count(DISTINCT _metadata.row_id) FROM delta.`{broken}`").first() == (10,)


@pytest.mark.nightly
@pytest.mark.soak
def test_repair_leaves_a_table_alone_whose_rows_share_ids(spark: SparkSession, run_dag: RunDag, tmp_path: Path) -> None:
    table = with_shared_row_ids(spark, tmp_path / "shared")
    before = log.contents(table)
    outcomes = run_dag("repair_violated_tables", tables=[str(table)])
    assert verdicts(outcomes["audit"][0].xcoms) == {str(table): "VIOLATED"}
    assert outcomes["without_row_ids"][0].xcoms["return_value"] == []
    assert states(outcomes).get("enable_row_tracking", ["skipped"]) == ["skipped"]
    assert log.contents(table) == before


@pytest.mark.nightly
def test_check_row_tracking_passes_after_optimize_update_and_delete_and_changes_nothing(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    fresh, plain = with_row_tracking(spark, tmp_path / "it's fresh, äöü"), orders(spark, tmp_path / "plain")
    moved = orders(spark, tmp_path / "moved", properties=f"{ROW_TRACKING}, 'delta.enableDeletionVectors' = 'true'")
    spark.sql(f"INSERT INTO delta.`{moved}` SELECT id + 10, quantity, lines FROM delta.`{moved}`")
    spark.sql(f"OPTIMIZE delta.`{moved}`")
    spark.sql(f"UPDATE delta.`{moved}` SET quantity = quantity + 1 WHERE id % 3 = 0")
    spark.sql(f"DELETE FROM delta.`{moved}` WHERE id = 5")
    assert log.last(moved, "add")["deletionVector"]["cardinality"] > 1
    tables = (moved, fresh, plain)
    before = {path: log.contents(path) for path in tables}
    outcomes = run_dag("check_row_tracking", tables=[str(path) for path in tables])
    assert states(outcomes) == {"check_row_ids": ["success"]}
    xcoms = outcomes["check_row_ids"][0].xcoms
    assert verdicts(xcoms) == {str(moved): "PASS", str(fresh): "PASS", str(plain): "UNDETERMINED"}
    assert {finding["table"] for finding in xcoms["findings"]["findings"]} == {str(plain)}
    assert {path: log.contents(path) for path in tables} == before


@pytest.mark.soak
def test_check_row_tracking_fails_on_the_table_whose_rows_share_ids(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    shared, sound = with_shared_row_ids(spark, tmp_path / "shared"), with_row_tracking(spark, tmp_path / "sound")
    outcomes = run_dag("check_row_tracking", tables=[str(sound), str(shared)])
    assert states(outcomes) == {"check_row_ids": ["failed"]}
    xcoms = outcomes["check_row_ids"][0].xcoms
    assert verdicts(xcoms) == {str(sound): "PASS", str(shared): "VIOLATED"}
    errors = [finding for finding in xcoms["findings"]["findings"] if finding["severity"] == "ERROR"]
    assert {finding["table"] for finding in errors} == {str(shared)}
    assert "RT08" in {finding["code"] for finding in errors}


@pytest.mark.soak
def test_wait_for_feature_goes_on_at_once_where_the_feature_is_enabled(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders", properties=WIDENING)
    outcomes = run_dag("wait_for_feature", table=str(table), columns={"quantity": "bigint"})
    assert states(outcomes) == {"wait_for_type_widening": ["success"], "widen_columns": ["success"]}
    seen = outcomes["wait_for_type_widening"][0].xcoms["return_value"]
    assert seen == {"table": str(table), "version": 1, "features": {"typeWidening": "enabled"}}
    assert types(table)["quantity"] == "long"


@pytest.mark.nightly
def test_check_paimon_row_tracking_waits_for_a_snapshot_and_finds_all_well(run_dag: RunDag, tmp_path: Path) -> None:
    table, memory = table_of(unpack(tmp_path), "worked/05_delete"), tmp_path / "memory"
    outcomes = run_dag("check_paimon_row_tracking", table=str(table), known_snapshot=3, state_path=str(memory))
    assert states(outcomes) == {"wait_for_snapshot": ["success"], "check_row_ids": ["success"]}
    seen = outcomes["wait_for_snapshot"][0].xcoms["return_value"]
    assert (seen["snapshot"], seen["since_snapshot"]) == (4, 3)
    xcoms = outcomes["check_row_ids"][0].xcoms
    assert verdicts(xcoms) == {str(table): "PASS"}
    assert xcoms["findings"]["findings"] == []
    assert len(list(memory.iterdir())) == 1


@pytest.mark.nightly
def test_readers_behind_the_gate_do_not_run_where_a_rule_is_broken(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders")
    outcomes = run_dag("audit_before_reading", table=str(table))
    assert outcomes["read"][0].xcoms["return_value"] == log.newest(table)
    with log.rewritten(table, 0) as actions:
        protocol = next(action for action in actions if "protocol" in action)
        actions.append(protocol)
    log.forget_checkpoints(table)
    outcomes = run_dag("audit_before_reading", table=str(table))
    assert states(outcomes)["audit"] == ["failed"]
    assert states(outcomes).get("read", ["upstream_failed"]) == ["upstream_failed"]
    findings = outcomes["audit"][0].xcoms["findings"]["findings"]
    assert [(f["code"], f["version"]) for f in findings] == [("TF09", 0)]


def test_leave_column_mapping_leaves_tables_alone_that_used_it(
    spark: SparkSession, run_dag: RunDag, tmp_path: Path
) -> None:
    unused, used = orders(spark, tmp_path / "unused, äöü"), orders(spark, tmp_path / "used")
    for table in (unused, used):
        spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"ALTER TABLE delta.`{used}` DROP COLUMN quantity")
    before = log.contents(used)
    outcomes = run_dag("leave_column_mapping", tables=[str(unused), str(used)])
    names = ("usage", "unused_tables", "disable_column_mapping")
    assert states(outcomes) == {name: ["success"] for name in names}
    found = outcomes["usage"][0].xcoms["return_value"]["tables"]
    assert {row["table"]: row["usage"] for row in found} == {str(unused): "UNUSED", str(used): "USED"}
    assert log.contents(used) == before
    assert "columnMapping" not in json.dumps(log.last(unused, "metaData"))
    assert tasks_of(unused) == ["disable_column_mapping"]
    assert spark.sql(f"SELECT sum(quantity), sum(lines[0].price) FROM delta.`{unused}`").first() == (450, 45)


def test_migrate_table_applies_what_needs_no_approval_and_check_drift_names_the_commit_that_changes_it(
    spark: SparkSession, run_dag: RunDag, dags: Path, tmp_path: Path
) -> None:
    table = orders(spark, tmp_path / "orders", properties=WIDENING)
    columns = "[{name: quantity, type: int}, {name: note, type: string, comment: Of the customer}]"
    (dags / "specs" / "orders.yaml").write_text(f"columns: {columns}\n", encoding="utf-8")
    outcomes = run_dag("migrate_table", table=str(table), spec="orders")
    assert states(outcomes) == {
        "delta_migration.plan": ["success"],
        "delta_migration.approve": ["skipped"],
        "delta_migration.apply": ["success"],
        "delta_migration.verify": ["success"],
    }
    assert log.fields(table)["note"]["metadata"]["comment"] == "Of the customer"
    assert tasks_of(table) == ["delta_migration.apply"]
    assert states(run_dag("check_drift", table=str(table), spec="orders")) == {"check_drift": ["success"]}

    spark.sql(f"ALTER TABLE delta.`{table}` ALTER COLUMN quantity TYPE bigint")
    checked = run_dag("check_drift", table=str(table), spec="orders")["check_drift"][0]
    assert checked.state == "failed"
    finding = checked.xcoms["findings"]["findings"][0]
    assert (finding["code"], finding["column"], finding["version"]) == ("DR05", "quantity", max(log.commits(table)))
