"""What all formats have in common."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.audit.waivers import Waivers
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering import text
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.presentation import FORMATS, Format, Presentation
from airflow_delta_provider.domain.report.report import JobReport
from tests.unit.rendering.reports import found, nasty_reports, of_everything, report_of, sound, violated

each_format = pytest.mark.parametrize("known", FORMATS.values(), ids=list(FORMATS))


@each_format
def test_every_way_to_end_can_be_shown(known: Format) -> None:
    written = known.render(of_everything())
    assert written.endswith("\n")
    assert "MD03" in written


@each_format
def test_report_without_tables_can_be_shown(known: Format) -> None:
    assert known.render(report_of()).endswith("\n")


@each_format
@settings(max_examples=50)
@given(report=nasty_reports)
def test_anything_in_names_and_messages_can_be_encoded(known: Format, report: JobReport) -> None:
    assert known.render(report).encode()


@each_format
def test_many_tables_can_be_shown_and_the_same_report_is_shown_alike(known: Format) -> None:
    report = report_of(*(violated(f"/lake/t{n}") if n % 3 else sound(f"/lake/t{n}") for n in range(1000)))
    assert known.render(report) == known.render(report)


@pytest.mark.parametrize("several", [False, True], ids=["one finding", "another of the same rule"])
@pytest.mark.parametrize(
    "render", [*(known.render for known in FORMATS.values()), text.render_log], ids=[*FORMATS, "task log"]
)
def test_expired_waiver_is_said(render: Callable[[JobReport], str], several: bool) -> None:
    known = {"code": "MD03", "owner": "ann", "reason": "a pilot", "expires": "2026-05-31", "table": "/lake/t"}
    (expired,) = Waivers.parse([known]).apply([found()], "/lake/t", date(2026, 6, 1))
    others = [violated("/lake/a")] if several else []
    said = " ".join(render(report_of(*others, violated("/lake/t", expired))).split())
    assert "The waiver of ann expired on 2026-05-31." in said or (several and "1 with an expired waiver" in said)
    assert "Accepted" not in said


@each_format
def test_expired_waiver_of_a_finding_that_was_fixed_is_not_said(known: Format) -> None:
    waiver = {"code": "MD03", "owner": "ann", "reason": "a pilot", "expires": "2026-05-31"}
    (fixed,) = Waivers.parse([waiver]).apply([found(healed_version=4)], "/lake/t", date(2026, 6, 1))
    assert "waiver" not in known.render(report_of(violated("/lake/t", fixed)))


def test_task_log_says_what_effect_and_remedy_are() -> None:
    rule, said = RULES["MD03"], " ".join(text.render_log(report_of(violated())).split())
    assert f"Effect: {rule.effect} Remedy: {rule.remedy}" in said


def test_json_is_the_report_itself() -> None:
    report = of_everything()
    assert JobReport.from_json(json.loads(FORMATS["json"].render(report))).to_json() == report.to_json()


def test_text_imports_no_other_format() -> None:
    code = (
        "import sys\n"
        "from airflow_delta_provider.domain.rendering.presentation import FORMATS\n"
        "from tests.unit.rendering.reports import report_of\n"
        "before = set(sys.modules)\n"
        "FORMATS['text'].render(report_of())\n"
        "print(*sorted(m for m in set(sys.modules) - before if m.startswith('airflow_delta_provider')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name.rpartition(".")[2] for name in done.stdout.split()}
    others = {known.module for name, known in FORMATS.items() if name != "text"}
    assert "text" in imported
    assert not imported & others


@pytest.mark.parametrize("page", ["rules.html", "javascript:alert(1)", "https://", "https://docs/rules.html#md03"])
def test_what_is_not_the_address_of_a_page_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="not the address of the page of rules"):
        RuleLinks(page)


def test_rule_is_linked_where_the_page_is_known_and_explained_elsewhere() -> None:
    linked = RuleLinks("https://docs.example.com/reference/rules.html")
    assert linked.url("MD03") == linked.shown("MD03") == "https://docs.example.com/reference/rules.html#md03"
    assert linked.url("XX01") is None
    assert RuleLinks().url("MD03") is None
    assert RuleLinks().shown("MD03") == "delta-provider explain MD03"
    assert RuleLinks().shown("XX01") == ""
    text = FORMATS["text"].render(of_everything(), Presentation(rules=linked))
    assert "https://docs.example.com/reference/rules.html#md03" in text
