from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given

from airflow_delta_provider.domain.rendering.junit import render
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.report import JobReport, Severity, Status, Verdict
from tests.unit.rendering.reports import (
    WAIVER,
    faulty,
    found,
    nasty_reports,
    of_everything,
    refused,
    report_of,
    sound,
    undecided,
    violated,
)

#: What readers of JUnit agree on: the children that an element may have, and the attributes that it must have.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
COUNTS = {"name", "tests", "failures", "errors", "skipped", "time"}
ATTRIBUTES = {
    "testsuites": COUNTS,
    "testsuite": {*COUNTS, "timestamp"},
    "testcase": {"classname", "name", "time"},
    **{tag: {"message", "type"} for tag in ("failure", "error", "skipped")},
    "system-out": set(),
}


def suite_of(report: JobReport, presentation: Presentation | None = None) -> Element:
    text = render(report, presentation)
    root = fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert set(element.keys()) == ATTRIBUTES[element.tag]
    [suite] = root
    for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert root.get(count) == suite.get(count) == str(len(list(suite.iter(tag))))
    assert all(len(case.findall("*")) - len(case.findall("system-out")) <= 1 for case in suite)
    return suite


def ends(suite: Element) -> list[str]:
    return [next((child.tag for child in case if child.tag != "system-out"), "passed") for case in suite]


def test_table_is_a_test_that_ends_by_its_verdict() -> None:
    report = report_of(sound(), undecided(), violated(), refused(), faulty())
    assert ends(suite_of(report)) == ["passed", "skipped", "failure", "error", "error"]
    strict = Presentation(undetermined_fails=True)
    assert ends(suite_of(report, strict)) == ["passed", "failure", "failure", "error", "error"]


def test_failure_says_what_is_wrong_and_what_to_do() -> None:
    [case] = suite_of(report_of(violated(timings={"list": 0.5, "commits": 1.25})))
    assert (case.get("classname"), case.get("name"), case.get("time")) == ("delta-provider.audit", "/lake/t", "1.750")
    [failure] = case
    assert (failure.get("type"), failure.get("message")) == ("MD03", "MD03 The commit has 2 metaData actions.")
    assert failure.text is not None
    assert "version 3 · WRITE by Delta Spark 3.2.0" in failure.text
    assert "delta-provider explain MD03" in failure.text


def test_several_findings_are_one_failure() -> None:
    [case] = suite_of(report_of(violated("t", found(), found("MD07"), found("MD07"))))
    [failure] = case
    assert (failure.get("type"), failure.get("message")) == ("MD03, MD07", "VIOLATED: MD07 ×2, MD03")


def test_what_does_not_count_fails_no_test_and_is_said() -> None:
    aside = found("MD07", healed_version=4), found("TF01", waiver=WAIVER)
    [case] = suite_of(report_of(violated("t", *aside)))
    assert [child.tag for child in case] == ["system-out"]
    assert "Fixed in version 4." in str(case[0].text)
    assert "Accepted by data-team until 2027-01-31: Known since the migration." in str(case[0].text)


def test_with_a_baseline_only_what_is_new_fails() -> None:
    new, known = found(status=Status.NEW), found("MD07", status=Status.KNOWN)
    warned = violated("w", found(severity=Severity.WARNING, status=Status.NEW))
    tables = violated("a", known), violated("b", new, known), replace(warned, verdict=Verdict.VIOLATED), faulty()
    assert ends(suite_of(report_of(*tables))) == ["failure", "failure", "failure", "error"]
    suite = suite_of(report_of(*tables), Presentation(new_only=True))
    assert ends(suite) == ["passed", "failure", "failure", "error"]
    assert "ERROR MD07" in str(suite[0][0].text)


def test_answer_is_the_output_of_a_test_that_passes() -> None:
    [case] = suite_of(report_of(sound(plan={"steps": [{"explanation": "set x=y (1 commit)"}]})))
    assert [(child.tag, str(child.text).strip()) for child in case] == [("system-out", "set x=y (1 commit)")]


@given(nasty_reports)
def test_anything_in_names_and_messages_is_xml(report: JobReport) -> None:
    suite_of(report)


def test_every_way_to_end_and_none() -> None:
    suite_of(of_everything())
    assert ends(suite_of(report_of())) == []


@pytest.mark.parametrize("started", ["", "no time"])
def test_time_that_is_not_known_is_zero(started: str) -> None:
    report = report_of(sound())
    assert 'time="0.000"' in render(JobReport("audit", started, report.finished_at, report.tables, {}))
