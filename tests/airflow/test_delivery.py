"""When a report counts as received, and where that is kept until the next run."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, cast

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException, Context, TaskInstanceState

from airflow_delta_provider.domain.report.summary import MAX_BYTES
from airflow_delta_provider.exceptions import DeltaAlertError, DeltaRetryableError, DeltaViolationError
from airflow_delta_provider.notifications.delivery import MAX_RECEIPTS, Delivery, new_receipt, received
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.reports import finding, report

__all__ = ["spark_submit"]

DAY = timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Airflow:
    """What Airflow keeps of one task: XComs by run, task state by run; a new try has no XComs."""

    def __init__(self, *, task_state: bool = True, nulls_first: bool = False) -> None:
        self._task_state = task_state
        self._nulls_first = nulls_first
        self._xcoms: list[tuple[str, datetime | None, str, Any]] = []
        self._states: dict[str, dict[str, Any]] = {}

    def attempt(
        self,
        run_id: str,
        date: datetime | None = START,
        run_type: str = "scheduled",
        try_number: int = 1,
        map_index: int = -1,
        **rest: Any,
    ) -> Context:
        """Return the context of a try; earlier tries' XComs are cleared."""
        self._xcoms = [xcom for xcom in self._xcoms if xcom[0] != run_id]

        def push(key: str, value: Any) -> None:
            self._xcoms.append((run_id, date, key, json.loads(json.dumps(value))))

        def pull(key: str, map_indexes: int, include_prior_dates: bool = False) -> Any:
            assert map_indexes == map_index
            if not include_prior_dates:
                return None
            undated = datetime.max if self._nulls_first else datetime.min
            own = date or datetime.max.replace(tzinfo=timezone.utc)
            found = [
                (d or undated.replace(tzinfo=timezone.utc), n, value)
                for n, (_, d, k, value) in enumerate(self._xcoms)
                if k == key and (d is None or d <= own)
            ]
            return max(found)[2] if found else None

        instance = SimpleNamespace(
            dag_id="nightly",
            task_id="audit",
            run_id=run_id,
            map_index=map_index,
            try_number=try_number,
            max_tries=1,
            state=None,
            xcom_push=push,
            xcom_pull=pull,
            log_url="",
        )
        state = self._states.setdefault(run_id, {})
        store = SimpleNamespace(get=state.get, set=state.__setitem__)
        context = {
            "ti": instance,
            "dag_run": SimpleNamespace(run_type=run_type, logical_date=date),
            "outlet_events": {},
            **({"task_state_store": store} if self._task_state else {}),
            **rest,
        }
        return cast("Context", context)


def audited(receipt: str | None = "r", *findings: Any) -> Any:
    return report(*(findings or (finding(),)), receipt=receipt)


def task(**callbacks: Any) -> Any:
    return SimpleNamespace(**{name: [value] for name, value in callbacks.items()})


def alert(*notifiers: Callable[[Context], None]) -> DeltaViolationNotifier:
    return DeltaViolationNotifier(notifiers=list(notifiers) or [lambda context: None])


def down(context: Context) -> None:
    raise ConnectionError("server is down")


def call(notifier: DeltaViolationNotifier, context: Context, error: BaseException | None = None) -> None:
    """Call a callback as Airflow does when the task has ended."""
    cast("Any", context)["ti"].state = TaskInstanceState.FAILED if error else TaskInstanceState.SUCCESS
    cast("Any", context)["exception"] = error
    notifier(context)


def test_report_without_a_notifier_is_received_when_it_was_pushed() -> None:
    airflow = Airflow()
    Delivery(airflow.attempt("1"), audited(), {}).pushed(task(), None)
    assert received(airflow.attempt("2", START + DAY)) == {"r": None}


@pytest.mark.parametrize("error", [None, DeltaViolationError(audited())])
def test_report_is_received_when_the_notifier_has_told_it(error: Any) -> None:
    airflow, notifier = Airflow(), alert()
    context = airflow.attempt("1")
    Delivery(context, audited(), {}).pushed(task(on_success_callback=notifier, on_failure_callback=notifier), error)
    assert received(airflow.attempt("2", START + DAY)) == {}
    call(notifier, context, error)
    assert received(airflow.attempt("2", START + DAY)) == {"r": None}


def test_report_is_not_received_where_a_notifier_failed() -> None:
    airflow, notifier = Airflow(), alert(down, lambda context: None)
    context = airflow.attempt("1")
    Delivery(context, audited(), {}).pushed(task(on_success_callback=notifier), None)
    with pytest.raises(DeltaAlertError):
        call(notifier, context)
    assert received(airflow.attempt("2", START + DAY)) == {}


def test_report_is_received_when_the_last_of_several_notifiers_has_told_it() -> None:
    airflow, one, other = Airflow(), alert(), alert()
    context = airflow.attempt("1")
    both = SimpleNamespace(on_success_callback=[one, print, other])
    Delivery(context, audited(), {}).pushed(both, None)
    call(one, context)
    assert received(airflow.attempt("2", START + DAY)) == {}
    call(other, context)
    assert received(airflow.attempt("2", START + DAY)) == {"r": None}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (None, "on_success_callback"),
        (AirflowSkipException(), "on_skipped_callback"),
        (DeltaViolationError(audited()), "on_failure_callback"),
        (DeltaRetryableError(audited()), "on_retry_callback"),
    ],
)
def test_notifier_counts_where_airflow_will_call_it(outcome: Any, kind: str) -> None:
    for callback in ("on_success_callback", "on_skipped_callback", "on_failure_callback", "on_retry_callback"):
        airflow = Airflow()
        context = airflow.attempt("1")
        Delivery(context, audited(), {}).pushed(task(**{callback: alert()}), outcome)
        waits = callback == kind or kind == "on_retry_callback"
        assert ("delta_delivery" in context) is (callback == kind)
        assert received(airflow.attempt("2", START + DAY)) == ({} if waits else {"r": None})


def test_last_try_that_fails_calls_the_failure_callback() -> None:
    airflow = Airflow()
    context = airflow.attempt("1", try_number=2)
    Delivery(context, audited(), {}).pushed(task(on_retry_callback=alert()), DeltaRetryableError(audited()))
    assert received(airflow.attempt("2", START + DAY)) == {"r": None}


def test_whole_report_reaches_a_notifier_of_a_task_that_succeeded_though_nothing_was_pushed() -> None:
    airflow, told = Airflow(), list[str]()
    notifier = alert(lambda context: told.append(cast("Any", context)["delta"].text))
    context = airflow.attempt("1")
    many = [finding(fingerprint=str(number), message=f"{number} " * MAX_BYTES) for number in range(3)]
    Delivery(context, audited("r", *many), {}).pushed(task(on_success_callback=notifier), None)
    call(notifier, context)
    assert "Delta VIOLATED: 3 new" in told[0]
    assert received(airflow.attempt("2", START + DAY)) == {"r": None}


def test_part_of_a_report_is_confirmed_where_the_rest_did_not_arrive() -> None:
    airflow = Airflow()
    Delivery(airflow.attempt("1"), audited(), {}).confirm({"/t": ["fingerprint"]})
    assert received(airflow.attempt("2", START + DAY)) == {"r": {"/t": ["fingerprint"]}}


def test_receipts_outlive_runs_that_die_and_quiet_ones() -> None:
    airflow = Airflow()
    Delivery(airflow.attempt("1"), audited("1"), {}).confirm()
    airflow.attempt("2", START + DAY)
    quiet = airflow.attempt("3", START + 2 * DAY)
    Delivery(quiet, audited(None), received(quiet)).confirm()
    last = airflow.attempt("4", START + 3 * DAY)
    Delivery(last, audited("4"), received(last)).confirm()
    assert received(airflow.attempt("5", START + 4 * DAY)) == {"1": None, "4": None}


@pytest.mark.parametrize("task_state", [True, False])
def test_retry_and_cleared_task_know_what_the_try_before_confirmed_where_airflow_has_task_state(
    task_state: bool,
) -> None:
    airflow = Airflow(task_state=task_state)
    Delivery(airflow.attempt("1"), audited(), {}).confirm()
    assert received(airflow.attempt("1", try_number=2)) == ({"r": None} if task_state else {})


@pytest.mark.parametrize("nulls_first", [True, False])
def test_run_without_a_date_and_one_that_was_started_by_hand_hide_no_other(nulls_first: bool) -> None:
    airflow = Airflow(nulls_first=nulls_first)
    runs: list[tuple[str, datetime | None, str]] = [
        ("1", START, "scheduled"),
        ("2", None, "manual"),
        ("3", START + 1.5 * DAY, "manual"),
        ("4", START + DAY, "scheduled"),
        ("5", None, "asset_triggered"),
        ("6", START + 2 * DAY, "scheduled"),
    ]
    for run_id, date, run_type in runs:
        Delivery(airflow.attempt(run_id, date, run_type), audited(run_id), {}).confirm()
    assert {"3", "5", "6"} <= received(airflow.attempt("7", START + 3 * DAY)).keys()


def test_kept_receipts_are_bounded() -> None:
    airflow, known = Airflow(), {str(number): None for number in range(2 * MAX_RECEIPTS)}
    Delivery(airflow.attempt("1"), audited(new_receipt()), known).confirm()
    assert len(received(airflow.attempt("2", START + DAY))) == MAX_RECEIPTS


def test_airflow_that_cannot_be_reached_fails_no_task() -> None:
    context = Airflow().attempt("1")
    cast("Any", context)["ti"].xcom_push = cast("Any", context)["ti"].xcom_pull = lambda **_: 1 / 0
    Delivery(context, audited(), {}).confirm()
    assert received(context) == {"r": None}  # from the task state


def test_audit_that_remembers_is_told_what_was_received_and_others_are_not(
    spark_submit: FakeSparkSubmit, tmp_path: Any
) -> None:
    seen = tmp_path / "requests.jsonl"
    spark_submit.does(
        f"open({str(seen)!r}, 'a').write(json.dumps(request) + '\\n')\n"
        "document = JobReport('audit', '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:01+00:00',"
        " tuple(TableReport(t, Verdict.PASS, receipt=request['receipt']) for t in request['tables']), {}).to_json()\n"
        "send('report', document)"
    )
    airflow = Airflow()
    for day, state_path in enumerate(["/state", "/state", None]):
        operator = DeltaAuditProtocolOperator(
            task_id="audit", table="/t", state_path=state_path, delta_jars="provided", do_xcom_push=False
        )
        operator.execute(airflow.attempt(str(day), START + day * DAY))
    first, second, third = map(json.loads, seen.read_text().splitlines())
    assert first["receipt"] != second["receipt"]
    assert [run["received"] for run in (first, second, third)] == [{}, {first["receipt"]: None}, {}]
    assert third["receipt"] is None
