"""Which exit code a report leads to."""

from __future__ import annotations

import pytest

from airflow_delta_provider.command_line.exit_code import ExitCode, exit_code
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, Status, TableReport, Verdict

ENDS = {
    Verdict.PASS: ExitCode.OK,
    Verdict.UNDETERMINED: ExitCode.OK,
    Verdict.VIOLATED: ExitCode.VIOLATED,
    Verdict.REFUSED: ExitCode.REFUSED,
    Verdict.FAULT: ExitCode.FAULT,
}


def code(*tables: TableReport, fail_on: str = "error", strict: bool = False, new_only: bool = False) -> ExitCode:
    report = JobReport("audit", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", tables, {})
    return exit_code(report, fail_on=fail_on, strict=strict, new_only=new_only)


def table(severity: Severity, status: Status | None = None, healed: int | None = None) -> TableReport:
    found = Finding("MD03", severity, "wrong", status=status, healed_version=healed)
    return TableReport.of_findings("/t", found, version=3)


@pytest.mark.parametrize("verdict", Verdict)
def test_each_verdict_has_its_code(verdict):
    assert code(TableReport("/t", verdict)) == ENDS[verdict]
    assert code(TableReport("/t", verdict), fail_on="never") == (
        ENDS[verdict] if verdict in (Verdict.REFUSED, Verdict.FAULT) else ExitCode.OK
    )


def test_strict_fails_on_what_is_undetermined():
    assert code(TableReport("/t", Verdict.UNDETERMINED), strict=True) == ExitCode.UNDETERMINED


def test_a_change_that_was_withheld_is_no_success():
    withheld = TableReport("/t", Verdict.UNDETERMINED, withheld=True)
    assert code(withheld) == code(withheld, fail_on="never") == ExitCode.UNDETERMINED
    assert code(withheld, TableReport("/u", Verdict.REFUSED)) == ExitCode.REFUSED


def test_of_several_tables_the_worst_counts():
    worst_first = (ExitCode.FAULT, ExitCode.REFUSED, ExitCode.VIOLATED, ExitCode.UNDETERMINED, ExitCode.OK)
    tables = [TableReport("/t", verdict) for verdict in reversed(Verdict)]
    for number, expected in enumerate(worst_first):
        assert code(*reversed(tables[number:]), strict=True) == expected


def test_warnings_fail_where_they_are_asked_to_unless_they_were_fixed():
    assert code(table(Severity.WARNING)) == ExitCode.OK
    assert code(table(Severity.WARNING), fail_on="warning") == ExitCode.VIOLATED
    assert code(table(Severity.WARNING, healed=2), fail_on="warning") == ExitCode.OK


@pytest.mark.parametrize(("status", "expected"), [(Status.KNOWN, 0), (Status.NEW, 1), (Status.CHANGED, 1)])
def test_known_findings_do_not_count_against_a_baseline(status, expected):
    assert code(table(Severity.ERROR, status), new_only=True) == expected
    assert code(table(Severity.ERROR, status)) == ExitCode.VIOLATED


def test_known_findings_that_are_undecided_do_not_count_either():
    assert code(table(Severity.UNDECIDED, Status.KNOWN), new_only=True, strict=True) == ExitCode.OK
    assert code(table(Severity.UNDECIDED, Status.NEW), new_only=True, strict=True) == ExitCode.UNDETERMINED
