"""The operator that compares tables with their specs: what reaches XCom, asset events and the task's error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.exceptions import DeltaRequestError, DeltaViolationError
from airflow_delta_provider.operators.check_drift import DeltaCheckDriftOperator
from tests.airflow.test_operators import Run
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import Table
from tests.unit.states import field

COLUMNS = {"columns": [{"name": "id", "type": "bigint"}, {"name": "qty", "type": "int"}]}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table that was widened in version 3."""
    widened = Table(field("id", "long"), field("qty", "integer")).support("typeWidening").append().widen("qty", "long")
    OnDisk(tmp_path / "orders", widened.append())
    return tmp_path / "orders"


def check(**known: Any) -> DeltaCheckDriftOperator:
    return DeltaCheckDriftOperator(task_id="t", engine="python", **known)


def test_a_table_that_changed_fails_the_task_with_what_differs(table: Path) -> None:
    run = Run()
    with pytest.raises(DeltaViolationError, match=r"qty is bigint since version 3 \(CHANGE COLUMN by "):
        check(table=str(table), spec=COLUMNS).execute(run.context)
    (finding,) = run.pushed["findings"]["findings"]
    assert (finding["code"], finding["version"], finding["column"]) == ("DR05", 3, "qty")
    assert run.pushed["return_value"]["verdict"] == "VIOLATED"


def test_a_table_that_is_as_declared_passes(table: Path) -> None:
    run = Run()
    check(table=str(table), spec={"columns": [{"name": "qty", "type": "bigint"}]}).execute(run.context)
    assert run.pushed["return_value"]["counts"] == {"PASS": 1}


def test_drift_is_an_asset_event(table: Path) -> None:
    run = Run()
    run.context["outlet_events"] = OutletEventAccessors()
    operator = check(table=str(table), spec=COLUMNS, on_violation="warn", outlets=[AssetAlias("drift")])
    operator.execute(run.context)
    (event,) = run.context["outlet_events"][AssetAlias("drift")].asset_alias_events
    assert event.dest_asset_key.uri == f"file://{table}"
    assert (event.extra["kind"], event.extra["verdict"], event.extra["codes"]) == ("check-drift", "VIOLATED", ["DR05"])


def test_the_tables_of_files_are_those_that_the_files_name(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "orders.yaml").write_text(f"table: {table}\ncolumns: [{{name: qty, type: bigint}}]\n")
    (folder / "more.json").write_text(f'{{"table": "{table}/none", "columns": [{{"name": "qty"}}]}}')
    run = Run()
    check(spec=f"{folder}/", on_violation="warn").execute(run.context)
    assert run.pushed["return_value"]["counts"] == {"PASS": 1, "REFUSED": 1}


def test_a_spec_may_be_a_value(table: Path) -> None:
    check(table=str(table), spec=TableSpec(comment=None)).execute(Run().context)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"column": []}, "t: spec: .*column.*Did you mean 'columns'"),
        ([], "t: "),
        ({"table": "/elsewhere", **COLUMNS}, "t: spec has nothing for '/t'"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(DeltaRequestError, match=message):
        check(table="/t", spec=spec).execute(Run().context)
