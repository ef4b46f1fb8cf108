"""Exit codes of the command line, for scripts."""

from __future__ import annotations

from enum import IntEnum

from airflow_delta_provider.domain.report.report import JobReport, Severity, TableReport, Verdict, verdict_of


class UsageError(Exception):
    """A command line, or a file that it names, cannot be used; the message gives the reason in one line."""


class ExitCode(IntEnum):
    OK = 0
    VIOLATED = 1
    USAGE = 2
    REFUSED = 3
    FAULT = 4
    UNDETERMINED = 5
    INTERRUPTED = 130


#: Meanings of the codes. With several tables, the first code in this order is used.
MEANINGS = {
    ExitCode.FAULT: "the storage, the engine or the provider failed on a table, or there is no report",
    ExitCode.REFUSED: "a table was refused: it does not exist, or the request is not safe for it",
    ExitCode.VIOLATED: "a table violates a rule",
    ExitCode.UNDETERMINED: "a table could not be fully checked, with `--strict`; or was not changed for this reason",
    ExitCode.OK: "all is well",
    ExitCode.USAGE: "the command line, or a file that it names, is invalid, or a pattern matches no table",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}
_BY_VERDICT = {
    Verdict.FAULT: ExitCode.FAULT,
    Verdict.REFUSED: ExitCode.REFUSED,
    Verdict.VIOLATED: ExitCode.VIOLATED,
    Verdict.UNDETERMINED: ExitCode.UNDETERMINED,
    Verdict.PASS: ExitCode.OK,
}
_WORST_FIRST = (ExitCode.FAULT, ExitCode.REFUSED, ExitCode.VIOLATED, ExitCode.UNDETERMINED, ExitCode.OK)


def exit_code(report: JobReport, *, fail_on: str, strict: bool, new_only: bool) -> ExitCode:
    """Return the exit code for a report: the code of its worst table.

    :param fail_on: lowest severity that fails: ``error``, ``warning`` or ``never``
    :param strict: True if undetermined tables fail
    :param new_only: True to ignore findings whose status is known
    """
    ignored = set() if strict else {ExitCode.UNDETERMINED}
    if fail_on == "never":
        ignored |= {ExitCode.VIOLATED, ExitCode.UNDETERMINED}
    ends = (_BY_VERDICT[_verdict(table, fail_on, new_only=new_only)] for table in report.tables)
    seen = {ExitCode.OK, *ends} - ignored
    if any(table.withheld for table in report.tables):
        seen.add(ExitCode.UNDETERMINED)
    return next(code for code in _WORST_FIRST if code in seen)


def _verdict(table: TableReport, fail_on: str, *, new_only: bool) -> Verdict:
    """Return the verdict of a table for ``fail_on``, which the job may not know, and for ``new_only``."""
    if table.verdict in (Verdict.FAULT, Verdict.REFUSED):
        return table.verdict
    counting = [finding for finding in table.findings if (finding.is_new if new_only else finding.is_open)]
    if fail_on == "warning" and any(finding.severity is Severity.WARNING for finding in counting):
        return Verdict.VIOLATED
    return verdict_of(finding.severity for finding in counting) if new_only else table.verdict
