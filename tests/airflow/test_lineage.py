"""What OpenLineage is told of tables, before its provider makes events of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.lineage import (
    Assertion,
    dataset_name,
    datasets,
    results_without_dataset,
)
from tests.airflow.reports import finding
from tests.unit.rendering.reports import WAIVER, of_everything, report_of, sound, undecided, violated

HISTORY: dict[str, Any] = {"columns": {"id": "bigint", "a": "array<int>"}}


@pytest.mark.parametrize(
    ("table", "namespace", "name"),
    [
        ("/lake/orders/", "file", "/lake/orders"),
        ("file:///lake/orders", "file", "/lake/orders"),
        ("file:/lake/orders", "file", "/lake/orders"),
        ("s3a://bucket/lake/orders", "s3://bucket", "lake/orders"),
        ("s3://bucket/orders/", "s3://bucket", "orders"),
        ("s3://bucket", "s3://bucket", "/"),
        ("gs://bucket/orders", "gs://bucket", "orders"),
        ("abfs://c@account.dfs.core.windows.net/o", "abfss://c@account.dfs.core.windows.net", "o"),
        ("wasbs://c@account.blob.core.windows.net/o", "wasbs://c@account.blob.core.windows.net", "o"),
        ("hdfs://namenode:8020/lake/orders", "hdfs://namenode:8020", "/lake/orders"),
        ("delta.`s3a://bucket/orders`", "s3://bucket", "orders"),
    ],
)
def test_datasets_are_named_as_in_spark(table: str, namespace: str, name: str) -> None:
    assert dataset_name(table) == (namespace, name)


@pytest.mark.parametrize("table", ["main.sales.orders", "orders", "lake/orders", ""])
def test_table_whose_place_is_not_known_has_no_name(table: str) -> None:
    assert dataset_name(table) is None
    assert dataset_name(table, "s3a://bucket/orders") == ("s3://bucket", "orders")


def test_audited_table_has_columns_version_and_assertions() -> None:
    known = (
        finding("MD03", evidence="Two.", column="id"),
        finding("MD07", Severity.WARNING, evidence="One."),
        finding("TF01", waiver=WAIVER),
        finding("TF02", healed_version=8),
    )
    [read], changed = datasets(report_of(violated("/lake/t", *known, history=HISTORY)))
    assert changed == []
    assert (read.columns, read.version) == ((("id", "bigint"), ("a", "array<int>")), 5)
    assert [(each.assertion[:5], each.success, each.severity) for each in read.assertions] == [
        ("audit", False, "error"),
        ("MD03 ", False, "error"),
        ("MD07 ", False, "warn"),
    ]
    assert read.assertions[1].column == "id"
    [good], _ = datasets(report_of(sound()))
    assert good.assertions == (Assertion("audit", True, name="audit", expected="PASS", actual="PASS"),)
    assert [(each.name, each.expected, each.actual) for each in read.assertions[:2]] == [
        ("audit", "PASS", "VIOLATED"),
        ("several-metadata-actions-in-commit", "no finding", "ERROR"),
    ]


def test_what_is_undecided_is_not_asserted() -> None:
    [read], _ = datasets(report_of(undecided()))
    assert read.assertions == ()


def test_changed_table_is_an_output_and_one_that_was_not_read_is_left_out() -> None:
    changed = replace(sound("/lake/c"), changed=True, version_before=4)
    read, written = datasets(report_of(sound("/lake/r"), changed, kind="widen-types"))
    assert ([each.name for each in read], [each.name for each in written]) == (["/lake/r"], ["/lake/c"])
    assert read[0].assertions == ()
    assert [each.change for each in (*read, *written)] == [None, "ALTER"]
    [made] = datasets(report_of(changed, kind="create-table"))[1]
    assert made.change == "CREATE"
    names = [each.name for each in datasets(of_everything())[0]]
    assert names == ["/lake/s", "/lake/aside", "/lake/aside", "/lake/u", "/lake/t"], "not those that failed"


def test_results_of_a_table_without_a_known_location_are_tests_of_the_run() -> None:
    report = report_of(violated("main.sales.orders"), violated("/lake/t"), sound("main.sales.returns"))
    found = results_without_dataset(report)
    assert [(table, each.name, each.success) for table, each in found] == [
        ("main.sales.orders", "audit", False),
        ("main.sales.orders", "several-metadata-actions-in-commit", False),
        ("main.sales.returns", "audit", True),
    ]
    assert [each.name for each in datasets(report)[0]] == ["/lake/t"]


def test_operator_without_a_report_tells_nothing() -> None:
    audit = DeltaAuditProtocolOperator(task_id="t", table="/lake/t")
    assert audit.get_openlineage_facets_on_complete(None) is None
    assert audit.get_openlineage_facets_on_failure(None) is None


def test_table_with_a_location_keeps_its_name_in_the_catalog() -> None:
    located = sound("main.sales.orders", detail={"location": "s3a://lake/orders"})
    [named, by_path], _ = datasets(report_of(located, sound("s3a://lake/returns")))
    assert (named.namespace, named.name, named.also) == ("s3://lake", "orders", ("x-delta", "main.sales.orders"))
    assert by_path.also is None
