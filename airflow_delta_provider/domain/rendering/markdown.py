"""A report as Markdown, for comments on pull requests and summaries of CI jobs, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.rendering.counts import counted, counted_codes, shortened
from airflow_delta_provider.domain.rendering.finding_lines import consequences, where
from airflow_delta_provider.domain.rendering.markdown_syntax import code, escape, paragraph
from airflow_delta_provider.domain.rendering.plan_markdown import steps_and_diff, what_it_takes
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.problem import Problem, problems
from airflow_delta_provider.domain.rendering.table_lines import answers, versions
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.rendering.totals import decisive_codes, set_aside, totals
from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.visible import printed, visible, visible_lines

#: Maximum size of the whole, in bytes: comments on GitHub may have 65,536 characters.
MAX_BYTES = 60_000
#: Maximum number of tables, and of tables of a rule; the rest is counted.
_MAX_TABLES = 30
_MAX_OF_RULE = 10
#: Maximum number of characters of a name, of a paragraph, and of a table's answer.
_MAX_NAME, _MAX_PARAGRAPH, _MAX_ANSWER = 500, 1500, 4000
_WIDTH = 100


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return the report, within ``MAX_BYTES``.

    It has a heading, the tables that did not pass, a section per rule, and notes.
    """
    shown_as = presentation or Presentation()
    head = list(_head(report))
    notes = list(_notes(report, shown_as))
    left = MAX_BYTES - _size(head) - _size(notes) - _MAX_NAME
    sections: list[str] = []
    found = problems(report.tables)
    for number, problem in enumerate(found):
        section = "\n\n".join(_section(problem, shown_as))
        left -= _size([section])
        if left < 0:
            rest = [o.finding.code for other in found[number:] for o in other.occurrences]
            sections.append(f"… and {counted(len(rest), 'finding')} of other rules: {counted_codes(rest, 20)}.")
            break
        sections.append(section)
    whole = "\n\n".join([*head, *sections, *notes])
    return "\n".join(printed(whole.split("\n"))) + "\n"


def _head(report: JobReport) -> Iterator[str]:
    yield f"## Delta {escape(visible(report.kind))}: {report.verdict.value}"
    yield escape(" · ".join(totals(report)))
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    bad = [table for table in ranked if table.verdict is not Verdict.PASS or table.changed]
    if bad:
        yield "\n".join(["| verdict | table | version | rules |", "|---|---|---|---|", *map(_row, bad[:_MAX_TABLES])])
    if len(bad) > _MAX_TABLES:
        yield f"… and {counted(len(bad) - _MAX_TABLES, 'more table')}, none worse."
    answered = ((table, _answer(table)) for table in ranked[:_MAX_TABLES])
    yield from _answers((table, text) for table, text in answered if text)


def _answer(table: TableReport) -> str:
    plan = table.plan or {}
    if plan.get("diff") and plan["steps"]:
        return "\n\n".join([*steps_and_diff(plan), *(() if table.changed else what_it_takes(plan))])
    # Lines indented by four are code, which nothing in them can end.
    return shortened("\n".join(answers(table, _WIDTH)), _MAX_ANSWER)


def _row(table: TableReport) -> str:
    # Not as code: a bar in a name would end it.
    cells = shortened(visible(table.table), _MAX_NAME), versions(table), counted_codes(decisive_codes(table), 5)
    return f"| {table.verdict.value} | {' | '.join(map(escape, cells))} |"


def _answers(answered: Iterable[tuple[TableReport, str]]) -> Iterator[str]:
    """Yield the requested plans and metadata, as far as there is room."""
    left = MAX_BYTES // 3
    for table, text in answered:
        left -= len(text.encode(errors="replace"))
        if left < 0:
            yield "… and more, which there is no room for."
            return
        yield f"{_name(table.table)}:"
        yield text


def _section(problem: Problem, shown_as: Presentation) -> Iterator[str]:
    finding = problem.first.finding
    wording = Wording.of(finding)
    title = " ".join(filter(None, (problem.severity.value, problem.code, wording.title)))
    yield f"### {escape(title)} ({escape(problem.extent)})"
    names = [f"- {_name(table)}" for table in list(problem.tables)[:_MAX_OF_RULE]]
    if len(problem.tables) > _MAX_OF_RULE:
        names.append(f"- … and {counted(len(problem.tables) - _MAX_OF_RULE, 'more table')}")
    yield "\n".join(names)
    if at := where(finding):
        first = "The first: " if len(problem.occurrences) > 1 else ""
        yield escape(shortened(f"{first}{at}", _MAX_PARAGRAPH))
    for part in wording.paragraphs:
        yield paragraph(shortened("\n".join(visible_lines(part)), _MAX_PARAGRAPH))
    yield from consequences(problem.consequences)
    if url := shown_as.rules.url(problem.code):
        yield f"[About {problem.code}](<{url}>)"


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    if aside := set_aside(report):
        yield escape(f"Not counted: {aside}.")
    if phrases := not_checked(report.tables, _WIDTH):
        yield escape(" ".join(map(str.strip, phrases)))
    if shown_as.place is not None:
        yield escape(visible(shown_as.place.shown))


def _name(table: str) -> str:
    return code(shortened(visible(table), _MAX_NAME))


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode(errors="replace")) + 2 for part in parts)
