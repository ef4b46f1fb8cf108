"""What a timeline says that commits did to a table's protocol and columns."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from airflow_delta_provider.domain.delta.data_type import ArrayType, PrimitiveType
from airflow_delta_provider.domain.delta.history_events import (
    HistoryEvent,
    HistoryEventKind,
    HistoryEvents,
    events_after,
)
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.local_table import OnDisk, open_log
from tests.unit.log_builder import WIDENING, Table
from tests.unit.mapped_tables import MODE
from tests.unit.states import field, struct

ID, V = field("id", "long"), field("v", "integer")


def audited(table: Table, folder: Path, state: Path | None = None) -> TableReport:
    shutil.rmtree(folder, ignore_errors=True)
    OnDisk(folder, table)
    options = AuditOptions(state_path=None if state is None else str(state))
    (report,) = run(JobRequest((str(folder),), options), python_session()).tables
    return report


def texts(report: TableReport) -> list[tuple[int, str, str]]:
    assert report.history is not None
    return [(event["version"], event["kind"], event["text"]) for event in report.history["events"]]


def test_each_change_is_told_at_its_version(tmp_path: Path) -> None:
    table = Table(ID, V, features=["columnMapping"], properties={MODE: "name"}).append()
    table.support("typeWidening", delta__enableTypeWidening="true").widen("v", "long").append()
    table.add_column(field("s", struct(field("x", "integer")))).rename_column("v", "w").drop_column("s")
    report = audited(table, tmp_path / "t")
    assert texts(report)[1:] == [
        (2, "protocol", "adds typeWidening; reader version 3, writer version 7"),
        (3, "widened", "widens v from int to bigint"),
        (5, "added", "adds s struct<x:int>"),
        (6, "renamed", "renames v to w"),
        (7, "dropped", "drops s"),
    ]
    assert texts(report)[0][:2] == (0, "created")
    assert report.history is not None
    assert report.history["features"] == {
        **report.history["features"],
        "columnMapping": "enabled",
        "typeWidening": "enabled",
    }
    assert report.history["protocol"] == table.now.protocol
    assert {event["operation"] for event in report.history["events"]} >= {"CREATE TABLE", "RENAME COLUMN"}


def test_without_mapping_a_rename_is_a_drop_and_an_addition(tmp_path: Path) -> None:
    table = Table(ID, V).append()
    table.replace(ID, field("w", "integer"))
    kinds = [kind for _, kind, _ in texts(audited(table, tmp_path / "t"))]
    assert kinds[-2:] == ["added", "dropped"]


def test_elements_of_arrays_are_columns_too(tmp_path: Path) -> None:
    numbers = field("a", ArrayType(PrimitiveType("integer"), True))
    table = Table(ID, numbers, features=["typeWidening"], properties={WIDENING: "true"})
    table.replace(ID, field("a", ArrayType(PrimitiveType("long"), True)))
    assert (1, "widened", "widens a.element from int to bigint") in texts(audited(table, tmp_path / "t"))


def test_commits_that_change_neither_are_no_events(tmp_path: Path) -> None:
    table = Table(ID).append().set_properties(owner="ann").append().delete_all()
    assert [version for version, _, _ in texts(audited(table, tmp_path / "t"))] == [0]


def test_audit_that_resumes_has_the_events_from_before(tmp_path: Path) -> None:
    table = Table(ID).append()
    table.add_column(field("a", "string"))
    first = audited(table, tmp_path / "t", tmp_path / "states")
    unchanged = audited(table, tmp_path / "t", tmp_path / "states")
    table.add_column(field("b", "string")).append()
    resumed = audited(table, tmp_path / "t", tmp_path / "states")
    assert texts(unchanged) == texts(first)
    assert texts(resumed) == [*texts(first), (3, "added", "adds b string")]
    assert resumed.history == audited(table, tmp_path / "t").history, "as an audit of everything"


def test_commits_after_a_state_are_told_as_an_audit_tells_them(tmp_path: Path) -> None:
    table = Table(ID, V, features=["columnMapping"], properties={MODE: "name"}).append()
    table.support("typeWidening", delta__enableTypeWidening="true")
    known = table.version
    table.widen("v", "long").append().rename_column("v", "w").set_properties(owner="ann")
    table.add_column(field("a", "string")).support("rowTracking").delete_all()
    wanted = [event for event in texts(audited(table, tmp_path / "t")) if event[0] > known]
    log = open_log(LocalStorage(), f"file:{tmp_path}/t")
    told = events_after(log.read_state(version=known), log.commits_after(known))
    assert [(event.version, event.kind.value, event.text) for event in told.events] == wanted
    assert {kind for _, kind, _ in wanted} == {"widened", "renamed", "added", "protocol"}


def test_many_names_are_counted_and_texts_are_short(tmp_path: Path) -> None:
    table = Table(ID)
    table.replace(ID, *(field(f"column_{'x' * 60}_{number}", "integer") for number in range(9)))
    [text] = [text for _, kind, text in texts(audited(table, tmp_path / "t")) if kind == "added"]
    assert len(text) <= 240
    table.replace(ID, *(field(f"c{number}", "integer") for number in range(9)))
    [text] = [text for version, kind, text in texts(audited(table, tmp_path / "t")) if (version, kind) == (2, "added")]
    assert text.endswith("5 more")


def test_oldest_events_are_counted_where_there_are_too_many() -> None:
    event = HistoryEvent(0, HistoryEventKind.ADDED, "adds a int")
    events = HistoryEvents()
    for number in range(450):
        events = events.and_then([replace(event, version=number)])
    assert (events.events[0].version, len(events.events), events.omitted) == (250, 200, 250)
    assert HistoryEvents.from_json(events.to_json()) == events
