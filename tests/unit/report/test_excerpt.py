"""What XCom holds of a report for Airflow's UI."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.report import pages
from airflow_delta_provider.domain.report import pages as excerpts
from airflow_delta_provider.domain.report.pages import Excerpt, LatestResults, Origin, TableRow, TableRows
from airflow_delta_provider.domain.report.report import Finding, JobReport, ReportPlace, Verdict
from tests.unit.rendering.reports import found, nasty_reports, of_everything, report_of, sound, violated

NOW = datetime(2026, 1, 30, tzinfo=timezone.utc)


def size(wire: Any) -> int:
    return len(json.dumps(wire))


@settings(max_examples=50)
@given(nasty_reports)
def test_small_report_is_shown_whole(report: JobReport) -> None:
    excerpt = Excerpt.of(report)
    assert excerpt.left_out == ()
    assert sorted(t.table for t in excerpt.report.tables) == sorted(t.table for t in report.tables)
    assert Excerpt.from_json(json.loads(json.dumps(excerpt.to_json()))) == excerpt


def test_excerpt_says_what_the_report_says() -> None:
    place = ReportPlace("/reports/1.json")
    excerpt = Excerpt.of(of_everything(), place, dry_run=True)
    assert (excerpt.report.verdict, excerpt.place, excerpt.dry_run) == (Verdict.FAULT, place, True)
    assert excerpt.counts == {Verdict.PASS: 2, **dict.fromkeys(set(Verdict) - {Verdict.PASS}, 1), Verdict.PASS: 3}
    assert [table.verdict for table in excerpt.report.tables] == sorted(
        (table.verdict for table in of_everything().tables), key=lambda verdict: -verdict.rank
    )


@pytest.mark.parametrize(
    "report",
    [
        report_of(*(violated(f"/lake/{n}", found(action="x" * 900)) for n in range(5000)), sound()),
        report_of(violated("/lake/t", *(found(path=f"part-{n}", action="{}" * 400) for n in range(1000)))),
        report_of(*(sound(f"/lake/{'x' * 5000}/{n}") for n in range(50))),
        report_of(
            sound(
                plan={
                    "digest": "0" * 64,
                    "commits": 9,
                    "notes": ["n" * 9000] * 9,
                    "steps": [],
                    "diff": ["d" * 99] * 900,
                },
                history={"protocol": {}, "features": {}, "omitted": 0, "events": [{"text": "t" * 240}] * 200},
            )
        ),
        report_of(sound("x" * 100_000)),
    ],
    ids=["tables", "findings", "names", "plan and events", "one name"],
)
def test_long_report_is_cut_to_what_fits_and_says_so(report: JobReport) -> None:
    excerpt = Excerpt.of(report, ReportPlace("/r.json"))
    assert size(excerpt.to_json()) <= excerpts.MAX_BYTES
    assert excerpt.left_out != ()
    assert sum(excerpt.counts.values()) == len(report.tables)
    assert Excerpt.from_json(excerpt.to_json()) == excerpt


def test_worst_tables_and_open_findings_stay() -> None:
    healed = [found(path=f"part-{n}", healed_version=4, action="x" * 2000) for n in range(60)]
    tables = [violated(f"/lake/{n}", *healed) for n in range(100)] + [violated("/lake/open", *healed, found("TF01"))]
    excerpt = Excerpt.of(report_of(*tables))
    assert excerpt.report.tables[0].table == "/lake/open"
    assert excerpt.report.tables[0].findings[0].code == "TF01"


def test_message_of_a_finding_without_evidence_stays() -> None:
    finding = Finding("ZZ99", found().severity, "What a later version found.")
    [table] = Excerpt.of(report_of(violated("/lake/t", finding))).report.tables
    assert table.findings == (finding,)


def test_rows_are_bounded_and_the_worst_stay() -> None:
    report = report_of(*(sound(f"/lake/a/long/way/down/{n}") for n in range(5000)), violated("/lake/bad"))
    rows = TableRows.of(report)
    assert size(rows.to_json()) <= pages.MAX_BYTES
    assert rows.rows[0] == TableRow("/lake/bad", Verdict.VIOLATED, 5, 1)
    assert len(rows.rows) + rows.omitted == 5001
    assert TableRows.from_json(json.loads(json.dumps(rows.to_json()))) == rows


def result(days_ago: int, verdict: Verdict, kind: str = "audit", table: str = "/t") -> tuple[Origin, TableRows]:
    at = NOW - timedelta(days=days_ago)
    return Origin("d", f"r{days_ago}", "t", -1, at), TableRows(kind, (TableRow(table, verdict),))


def test_newest_verdict_counts_and_holds_since_it_last_changed() -> None:
    bad, good = Verdict.VIOLATED, Verdict.PASS
    [latest] = LatestResults.of(
        [result(1, bad), result(2, bad), result(5, bad), result(6, good), result(9, bad)]
    ).latest
    assert (latest.row.verdict, latest.origin.run_id, latest.always) == (bad, "r1", False)
    assert latest.since == NOW - timedelta(days=5)
    [latest] = LatestResults.of([result(1, bad), result(9, bad)]).latest
    assert (latest.since, latest.always) == (NOW - timedelta(days=9), True)


def test_older_looks_add_tables_and_nothing_else() -> None:
    bad, good = Verdict.VIOLATED, Verdict.PASS
    results = LatestResults.of([result(1, bad), result(2, bad)])
    latest = results.and_older([result(9, bad), result(9, good, table="/u"), result(20, good, table="/u")]).latest
    found = {each.row.table: (each.row.verdict, (NOW - each.since).days, each.always) for each in latest}
    assert found == {"/t": (bad, 2, True), "/u": (good, 9, True)}


def test_kinds_of_jobs_say_nothing_of_each_other() -> None:
    latest = LatestResults.of([result(1, Verdict.PASS, "detail"), result(2, Verdict.VIOLATED)]).latest
    assert {(each.kind, each.row.verdict) for each in latest} == {
        ("detail", Verdict.PASS),
        ("audit", Verdict.VIOLATED),
    }


def test_table_that_was_changed_keeps_version_zero() -> None:
    report = report_of(replace(sound(), version=0))
    assert Excerpt.from_json(Excerpt.of(report).to_json()).report.tables[0].version == 0
