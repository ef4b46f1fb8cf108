"""The configuration file of the command line, given to an audit by ``config``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from tests.airflow.test_operators import Run
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

CONFIG = """
tables = ["/lake/*", { table = "/lake/hr", owner = "people" }]
exclude = ["/lake/tmp/**", "scratch"]
level = "footers"
fail_on = "warning"
state_path = "/ops/state"
engine = "auto"

[[waivers]]
code = "MD12"
owner = "data"
reason = "known"
expires = "2999-01-01"
"""


def audit(folder: Path, text: str = CONFIG, **arguments: Any) -> DeltaAuditProtocolOperator:
    (folder / "delta-provider.toml").write_text(text)
    (folder / "dag.py").touch()
    with DAG("d", schedule=None) as dag:
        dag.fileloc = str(folder / "dag.py")
        return DeltaAuditProtocolOperator(task_id="t", config="delta-provider.toml", **arguments)


def request(operator: DeltaAuditProtocolOperator) -> JobRequest:
    return operator.request(Run().context)


def test_file_gives_what_arguments_leave_out(tmp_path: Path) -> None:
    asked = request(audit(tmp_path))

    assert asked.tables == ("/lake/*", "/lake/hr")
    assert asked.exclude == ("/lake/tmp/**", "scratch")
    options: Any = asked.options
    assert (options.level, options.fail_on, options.state_path) == ("footers", "warning", "/ops/state")
    assert [entry["owner"] for entry in options.ownership] == ["people"]
    assert [entry["code"] for entry in options.waivers] == ["MD12"]


def test_relative_names_are_absolute_for_tables_and_for_what_holds_for_them(tmp_path: Path) -> None:
    text = CONFIG.replace('"/lake/', '"lake/').replace('code = "MD12"', 'code = "MD12"\ntable = "lake/old_*"')

    asked = request(audit(tmp_path, text))

    assert asked.tables == (f"{tmp_path}/lake/*", f"{tmp_path}/lake/hr")
    assert asked.exclude == (f"{tmp_path}/lake/tmp/**", "scratch")
    options: Any = asked.options
    assert [entry["table"] for entry in options.ownership] == [f"{tmp_path}/lake/hr"]
    assert [entry["table"] for entry in options.waivers] == [f"{tmp_path}/lake/old_*"]


def test_arguments_come_first(tmp_path: Path) -> None:
    asked = request(audit(tmp_path, table="/other", level="log", fail_on="error", exclude=["more"]))

    options: Any = asked.options
    assert (asked.tables, options.level, options.fail_on) == (("/other",), "log", "error")
    assert asked.exclude == ("more", "/lake/tmp/**", "scratch")


def test_without_a_file_the_defaults_hold() -> None:
    options: Any = request(DeltaAuditProtocolOperator(task_id="t", table="/t")).options
    assert (options.level, options.fail_on, options.state_path) == ("log", "error", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('tabels = ["/t"]', r"delta-provider.toml, line 1: unknown key 'tabels'. Did you mean 'tables'"),
        ("tables = [", "delta-provider.toml"),
        ('tables = ["/t"]\nfail_on = "never"', "has fail_on = 'never'"),
        ("", "pass exactly one of table and tables"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_when_the_dag_is_parsed(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DeltaRequestError, match=says):
        audit(tmp_path, text)


def test_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeltaRequestError, match=r"config: .*nowhere\.toml cannot be read"):
        DeltaAuditProtocolOperator(task_id="t", config=str(tmp_path / "nowhere.toml"))


def test_engine_auto_takes_python_where_no_rows_are_read_and_leaves_tables_out(tmp_path: Path) -> None:
    for name in ("orders", "scratch"):
        OnDisk(tmp_path / "lake" / name, Table(field("id", "long")).append())
    text = 'tables = ["lake/*"]\nexclude = ["scratch"]\nengine = "auto"'
    run = Run()

    audit(tmp_path, text).execute(run.context)

    assert [table["table"] for table in run.pushed["return_value"]["tables"]] == [f"{tmp_path}/lake/orders"]
