"""The notifier: where it finds the report, whom it calls with what, and what it remembers."""

from __future__ import annotations

import contextlib
import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest
import structlog
from airflow.api_fastapi.execution_api.datamodels.taskinstance import TaskInstance
from airflow.callbacks.callback_requests import TaskCallbackRequest
from airflow.dag_processing.processor import _execute_task_callbacks
from airflow.providers.common.compat.sdk import BaseNotifier, Context, ObjectStoragePath, TaskInstanceState
from airflow.sdk import DAG
from airflow.sdk.execution_time.comms import GetXCom, XComResult

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.pages import REPORT_KEY, Excerpt
from airflow_delta_provider.domain.report.report import JobReport, Severity, Status, TableReport, Waiver
from airflow_delta_provider.domain.report.summary import findings_of, summarise
from airflow_delta_provider.exceptions import (
    DeltaAlertError,
    DeltaJobError,
    DeltaRequestError,
    DeltaUndeterminedError,
    DeltaViolationError,
)
from airflow_delta_provider.notifications.alert import TableFinding
from airflow_delta_provider.notifications.memory import key_of
from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from tests.airflow.reports import NOW, ORDERS, RETURNS, finding, report


class Recorder(BaseNotifier):
    """A notifier as providers write them, with the fields of Slack's: keeps what it would have sent."""

    template_fields = ("text", "blocks", "attachments")

    def __init__(self, text: str = "{{ delta.text }}", blocks: Any = (), attachments: Any = ()) -> None:
        super().__init__()
        self.text = text
        self.blocks = blocks
        self.attachments = attachments
        self.sent: list[SimpleNamespace] = []

    def notify(self, context: Context) -> None:
        delta = cast("Any", context)["delta"]
        self.sent.append(SimpleNamespace(text=self.text, blocks=self.blocks, attachments=self.attachments, delta=delta))

    @property
    def subjects(self) -> list[str]:
        return [sent.delta.subject for sent in self.sent]


class Unreachable(BaseNotifier):
    """A notifier whose server is down."""

    def notify(self, context: Context) -> None:
        raise ConnectionError("server is down")


class Failing(Recorder):
    """A notifier whose server is down some nights."""

    def __init__(self, *nights: int, **fields: Any) -> None:
        super().__init__(**fields)
        self.night = 0
        self.nights = nights

    def notify(self, context: Context) -> None:
        if self.night in self.nights:
            raise ConnectionError("server is down")
        super().notify(context)


class Supervisor:
    """What a process of Airflow asks for XComs."""

    def __init__(self, xcoms: dict[str, Any]) -> None:
        self._xcoms = xcoms
        self.asked: list[tuple[str, int]] = []

    def send(self, msg: GetXCom) -> XComResult:
        self.asked.append((msg.key, cast("int", msg.map_index)))
        return XComResult(key=msg.key, value=self._xcoms.get(msg.key))


def run(
    error: BaseException | str | None = None,
    pushed: JobReport | None = None,
    state: TaskInstanceState | None = TaskInstanceState.FAILED,
    map_index: int = -1,
    **rest: Any,
) -> Context:
    """A callback's context, of a task that pushed a report."""
    xcoms: dict[str, Any] = {}
    if pushed:
        excerpt = Excerpt.of(pushed).to_json()
        xcoms = {"findings": findings_of(pushed), "return_value": summarise(pushed), REPORT_KEY: excerpt}
    xcoms = json.loads(json.dumps(xcoms))

    def xcom_pull(key: str, map_indexes: Any) -> Any:
        assert map_indexes == map_index, "the default pulls those of all map indexes"
        return xcoms.get(key)

    instance = SimpleNamespace(
        dag_id="nightly",
        task_id="audit",
        run_id="r",
        map_index=map_index,
        try_number=1,
        state=state,
        log_url="http://airflow/log",
        xcom_pull=xcom_pull,
    )
    return cast("Context", {"ti": instance, "exception": error, **rest})


def failed(*findings: Any, **known: Any) -> Context:
    return run(DeltaViolationError(report(*findings, **known)))


def succeeded(*findings: Any, **known: Any) -> Context:
    return run(pushed=report(*findings, **known), state=TaskInstanceState.SUCCESS)


class TestReport:
    def test_comes_from_the_exception(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(failed(finding()))
        (sent,) = recorder.sent
        assert sent.delta.subject == "Delta VIOLATED: 1 new in nightly.audit"
        assert sent.text == sent.delta.text
        assert "What RT08 says. RESTORE the table." in sent.text
        assert sent.delta.findings[0]["table"] == ORDERS

    def test_comes_from_xcom_where_the_task_succeeded_in_spite_of_it(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(succeeded(finding()))
        assert recorder.subjects == ["Delta VIOLATED: 1 new in nightly.audit"]
        assert "No report" not in recorder.sent[0].text

    def test_comes_from_xcom_of_a_worker_that_died_after_it_was_pushed(self) -> None:
        recorder = Recorder()
        context = run(pushed=report(finding()), state=None)
        del cast("Any", context)["exception"]
        DeltaViolationNotifier(notifiers=[recorder])(context)
        (sent,) = recorder.sent
        assert "RT08" in sent.text
        assert "The worker died, or Airflow ended the task from outside" in sent.text

    @pytest.mark.parametrize("group_of", [failed, succeeded], ids=["exception", "XCom"])
    def test_has_the_timeline_of_its_tables_without_findings_that_nobody_wants(self, group_of: Any) -> None:
        recorder = Recorder()
        found = finding(version=3, healed_version=5), finding(version=6), finding(version=7, severity=Severity.WARNING)
        context = group_of(*found)
        DeltaViolationNotifier(notifiers=[recorder], severities=["ERROR"])(context)
        _, course = recorder.sent[0].text.split(f"Versions 3 to 9 of {ORDERS}\n")
        assert [line.split()[:2] for line in course.splitlines()[:3]] == [["3", "✕"], ["5", "✓"], ["6", "✕"]]
        assert "    7  ✕" not in course

    def test_is_missing_where_the_worker_died(self) -> None:
        recorder = Recorder()
        context = run(state=None)
        del cast("Any", context)["exception"]
        DeltaViolationNotifier(notifiers=[recorder])(context)
        (sent,) = recorder.sent
        assert sent.delta.subject == "Delta NO REPORT: the task failed in nightly.audit"
        assert "No report exists: the state of the tables is unknown. The worker died" in sent.text
        assert sent.delta.verdict is None

    @pytest.mark.parametrize("pushed", [None, report(finding())], ids=["nothing pushed", "pushed before"])
    def test_is_looked_for_by_the_dag_processor_where_the_worker_died(
        self, monkeypatch: pytest.MonkeyPatch, pushed: JobReport | None
    ) -> None:
        recorder = Recorder()
        comms = Supervisor({"findings": findings_of(pushed), "return_value": summarise(pushed)} if pushed else {})
        monkeypatch.setattr("airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS", comms, raising=False)
        with DAG("nightly", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as dag:
            DeltaCheckRowTrackingOperator(
                task_id="audit", table="/t", on_failure_callback=DeltaViolationNotifier(notifiers=[recorder])
            )
        instance = TaskInstance(
            id=uuid4(),
            dag_id="nightly",
            task_id="audit",
            run_id="r",
            try_number=1,
            dag_version_id=uuid4(),
            map_index=-1,
        )
        died = TaskCallbackRequest(filepath="f", bundle_name="b", bundle_version=None, ti=instance, msg="no heartbeat")
        _execute_task_callbacks(cast("Any", SimpleNamespace(dags={"nightly": dag})), died, structlog.get_logger())
        (sent,) = recorder.sent
        assert "The worker died" in sent.text
        assert ("No report exists" in sent.text, "RT08" in sent.text) == (pushed is None, pushed is not None)
        keys = ["findings", "return_value"] if pushed is None else [REPORT_KEY, "findings", "return_value"]
        assert sorted(comms.asked) == [(key, -1) for key in keys]

    @pytest.mark.parametrize("error", [DeltaJobError("exit code 137"), "DeltaJobError: exit code 137"])
    def test_is_missing_where_the_job_ended_without_one(self, error: Any) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(run(error))
        assert (
            "No report exists: the state of the tables is unknown. DeltaJobError: exit code 137"
            in recorder.sent[0].text
        )

    def test_is_missing_where_xcom_cannot_be_read(self) -> None:
        recorder = Recorder()
        context = run(None)
        cast("Any", context)["ti"].xcom_pull = lambda **_: 1 / 0
        DeltaViolationNotifier(notifiers=[recorder])(context)
        assert recorder.subjects == ["Delta NO REPORT: the task failed in nightly.audit"]

    def test_is_that_of_the_own_map_index(self) -> None:
        recorder = Recorder()
        context = run(pushed=report(finding()), state=TaskInstanceState.SUCCESS, map_index=3)
        DeltaViolationNotifier(notifiers=[recorder])(context)
        assert recorder.subjects == ["Delta VIOLATED: 1 new in nightly.audit[3]"]

    def test_that_was_shortened_says_so(self) -> None:
        many = [finding(fingerprint=str(n), message="m" * 200) for n in range(1000)]
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder], max_findings=2)(succeeded(*many))
        (sent,) = recorder.sent
        assert "larger than an XCom may be" in sent.text
        assert len(sent.delta.findings) == 2

    def test_without_findings_does_not_silence_a_failure(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(run(DeltaViolationError(JobReport("k", NOW, NOW, (), {}))))
        assert "The report lists no findings" in recorder.sent[0].text


class TestWhatIsTold:
    def test_nobody_is_called_where_nothing_is_wrong(self) -> None:
        recorder = Recorder()
        context = succeeded()
        DeltaViolationNotifier(notifiers=[recorder])(context)
        assert recorder.sent == []
        assert cast("Any", context)["delta"].quiet

    def test_nobody_is_called_where_a_task_without_a_report_succeeds(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(run(state=TaskInstanceState.SUCCESS))
        assert recorder.sent == []

    def test_known_findings_alone_are_told_to_nobody_even_if_the_task_fails(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(failed(finding(status=Status.KNOWN)))
        assert recorder.sent == []

    def test_known_findings_do_not_silence_another_failure(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(run(OSError("disk full"), report(finding(status=Status.KNOWN))))
        (sent,) = recorder.sent
        assert "OSError: disk full" in sent.text
        assert "1 more finding is unchanged" in sent.text

    def test_new_changed_and_resolved_are_told_and_accepted_and_healed_are_not(self) -> None:
        recorder = Recorder()
        DeltaViolationNotifier(notifiers=[recorder])(
            failed(
                finding("RT01", status=Status.RESOLVED),
                finding("RT02", status=Status.CHANGED),
                finding("RT03", status=Status.NEW),
                finding("RT04", status=Status.KNOWN),
                finding("RT05", waiver=Waiver("me", "known", "2026-12-31")),
                finding("RT06", healed_version=8),
            )
        )
        (sent,) = recorder.sent
        assert sent.delta.counts == {"new": 1, "changed": 1, "resolved": 1}
        assert [told["code"] for told in sent.delta.findings] == ["RT03", "RT02", "RT01"]

    def test_template_gives_the_size_of_a_text(self) -> None:
        texts = [Recorder(f"{{{{ delta.{name}_within(700) }}}}") for name in ("text", "markdown")]
        many = (finding(version=n, fingerprint=str(n)) for n in range(1000))
        DeltaViolationNotifier(notifiers=texts)(failed(*many))
        for recorder in texts:
            (sent,) = recorder.sent
            assert "1000 new" in sent.text
            assert "more findings in 1 table, none more severe" in sent.text
            assert len(sent.text.encode()) <= 700 < len(sent.delta.text)

    def test_severities_choose(self) -> None:
        undecided = finding(severity=Severity.UNDECIDED)
        everything, errors = Recorder(), Recorder()
        for recorder, chosen in ((everything, {}), (errors, {"severities": ["ERROR"]})):
            DeltaViolationNotifier(notifiers=[recorder], **chosen)(run(DeltaUndeterminedError(report(undecided))))
        assert everything.subjects == ["Delta UNDETERMINED: 1 new in nightly.audit"]
        assert errors.sent == []

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ({"notifiers": []}, "a list with one notifier or more"),
            ({"notifiers": Recorder()}, "a list with one notifier or more"),
            ({"notifiers": ["mail"]}, "'mail' in notifiers is neither"),
            ({"notifiers": [Recorder]}, "neither a notifier nor a function"),
            ({"remind_after": timedelta(days=1)}, "remind_after needs state_path"),
            ({"severities": ["BAD"]}, "has to list some of ERROR, UNDECIDED, WARNING"),
            ({"max_findings": 0}, "1 or more"),
        ],
    )
    def test_mistake_is_refused_at_construction(self, arguments: dict[str, Any], says: str) -> None:
        with pytest.raises(DeltaRequestError, match=says):
            DeltaViolationNotifier(**{"notifiers": [Recorder()], **arguments})


class TestDelivery:
    @pytest.mark.parametrize("native", [False, True])
    def test_blocks_reach_the_notifier_as_objects(self, native: bool) -> None:
        recorder = Recorder(blocks="{{ delta.blocks }}", attachments=[{"color": "red", "fields": "{{delta.findings}}"}])
        dag = DAG("nightly", schedule=None, start_date=datetime(2026, 1, 1), render_template_as_native_obj=native)
        context = run(DeltaViolationError(report(finding())), dag=dag)
        DeltaViolationNotifier(notifiers=[recorder])(context)
        (sent,) = recorder.sent
        assert sent.blocks == sent.delta.blocks
        assert [block["type"] for block in sent.blocks] == ["header", "context", "section", "section", "section"]
        assert sent.attachments == [{"color": "red", "fields": sent.delta.findings}]

    def test_nothing_that_a_table_says_is_read_as_a_template(self) -> None:
        evil = "{{ 7 * 7 }} {{ ti.xcom_pull(key='secret') }} {% raw %}"
        recorder = Recorder(
            text="{{ delta.markdown }}", blocks="{{ delta.blocks }}", attachments=["{{ delta.findings }}"]
        )
        DeltaViolationNotifier(notifiers=[recorder])(failed(finding(message=evil, column="{{ 7 * 7 }}")))
        (sent,) = recorder.sent
        assert "49" not in json.dumps([sent.text, sent.blocks, sent.attachments])
        assert evil in [block["text"]["text"] for block in sent.blocks if "text" in block]
        assert sent.attachments[0][0]["message"] == evil

    def test_templates_are_rendered_anew_for_every_task(self) -> None:
        recorder = Recorder(text="{{ ti.task_id }}: {{ delta.subject }}", blocks="{{ delta.blocks }}")
        notifier = DeltaViolationNotifier(notifiers=[recorder])
        notifier(failed(finding("RT01")))
        notifier(failed(finding("RT02"), finding("RT03")))
        assert [sent.text for sent in recorder.sent] == [
            "audit: Delta VIOLATED: 1 new in nightly.audit",
            "audit: Delta VIOLATED: 2 new in nightly.audit",
        ]
        assert "RT02" in str(recorder.sent[1].blocks)
        assert recorder.blocks == "{{ delta.blocks }}"

    def test_any_function_of_the_context_is_a_notifier(self) -> None:
        called: list[Any] = []
        DeltaViolationNotifier(notifiers=[called.append])(failed(finding()))
        assert called[0]["delta"].subject == "Delta VIOLATED: 1 new in nightly.audit"

    def test_context_has_the_alert_for_later_callbacks_and_no_fields_of_the_notifiers(self) -> None:
        context = failed(finding())
        DeltaViolationNotifier(notifiers=[Recorder()])(context)
        assert "VIOLATED" in cast("Any", context)["delta"].html
        assert not {"text", "blocks"} & set(context)

    def test_one_that_fails_keeps_no_other_from_being_called_and_is_told_at_the_end(self) -> None:
        first, last = Recorder(), Recorder()
        with pytest.raises(DeltaAlertError, match="ConnectionError: server is down") as caught:
            DeltaViolationNotifier(notifiers=[first, Unreachable(), last])(failed(finding()))
        assert len(first.sent) == len(last.sent) == 1
        assert [type(error) for error in caught.value.errors] == [ConnectionError]


class TestMemory:
    def notifier(self, path: Any, *notifiers: Any, **arguments: Any) -> DeltaViolationNotifier:
        return DeltaViolationNotifier(notifiers=list(notifiers), state_path=path, **arguments)

    @pytest.mark.parametrize("as_object", [False, True])
    def test_unchanged_finding_is_told_once_by_whichever_process(self, tmp_path: Path, as_object: bool) -> None:
        template = f"file://{tmp_path}/new folder/{{{{ ti.task_id }}}}.json"
        recorder = Recorder()
        for told in ([finding("RT01")], [finding("RT01")], [finding("RT01"), finding("RT02")]):
            path = ObjectStoragePath(template) if as_object else template
            self.notifier(path, recorder)(failed(*told))
        assert recorder.subjects == ["Delta VIOLATED: 1 new in nightly.audit"] * 2
        assert [told["code"] for told in recorder.sent[1].delta.findings] == ["RT02"]
        assert "1 more finding is unchanged" in recorder.sent[1].text
        assert (tmp_path / "new folder" / "audit.json").exists()

    def test_reminder_comes_after_its_time(self, tmp_path: Path) -> None:
        path, recorder = tmp_path / "state.json", Recorder()
        remind = self.notifier(str(path), recorder, remind_after=timedelta(days=7))
        remind(failed(finding(status=Status.NEW)))
        remind(failed(finding(status=Status.KNOWN)))
        assert recorder.sent[1:] == []
        kept = json.loads(path.read_text())
        for trace in kept["findings"].values():
            trace["told"] = (datetime.fromisoformat(trace["told"]) - timedelta(days=7)).isoformat()
        path.write_text(json.dumps(kept))
        remind(failed(finding(status=Status.KNOWN)))
        remind(failed(finding(status=Status.KNOWN)))
        assert recorder.subjects[1:] == ["Delta VIOLATED: 1 reminder in nightly.audit"]

    def test_table_that_is_sound_again_is_forgotten(self, tmp_path: Path) -> None:
        path, recorder = str(tmp_path / "state.json"), Recorder()
        notifier = self.notifier(path, recorder)
        notifier(failed(finding()))
        notifier(succeeded())
        notifier(failed(finding()))
        assert len(recorder.sent) == 2

    def test_refusal_is_told_once_and_its_end_is_told(self, tmp_path: Path) -> None:
        recorder = Recorder()
        notifier = self.notifier(str(tmp_path / "state.json"), recorder)
        refusal = RULES["RQ01"].found("There is no table at {table}: no such directory.", table=ORDERS)
        refused = JobReport("audit", NOW, NOW, (TableReport.refused(ORDERS, refusal),), {})
        for _ in range(2):
            notifier(run(DeltaViolationError(refused)))
        for _ in range(2):
            notifier(succeeded())
        assert recorder.subjects == [
            "Delta REFUSED: 1 new in nightly.audit",
            "Delta PASS: 1 resolved in nightly.audit",
        ]
        assert "has been checked again" in recorder.sent[1].text
        assert json.loads((tmp_path / "state.json").read_text())["findings"] == {}

    def test_table_that_could_not_be_looked_at_is_not_forgotten(self, tmp_path: Path) -> None:
        recorder = Recorder()
        notifier = self.notifier(str(tmp_path / "state.json"), recorder)
        fault = finding("FT01", fingerprint="fault")
        notifier(failed(finding()))
        notifier(run(DeltaViolationError(JobReport("k", NOW, NOW, (TableReport.refused(ORDERS, fault),), {}))))
        notifier(failed(finding()))
        assert [[told["code"] for told in sent.delta.findings] for sent in recorder.sent] == [["RT08"], ["FT01"]]

    def test_what_nobody_got_is_told_again_and_what_somebody_got_is_not(self, tmp_path: Path) -> None:
        path, recorder = str(tmp_path / "state.json"), Recorder()
        with pytest.raises(DeltaAlertError):
            self.notifier(path, Unreachable())(failed(finding(status=Status.NEW)))
        with pytest.raises(DeltaAlertError):
            self.notifier(path, Unreachable(), recorder)(failed(finding(status=Status.KNOWN)))
        self.notifier(path, recorder)(failed(finding(status=Status.KNOWN)))
        assert len(recorder.sent) == 1

    def nights(self, tmp_path: Path, notifiers: list[Any], *nights: list[Any]) -> None:
        """Run the task once per night, with the findings of that night."""
        for number, findings in enumerate(nights, 1):
            for notifier in notifiers:
                notifier.night = number
            with contextlib.suppress(DeltaAlertError):
                self.notifier(str(tmp_path / "state.json"), *notifiers)(failed(*findings))

    def test_notifier_that_failed_gets_its_alert_the_next_night_and_the_others_do_not(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing(1)
        self.nights(tmp_path, [mail, chat], *[[finding("RT01"), finding("RT02")]] * 3)
        assert mail.subjects == chat.subjects == ["Delta VIOLATED: 2 new in nightly.audit"]
        assert "missed" not in json.loads((tmp_path / "state.json").read_text())

    def test_notifier_that_failed_gets_old_news_with_the_new(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing(1, 2)
        self.nights(
            tmp_path, [chat, mail], [finding("RT01")], [finding("RT01"), finding("RT02")], [finding("RT01"), finding()]
        )
        assert [[told["code"] for told in sent.delta.findings] for sent in mail.sent] == [["RT01"], ["RT02"], ["RT08"]]
        assert [[told["code"] for told in sent.delta.findings] for sent in chat.sent] == [["RT01", "RT08"]]

    def test_notifiers_that_fail_on_different_nights_miss_nothing(self, tmp_path: Path) -> None:
        mail, chat = Failing(2), Failing(1)
        self.nights(tmp_path, [mail, chat], [finding("RT01")], *[[finding("RT01"), finding("RT02")]] * 3)
        assert [[told["code"] for told in sent.delta.findings] for sent in mail.sent] == [["RT01"], ["RT02"]]
        assert [[told["code"] for told in sent.delta.findings] for sent in chat.sent] == [["RT01", "RT02"]]

    def test_end_that_a_notifier_missed_is_told_to_it(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing(2)
        ended = [finding(status=Status.RESOLVED)]
        self.nights(tmp_path, [mail, chat], [finding()], ended, ended, ended)
        for each in (mail, chat):
            assert each.subjects == [
                f"Delta {told} in nightly.audit" for told in ("VIOLATED: 1 new", "PASS: 1 resolved")
            ]

    def test_notifier_that_failed_is_known_by_its_class_and_place_whatever_its_arguments(self, tmp_path: Path) -> None:
        mail, wrong = Recorder(), Failing(1, text="wrong channel")
        self.nights(tmp_path, [mail, wrong], [finding()])
        corrected = Failing(text="channel")
        self.nights(tmp_path, [corrected, mail], [finding()])
        assert len(mail.sent) == len(corrected.sent) == 1

    def test_notifier_that_is_added_is_told_what_is_new_from_then_on(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing()
        self.nights(tmp_path, [mail], [finding("RT01")])
        self.nights(tmp_path, [chat, mail], [finding("RT01"), finding("RT02")])
        assert [[told["code"] for told in sent.delta.findings] for sent in chat.sent] == [["RT02"]]

    def test_what_a_removed_notifier_missed_is_forgotten_with_the_finding(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing(1)
        self.nights(tmp_path, [mail, chat], [finding()])
        assert [*json.loads((tmp_path / "state.json").read_text())["missed"]] == ["Failing 1"]
        self.nights(tmp_path, [mail], [finding()], [])
        assert json.loads((tmp_path / "state.json").read_text()) == {"schema_version": 1, "findings": {}}

    def test_file_of_an_earlier_release_is_read(self, tmp_path: Path) -> None:
        mail, chat = Recorder(), Failing()
        key = key_of(TableFinding(ORDERS, finding()))
        told = {"table": ORDERS, "source": "nightly.audit", "told": NOW, "standing": True, "says": "f:1 7"}
        kept = {"schema_version": 1, "findings": {key: told}}
        (tmp_path / "state.json").write_text(json.dumps(kept))
        self.nights(tmp_path, [mail, chat], [finding(), finding("RT01")])
        assert [[told["code"] for told in sent.delta.findings] for sent in (*mail.sent, *chat.sent)] == [["RT01"]] * 2

    @pytest.mark.parametrize(
        "content", ["", "[]", '{"schema_version": 2}', '{"schema_version": 1, "findings": {"f": {}}}']
    )
    def test_file_that_is_none_of_ours_is_begun_anew(self, tmp_path: Path, content: str) -> None:
        path, recorder = tmp_path / "state.json", Recorder()
        path.write_text(content)
        for _ in range(2):
            self.notifier(str(path), recorder)(failed(finding()))
        assert len(recorder.sent) == 1

    def test_storage_that_cannot_be_read_does_not_cost_the_alert(self, tmp_path: Path) -> None:
        recorder = Recorder()
        self.notifier(str(tmp_path), recorder)(failed(finding()))  # a folder
        self.notifier("nowhere://bucket/state.json", recorder)(failed(finding()))
        assert len(recorder.sent) == 2

    def test_storage_that_cannot_be_written_is_told_after_the_alert(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: Any, **__: Any) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(os, "replace", full)
        recorder = Recorder()
        with pytest.raises(DeltaAlertError, match="disk full"):
            self.notifier(str(tmp_path / "state.json"), recorder)(failed(finding()))
        assert len(recorder.sent) == 1

    def test_process_that_is_killed_while_it_writes_leaves_what_was_remembered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def half(partial: str, path: str) -> None:
            content = Path(partial).read_bytes()
            Path(partial).write_bytes(content[: len(content) // 2])
            raise OSError(f"killed before {path} was replaced")

        path, recorder = tmp_path / "state.json", Recorder()
        self.notifier(str(path), recorder)(failed(finding()))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", half)
            with pytest.raises(DeltaAlertError, match="killed"):
                self.notifier(str(path), recorder)(failed(finding(), finding("RT02")))
        self.notifier(str(path), recorder)(failed(finding()))
        assert recorder.subjects == ["Delta VIOLATED: 1 new in nightly.audit"] * 2

    def test_one_notifier_of_two_tasks_has_a_file_each(self, tmp_path: Path) -> None:
        notifier = self.notifier(f"{tmp_path}/{{{{ ti.task_id }}}}.json", Recorder())
        for task_id in ("one", "other"):
            context = failed(finding())
            cast("Any", context)["ti"].task_id = task_id
            notifier(context)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json", "other.json"]

    def test_what_a_shortened_report_leaves_out_is_not_forgotten(self, tmp_path: Path) -> None:
        recorder = Recorder()
        notifier = self.notifier(str(tmp_path / "state.json"), recorder)
        told = finding("RT05")
        notifier(failed(told))
        many = [finding(fingerprint=str(n), message="m" * 200) for n in range(1000)]
        notifier(succeeded(*many, told))
        notifier(failed(told))
        assert ["RT05" in sent.text for sent in recorder.sent] == [True, False]

    def test_two_tables_are_two_findings(self, tmp_path: Path) -> None:
        recorder = Recorder()
        notifier = self.notifier(str(tmp_path / "state.json"), recorder)
        notifier(failed(finding()))
        notifier(failed(finding(), table=RETURNS))
        assert len(recorder.sent) == 2
