"""A report as workflow commands of GitHub Actions, which shows findings as annotations of a run."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.rendering.links import TablePlace
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.report_blocks import examples
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    Wording,
    is_about_table,
    problems,
    totals,
)
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity
from airflow_delta_provider.domain.text import counted, printed, shortened, visible, visible_lines

#: Maximum number of tables that are named, and of findings of one table; the rest is counted.
_MAX_TABLES = 20
#: Maximum number of characters of a message and of a title.
_MAX_MESSAGE, _MAX_TITLE = 4000, 250
_LEVELS = {Severity.ERROR: "error", Severity.UNDECIDED: "warning", Severity.WARNING: "warning"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return a command per rule, worst first, since a run shows only the first few; then the totals."""
    shown_as = presentation or Presentation()
    return "\n".join([*_commands(report, shown_as), " · ".join(totals(report))]) + "\n"


def _commands(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    if not shown_as.new_only:
        yield from (_command(_LEVELS[p.severity], p, report.kind, shown_as) for p in problems(report.tables))
        return
    for problem in problems(report.tables, _counts):
        yield _command(_LEVELS[problem.severity], problem, report.kind, shown_as)
    for problem in problems(report.tables, lambda finding: finding.is_open and not _counts(finding)):
        yield _command("notice", problem, report.kind, shown_as)


def _counts(finding: Finding) -> bool:
    """Return True if a finding counts when only new ones do.

    Findings about reasons why a table could not be checked always count.
    """
    return finding.is_new or (finding.is_open and not is_about_table(finding))


def _command(level: str, problem: Problem, kind: str, shown_as: Presentation) -> str:
    wording = Wording.of(problem.first.finding)
    title = shortened(visible(" ".join(filter(None, (problem.code, wording.title)))), _MAX_TITLE)
    (message,) = printed([shortened("\n".join(_message(problem, shown_as)), _MAX_MESSAGE)])
    place = _place(problem, kind, shown_as)
    return f"::{level} {place}title={title.translate(_PROPERTY)}::{message.translate(_DATA)}"


def annotation(message: str, *, file: str, line: int | None, column: int | None) -> str:
    """Return the command that shows an error at its place in a file."""
    place = ",".join(f"{key}={value}" for key, value in (("line", line), ("col", column)) if value is not None)
    (text,) = printed([shortened(visible(message), _MAX_MESSAGE)])
    return f"::error file={visible(file).translate(_PROPERTY)}{place and ','}{place}::{text.translate(_DATA)}"


def _message(problem: Problem, shown_as: Presentation) -> Iterator[str]:
    tables = [visible(table) for table in problem.tables]
    if len(tables) > _MAX_TABLES:
        tables[_MAX_TABLES:] = [f"… and {counted(len(tables) - _MAX_TABLES, 'more table')}"]
    yield ", ".join(tables)
    if len(problem.occurrences) > 1:
        yield from problem.expired_waivers
    for paragraph in examples(problem, _MAX_TABLES, places=False):
        yield from visible_lines(paragraph)
    yield shown_as.rules.shown(problem.code)


def _place(problem: Problem, kind: str, shown_as: Presentation) -> str:
    """Return the annotation's file: the first finding's commit file, if it is in the repository."""
    place, version = TablePlace.of(problem.first.table, kind, shown_as.sources), problem.first.finding.version
    if not place.is_below or version is None:
        return ""
    return f"file={place.commit(version).translate(_PROPERTY)},line=1,"
