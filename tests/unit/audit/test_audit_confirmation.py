"""What an audit remembers counts once its report was received: nights on which something dies, at every point."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import chain, product

import pytest

from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.confirmation import MAX_RECEIPTS, ReportedFindings, identity
from airflow_delta_provider.domain.report.report import Finding, Severity, Status, Waiver
from airflow_delta_provider.notifications.alert import News, TableFinding
from airflow_delta_provider.notifications.memory import Memory

TABLES = ("/t1", "/t2")
#: After what a run may die; ``told`` is with a notifier only.
POINTS = ("began", "/t1 remembered", "/t2 remembered", "sent", "pushed", "told", "confirmed")
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Violation:
    """One that is open from a night on until before another.

    :param silent: whether what ends it is in no commit
    :param changed: the night from which on it says something else
    """

    code: str
    first: int
    over: int = 99
    silent: bool = False
    changed: int = 99

    def finding(self, night: int) -> Finding:
        facts = {"files": 2 if night >= self.changed else 1}
        return Finding(self.code, Severity.ERROR, "bad", version=self.first, fingerprint=self.code, facts=facts)


STANDS, HEALED, GONE, SHORT, SHORT_GONE, OLD, WORSE = VIOLATIONS = (
    Violation("STANDS", 1),
    Violation("HEALED", 0, over=1),
    Violation("GONE", 0, over=1, silent=True),
    Violation("SHORT", 1, over=2),
    Violation("SHORT_GONE", 1, over=2, silent=True),
    Violation("OLD", 0),
    Violation("WORSE", 0, changed=1),
)


class Killed(Exception):
    """The run died."""


class Dag:
    """A task that audits, and what Airflow keeps for it.

    :param notifier: whether a notifier tells of reports; else a report is received when it is pushed
    """

    def __init__(self, lake: Lake, *, notifier: bool = True) -> None:
        self.lake = lake
        self._notifier = notifier
        self._runs = 0
        self.received: dict[str, None] = {}
        self.told: list[tuple[int, str, str, News]] = []

    def run(self, night: int, dies_after: str = "") -> None:
        """Audit the tables, unless something dies."""

        def passed(point: str) -> None:
            if point == dies_after:
                raise Killed

        self._runs += 1
        receipt, received = f"{id(self)}/{self._runs}", dict(self.received)
        passed("began")
        report = []
        for table in TABLES:
            report += [TableFinding(table, found) for found in self.lake.audit(table, night, receipt, received)]
            passed(f"{table} remembered")
        passed("sent")
        if not self._notifier:
            self._tell(night, report)
        passed("pushed")
        if self._notifier:
            self._tell(night, report)
            passed("told")
        self.received[receipt] = None
        passed("confirmed")

    def survive(self, night: int, dies_after: str) -> None:
        """Run, whatever happens."""
        with suppress(Killed):
            self.run(night, dies_after)

    def _tell(self, night: int, report: Sequence[TableFinding]) -> None:
        news = ((found, Memory({}, "d.t", NOW).news_of(found)) for found in report)
        self.told += [(night, found.table, found.finding.code, why) for found, why in news if why]


class Lake:
    """Tables, and what audits remember of them."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.seen: set[tuple[str, str]] = set()

    def audit(self, table: str, night: int, receipt: str | None, received: dict[str, None]) -> list[Finding]:
        """Audit a table as the job does."""
        memory = AuditState.from_json(json.loads(self.files[table])) if table in self.files else None
        known = ReportedFindings() if memory is None else memory.reported.received(received, table)
        self.seen |= {(table, v.code) for v in VIOLATIONS if v.first <= night < v.over}
        since = -1 if memory is None else memory.version
        findings = [v.finding(night) for v in VIOLATIONS if v.first <= night < v.over]
        findings += [
            replace(v.finding(night), healed_version=v.over)
            for v in VIOLATIONS
            if since < v.over <= night and not v.silent
        ]
        compared = known.compare(findings, () if memory is None else memory.findings)
        told = compared.with_status(compared.findings)
        state = TableState(night, Protocol(1, 2), Metadata("id", '{"type":"struct","fields":[]}'), {})
        kept = replace(AuditState.of(state, {}, findings, "log"), reported=compared.reported(told, receipt))
        self.files[table] = json.dumps(kept.to_json())
        return told


def counted(*dags: Dag) -> Counter[tuple[str, str, News]]:
    return Counter((table, code, news) for dag in dags for _, table, code, news in dag.told)


def check(dags: Sequence[Dag], most: int) -> None:
    """Check that all was told that an audit saw, nothing too often, and nothing at all from the fourth night on."""
    told = counted(*dags)
    for table in TABLES:
        expected = {
            (OLD, News.NEW),
            (WORSE, News.NEW),
            (WORSE, News.CHANGED),
            (STANDS, News.NEW),
            (HEALED, News.RESOLVED),
            (GONE, News.RESOLVED),
            (SHORT, News.RESOLVED),
            (SHORT_GONE, News.RESOLVED),
        }
        for violation, news in expected:
            if (table, violation.code) not in dags[0].lake.seen:
                continue  # it came and went while no job looked
            assert 1 <= told[table, violation.code, news] <= most, (table, violation.code, news)
        for violation in (HEALED, GONE, SHORT, SHORT_GONE):
            assert told[table, violation.code, News.NEW] <= most
    assert [told for dag in dags for told in dag.told if told[0] > 3] == []


@pytest.mark.parametrize("notifier", [True, False])
@pytest.mark.parametrize("retried", [True, False])
@pytest.mark.parametrize("night", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_run_that_dies_at_any_point_costs_no_alert(point: str, night: int, retried: bool, notifier: bool) -> None:
    dag = Dag(Lake(), notifier=notifier)
    for now in range(7):
        dag.survive(now, point if now == night else "")
        if now == night and retried:
            dag.run(now)
    check([dag], 2)


@pytest.mark.parametrize(("first", "second"), [*product(POINTS, POINTS)])
def test_runs_that_die_three_times_cost_no_alert(first: str, second: str) -> None:
    dag = Dag(Lake())
    dag.run(0)
    dag.survive(1, first)
    dag.survive(1, second)
    dag.survive(2, first)
    for now in range(2, 7):
        dag.run(now)
    check([dag], 4)


@pytest.mark.parametrize(("one_dies", "other_dies"), [*product(POINTS, ("", *POINTS))])
def test_dags_that_share_what_is_remembered_do_not_tell_each_others_findings_every_night(
    one_dies: str, other_dies: str
) -> None:
    lake = Lake()
    dags = [Dag(lake), Dag(lake, notifier=False)]
    for now in range(7):
        for dag, point in zip(dags, (one_dies, other_dies)):
            dag.survive(now, point if now == 1 else "")
    check(dags, 4)


def test_nights_on_which_nothing_dies_tell_everything_once() -> None:
    dag = Dag(Lake())
    for now in range(6):
        dag.run(now)
    assert set(counted(dag).values()) == {1}
    assert {night for night, *_ in dag.told} == {0, 1, 2}


@pytest.mark.parametrize("lost", range(5))
def test_receipts_that_are_lost_cost_no_alert(lost: int) -> None:
    dag = Dag(Lake())
    for now in range(7):
        dag.run(now)
        if now == lost:
            dag.received.clear()
    told = counted(dag)
    assert max(told.values()) <= 2
    assert [told for told in dag.told if told[0] > lost + 1 and told[0] > 2] == []


def test_what_nobody_will_confirm_counts_at_once() -> None:
    lake = Lake()
    told = [{f.code: f.status for f in lake.audit("/t1", night, None, {})} for night in range(4)]
    assert told[0]["OLD"] is Status.NEW
    assert told[1] == {
        "OLD": Status.KNOWN,
        "WORSE": Status.CHANGED,
        "STANDS": Status.NEW,
        "SHORT": Status.NEW,
        "SHORT_GONE": Status.NEW,
        "HEALED": Status.RESOLVED,
        "GONE": Status.RESOLVED,
    }
    assert told[3] == {"OLD": Status.KNOWN, "WORSE": Status.KNOWN, "STANDS": Status.KNOWN}


def test_what_was_remembered_before_there_were_receipts_counts_as_received() -> None:
    lake = Lake()
    lake.audit("/t1", 0, None, {})
    wire = json.loads(lake.files["/t1"])
    del wire["reported"]
    lake.files["/t1"] = json.dumps(wire)
    told = {f.code: f.status for f in lake.audit("/t1", 1, "r", {})}
    assert (told["OLD"], told["WORSE"], told["GONE"]) == (Status.KNOWN, Status.CHANGED, Status.RESOLVED)


def finding(code: str = "A", **known: object) -> Finding:
    return Finding(**{"code": code, "severity": Severity.ERROR, "message": "m", "fingerprint": code, **known})


def audit(
    known: ReportedFindings, *findings: Finding, receipt: str | None = None, waived: bool = False
) -> tuple[Finding, ...]:
    """Return the findings of an audit with their statuses."""
    return tuple(known.compare(findings).with_status(findings))


def after(
    known: ReportedFindings, *findings: Finding, receipt: str | None = "r", whole: bool = True
) -> ReportedFindings:
    """Return what is remembered after an audit."""
    compared = known.compare(findings, whole=whole, once={"LG01"})
    return compared.reported(compared.with_status(compared.findings), receipt)


def statuses(known: ReportedFindings, *findings: Finding) -> dict[str, Status | None]:
    return {found.code: found.status for found in audit(known, *findings)}


def test_part_of_a_report_may_be_confirmed_by_table_and_by_finding() -> None:
    both = after(ReportedFindings(), finding("A"), finding("B"))
    for only, expected in (
        (None, (Status.KNOWN, Status.KNOWN)),
        ({"/t": None}, (Status.KNOWN, Status.KNOWN)),
        ({"/t": ["A"]}, (Status.KNOWN, Status.NEW)),
        ({"/u": None}, (Status.NEW, Status.NEW)),
    ):
        known = both.received({"r": only}, "/t")
        assert tuple(statuses(known, finding("A"), finding("B")).values()) == expected
    rest = both.received({"r": {"/t": ["A"]}}, "/t").received({"r": None}, "/t")
    assert (set(rest.confirmed), rest.pending) == ({"A", "B"}, ())


def test_receipts_that_wait_are_bounded_and_kept_small_where_reports_say_the_same() -> None:
    known = ReportedFindings()
    for number in range(3 * MAX_RECEIPTS):
        known = after(known, finding("A"), *[finding("B")] * (number % 2), receipt=str(number))
    waiting = [receipt for pending in known.pending for receipt in pending.receipts]
    assert len(waiting) == MAX_RECEIPTS
    assert {str(3 * MAX_RECEIPTS - 1), str(3 * MAX_RECEIPTS - 2)} <= set(waiting)
    assert len(known.pending) == 2


def test_later_report_that_was_received_counts_more_than_an_earlier_one() -> None:
    first = after(ReportedFindings(), finding(facts={"files": 1}), receipt="1")
    second = after(first, finding(facts={"files": 2}), receipt="2")
    assert statuses(second.received({"2": None}, ""), finding(facts={"files": 2})) == {"A": Status.KNOWN}
    assert statuses(second.received({"1": None, "2": None}, ""), finding(facts={"files": 2})) == {"A": Status.KNOWN}
    assert statuses(second.received({"1": None}, ""), finding(facts={"files": 2})) == {"A": Status.CHANGED}
    assert second.received({"2": None}, "").pending == ()


def test_accepted_finding_is_new_when_its_waiver_expires_unless_it_was_told_before() -> None:
    waived = finding(waiver=Waiver("ann", "why", "2026-01-01"))
    accepted = after(ReportedFindings(), waived, receipt=None)
    assert statuses(accepted, waived) == {"A": Status.KNOWN}
    assert statuses(accepted, finding()) == {"A": Status.NEW}
    told = after(after(ReportedFindings(), finding(), receipt=None), waived, receipt=None)
    assert statuses(told, finding()) == {"A": Status.KNOWN}
    assert after(accepted, waived).pending == ()


def test_what_is_not_among_the_findings_of_an_audit_that_gave_up_is_not_gone() -> None:
    known = after(ReportedFindings(), finding("A"), finding("B"), receipt=None)
    compared = known.compare([finding("A")], [finding("A"), finding("B")], whole=False)
    assert [found.code for found in compared.findings] == ["A"]
    assert compared.reported(compared.findings, "r") == known
    assert [found.code for found in known.compare([finding("A")], [finding("A"), finding("B")]).findings] == ["A", "B"]


def test_history_that_is_not_kept_is_told_until_that_was_received_and_then_no_more() -> None:
    known = after(ReportedFindings(), finding("LG01", severity=Severity.UNDECIDED))
    for _ in range(2):
        compared = known.compare(())
        (again,) = compared.with_status(compared.findings)
        assert (again.code, again.status, again.is_open) == ("LG01", Status.NEW, True)
        known = compared.reported([again], "again")
    assert known.received({"again": None}, "").compare(()).findings == ()


def test_findings_of_one_fingerprint_are_known_together() -> None:
    two = (finding(facts={"files": 1}), finding(facts={"files": 2}))
    known = after(ReportedFindings(), *two, receipt=None)
    assert [found.status for found in audit(known, *two)] == [Status.KNOWN, Status.KNOWN]
    assert [found.status for found in audit(known, two[0])] == [Status.CHANGED]
    over = replace(two[0], healed_version=7)
    assert [found.status for found in audit(known, *two, over)] == [Status.KNOWN, Status.KNOWN, Status.NEW]


def test_findings_without_fingerprint_are_known_by_where_they_are() -> None:
    plain = [finding(fingerprint=None, **{name: 7}) for name in ("version", "path", "column", "subject")]
    assert len(set(map(identity, chain(plain, [finding(fingerprint=None)])))) == 5


def test_quiet_night_leaves_nothing_to_confirm() -> None:
    known = after(ReportedFindings(), finding(), receipt=None)
    assert after(known, finding()) == known
