"""What tasks may reach: paths of arguments, files of the worker, teams."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.configuration import allowed_locations
from airflow_delta_provider.exceptions import DeltaAlertError, DeltaRequestError
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_paimon_row_tracking import PaimonCheckRowTrackingOperator
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.table_logs import TableLog, metadata, protocol

__all__ = ["spark_submit"]

ALLOWED = "AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS"
SECRET = "hunter2-of-the-worker"


def context(team: str | None = None, bundle: Path | None = None) -> Any:
    instance = SimpleNamespace(dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=1, max_tries=0)
    instance.xcom_push = lambda key, value: None
    instance.bundle_instance = SimpleNamespace(path=bundle)
    return {"ti": instance, "dag_run": SimpleNamespace(team_name=team), "task_state_store": None}


def in_dag(folder: Path, **arguments: Any) -> DeltaAuditProtocolOperator:
    """Return an audit in a DAG whose file lies in a folder."""
    with DAG("d", schedule=None) as dag:
        operator = DeltaAuditProtocolOperator(task_id="t", delta_jars="provided", **arguments)
    dag.fileloc = str(folder / "dag.py")
    return operator


def rendered(operator: DeltaAuditProtocolOperator, **params: Any) -> DeltaAuditProtocolOperator:
    operator.render_template_fields({"params": params})
    return operator


# -- paths of arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("operator", [DeltaAuditProtocolOperator, PaimonCheckRowTrackingOperator])
@pytest.mark.parametrize(
    ("allowed", "path"),
    [
        ("s3://ours", "s3://theirs/orders/_delta_log"),
        ("s3://ours", "s3://theirs/audits"),
        ("", "s3://theirs/orders/_delta_log"),
        ("", "s3://ours/t/state"),
    ],
)
def test_state_is_not_written_where_it_must_not_be(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, operator: Any, allowed: str, path: str
) -> None:
    monkeypatch.setenv(ALLOWED, allowed)
    task = operator(task_id="t", table="s3://ours/t", state_path="{{ params.path }}", delta_jars="provided")
    task.render_template_fields({"params": {"path": path}})
    with pytest.raises(DeltaRequestError, match=f"t: state_path is '{path}'"):
        task.execute(context())
    assert not spark_submit.calls


def test_what_is_allowed_travels_in_the_request(spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "s3://ours, main.sales")
    spark_submit.does("assert request['allowed_locations'] == ['s3://ours', 'main.sales'], request; report()")
    task = DeltaAuditProtocolOperator(task_id="t", table="main.sales.t", delta_jars="provided")
    assert task.execute(context())["verdict"] == "PASS"


def test_notifier_neither_reads_nor_writes_elsewhere_and_alerts_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir()
    (ours / "link").symlink_to(theirs)
    monkeypatch.setenv(ALLOWED, str(ours))
    for path in (theirs / "told.json", ours / "link" / "told.json", ours / "t" / "_delta_log" / "0.json"):
        told: list[Any] = []
        notifier = DeltaViolationNotifier(notifiers=[told.append], state_path=str(path))
        with pytest.raises(DeltaAlertError, match=r"allowed locations|inside _delta_log"):
            notifier({**context(), "exception": RuntimeError("no"), "task": SimpleNamespace(task_id="t")})
        assert len(told) == 1
        assert not path.exists()


def test_connection_in_the_uri_of_a_notifiers_state_is_no_part_of_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "s3://ops")
    told: list[Any] = []
    failed = {**context(), "exception": RuntimeError("no"), "task": SimpleNamespace(task_id="t")}
    DeltaViolationNotifier(notifiers=[told.append], state_path="s3://aws_default@ops/told.json")(failed)
    with pytest.raises(DeltaAlertError, match="outside the allowed locations"):
        DeltaViolationNotifier(notifiers=[told.append], state_path="s3://ops@theirs/told.json")(failed)
    assert len(told) == 2


def test_sensor_does_not_follow_links_out_of_what_is_allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    TableLog(tmp_path / "theirs" / "t").commit(0, protocol("typeWidening"), metadata())
    (tmp_path / "lake").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "t").symlink_to(tmp_path / "theirs" / "t")
    TableLog(tmp_path / "real" / "own").commit(0, protocol("typeWidening"), metadata())
    monkeypatch.setenv(ALLOWED, str(tmp_path / "lake"))

    def look(table: Path) -> Any:
        return DeltaFeatureSensor(task_id="t", table=str(table), features="typeWidening").execute(context())

    assert look(tmp_path / "lake" / "own")["version"] == 0  # the allowed folder itself is a link
    with pytest.raises(DeltaRequestError, match="allowed_locations"):
        look(tmp_path / "lake" / "t")


# -- files of the worker ---------------------------------------------------------------------------


def test_text_that_a_template_rendered_to_never_makes_a_task_read_a_file(
    spark_submit: FakeSparkSubmit, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text(f"- {SECRET}\n")
    for argument in ("tables", "waivers"):
        arguments = {"table": "/t"} if argument == "waivers" else {}
        operator = rendered(in_dag(tmp_path, **{argument: "{{ params.x }}"}, **arguments), x=str(secret))
        with pytest.raises(DeltaRequestError, match=f"t: {argument} was rendered to") as raised:
            operator.execute(context())
        assert SECRET not in str(raised.value)
    assert not spark_submit.calls


@pytest.mark.parametrize("name", ["../secret", "link", "/etc/secret"])
def test_template_in_the_name_of_a_file_does_not_lead_out_of_the_dags(
    spark_submit: FakeSparkSubmit, tmp_path: Path, name: str
) -> None:
    dags = tmp_path / "dags"
    dags.mkdir()
    tmp_path.joinpath("secret.yaml").write_text(f"- {SECRET}\n")
    (dags / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    operator = rendered(in_dag(dags, tables="{{ params.team }}.yaml"), team=name)
    with pytest.raises(DeltaRequestError, match="lies neither with the DAGs nor in the allowed locations"):
        operator.execute(context())
    (dags / "sales.yaml").write_text("- /lake/t\n")
    operator = rendered(in_dag(dags, tables="{{ params.team }}.yaml"), team="sales")
    assert operator.request(context()).tables == ("/lake/t",)


def test_files_lie_in_the_bundle_or_where_it_is_allowed(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle, other = tmp_path / "bundle", tmp_path / "other"
    for folder in (bundle / "dags", other):
        folder.mkdir(parents=True)
    for folder in (bundle, other):
        (folder / "fleet.yaml").write_text(f"- {other}/t\n")
    shared = in_dag(bundle / "dags", tables="../fleet.{{ 'yaml' }}.yaml")
    shared.tables = "../fleet.yaml"
    assert shared.request(context(bundle=bundle)).tables == (f"{other}/t",)
    named = in_dag(bundle / "dags", tables=str(other / "fleet.yaml"))  # the DAG's author says so
    assert named.request(context(bundle=bundle)).tables == (f"{other}/t",)
    monkeypatch.setenv(ALLOWED, str(other))
    assert named.request(context(bundle=bundle)).tables == (f"{other}/t",)
    monkeypatch.setenv(ALLOWED, "s3://lake")
    with pytest.raises(DeltaRequestError, match="Put the file below the folder of the DAG's file"):
        named.request(context(bundle=bundle))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"password: {SECRET}", "holds no list"),
        (SECRET, "holds no list"),
        (f"- [{SECRET}]", "entry 1 of .* is neither a string nor a mapping"),
        (f"a: '{SECRET}", "is not YAML in line 1, column"),
        (f"- x\n- {SECRET}: : {SECRET}", "is not YAML in line 2, column"),
        (b"\xff" + SECRET.encode(), "is not UTF-8 text"),
    ],
)
def test_errors_say_where_a_file_is_wrong_and_nothing_of_what_it_holds(
    tmp_path: Path, content: str | bytes, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "fleet.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with caplog.at_level(logging.DEBUG), pytest.raises(DeltaRequestError, match=says) as raised:
        in_dag(tmp_path, tables=str(file))
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SECRET not in caplog.text


# -- teams -----------------------------------------------------------------------------------------


def test_setting_of_a_team_counts_for_its_tasks(spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, "s3://everyone")
    monkeypatch.setenv("AIRFLOW__SALES___DELTA_PROVIDER__ALLOWED_LOCATIONS", "s3://sales, main.sales")
    assert allowed_locations() == allowed_locations("hr") == ("s3://everyone",)
    assert allowed_locations("sales") == ("s3://sales", "main.sales")

    task = DeltaAuditProtocolOperator(task_id="t", table="s3://sales/t", delta_jars="provided")
    assert task.execute(context("sales"))["verdict"] == "PASS"
    for team in ("hr", None):
        with pytest.raises(DeltaRequestError, match="outside the allowed locations"):
            task.execute(context(team))
