"""Text of tables, commits and storages in every output: nothing in it acts on a terminal, a CI, or its neighbours."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.command_line.terminal import Terminal
from airflow_delta_provider.domain.rendering import text
from airflow_delta_provider.domain.rendering.markdown import render_plan
from airflow_delta_provider.domain.rendering.presentation import FORMATS, Detail, Presentation
from airflow_delta_provider.domain.report.report import Finding, ReportPlace, Severity, TableReport, Waiver
from airflow_delta_provider.domain.text import printed, visible, visible_lines
from airflow_delta_provider.notifications.alert import Alert, Item, News, Origin, worst_first
from airflow_delta_provider.notifications.violation import Message
from tests.unit.rendering.reports import found, report_of, violated

PIECES = [
    *("\x1b[2J", "\x1b]0;x\x07", "\x9b31m", "\r", "\n", "\n::error::x", "::set-output name=a::b", "##[error]", "\x00"),
    *("\u202e", "\u2066", "\u2069", "\u200f", "\u061c", "\u2028", "\x85", "##vso[task.complete]", "a", "b ", "/lake/t"),
    *("x" * 97, "x" * 45, "##teamcity[x]", "###", "[", ":", "\ud800"),
]
#: Each example goes through every output.
few = settings(max_examples=12)
HOSTILE = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)
#: Escape sequences, other controls, and what turns text around or hides it; not the line break.
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
#: As the runners of GitHub, Azure and TeamCity find commands.
COMMAND = re.compile(r"^\s*::|##(\[|vso\[|teamcity\[)", re.MULTILINE)


@st.composite
def hostile_findings(draw: st.DrawFn) -> Finding:
    def told() -> str:
        return draw(HOSTILE)

    waiver = Waiver(told(), told(), "2027-01-31") if draw(st.booleans()) else None
    known: dict[str, Any] = {"operation": told(), "writer": told(), "user": told(), "column": told(), "path": told()}
    known |= {"subject": told(), "timestamp": told(), "waiver": waiver, "severity": draw(st.sampled_from(Severity))}
    return found(draw(st.sampled_from(["MD03", "TF01", "RQ02", "FT01"])), told(), **known)


@st.composite
def hostile_tables(draw: st.DrawFn) -> TableReport:
    findings = draw(st.lists(hostile_findings(), min_size=1, max_size=3))
    detail = {"location": draw(HOSTILE), "columns": {draw(HOSTILE): draw(HOSTILE)}, "partition": [draw(HOSTILE)]}
    step = {"explanation": draw(HOSTILE), "breaks": [draw(HOSTILE)], "step": 1, "undo": draw(HOSTILE)}
    plan = {"steps": [{**step, "metadata_only": True}], "notes": [draw(HOSTILE)], "diff": [draw(HOSTILE)]}
    plan |= {"approval": [draw(HOSTILE)], "permissions": [draw(HOSTILE)]}
    engine = {"engine": draw(HOSTILE), "uses": "reads", "commits": 1, "outcome": draw(HOSTILE)}
    events = [{"version": 1, "kind": "added", "text": draw(HOSTILE)}]
    evidence = {"engines": [engine], "known_lockouts": {"read": [draw(HOSTILE)]}, "not_checked": [draw(HOSTILE)]}
    asked: dict[str, Any] = draw(st.sampled_from([{"detail": detail}, {"plan": plan}, {"evidence": evidence}, {}]))
    return violated(draw(HOSTILE), *findings, history={"events": events}, **asked)


def acting(shown: str) -> list[str]:
    """What acts in a text, with what is before and after it."""
    shown.encode("utf-8")
    found = [*ACTING.finditer(shown), *COMMAND.finditer(shown)]
    return [shown[max(0, match.start() - 30) : match.end() + 30] for match in found]


@few
@given(st.lists(hostile_tables(), min_size=1, max_size=2), HOSTILE)
def test_no_format_of_a_report_passes_on_what_acts(tables: list[TableReport], path: str) -> None:
    report, place = report_of(*tables), ReportPlace(path)
    for detail in Detail:
        shown_as = Presentation(detail=detail, place=place)
        for name, known in FORMATS.items():
            shown = known.render(report, shown_as)
            if name == "github":  # its lines are commands, and each has one finding
                shown = re.sub("^::(error|warning|notice) ", "", shown, flags=re.MULTILINE)
            assert acting(shown) == [], name
            if name in ("json", "sarif"):
                assert json.loads(shown)["version" if name == "sarif" else "schema_version"]
    assert acting(text.render_log(report, place)) == []


@few
@given(st.lists(hostile_tables(), min_size=1, max_size=2), HOSTILE, HOSTILE)
def test_no_format_of_an_alert_passes_on_what_acts(tables: list[TableReport], failure: str, name: str) -> None:
    items = [Item(table.table, finding, News.NEW) for table in tables for finding in table.findings]
    reports = {table.table: table for table in tables}
    alert = Alert(
        Origin(name, name, name),
        "VIOLATED",
        failure=failure,
        place=ReportPlace(name),
        reports=reports,
        items=worst_first(items),
    )
    message = Message(alert)
    assert not ACTING.search(message.subject.replace("\n", "\0"))
    for shown in (message.text, message.markdown, message.html):
        assert acting(shown) == []
    assert not ACTING.search(json.dumps(message.blocks, ensure_ascii=False).replace("\u200b", ""))


@given(HOSTILE)
def test_no_plan_for_approval_passes_on_what_acts(said: str) -> None:
    step = {"explanation": said, "breaks": [said], "step": 1, "undo": said, "metadata_only": True}
    finding = found("MD03", said).to_json()
    plan = {"table": said, "version": 1, "digest": said, "steps": [step], "diff": [said], "notes": [said]}
    plan |= {"lint": [finding], "locked_out": [finding], "permissions": [said], "approval": [said]}
    assert acting(render_plan(plan)) == []


@given(HOSTILE)
def test_no_message_of_the_command_line_passes_on_what_acts(said: str) -> None:
    stream, before = io.StringIO(), sys.stderr
    sys.stderr = stream
    try:
        terminal = Terminal(verbose=True)
        terminal.error(said, said)
        terminal.note(said)
        terminal.detail(said)
    finally:
        sys.stderr = before
    assert acting(stream.getvalue()) == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("  \x1b[1m::error::x", "  \x1b[1m\\x3a:error::x"),
        ("a ##[error] ###vso[x]", "a \\x23#[error] #\\x23#vso[x]"),
        ("Table s3://a/b: v::int ##", "Table s3://a/b: v::int ##"),
    ],
)
def test_line_that_is_a_command_is_not_and_any_other_stays(line: str, shown: str) -> None:
    assert list(printed([line])) == [shown]


def test_usual_names_stay_as_they_are() -> None:
    for name in ("s3://bucket/räksmörgås/表", "a:b::c", "C:\\lake\\t", "#1 [x]"):
        assert visible(name) == name == next(visible_lines(name))


@pytest.mark.parametrize("output_format", ["text", "markdown", "html", "github"])
def test_text_of_any_length_is_cut_for_people(output_format: str):
    table = violated("/lake/t", found("MD03", "x" * 500_000, path="y/" * 250_000))
    output = FORMATS[output_format].render(report_of(table), Presentation(detail=Detail.MUCH))
    assert len(output) < 100_000
