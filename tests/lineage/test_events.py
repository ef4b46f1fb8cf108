"""Operators that ran, asked by OpenLineage's provider, whose events go to a file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import TaskInstanceState
from airflow.sdk import DAG

from airflow_delta_provider.exceptions import DeltaViolationError
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from airflow_delta_provider.operators.lineage import operator_lineage
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator
from tests.airflow.test_operators import Run
from tests.browser.lake import make_lake
from tests.unit.rendering.reports import report_of, violated
from tests.unit.rendering.reports import sound as table_report

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(find_spec("openlineage") is None, reason="OpenLineage is not there: make lineage installs it"),
]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    make_lake(tmp_path / "lake")
    return tmp_path / "lake"


def sent(operator: DeltaJobOperator, folder: Path, state: TaskInstanceState) -> dict[str, Any]:
    """Return the event that the provider sends about an operator that ran."""
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.providers.openlineage.plugins.adapter import OpenLineageAdapter
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.file import FileConfig, FileTransport

    file = folder / "events.json"
    transport = FileTransport(FileConfig(log_file_path=str(file), append=True))
    run, instance = SimpleNamespace(run_id="r"), SimpleNamespace(task_id=operator.task_id)
    lineage = ExtractorManager().extract_metadata(run, operator, state, instance)
    OpenLineageAdapter(OpenLineageClient(transport=transport)).complete_task(
        run_id=str(uuid4()),
        job_name=f"d.{operator.task_id}",
        end_time=datetime.now(timezone.utc).isoformat(),
        task=lineage,
        nominal_start_time=None,
        nominal_end_time=None,
        owners=None,
        tags=None,
        job_description=None,
    )
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_violated_audit_tells_tables_with_columns_version_and_assertions(lake: Path, tmp_path: Path) -> None:
    with DAG("d"):
        audit = DeltaAuditProtocolOperator(task_id="audit", table=f"{lake}/*", engine="python")
    with pytest.raises(DeltaViolationError):
        audit.execute(Run().context)
    event = sent(audit, tmp_path, TaskInstanceState.FAILED)
    inputs = {dataset["name"]: dataset for dataset in event["inputs"]}
    assert set(inputs) == {f"{lake}/{name}" for name in ("orders", "returns", "nasty")}
    assert event["outputs"] == []
    orders = inputs[f"{lake}/orders"]
    assert orders["namespace"] == "file"
    assert [(field["name"], field["type"]) for field in orders["facets"]["schema"]["fields"]] == [
        ("id", "bigint"),
        ("amount", "decimal(10,2)"),
        ("store", "string"),
        ("note", "string"),
    ]
    assert orders["facets"]["version"]["datasetVersion"] == "14"
    told = orders["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(each["assertion"][:5], each["success"]) for each in told] == [("audit", False), ("MD03 ", False)]
    [sound] = inputs[f"{lake}/returns"]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert (sound["assertion"], sound["success"]) == ("audit", True)


def test_detail_tells_a_table_and_asserts_nothing(lake: Path, tmp_path: Path) -> None:
    with DAG("d"):
        detail = DeltaTableDetailOperator(task_id="detail", table=f"{lake}/returns", engine="python")
    detail.execute(Run().context)
    [returns] = sent(detail, tmp_path, TaskInstanceState.SUCCESS)["inputs"]
    assert (returns["namespace"], returns["name"]) == ("file", f"{lake}/returns")
    assert [field["name"] for field in returns["facets"]["schema"]["fields"]] == ["id"]
    assert returns.get("inputFacets", {}) == {}


def test_table_without_a_known_location_is_a_test_of_the_run_and_a_changed_one_is_altered() -> None:
    from openlineage.client.serde import Serde

    changed = replace(table_report("/lake/t"), changed=True)
    lineage = operator_lineage(report_of(violated("main.sales.orders"), changed))
    facets = {name: json.loads(Serde.to_json(facet)) for name, facet in lineage.run_facets.items()}
    told = [(each["name"], each["status"], each["params"]) for each in facets["test"]["tests"]]
    assert told[0] == ("audit", "fail", {"table": "main.sales.orders"})
    assert told[1][:2] == ("several-metadata-actions-in-commit", "fail")
    [output] = lineage.outputs
    assert json.loads(Serde.to_json(output.facets["lifecycleStateChange"]))["lifecycleStateChange"] == "ALTER"
    assert operator_lineage(report_of(table_report("/lake/t"))).run_facets == {}


def test_name_in_the_catalog_is_a_symlink() -> None:
    located = table_report("main.sales.orders", detail={"location": "s3a://lake/orders"})
    [dataset] = operator_lineage(report_of(located)).inputs
    [link] = dataset.facets["symlinks"].identifiers
    assert (dataset.namespace, dataset.name) == ("s3://lake", "orders")
    assert (link.namespace, link.name, link.type) == ("x-delta", "main.sales.orders", "TABLE")
