from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from airflow_delta_provider.domain.report.report import Finding, Severity, Status, Waiver
from airflow_delta_provider.notifications.alert import News, TableFinding
from airflow_delta_provider.notifications.memory import Memory, SentFinding, key_of

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
WAIVER = Waiver("owner", "known", "2026-12-31")


def found(table: str = "/t", **known: object) -> TableFinding:
    return TableFinding(table, Finding(**{"code": "RT08", "severity": Severity.ERROR, "message": "m", **known}))


class Nights:
    """The same task, night after night, with what it remembers."""

    def __init__(self, remind_after: timedelta | None = None) -> None:
        self.traces: dict[str, SentFinding] = {}
        self._remind_after = remind_after
        self._now = START

    def night(
        self, *findings: TableFinding, delivered: bool = True, looked_at: tuple[str, ...] = (), source: str = "d.t"
    ) -> list[News]:
        memory = Memory(self.traces, source, self._now)
        news = {key_of(each): memory.news_of(each, self._remind_after) for each in findings}
        told = [key for key, why in news.items() if why]
        for key, trace in memory.changes(findings, told, looked_at, delivered=delivered).items():
            if trace is None:
                del self.traces[key]
            else:
                self.traces[key] = SentFinding.from_json(json.loads(json.dumps(trace.to_json())))
        self._now += DAY
        return [why for why in news.values() if why]


@pytest.mark.parametrize(
    ("known", "news"),
    [
        ({}, News.NEW),
        ({"status": Status.NEW}, News.NEW),
        ({"status": Status.CHANGED}, News.CHANGED),
        ({"status": Status.KNOWN}, None),
        ({"status": Status.RESOLVED}, News.RESOLVED),
        ({"healed_version": 9}, None),
        ({"healed_version": 9, "status": Status.NEW}, None),
        ({"healed_version": 9, "status": Status.CHANGED}, News.RESOLVED),
        ({"waiver": WAIVER}, None),
        ({"waiver": WAIVER, "status": Status.CHANGED}, None),
    ],
)
def test_without_a_memory_the_status_decides(known: dict[str, object], news: News | None) -> None:
    assert Memory({}, "d.t", START).news_of(found(**known)) is news


@pytest.mark.parametrize("status", [None, Status.NEW, Status.CHANGED, Status.KNOWN])
def test_what_was_told_is_not_told_again_whatever_its_status(status: Status | None) -> None:
    nights = Nights()
    nights.night(found())
    assert nights.night(found(status=status)) == []


def test_finding_that_changed_again_is_told_again() -> None:
    nights = Nights()
    assert nights.night(found(fingerprint="f")) == [News.NEW]
    assert nights.night(found(fingerprint="f", status=Status.CHANGED, facts={"files": "worse"})) == [News.CHANGED]
    assert nights.night(found(fingerprint="f", status=Status.CHANGED, facts={"files": "worse"})) == []
    assert nights.night(found(fingerprint="f", status=Status.CHANGED, facts={"files": "still worse"})) == [News.CHANGED]


def test_reminder_comes_when_the_time_has_passed_and_not_before() -> None:
    nights = Nights(remind_after=3 * DAY)
    told = [nights.night(found(status=Status.KNOWN if night else Status.NEW)) for night in range(8)]
    assert told == [[News.NEW], [], [], [News.REMINDER], [], [], [News.REMINDER], []]


def test_known_finding_that_nobody_was_told_of_is_told_as_a_reminder_only() -> None:
    nights = Nights(remind_after=2 * DAY)
    assert [nights.night(found(status=Status.KNOWN)) for _ in range(3)] == [[], [], [News.REMINDER]]


def test_what_reached_nobody_is_told_the_next_time() -> None:
    nights = Nights()
    assert nights.night(found(status=Status.NEW), delivered=False) == [News.NEW]
    assert nights.night(found(status=Status.KNOWN)) == [News.NEW]
    assert nights.night(found(status=Status.KNOWN)) == []


def test_resolved_finding_is_told_once_and_told_anew_when_it_is_back() -> None:
    nights = Nights()
    nights.night(found())
    assert nights.night(found(status=Status.RESOLVED), delivered=False) == [News.RESOLVED]
    assert nights.night(found(status=Status.RESOLVED)) == [News.RESOLVED]
    assert nights.night(found(status=Status.RESOLVED)) == []
    assert nights.night(found(status=Status.KNOWN)) == [News.NEW]


def test_finding_that_heals_after_it_was_told_is_told_as_resolved() -> None:
    nights = Nights()
    nights.night(found())
    assert nights.night(found(healed_version=9, status=Status.KNOWN)) == [News.RESOLVED]
    assert nights.night(found(healed_version=9, status=Status.KNOWN)) == []


def test_finding_whose_waiver_expired_is_told() -> None:
    nights = Nights()
    assert nights.night(found(waiver=WAIVER, status=Status.NEW)) == []
    assert nights.night(found(status=Status.KNOWN)) == [News.NEW]


def test_what_is_not_found_any_more_is_forgotten_and_told_when_it_is_back() -> None:
    nights = Nights()
    nights.night(found())
    assert nights.night(looked_at=("/t",)) == []
    assert nights.traces == {}
    assert nights.night(found()) == [News.NEW]


@pytest.mark.parametrize(
    "other", [{}, {"looked_at": ("/u",)}, {"looked_at": ("/t",), "source": "d.other"}], ids=["none", "table", "task"]
)
def test_what_was_not_looked_for_is_not_forgotten(other: dict[str, object]) -> None:
    nights = Nights()
    nights.night(found())
    nights.night(**other)
    assert nights.night(found()) == []


def test_same_violation_of_two_tables_is_two_findings() -> None:
    one, other = found(fingerprint="f"), found("/u", fingerprint="f")
    assert Nights().night(one, other) == [News.NEW, News.NEW]


def test_finding_without_fingerprint_is_named_by_where_it_is_and_not_by_its_message() -> None:
    assert key_of(found(version=7, message="1,704 rows")) == key_of(found(version=7, message="1,705 rows"))
    names = [{}, {"version": 7}, {"column": "7"}, {"path": "7"}, {"code": "RT05"}]
    assert len({key_of(found(**name)) for name in names}) == len(names)
