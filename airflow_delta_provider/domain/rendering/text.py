"""Reports as text.

``render``, for a terminal: the worst last, near the prompt, and each rule once with its tables. ``render_log``, for a
task's log and for jobs that are called directly: table by table, the worst first.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from airflow_delta_provider.domain.rendering.document import text_lines
from airflow_delta_provider.domain.rendering.presentation import (
    TONE_OF_SEVERITY,
    TONE_OF_VERDICT,
    Detail,
    Presentation,
    Tone,
)
from airflow_delta_provider.domain.rendering.report_blocks import answers, finding_section, problem_section
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    Wording,
    by_cause,
    heading,
    is_known,
    problems,
    set_aside,
    table_codes,
    times,
    totals,
)
from airflow_delta_provider.domain.report.report import Finding, JobReport, ReportPlace, TableReport, Verdict
from airflow_delta_provider.domain.text import columns, counted, counted_codes, padded, printed, visible

#: Up to this number of tables, all are listed, even if there is nothing to report about them.
_MAX_WELL = 10
_MAX_TABLES = 50
#: Maximum number of tables at the highest level of detail.
_MANY_TABLES = 5000
#: Maximum number of tables of one rule, and of its findings in one table; the rest is counted.
_MAX_OF_RULE = 10
_MAX_RULES = 40
#: Maximum number of codes that are named for rules without room.
_MAX_CODES = 20
#: Maximum width of the name column. A longer name shifts only its own row.
_MAX_NAME = 60


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return the tables, their problems, the checks that were not made, and the totals last."""
    shown_as = presentation or Presentation()
    return "\n".join(printed(_lines(report, shown_as))) + "\n"


def _lines(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    much = shown_as.detail is Detail.MUCH
    yield from _tables(report.tables, shown_as)
    if shown_as.detail > Detail.LITTLE:
        found = problems(report.tables)
        most = len(found) if much else _MAX_RULES
        if len(found) > most:
            left = [o.finding.code for problem in found[most:] for o in problem.occurrences]
            codes = counted_codes(left, _MAX_CODES)
            yield f"… and {counted(len(left), 'finding')} of other rules, none more severe: {codes}"
        for problem in reversed(found[:most]):
            yield ""
            yield from _problem(problem, shown_as)
        notes = list(_notes(report, shown_as))
        if notes:
            yield ""
            yield from (shown_as.style.paint(line, Tone.ASIDE) for line in notes)
        yield ""
    yield shown_as.style.paint(" · ".join(totals(report)), TONE_OF_VERDICT[report.verdict])


def _tables(tables: Sequence[TableReport], shown_as: Presentation) -> Iterator[str]:
    """Yield a row for each table that there is something to report about, worst last."""
    much = shown_as.detail is Detail.MUCH
    ranked = sorted(tables, key=lambda table: (table.verdict.rank, not is_known(table)))
    all_of_them = much or (len(tables) <= _MAX_WELL and shown_as.detail > Detail.LITTLE)
    named = [table for table in ranked if all_of_them or _has_something_to_say(table, shown_as.detail)]
    rows = named[-(_MANY_TABLES if much else _MAX_TABLES) :]
    if len(rows) < len(named):
        yield f"… {counted(len(named) - len(rows), 'more table')}, none worse"
    names = [visible(table.table) for table in rows]
    widest = min(max(map(columns, names), default=0), _MAX_NAME)
    verdicts = max((len(table.verdict.value) for table in rows), default=0)
    for table, name in zip(rows, names):
        verdict = shown_as.style.paint(padded(table.verdict.value, verdicts), TONE_OF_VERDICT[table.verdict])
        yield f"{heading(verdict, padded(name, widest), table)}  {table_codes(table)}".rstrip()
        if shown_as.detail > Detail.LITTLE:
            yield from answers(table, shown_as.width, much=much)
        if much:
            yield from times(table)


def _has_something_to_say(table: TableReport, detail: Detail) -> bool:
    if table.verdict is not Verdict.PASS:
        return True
    answered = table.changed or any((table.plan, table.detail, table.usage))
    return detail > Detail.LITTLE and (answered or any(finding.is_open for finding in table.findings))


def _problem(problem: Problem, shown_as: Presentation) -> Iterator[str]:
    """Yield the section of a rule: tables, evidence of the first finding, effect, remedy, and link."""
    style, first = shown_as.style, problem.first
    wording = Wording.of(first.finding)
    severity = style.paint(f"{problem.severity.value} {problem.code}", TONE_OF_SEVERITY[problem.severity])
    heading = severity if not wording.title else f"{severity}  {style.paint(wording.title, Tone.HEADING)}"
    yield f"{heading}  ({problem.extent})"
    most = len(problem.occurrences) if shown_as.detail is Detail.MUCH else _MAX_OF_RULE
    yield from text_lines(problem_section(problem, most).blocks, shown_as.width, 4)
    if link := shown_as.rules.shown(problem.code):
        yield style.paint(f"        {link}", Tone.ASIDE)


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    if aside := set_aside(report):
        yield from textwrap.wrap(f"Not counted: {aside}.", shown_as.width, break_on_hyphens=False)
    yield from not_checked(report.tables, shown_as.width)
    if shown_as.place is not None:
        yield visible(shown_as.place.shown)


#: Maximum number of tables in full. Further tables with findings are named, with the codes.
_MAX_IN_FULL = 50
#: Maximum number of tables that are named; the rest is counted.
_MAX_NAMED = 2000
#: Maximum number of findings of a table in full; the others are named by their codes.
_MAX_FINDINGS = 20
_LOG_WIDTH = 100


def render_log(report: JobReport, place: ReportPlace | None = None) -> str:
    """Return a report for a task's log: tables with steps and findings, worst first, then checks that were not made.

    :param place: place of the whole report, if saving it was tried
    """
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    lines = [line for table in ranked[:_MAX_IN_FULL] for line in _log_table(table)]
    rest = ranked[_MAX_IN_FULL:]
    named = [table for table in rest if table.findings or table.verdict is not Verdict.PASS][:_MAX_NAMED]
    lines += [f"{_heading(table)}: {_codes(table.findings) or 'no findings'}" for table in named]
    if len(rest) > len(named):
        lines.append(f"… and {len(rest) - len(named)} more tables, none worse")
    lines += not_checked(ranked, _LOG_WIDTH)
    if place is not None:
        lines.append(place.shown)
    return "\n".join(printed(lines))


def not_checked(tables: Iterable[TableReport], width: int) -> list[str]:
    """Return a sentence on the checks that were not made, each named once, wrapped into lines."""
    phrases = dict.fromkeys(phrase for table in tables for phrase in (table.evidence or {}).get("not_checked", ()))
    return (
        textwrap.wrap(visible(f"Not checked: {'; '.join(phrases)}."), width, subsequent_indent="    ")
        if phrases
        else []
    )


def _log_table(table: TableReport) -> Iterator[str]:
    yield _heading(table)
    yield from answers(table, _LOG_WIDTH)
    yield from times(table)
    roots = by_cause(table.findings)
    for finding, follows in roots[:_MAX_FINDINGS]:
        yield from text_lines([finding_section(finding, follows)], _LOG_WIDTH, 4)
    if len(roots) > _MAX_FINDINGS:
        left = [finding for root, follows in roots[_MAX_FINDINGS:] for finding in (root, *follows)]
        yield f"    … and {len(left)} more findings: {_codes(left)}"


def _heading(table: TableReport) -> str:
    return heading(table.verdict.value, visible(table.table), table)


def _codes(findings: Iterable[Finding]) -> str:
    return counted_codes(finding.code for finding in findings)
