"""Operators that only read, with ``engine="python"``: in the task's own process, on real logs, without a submit."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from airflow_delta_provider.domain.report.findings_table import FindingsTableError
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.exceptions import DeltaFaultError, DeltaRequestError, DeltaViolationError
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run as run_job
from airflow_delta_provider.jobs.storage.storages import Storages
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_paimon_row_tracking import PaimonCheckRowTrackingOperator
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.column_mapping_usage import DeltaColumnMappingUsageOperator
from airflow_delta_provider.operators.delta_task import DeltaReadOperator
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator
from airflow_delta_provider.watch.delta_options import delta_options
from airflow_delta_provider.watch.metadata_folder import DeltaLogUnreadableError
from tests.airflow.table_logs import RecordingFileSystem, TableLog, attach_store, metadata, protocol
from tests.airflow.test_operators import Run
from tests.small_s3 import SmallS3
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field


@pytest.fixture(autouse=True)
def without_submit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    OnDisk(tmp_path / "good", Table(field("id", "long")).append().append())
    return tmp_path / "good"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A table of which a commit has two metaData actions."""
    table = Table(field("id", "long")).append().append()
    first = next(action for action in table.commits[0] if "metaData" in action)
    table.commits[2].extend([first, first])
    OnDisk(tmp_path / "damaged", table)
    return tmp_path / "damaged"


def test_audit_judges_and_pushes_the_same_as_by_a_submit(good: Path, damaged: Path) -> None:
    run = Run()
    audit = DeltaAuditProtocolOperator(task_id="t", tables=[str(good), str(damaged)], engine="python")

    with pytest.raises(DeltaViolationError, match="MD03"):
        audit.execute(run.context)

    assert run.pushed["return_value"]["counts"] == {"PASS": 1, "VIOLATED": 1}
    assert [(f["code"], f["version"]) for f in run.pushed["findings"]["findings"]] == [("MD03", 2)]


def test_audit_remembers(good: Path, tmp_path: Path) -> None:
    audit = DeltaAuditProtocolOperator(
        task_id="t", table=str(good), engine="python", state_path=str(tmp_path / "state")
    )

    audit.execute(Run().context)

    [state] = (tmp_path / "state").iterdir()
    assert json.loads(state.read_text())["version"] == 2


def test_detail_and_usage_are_read(good: Path) -> None:
    run = Run()
    DeltaTableDetailOperator(task_id="t", table=str(good), engine="python").execute(run.context)
    assert run.pushed["details"]["tables"][str(good)]["columns"] == {"id": "bigint"}

    DeltaColumnMappingUsageOperator(task_id="t", table=str(good), engine="python").execute(run.context)
    assert run.pushed["return_value"]["counts"] == {"PASS": 1}


def test_catalog_name_is_refused_with_the_remedy() -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table="sales.orders", engine="python")

    with pytest.raises(DeltaViolationError, match=r"no catalog without Spark.*\n.*use the engine spark"):
        audit.execute(Run().context)


@pytest.mark.parametrize(
    "make",
    [
        lambda **a: DeltaAuditProtocolOperator(level="data", **a),
        lambda **a: DeltaCheckRowTrackingOperator(**a),
        lambda **a: PaimonCheckRowTrackingOperator(source="catalog", **a),
    ],
)
def test_what_needs_rows_is_refused_when_the_dag_is_parsed(make: Any) -> None:
    with pytest.raises(DeltaRequestError, match="engine is 'python', which reads no rows"):
        make(task_id="t", table="/t", engine="python")


def test_level_of_a_template_is_checked_when_it_is_known() -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table="/t", engine="python", level="{{ params.level }}")
    audit.render_template_fields({"params": {"level": "data"}})

    with pytest.raises(DeltaRequestError, match="engine is 'python', which reads no rows"):
        audit.execute(Run().context)


def test_unknown_engine_is_refused() -> None:
    with pytest.raises(DeltaRequestError, match=r"engine is 'duckdb'\. It is 'spark' or 'python'"):
        DeltaAuditProtocolOperator(task_id="t", table="/t", engine="duckdb")  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.operator], ids=lambda kind: str(kind.name))
def test_operators_of_kinds_that_read_alone_take_an_engine(kind: Any) -> None:
    assert issubclass(load(kind.operator), DeltaReadOperator) == (kind.reading_job is not None)


def test_store_is_read_by_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem = RecordingFileSystem()
    conn_id = attach_store(monkeypatch, filesystem)
    TableLog(f"/{conn_id}/t", filesystem).commit(0, protocol("typeWidening"), metadata())
    run = Run()

    DeltaAuditProtocolOperator(
        task_id="t",
        table=f"memory://{conn_id}/t",
        engine="python",
        storage_conn_id=conn_id,
        state_path=f"memory://{conn_id}/state",
        on_violation="warn",
    ).execute(run.context)

    assert run.pushed["return_value"]["tables"][0]["version"] == 0
    assert len(filesystem.ls(f"/{conn_id}/state")) == 1


def test_connection_that_does_not_exist_is_named() -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table="s3://lake/t", engine="python", storage_conn_id="nobodys")

    with pytest.raises(DeltaLogUnreadableError, match="storage_conn_id 'nobodys' does not exist"):
        audit.execute(Run().context)


def test_storage_that_nothing_serves_is_a_fault_with_the_remedy() -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table="lakefs://repo/main/t", engine="python")

    with pytest.raises(DeltaFaultError, match="nothing here reads lakefs:// without Spark"):
        audit.execute(Run().context)


def test_findings_are_recorded_with_the_task_once_per_try(damaged: Path, tmp_path: Path) -> None:
    table = tmp_path / "ops" / "findings"
    audit = DeltaAuditProtocolOperator(task_id="t", table=str(damaged), engine="python", findings_table=str(table))

    run = Run()
    for _ in range(2):
        with pytest.raises(DeltaViolationError, match="MD03"):
            audit.execute(run.context)

    found = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    assert sorted((row["record"], row["code"]) for row in found) == [("finding", "MD03"), ("table", None)]
    assert {(row["dag_id"], row["task_id"], row["try_number"]) for row in found} == {
        (run.context["ti"].dag_id, "t", run.context["ti"].try_number)
    }


def test_findings_that_cannot_be_recorded_change_no_outcome(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table=str(good), engine="python", findings_table=f"{tmp_path}/")
    summary = audit.execute(Run().context)

    assert summary["verdict"] == "PASS"
    assert "The findings were not recorded" in capsys.readouterr().out


def test_findings_in_a_catalog_need_spark(good: Path) -> None:
    with pytest.raises(DeltaRequestError, match=r"findings_table is 'ops\.findings', a name in a catalog"):
        DeltaAuditProtocolOperator(task_id="t", table=str(good), engine="python", findings_table="ops.findings")


def test_findings_on_s3_are_written_with_the_connection(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SmallS3().running() as s3:
        s3.load(good, "good")
        extra = {"endpoint_url": s3.endpoint, "region_name": "us-east-1"}
        connection = {"conn_type": "aws", "login": "access", "password": "hidden", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))

        request = JobRequest((str(good),), AuditOptions(findings_table="s3://lake/ops/findings"), attempt="a")
        options = partial(delta_options, "lake")
        storages = Storages(
            {"endpoint": s3.endpoint, "region": "us-east-1", "access_key_id": "access", "secret_access_key": "hidden"}
        )
        assert run_job(request, python_session(storages, options)).warnings == ()
        assert "ops/findings/_delta_log/00000000000000000001.json" in s3.objects


@pytest.mark.parametrize(
    ("connection", "location", "said"),
    [
        ({"conn_type": "aws", "extra": {"role_arn": "arn"}}, "s3://lake/f", "has role_arn, which deltalake cannot use"),
        ({"conn_type": "aws"}, "gs://lake/f", "is of type 'aws', which has no options for gs://"),
    ],
)
def test_connection_that_cannot_be_used_is_named(
    connection: dict[str, Any], location: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(connection))
    with pytest.raises(FindingsTableError, match=said):
        delta_options("lake", location)


def test_connections_of_azure_and_google_become_options(monkeypatch: pytest.MonkeyPatch) -> None:
    azure = {"conn_type": "adls", "login": "client", "password": "secret", "extra": {"tenant_id": "t"}}
    monkeypatch.setenv("AIRFLOW_CONN_AZURE", json.dumps({**azure, "host": "acc.dfs.core.windows.net"}))
    monkeypatch.setenv(
        "AIRFLOW_CONN_GOOGLE", json.dumps({"conn_type": "google_cloud_platform", "extra": {"keyfile_dict": {"a": 1}}})
    )
    assert delta_options("azure", "abfss://c@acc.dfs.core.windows.net/f") == {
        "account_name": "acc",
        "tenant_id": "t",
        "client_id": "client",
        "client_secret": "secret",
    }
    assert delta_options("google", "gs://lake/f") == {"google_service_account_key": '{"a": 1}'}
    assert delta_options("google", "/lake/f") == {}
