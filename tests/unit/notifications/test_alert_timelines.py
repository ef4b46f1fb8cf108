"""Timelines of alerts: what commits did to the tables of the findings, in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from airflow_delta_provider.domain.rendering.page import render as html_page
from airflow_delta_provider.domain.rendering.timeline import Timeline
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.notifications import html, slack
from airflow_delta_provider.notifications.alert import Alert, Item, News, Origin, worst_first
from airflow_delta_provider.notifications.alert_document import as_markdown, as_text
from airflow_delta_provider.notifications.html import AMBER, BLUE, GREEN, GREY, RED
from tests.unit.notifications.test_alert_formats import WRITTEN, words
from tests.unit.rendering.reports import NASTY, found, report_of, violated
from tests.unit.rendering.test_html_page import Page

EVENTS = (
    (0, "created", "creates the table: reader version 1, writer version 2"),
    (2, "protocol", "adds typeWidening"),
    (4, "widened", "widens id from int to bigint"),
    (4, "added", "adds fax string"),
)


def table(name: str, *findings: Finding, events: Any = EVENTS, **known: Any) -> TableReport:
    told = [{"version": version, "kind": kind, "text": said} for version, kind, said in events]
    history = {"protocol": {}, "features": {}, "omitted": 0, "events": told}
    return violated(name, *findings, **{"history": history, "version": 9, **known})


def picture_rows(mail: str) -> list[Page]:
    drawn = mail[mail.index('role="img"') :].split("</table>", maxsplit=1)[0]
    return [Page(row) for row in re.findall("<tr>(.*?)</tr>", drawn)]


def alert_of(*tables: TableReport, **known: Any) -> Alert:
    items = worst_first(Item(t.table, f, News.NEW) for t in tables for f in t.findings)
    return Alert(Origin("nightly", "audit"), "VIOLATED", items=items, reports={t.table: t for t in tables}, **known)


BROKEN = found("MD03", version=6), found("MD07", version=3, healed_version=7)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_each_format_tells_what_commits_did(written: Callable[[Alert], str]) -> None:
    said = words(written(alert_of(table("/lake/orders", *BROKEN))))
    course = said[said.index("Versions 0 to 9 of /lake/orders") :]
    told = (
        *(f"{version} {sign} {what}" for (version, _, what), sign in zip(EVENTS, "□◇↔+")),
        "6 ✕ MD03 several metaData actions in a commit",
        "3 ✕ MD07 format is not parquet",
        "7 ✓ MD07 fixed",
    )
    squeezed = course.replace(" ", "")
    assert [one for one in told if one.replace(" ", "") not in squeezed] == []
    assert squeezed.index("3✕MD07") < squeezed.index("4↔") < squeezed.index("6✕MD03") < squeezed.index("7✓MD07")


def test_picture_of_a_mail_says_what_that_of_the_page_says() -> None:
    report = table("/lake/orders", *BROKEN)
    mail, page = Page(html.render(alert_of(report))), Page(html_page(report_of(report)))
    drawn = [
        [known["aria-label"] for known in it.attributes(tag) if "aria-label" in known]
        for it, tag in ((mail, "table"), (page, "svg"))
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 1


def test_a_violation_is_a_bar_from_the_commit_that_broke_the_rule_to_the_one_that_fixed_it() -> None:
    open_one, before = found("MD03", version=6), found("TF01", version=2, at_or_before=True, severity=Severity.WARNING)
    report = table("/lake/t", open_one, BROKEN[1], before, events=(), evidence={"first_version": 0})
    rows = picture_rows(html.render(alert_of(report)))
    cells = [row.attributes("td") for row in rows[1:-1:2]]
    drawn = [[(int(cell.get("colspan") or 1), cell.get("bgcolor")) for cell in row] for row in cells]
    assert drawn == [
        [(6, None), (1, RED), (3, RED)],
        [(1, None), (1, None), (1, AMBER), (7, AMBER)],
        [(3, None), (1, GREY), (3, GREY), (1, GREEN), (2, None)],
    ]


def test_a_table_whose_finding_says_it_all_has_no_timeline() -> None:
    assert alert_of(table("/lake/t", found(version=3), events=())).timelines == ()
    assert [each.table for each in alert_of(table("/lake/u", events=EVENTS[:1])).timelines] == ["/lake/u"]


def test_events_of_a_later_release_are_left_out() -> None:
    told = alert_of(table("/lake/t", found(version=5), events=[*EVENTS, (8, "merged", "merges 2 columns")]))
    assert "merges" not in as_text(told)
    assert "widens id" in as_text(told)


def test_the_tables_that_come_first_have_timelines() -> None:
    tables = [table(f"/lake/t{number}", *BROKEN) for number in range(9)]
    assert [each.table for each in alert_of(*tables).timelines] == ["/lake/t0", "/lake/t1", "/lake/t2"]


def test_long_history_is_cut_to_its_violations_and_newest_changes() -> None:
    events = [(version, "added", f"adds c{version} int") for version in range(100)]
    said = as_text(alert_of(table("/lake/t", found(version=5), events=events, version=99)))
    told = [int(line.split()[0]) for line in said.splitlines() if "adds c" in line or "✕" in line]
    assert told == [5, *range(89, 100)]
    assert "    … and 89 more" in said.splitlines()


events = st.tuples(st.integers(0, 10**6), st.sampled_from(["created", "protocol", "added", "dropped", "other"]), NASTY)
findings = st.builds(
    lambda code, version, lasts, severity, before: found(
        code,
        version=version,
        healed_version=None if lasts is None else version + lasts,
        severity=severity,
        at_or_before=before,
    ),
    st.sampled_from(["MD03", "MD07", "TF01"]),
    st.integers(0, 10**6),
    st.none() | st.integers(1, 10**6),
    st.sampled_from(Severity),
    st.none() | st.booleans(),
)
tables = st.builds(
    lambda name, found, events, version: table(name, *found, events=sorted(events), version=version),
    NASTY,
    st.lists(findings, min_size=1, max_size=6),
    st.lists(events, max_size=30),
    st.sampled_from([0, 1, 30, 10**6]),
)


@given(tables)
def test_rows_of_the_picture_are_equally_wide_whatever_is_drawn(report: TableReport) -> None:
    mail = html.render(alert_of(report))
    if 'role="img"' not in mail:
        return
    rows, shown = picture_rows(mail), Timeline.of(report)
    assert shown is not None
    widths = {sum(int(cell.get("colspan") or 1) for cell in row.attributes("td")) for row in rows}
    assert widths == {min(24, shown.last - shown.first + 1)}
    assert str(shown.last) in rows[-1].text


@given(st.lists(tables, min_size=1, max_size=3, unique_by=lambda report: report.table))
def test_nothing_that_a_commit_says_becomes_markup_and_mails_are_not_clipped(reports: list[TableReport]) -> None:
    told = alert_of(*reports)
    mail = html.render(told)
    assert len(mail.encode()) < 100_000, "Gmail clips 102 kB"
    shown = Page(MarkdownIt("commonmark").render(as_markdown(told)))
    allowed = {"div", "h2", "h3", "p", "br", "b", "code", "table", "tr", "td"}
    assert {tag for tag, _ in Page(mail).tags} <= allowed
    assert {tag for tag, _ in shown.tags} <= {"h2", "h3", "p", "br", "strong", "code", "ul", "li"}


@given(st.lists(tables, min_size=1, max_size=3, unique_by=lambda report: report.table), st.integers(1, 4000))
def test_slack_has_timelines_where_there_is_room(reports: list[TableReport], length: int) -> None:
    blocks = slack.render(alert_of(*reports, failure="x" * length, limit=200))
    assert len(blocks) <= slack.MAX_BLOCKS
    assert len(json.dumps(blocks, ensure_ascii=False)) <= 12_000
    assert all(1 <= len(block["text"]["text"]) <= slack.MAX_TEXT for block in blocks if "text" in block)


@pytest.mark.parametrize("color", [RED, AMBER, GREEN, BLUE, GREY])
def test_colors_are_seen_on_white_and_on_black(color: str) -> None:
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    light = sum(share * channel for share, channel in zip((0.2126, 0.7152, 0.0722), linear))
    assert 1.05 / (light + 0.05) >= 4.5
    assert (light + 0.05) / 0.0616 >= 3, "the dark of Apple's mail program"
