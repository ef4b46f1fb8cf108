"""Reports for the tests of formats: real findings, made-up names."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, TableReport, Verdict, Waiver

STARTED, FINISHED = "2026-01-02T03:04:05.000+00:00", "2026-01-02T03:04:09.100+00:00"
WAIVER = Waiver("data-team", "Known since the migration.", "2027-01-31")
#: What may not be taken for a format's own: markup, commands, quotes, controls, what turns text around.
NASTY = st.text(
    st.sampled_from("ab1 \n\r\t\x00\x1b\x7f\x9b\u2028\u202e\ufffe\ud800界é`*_[]()<>&#|~\"'\\{}$@!-+.:/%,;="),
    min_size=1,
    max_size=40,
)


def report_of(*tables: TableReport, kind: str = "audit") -> JobReport:
    return JobReport(kind, STARTED, FINISHED, tables, {"spark": None, "delta": None})


def found(code: str = "MD03", evidence: str = "The commit has 2 metaData actions.", **known: Any) -> Finding:
    """A finding as its rule makes it."""
    made = {"version": 3, "operation": "WRITE", "writer": "Delta Spark 3.2.0", "fingerprint": "f" * 16, **known}
    severity = made.pop("severity", RULES[code].severity)
    finding = Finding(code, severity, "", evidence=evidence, **made)
    return RULES[code].worded(finding)


def violated(name: str = "/lake/t", *findings: Finding, **known: Any) -> TableReport:
    return TableReport.of_findings(name, *(findings or (found(),)), **{"version": 5, **known})


def undecided(name: str = "/lake/u") -> TableReport:
    return TableReport.of_findings(
        name, found("LG06", "The catalog may know more.", severity=Severity.UNDECIDED), version=5
    )


def sound(name: str = "/lake/s", **known: Any) -> TableReport:
    return TableReport.of_findings(name, version=5, **known)


def refused(name: str = "/lake/r") -> TableReport:
    return TableReport.refused(name, requests.FAMILY.rules[0].found("There is no table {name}.", name=name))


def faulty(name: str = "/lake/f") -> TableReport:
    fault = faults.FAMILY.rules[0].found("The storage said: {said}", said="403 Forbidden\n\tat S3\n\x1b[31mred")
    return TableReport(name, Verdict.FAULT, retryable=True, findings=(fault,))


def of_everything() -> JobReport:
    """One table for each way to end, and findings that do not count."""
    aside = (
        found("MD07", "It was fixed.", healed_version=4),
        found("TF01", "It is accepted.", waiver=WAIVER, fingerprint="a" * 16),
    )
    return report_of(
        sound(),
        sound("/lake/aside", *()),
        violated("/lake/aside", *aside),
        undecided(),
        violated(),
        refused(),
        faulty(),
    )


nasty_findings = st.builds(
    lambda code, evidence, **known: found(code, evidence, **known),
    st.sampled_from(sorted(RULES)),
    NASTY,
    severity=st.sampled_from(Severity),
    version=st.none() | st.integers(0, 2**40),
    path=st.none() | NASTY,
    column=st.none() | NASTY,
    subject=st.none() | NASTY,
    operation=st.none() | NASTY,
    writer=st.none() | NASTY,
    user=st.none() | NASTY,
    action=st.none() | NASTY,
    timestamp=st.none() | NASTY,
    fingerprint=st.none() | st.text("0123456789abcdef", min_size=16, max_size=16),
    effect=st.none() | NASTY,
    remedy=st.none() | NASTY,
    healed_version=st.none() | st.integers(0, 2**40),
    waiver=st.none() | st.builds(Waiver, NASTY, NASTY, st.just("2027-01-31")),
)
nasty_tables = st.builds(
    lambda name, findings, verdict, version: TableReport(name, verdict, findings=tuple(findings), version=version),
    NASTY,
    st.lists(nasty_findings, max_size=3),
    st.sampled_from(Verdict),
    st.none() | st.integers(0, 2**40),
)
nasty_reports = st.lists(nasty_tables, max_size=4).map(lambda tables: report_of(*tables))
