"""A report as workflow commands of GitHub Actions, which show findings as annotations of a run."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.rendering.counts import counted, shortened
from airflow_delta_provider.domain.rendering.finding_lines import said
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.problem import Problem, problems
from airflow_delta_provider.domain.rendering.table_place import TablePlace
from airflow_delta_provider.domain.rendering.totals import totals
from airflow_delta_provider.domain.rendering.visible import visible
from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.verdict import Severity

#: Tables beyond these are counted.
_MAX_TABLES = 20
#: Characters of a message and of a title.
_MAX_MESSAGE, _MAX_TITLE = 4000, 250
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return a command per rule, the worst first, since a run shows only the first few; then the totals."""
    shown_as = presentation or Presentation()
    return "\n".join([*_commands(report, shown_as), " · ".join(totals(report))]) + "\n"


def _commands(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    for problem in problems(report.tables):
        command = "error" if problem.severity is Severity.ERROR else "warning"
        wording = Wording.of(problem.first.finding)
        title = " ".join(filter(None, (problem.code, wording.title)))
        place = _place(problem, report.kind)
        message = shortened("\n".join(_message(problem, wording, shown_as)), _MAX_MESSAGE)
        title = shortened(title, _MAX_TITLE).translate(_PROPERTY)
        yield f"::{command} {place}title={title}::{message.translate(_DATA)}"


def _message(problem: Problem, wording: Wording, shown_as: Presentation) -> Iterator[str]:
    tables = [visible(table) for table in problem.tables]
    if len(tables) > _MAX_TABLES:
        tables[_MAX_TABLES:] = [f"… and {counted(len(tables) - _MAX_TABLES, 'more table')}"]
    yield ", ".join(tables)
    yield from said(wording)
    yield shown_as.rules.shown(problem.code)


def _place(problem: Problem, kind: str) -> str:
    """Return the file that the annotation is about: of a table in the repository, the first commit."""
    place, version = TablePlace.of(problem.first.table, kind), problem.first.finding.version
    if not place.is_relative or version is None:
        return ""
    return f"file={place.commit(version).translate(_PROPERTY)},line=1,"
