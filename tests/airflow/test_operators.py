"""The operators, from construction to judgement, over a fake spark-submit."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException, AirflowSkipException
from airflow.sdk import DAG

from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.exceptions import (
    DeltaFaultError,
    DeltaRequestError,
    DeltaRetryableError,
    DeltaUndeterminedError,
    DeltaViolationError,
)
from airflow_delta_provider.operators.alter_columns import DeltaAlterColumnsOperator
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_paimon_row_tracking import PaimonCheckRowTrackingOperator
from airflow_delta_provider.operators.check_retention import DeltaCheckRetentionOperator
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.column_mapping_usage import DeltaColumnMappingUsageOperator
from airflow_delta_provider.operators.create_table import DeltaCreateTableOperator
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from airflow_delta_provider.operators.disable_column_mapping import DeltaDisableColumnMappingOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator
from airflow_delta_provider.xcom import tables_with, violated_tables
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit

__all__ = ["spark_submit"]


class Store(dict[str, Any]):
    """Task state as Airflow keeps it: JSON values between the tries of one task instance."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        self.pop(key, None)


class Run:
    """One task run: its context, and what was pushed."""

    def __init__(self, store: Store | None = None, try_number: int = 1, max_tries: int = 3) -> None:
        self.pushed: dict[str, Any] = {}
        instance = SimpleNamespace(
            dag_id="d", run_id="r", task_id="t", map_index=-1, try_number=try_number, max_tries=max_tries
        )
        instance.stats_tags = {}
        instance.xcom_push = lambda key, value: self.pushed.update({key: json.loads(json.dumps(value))})
        self.context: Any = {"ti": instance, "task_state_store": store}


def enable(**arguments: Any) -> DeltaEnableFeatureOperator:
    defaults = {"task_id": "t", "features": ["typeWidening"], "delta_jars": "provided"}
    if "tables" not in arguments:
        defaults["table"] = "/t"
    return DeltaEnableFeatureOperator(**{**defaults, **arguments})


def check(**arguments: Any) -> DeltaCheckRowTrackingOperator:
    return DeltaCheckRowTrackingOperator(**{"task_id": "t", "table": "/t", "delta_jars": "provided", **arguments})


def requests_sent(fake: FakeSparkSubmit) -> int:
    return len(fake.calls)


@pytest.mark.parametrize(
    ("operator", "arguments", "says"),
    [
        (DeltaWidenTypesOperator, {"table": "/t", "columns": {}}, "columns is empty"),
        (DeltaWidenTypesOperator, {"table": "{{ x }}", "columns": {}}, "columns is empty"),
        (DeltaWidenTypesOperator, {"table": "/t", "columns": ["a"]}, "each column has to be"),
        (DeltaWidenTypesOperator, {"table": "/t", "columns": {"a": "int"}, "verify": "no"}, "verify is 'no'"),
        (DeltaAlterColumnsOperator, {"table": "/t"}, "Pass at least one of add, rename and drop"),
        (DeltaAlterColumnsOperator, {"table": "/t", "add": ["a"]}, "add has .a.; each column has to be"),
        (
            DeltaAlterColumnsOperator,
            {"table": "/t", "drop": ["a"], "rename": {"a": "b"}},
            "both dropped and renamed",
        ),
        (DeltaEnableFeatureOperator, {"table": "/t", "features": []}, "features is empty"),
        (DeltaEnableFeatureOperator, {"table": "/t", "tables": ["/u"], "features": ["x"]}, "exactly one"),
        (DeltaEnableFeatureOperator, {"features": ["x"]}, "exactly one"),
        (DeltaEnableFeatureOperator, {"table": "a..b", "features": ["x"]}, "not a catalog name"),
        (DeltaEnableFeatureOperator, {"table": 5, "features": ["x"]}, "5 does not name a table"),
        (DeltaEnableFeatureOperator, {"tables": ["/t", None], "features": ["x"]}, "None does not name a table"),
        (DeltaEnableFeatureOperator, {"tables": [], "features": ["x"]}, "tables is empty"),
        (DeltaEnableFeatureOperator, {"table": "{{ x }}", "features": ["typeWidenig"]}, "Did you mean 'typeWidening'"),
        (DeltaEnableFeatureOperator, {"table": "/lake/*", "features": ["typeWidening"]}, "is a pattern"),
        (DeltaEnableFeatureOperator, {"table": "lake/t", "features": ["typeWidening"]}, "Give an absolute path"),
        (DeltaWidenTypesOperator, {"table": "{{ x }}", "columns": {"a": "bignt"}}, "Did you mean 'bigint'"),
        (DeltaAlterColumnsOperator, {"table": "/t", "add": {"a": "strng"}}, "Did you mean 'string'"),
        (DeltaAuditProtocolOperator, {"tables": ["/t", "file:///t/"]}, "one table in two spellings"),
        (DeltaAuditProtocolOperator, {"table": "/t", "state_path": "states"}, "state_path is 'states', which is rel"),
        (DeltaCheckRetentionOperator, {"table": "/t", "consumers": ["a/b"]}, "consumers is 'a/b', which is rel"),
        (DeltaCheckRetentionOperator, {"table": "/t", "vacuum_retain": "168"}, "such as 90m, 168h or 7d"),
        (PaimonCheckRowTrackingOperator, {"table": "lake/*"}, "is a pattern"),
        (DeltaEnableFeatureOperator, {"table": "s3://ann:pw@lake/t", "features": ["x"]}, "holds a password"),
        (
            DeltaEnableFeatureOperator,
            {"table": "/t", "features": ["x"], "on_violation": "ask"},
            "on_violation is 'ask'",
        ),
        (DeltaEnableFeatureOperator, {"table": "/t", "features": ["x"], "on_undetermined": "skip"}, "on_undetermined"),
        (
            DeltaEnableFeatureOperator,
            {"table": "/t", "features": ["x"], "application": "a.py"},
            "application is set by",
        ),
        (
            DeltaEnableFeatureOperator,
            {"table": "/t", "features": ["x"], "delta_jars": "maven"},
            "delta_jars is 'maven'",
        ),
        (DeltaEnableFeatureOperator, {"table": "/t", "features": ["x"], "dry_run": "perhaps"}, "dry_run has to be"),
        (DeltaAuditProtocolOperator, {"table": "/t", "level": "footer"}, "Did you mean 'footers'"),
        (DeltaAuditProtocolOperator, {"table": "/t", "fail_on": "warn"}, "Did you mean 'warning'"),
        (DeltaAuditProtocolOperator, {"table": "/t", "rules": ["XX01"]}, "rules names 'XX01'"),
        (DeltaAuditProtocolOperator, {"table": "/t", "waivers": [{"code": "TF17"}]}, "entry 1 has no owner"),
        (
            DeltaAuditProtocolOperator,
            {"table": "/t", "state_path": "/s", "since_version": 1},
            "Leave out since_version",
        ),
        (DeltaAuditProtocolOperator, {"table": "/t", "schema": "sales"}, "exactly one of table, tables and schema"),
        (DeltaAuditProtocolOperator, {"tables": [{"table": "/t", "severities": {"XX01": "off"}}]}, "weighs 'XX01'"),
        (
            DeltaAuditProtocolOperator,
            {"tables": [{"table": "/t", "severities": {"MD08": "low"}}]},
            "MD08 of /t is 'low'",
        ),
        (DeltaAuditProtocolOperator, {"tables": [{"table": "/t", "ower": "ann"}]}, "Did you mean 'owner'"),
        (DeltaAuditProtocolOperator, {"table": "/t", "seconds_per_table": 0}, "seconds_per_table is 0"),
        (PaimonCheckRowTrackingOperator, {"table": "/t", "level": "log"}, "one of metadata, data"),
        (PaimonCheckRowTrackingOperator, {"table": "/t", "since_snapshot": "new"}, "since_snapshot has to be"),
        (PaimonCheckRowTrackingOperator, {"table": "/t", "key_columns": ["id"]}, "reads no rows"),
        (PaimonCheckRowTrackingOperator, {"table": "/t", "fail_on_reassigned": "no"}, "has to be True or False"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "level": "footer"}, "Did you mean 'footers'"),
        (DeltaCheckRowTrackingOperator, {"table": "{{ x }}", "level": "all"}, "level is 'all'"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "compare_to_version": -1}, "table version .* not -1"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "compare_to_version": True}, "table version .* not True"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "compare_to_version": 1.5}, "table version .* not 1.5"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "compare_to_version": "v1"}, "table version .* not 'v1'"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "key_columns": ["id"]}, "without compare_to_version"),
        (DeltaCheckRowTrackingOperator, {"table": "/t", "level": "log", "compare_to_version": 1}, "reads no row ids"),
        (
            DeltaCheckRowTrackingOperator,
            {"table": "/t", "compare_to_version": 1, "key_columns": ["id", "id"]},
            "key_columns names 'id' more than once",
        ),
        (DeltaCheckRowTrackingOperator, {"level": "log"}, "exactly one"),
        (DeltaColumnMappingUsageOperator, {}, "exactly one"),
        (DeltaEnableFeatureOperator, {"table": "/t", "features": ["x"], "acknowledge_writer_lockout": 2}, "lockout"),
        (DeltaCreateTableOperator, {"table": "/t", "columns": {}}, "columns is empty"),
        (
            DeltaCreateTableOperator,
            {"table": "/t", "columns": {"a": "int"}, "partition_by": ["b"]},
            "not one of col",
        ),
        (DeltaDisableColumnMappingOperator, {"table": "/t", "strategy": "rewite"}, "Did you mean 'rewrite'"),
        (DeltaDisableColumnMappingOperator, {"table": "/t", "allow_rewrite": "perhaps"}, "allow_rewrite has to be"),
        (
            DeltaDisableColumnMappingOperator,
            {"table": "{{ x }}", "strategy": "metadata-only", "allow_rewrite": True},
            "never rewrites",
        ),
    ],
)
def test_literal_mistake_is_refused_at_construction(operator: type, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(DeltaRequestError, match=says):
        operator(task_id="t", **arguments)


def test_mistake_in_a_template_is_refused_once_it_is_rendered(spark_submit: FakeSparkSubmit) -> None:
    operator = enable(features="{{ params.features }}")
    operator.features = []
    with pytest.raises(DeltaRequestError, match="features is empty"):
        operator.execute(Run().context)
    assert requests_sent(spark_submit) == 0


COLUMNS = [{"name": "ncols", "type": "int"}, {"name": "id", "type": "bigint"}]


@pytest.mark.parametrize(
    ("operator", "name"), [(DeltaCreateTableOperator, "columns"), (DeltaAlterColumnsOperator, "add")]
)
def test_columns_that_come_as_a_mapping_through_a_template_are_refused_and_lists_keep_their_order(
    operator: type[DeltaJobOperator], name: str
) -> None:
    def rendered(value: Any) -> Any:
        made = operator(task_id="t", table="/t", **{name: "{{ params.columns }}"})  # type: ignore[arg-type]  # the name varies
        setattr(made, name, value)
        return made

    for sorted_by_a_database in ({"id": "bigint", "ncols": "int"}, "{'id': 'bigint', 'ncols': 'int'}"):
        with pytest.raises(DeltaRequestError, match="order of the columns is unknown"):
            rendered(sorted_by_a_database).request(Run().context)
    for listed in (COLUMNS, str(COLUMNS)):
        options = rendered(listed).request(Run().context).options
        assert list(getattr(options, name).items()) == [("ncols", "int"), ("id", "bigint")]
    assert list(getattr(rendered({"id": "bigint"}).request(Run().context).options, name)) == ["id"]
    literal = operator(task_id="t", table="/t", **{name: {"b": "int", "a": "int"}})  # type: ignore[arg-type]  # the name varies
    assert list(getattr(literal.request(Run().context).options, name)) == ["b", "a"]
    with pytest.raises(DeltaRequestError, match="each column has to be"):
        rendered([{"name": "id"}]).request(Run().context)


def test_every_argument_that_names_data_is_a_template_field() -> None:
    assert {"table", "tables", "features", "properties", "dry_run", "conf"} <= set(
        DeltaEnableFeatureOperator.template_fields
    )
    assert {"table", "columns", "partition_by", "acknowledge_writer_lockout", "allow_unsafe_log_store"} <= set(
        DeltaCreateTableOperator.template_fields
    )
    assert {"table", "tables", "columns", "verify", "dry_run"} <= set(DeltaWidenTypesOperator.template_fields)
    assert {"table", "add", "rename", "drop", "dry_run"} <= set(DeltaAlterColumnsOperator.template_fields)
    assert {"table", "tables", "level", "compare_to_version", "key_columns", "delta_jars"} <= set(
        DeltaCheckRowTrackingOperator.template_fields
    )
    assert not {"application", "application_args"} & set(DeltaJobOperator.template_fields)


def test_lists_and_mappings_that_jinja_made_text_of_are_read(spark_submit: FakeSparkSubmit) -> None:
    with DAG("d", schedule=None, start_date=datetime(2026, 1, 1)):
        operator = DeltaWidenTypesOperator(
            task_id="t",
            tables="{{ tables }}",
            columns="{{ columns }}",
            enable_type_widening="{{ yes }}",
            delta_jars="provided",
        )
    run = Run()
    operator.render_template_fields({**run.context, "tables": ["/a", "/b"], "columns": {"x": "bigint"}, "yes": True})
    request = operator.request(run.context)
    assert request.tables == ("/a", "/b")
    assert request.options.columns == {"x": "bigint"}
    assert request.options.enable_type_widening is True


def test_changes_of_columns_travel_in_the_request_with_names_as_they_are(spark_submit: FakeSparkSubmit) -> None:
    with DAG("d", schedule=None, start_date=datetime(2026, 1, 1)):
        operator = DeltaAlterColumnsOperator(
            task_id="t",
            table="/t",
            add="{{ add }}",
            rename={"a": "{{ new }}"},
            drop=["`b.c`", "{{ gone }}"],
            delta_jars="provided",
        )
    run = Run()
    operator.render_template_fields({**run.context, "add": {"s.x": "struct<a:int>"}, "new": "`x y`", "gone": "d"})
    options = operator.request(run.context).options
    assert options == AlterColumnsOptions(add={"s.x": "struct<a:int>"}, rename={"a": "`x y`"}, drop=("`b.c`", "d"))


def test_summary_is_returned_and_pushed_with_the_findings(spark_submit: FakeSparkSubmit) -> None:
    run = Run()
    summary = enable(tables=["/a", "/b"]).execute(run.context)
    assert summary["verdict"] == "PASS"
    assert summary["counts"] == {"PASS": 2}
    assert run.pushed == {
        **run.pushed,
        "return_value": summary,
        "findings": {"findings": [], "truncated": False},
        "delta_tables": {
            "kind": "enable-feature",
            "tables": [["/a", "PASS", None, 0], ["/b", "PASS", None, 0]],
            "omitted": 0,
        },
    }
    assert set(run.pushed) == {"return_value", "findings", "delta_report", "delta_tables"}
    assert run.pushed["delta_report"]["counts"] == {"PASS": 2}


def test_violation_fails_without_retry_after_xcom_was_pushed(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does("report(**{'/b': 'VIOLATED'})")
    run = Run()
    with pytest.raises(DeltaViolationError) as caught:
        enable(tables=["/a", "/b"]).execute(run.context)
    assert isinstance(caught.value, AirflowFailException)
    assert caught.value.report.verdict.value == "VIOLATED"
    assert violated_tables(run.pushed["return_value"]) == ["/b"]
    assert tables_with(run.pushed["return_value"], "PASS") == ["/a"]


@pytest.mark.parametrize(
    ("verdict", "arguments", "expected"),
    [
        ("REFUSED", {}, DeltaViolationError),
        ("REFUSED", {"on_violation": "warn"}, None),
        ("VIOLATED", {"on_violation": "skip"}, AirflowSkipException),
        ("UNDETERMINED", {}, None),
        ("UNDETERMINED", {"on_undetermined": "ignore"}, None),
        ("UNDETERMINED", {"on_undetermined": "fail"}, DeltaUndeterminedError),
        ("FAULT", {"on_violation": "warn", "on_undetermined": "ignore"}, DeltaFaultError),
    ],
)
def test_policy_decides_what_a_verdict_does_to_the_task(
    spark_submit: FakeSparkSubmit, verdict: str, arguments: dict[str, Any], expected: type | None
) -> None:
    spark_submit.does(f"report(verdict={verdict!r})")
    operator = enable(**arguments)
    if expected is None:
        assert operator.execute(Run().context)["verdict"] == verdict
    else:
        with pytest.raises(expected):
            operator.execute(Run().context)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, DeltaUndeterminedError),
        ({"on_undetermined": "ignore"}, DeltaUndeterminedError),
        ({"on_violation": "skip"}, AirflowSkipException),
        ({"on_violation": "warn"}, None),
    ],
)
def test_a_change_that_was_withheld_ends_the_task_like_a_refusal(
    spark_submit: FakeSparkSubmit, arguments: dict[str, Any], expected: type | None
) -> None:
    spark_submit.does("report(verdict='UNDETERMINED', withheld=True)")
    if expected is None:
        assert enable(**arguments).execute(Run().context)["verdict"] == "UNDETERMINED"
    else:
        with pytest.raises(expected):
            enable(**arguments).execute(Run().context)


@pytest.mark.parametrize("verdict", ["REFUSED", "FAULT"])
def test_failures_that_are_all_retryable_let_airflow_retry(spark_submit: FakeSparkSubmit, verdict: str) -> None:
    spark_submit.does(f"report(retryable=True, **{{'/b': {verdict!r}}})")
    with pytest.raises(DeltaRetryableError) as caught:
        enable(tables=["/a", "/b"]).execute(Run().context)
    assert isinstance(caught.value, AirflowException)
    assert not isinstance(caught.value, AirflowFailException)


def test_retry_does_only_the_tables_that_failed_and_reports_all(spark_submit: FakeSparkSubmit) -> None:
    store = Store()
    spark_submit.does("report(retryable=True, **{'/b': 'FAULT'})")
    with pytest.raises(DeltaRetryableError):
        enable(tables=["/a", "/b", "/c"]).execute(Run(store).context)
    spark_submit.does("assert request['tables'] == ['/b'], request; report()")
    summary = enable(tables=["/a", "/b", "/c"]).execute(Run(store, try_number=2).context)
    assert [row["table"] for row in summary["tables"]] == ["/a", "/b", "/c"]
    assert summary["verdict"] == "PASS"


def test_cleared_task_does_all_tables_again(spark_submit: FakeSparkSubmit) -> None:
    store = Store()
    spark_submit.does("report(retryable=True, **{'/b': 'FAULT'})")
    with pytest.raises(DeltaRetryableError):
        enable(tables=["/a", "/b"]).execute(Run(store).context)
    spark_submit.does("assert request['tables'] == ['/a', '/b'], request; report()")
    # Clearing a task instance raises max_tries by the tries that it already had.
    assert enable(tables=["/a", "/b"]).execute(Run(store, try_number=2, max_tries=4).context)["verdict"] == "PASS"


def test_retry_of_another_request_does_all_tables(spark_submit: FakeSparkSubmit) -> None:
    store = Store()
    spark_submit.does("report(retryable=True, **{'/b': 'FAULT'})")
    with pytest.raises(DeltaRetryableError):
        enable(tables=["/a", "/b"]).execute(Run(store).context)
    spark_submit.does("assert len(request['tables']) == 2; report()")
    operator = enable(tables=["/a", "/b"], features=["rowTracking"])
    assert operator.execute(Run(store, try_number=2).context)["verdict"] == "PASS"


def test_check_changes_nothing_so_it_takes_no_dry_run() -> None:
    assert "dry_run" not in DeltaCheckRowTrackingOperator.template_fields
    with pytest.raises(TypeError, match="dry_run"):
        check(dry_run=True)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, {"level": "data", "compare_to_version": None, "key_columns": []}),
        ({"level": "log"}, {"level": "log", "compare_to_version": None, "key_columns": []}),
        (
            {"compare_to_version": 0, "key_columns": ["b", "a"]},
            {"level": "data", "compare_to_version": 0, "key_columns": ["b", "a"]},
        ),
        (
            {"compare_to_version": "{{ params.since }}", "key_columns": "{{ params.key }}"},
            {"level": "data", "compare_to_version": 12, "key_columns": ["b", "a"]},
        ),
        (
            {"level": "{{ params.level }}", "compare_to_version": "{{ params.nothing }}"},
            {"level": "footers", "compare_to_version": None, "key_columns": []},
        ),
    ],
    ids=["defaults", "level", "since", "rendered", "rendered to None"],
)
def test_check_travels_in_the_request(
    spark_submit: FakeSparkSubmit, arguments: dict[str, Any], options: dict[str, Any]
) -> None:
    spark_submit.does(
        "assert request['kind'] == 'check-row-tracking', request\n"
        f"assert request['options'] == {options | {'findings_table': None}}, request\n"
        "assert request['dry_run'] is False, request\n"
        "report()"
    )
    operator = check(**arguments)
    params = {"since": 12, "key": ["b", "a"], "level": "footers", "nothing": None}
    operator.render_template_fields({"params": params})
    assert operator.execute(Run().context)["verdict"] == "PASS"


def test_check_of_paimon_tables_travels_in_the_request_and_asks_for_no_jar_of_delta(
    spark_submit: FakeSparkSubmit,
) -> None:
    options = {
        "level": "metadata",
        "since_snapshot": 7,
        "key_columns": [],
        "source": "auto",
        "state_path": None,
        "findings_table": None,
        "fail_on_reassigned": True,
    }
    spark_submit.does(
        "assert request['kind'] == 'check-paimon-row-tracking', request\n"
        f"assert request['options'] == {options}, request\n"
        "report()"
    )
    operator = PaimonCheckRowTrackingOperator(
        task_id="t", table="/t", since_snapshot="{{ params.since }}", fail_on_reassigned="{{ params.fail }}"
    )
    operator.render_template_fields({"params": {"since": 7, "fail": True}})
    assert operator.execute(Run().context)["verdict"] == "PASS"
    assert operator.delta_jars == "provided"
    recording = PaimonCheckRowTrackingOperator(task_id="u", table="/t", findings_table="/f")
    assert recording.delta_jars is None  # Delta writes the findings


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"level": "{{ params.level }}"}, "level is 'all'"),
        ({"compare_to_version": "{{ params.since }}"}, "compare_to_version has to be a table version .* not 'soon'"),
        ({"compare_to_version": "{{ params.unknown }}"}, "compare_to_version has to be a table version .* not ''"),
        ({"compare_to_version": "{{ params.negative }}"}, "compare_to_version has to be a table version .* not '-1'"),
        ({"compare_to_version": 1, "key_columns": "{{ params.key }}"}, "key_columns names 'a' more than once"),
        ({"compare_to_version": "{{ params.nothing }}", "key_columns": ["a"]}, "without compare_to_version"),
    ],
)
def test_mistake_in_a_rendered_check_is_refused_before_spark_starts(
    spark_submit: FakeSparkSubmit, arguments: dict[str, Any], says: str
) -> None:
    operator = check(**arguments)
    params = {"level": "all", "since": "soon", "negative": -1, "key": ["a", "a"], "nothing": None}
    operator.render_template_fields({"params": params})
    with pytest.raises(DeltaRequestError, match=says):
        operator.execute(Run().context)
    assert requests_sent(spark_submit) == 0


@pytest.mark.parametrize(("dry_run", "sent"), [(None, False), (True, True), ("{{ params.dry }}", True)])
def test_dry_run_travels_in_the_request(spark_submit: FakeSparkSubmit, dry_run: Any, sent: bool) -> None:
    spark_submit.does(f"assert request['dry_run'] is {sent}, request; report()")
    operator = enable(**({} if dry_run is None else {"dry_run": dry_run}))
    operator.render_template_fields({"params": {"dry": True}})
    assert operator.execute(Run().context)["verdict"] == "PASS"


def test_commits_are_labelled_with_the_task(spark_submit: FakeSparkSubmit) -> None:
    spark_submit.does(
        "assert request['labels'] == {'dag_id': 'd', 'run_id': 'r', 'task_id': 't', 'map_index': -1}; report()"
    )
    assert enable().execute(Run().context)["verdict"] == "PASS"


@pytest.mark.parametrize("table", ["/lake/../secret/t", "/other/t", "main.other.t", "sales"])
def test_table_outside_the_allowed_locations_is_refused_before_spark_starts(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    monkeypatch.setenv("AIRFLOW__DELTA_PROVIDER__ALLOWED_LOCATIONS", "/lake, main.sales")
    operator = enable(table="{{ params.table }}")
    operator.table = table
    with pytest.raises(DeltaRequestError, match="outside the allowed locations"):
        operator.execute(Run().context)
    assert requests_sent(spark_submit) == 0
    operator.table = "/lake/t"
    assert operator.execute(Run().context)["verdict"] == "PASS"


def test_arguments_of_the_parent_reach_spark_submit(spark_submit: FakeSparkSubmit) -> None:
    enable(
        conf={"spark.x": "1"}, jars="/x.jar", driver_memory="3g", executor_cores=3, packages="g:a:1", name="mine"
    ).execute(Run().context)
    call = " ".join(spark_submit.calls[0])
    assert spark_submit.settings[0]["spark.x"] == "1"
    for words in ("--jars /x.jar", "--driver-memory 3g", "--executor-cores 3", "--packages g:a:1"):
        assert words in call
    assert "--name mine" in call


def test_operator_maps_over_tables(spark_submit: FakeSparkSubmit) -> None:
    with DAG("d", schedule=None, start_date=datetime(2026, 1, 1)) as dag:
        DeltaEnableFeatureOperator.partial(task_id="t", features=["typeWidening"]).expand(table=["/a", "/b"])
    assert dag.get_task("t").is_mapped


def test_waivers_of_an_audit_are_a_file_beside_the_dag_or_a_list(tmp_path):
    entry = {"code": "TF17", "owner": "ann", "reason": "a pilot", "expires": "2030-01-31"}
    tmp_path.joinpath("waivers.yaml").write_text(
        "- code: TF17\n  owner: ann\n  reason: a pilot\n  expires: 2030-01-31\n", encoding="utf-8"
    )
    for waivers in (str(tmp_path / "waivers.yaml"), [entry]):
        options = DeltaAuditProtocolOperator(task_id="t", table="/t", waivers=waivers).options()
        assert json.loads(json.dumps(options.to_json()))["waivers"] == [entry]
    with pytest.raises(DeltaRequestError, match=r"t: waivers: .*nowhere\.yaml cannot be read"):
        DeltaAuditProtocolOperator(task_id="t", table="/t", waivers=str(tmp_path / "nowhere.yaml"))
    DeltaAuditProtocolOperator(task_id="t", table="/t", waivers="{{ var.value.waivers }}.yaml")


def test_time_of_an_audit_is_a_datetime_or_its_text():
    for given in (datetime(2026, 5, 31, 18, tzinfo=timezone.utc), "2026-05-31T18:00:00+00:00"):
        options = DeltaAuditProtocolOperator(task_id="t", table="/t", timestamp=given).options()
        assert options.timestamp == "2026-05-31T18:00:00+00:00"


def test_tables_of_an_audit_are_a_list_a_schema_or_a_file_with_their_owners(tmp_path):
    tmp_path.joinpath("fleet.yaml").write_text(
        "- /lake/a\n- table: /lake/sales/*\n  owner: sales\n  severities: {MD08: off, TF17: error}\n", encoding="utf-8"
    )
    operator = DeltaAuditProtocolOperator(task_id="t", tables=str(tmp_path / "fleet.yaml"))
    request = operator.request(Run().context)
    assert request.tables == ("/lake/a", "/lake/sales/*")
    (entry,) = json.loads(json.dumps(request.to_json()))["options"]["ownership"]
    assert (entry["table"], entry["owner"], set(entry["severities"])) == ("/lake/sales/*", "sales", {"MD08", "TF17"})
    assert DeltaAuditProtocolOperator(task_id="t", schema="main.sales").request(Run().context).tables == (
        "main.sales.*",
    )


def test_tables_that_a_pattern_stood_for_are_all_reported(spark_submit):
    spark_submit.does("request['tables'] = ['/lake/b', '/lake/a']; report()")
    operator = DeltaAuditProtocolOperator(task_id="t", tables=["/lake/*"], delta_jars="provided")
    summary = operator.execute(Run().context)
    assert [row["table"] for row in summary["tables"]] == ["/lake/b", "/lake/a"]


def test_further_try_says_since_when_the_run_may_have_committed() -> None:
    first, second = Run(), Run(try_number=2)
    second.context["dag_run"] = SimpleNamespace(run_after=datetime(2026, 1, 2, tzinfo=timezone.utc))
    assert enable().request(first.context).retry_since is None
    assert enable().request(second.context).retry_since == "2026-01-02T00:00:00+00:00"
    assert enable().request(Run(try_number=3).context).retry_since == "1970-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"features": "{{ 'typeWidenig' }}"}, "Did you mean 'typeWidening'"),
        ({"tables": "{{ ['/a', '/a/'] }}"}, "one table in two spellings"),
        ({"table": "{{ 'lake/t' }}"}, "Give an absolute path"),
    ],
)
def test_what_a_template_renders_is_checked_before_spark_starts(
    spark_submit: FakeSparkSubmit, arguments: dict[str, Any], says: str
) -> None:
    operator = enable(**arguments)
    for name in arguments:
        setattr(operator, name, operator.render_template(getattr(operator, name), {}))
    with pytest.raises(DeltaRequestError, match=says):
        operator.execute(Run().context)
    assert requests_sent(spark_submit) == 0


def test_feature_that_only_the_engine_may_know_is_warned_of_and_asked_for(spark_submit: FakeSparkSubmit) -> None:
    with pytest.warns(UserWarning, match="'icebergCompatV9' is not a table feature known here"):
        operator = enable(features=["icebergCompatV9"])
    assert operator.execute(Run().context)["verdict"] == "PASS"
