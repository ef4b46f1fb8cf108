"""A report as JUnit XML: a test per table, for the test reports of CI."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.report_blocks import answers
from airflow_delta_provider.domain.rendering.report_document import (
    Wording,
    by_cause,
    consequences,
    decisive_codes,
    is_open,
    outcome,
    seconds,
    where,
    wording_lines,
)
from airflow_delta_provider.domain.report.report import Finding, JobReport, TableReport, Verdict, verdict_of
from airflow_delta_provider.domain.text import counted_codes, printed, shortened, visible

#: Maximum number of characters of a message: dashboards show it in one line.
_MAX_MESSAGE = 300
#: Maximum number of findings of a table in full; the others are named by their codes.
_MAX_FINDINGS = 50
_WIDTH = 100
#: Characters that XML 1.0 cannot contain, even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return one test suite. Broken rules are failures; a table that could not be checked is an error."""
    shown_as = presentation or Presentation()
    outcomes = [
        _outcome(_verdict(table, new_only=shown_as.new_only), shown_as, withheld=table.withheld)
        for table in report.tables
    ]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
        "time": f"{seconds(report) or 0:.3f}",
    }
    suites = Element("testsuites", {"name": "delta-provider", **counts})
    timestamp = _text(report.started_at)[:19]
    suite = SubElement(suites, "testsuite", {"name": _text(report.kind), **counts, "timestamp": timestamp})
    for table, result in zip(report.tables, outcomes):
        _case(suite, table, result, report.kind, shown_as.rules)
    indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}\n'


def _case(suite: Element, table: TableReport, result: str | None, kind: str, rules: RuleLinks) -> None:
    time = f"{sum(round(phase, 3) for phase in table.timings.values()):.3f}"  # as a kept report has them
    name = {"classname": _text(f"delta-provider.{kind}"), "name": _text(visible(table.table)), "time": time}
    case = SubElement(suite, "testcase", name)
    counting = [finding for finding in table.findings if finding.is_open]
    other = [finding for finding in table.findings if not finding.is_open]
    if result is not None:
        described = {
            "message": _text(_message(table)),
            "type": _text(", ".join(dict.fromkeys(decisive_codes(table))) or table.verdict.value),
        }
        SubElement(case, result, described).text = _text("\n".join(_findings(counting, rules)))
        counting = []
    output = [*answers(table, _WIDTH), *_findings([*counting, *other], rules)]
    if output:
        SubElement(case, "system-out").text = _text("\n".join(output))


def _verdict(table: TableReport, *, new_only: bool) -> Verdict:
    """Return the verdict of a table. If only new findings count, known ones are ignored."""
    if not new_only or table.verdict in (Verdict.REFUSED, Verdict.FAULT):
        return table.verdict
    new = [finding.severity for finding in table.findings if finding.is_new]
    warnings_alone = verdict_of(finding.severity for finding in table.findings if finding.is_open) is Verdict.PASS
    # Warnings alone make a table VIOLATED if the request says so.
    return table.verdict if new and warnings_alone else verdict_of(new)


def _outcome(verdict: Verdict, shown_as: Presentation, *, withheld: bool) -> str | None:
    """Return the name of the XML element for the outcome of a test; None if it passed."""
    if verdict is Verdict.UNDETERMINED:
        return "failure" if withheld or shown_as.undetermined_fails else "skipped"
    return {Verdict.PASS: None, Verdict.VIOLATED: "failure"}.get(verdict, "error")


def _message(table: TableReport) -> str:
    """Return the problem in one line: the evidence of a single finding, or else the codes of several."""
    counting = [finding for finding, _ in by_cause(filter(is_open, table.findings))]
    if len(counting) == 1:
        wording = Wording.of(counting[0])
        return shortened(visible(f"{counting[0].code} {' '.join(wording.evidence.split())}"), _MAX_MESSAGE)
    return f"{table.verdict.value}: {counted_codes(decisive_codes(table), 10) or 'no findings'}"


def _findings(findings: Iterable[Finding], rules: RuleLinks) -> Iterator[str]:
    roots = by_cause(findings)
    for finding, follows in roots[:_MAX_FINDINGS]:
        wording = Wording.of(finding)
        yield f"{finding.severity.value} {finding.code} {wording.title}".rstrip()
        lines = (
            where(finding),
            *wording_lines(wording),
            *outcome(finding),
            *consequences(follows),
            rules.shown(finding.code),
        )
        yield from (f"    {line}" for line in lines if line)
    if len(roots) > _MAX_FINDINGS:
        yield f"… and {counted_codes(finding.code for finding, _ in roots[_MAX_FINDINGS:])}"


def _text(text: str) -> str:
    """Return ``text`` without characters that XML cannot contain.

    Commands for the CI that prints it are escaped.
    """
    whole = "\n".join(printed(text.split("\n")))
    return _NO_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), whole)
