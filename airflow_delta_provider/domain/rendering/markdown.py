"""A report as Markdown, for comments on pull requests and summaries of CI jobs, worst first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.rendering.presentation import Presentation, counted, counted_codes, shortened
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    Wording,
    answers,
    consequences,
    decisive_codes,
    done_mark,
    problems,
    set_aside,
    steps_by_commit,
    totals,
    versions,
    where,
    without_commits,
)
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.report.report import Finding, JobReport, TableReport, Verdict
from airflow_delta_provider.domain.text import printed, visible, visible_lines

#: Characters with a meaning inside a line.
_INLINE = re.compile(r"([\\`*_\[\]<>&#|~@$])")
#: Starts of lines that would become a list or an underlined heading.
_LINE_START = re.compile(r"^(\s*)([-+=])", re.MULTILINE)
_NUMBERED = re.compile(r"^(\s*\d+)([.)])", re.MULTILINE)


def escape(text: str) -> str:
    """Return ``text`` escaped, to be shown as it is; unprintable characters are written as in Python."""
    inline = _INLINE.sub(r"\\\1", "\n".join(map(visible, text.split("\n"))))
    return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", inline))


def code(text: str) -> str:
    """Return ``text`` as a code span. Line breaks become blanks.

    The fence is longer than any run of backticks in the text.
    """
    text = visible(" ".join(text.split())) or " "
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def paragraph(text: str) -> str:
    """Return several lines as one paragraph that keeps its line breaks."""
    return "\\\n".join(escape(line.strip()) for line in text.splitlines() if line.strip())


#: Maximum number of characters of the whole: comments on GitHub may have 65,536.
_MAX = 60_000
#: Maximum number of characters of the diff and of a line, and of findings; the rest is counted.
_MAX_DIFF, _MAX_LINE, _MAX_FINDINGS = 20_000, 1500, 40


def render_plan(plan: Mapping[str, Any]) -> str:
    """Return the information that is needed to approve a plan.

    :param plan: JSON of a migration's plan: see ``report.schema.json``
    """
    whole = "\n".join(printed("\n\n".join(_parts(plan)).split("\n")))
    return whole if len(whole) <= _MAX else f"{whole[:_MAX]}\n\n… and more, which there is no room for.\n"


def _parts(plan: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Migration of {code(visible(plan['table']))}"
    if not plan["steps"]:
        yield "Nothing to do: the table is what its spec says."
        return
    yield f"Planned on version {plan['version']}. Digest {code(plan['digest'])}."
    yield from steps_and_diff(plan)
    if breaks := list(dict.fromkeys(text for step in plan["steps"] for text in step["breaks"])):
        yield "### What breaks"
        yield _list(breaks)
    yield from _findings("### Who is locked out, or may be", plan.get("locked_out", ()))
    yield from _findings("### Findings", plan.get("lint", ()))
    yield "### How it is undone"
    yield _list(list(dict.fromkeys(step["undo"] for step in plan["steps"])))
    if notes := plan.get("notes"):
        yield "### Notes"
        yield _list(notes)
    yield from what_it_takes(plan)
    yield from _sql(plan["steps"])


def what_it_takes(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options needed to apply a migration's plan, and why it needs approval, as blocks."""
    if permissions := plan.get("permissions"):
        yield f"To apply it, set: {', '.join(map(code, permissions))}."
    if approval := plan.get("approval"):
        yield f"**Needs approval.** {escape(' '.join(approval))}"
    elif plan["steps"] and approval is not None:
        yield "The policy lets it be applied without approval."


def steps_and_diff(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the steps of a migration's plan, and the changes of the declared state, as blocks."""
    yield "\n".join(_steps(plan))
    if diff := plan.get("diff"):
        yield "\n".join(["~~~~diff", *_diff(diff), "~~~~"])


def _diff(lines: Sequence[str]) -> Iterator[str]:
    left = _MAX_DIFF
    for number, line in enumerate(lines):
        shown = shortened(visible(line), _MAX_LINE).replace("~~~~", "~ ~ ~ ~")
        left -= len(shown) + 1
        if left < 0:
            yield f"… and {len(lines) - number} more lines"
            return
        yield shown


def _steps(plan: Mapping[str, Any]) -> Iterator[str]:
    for number, steps in steps_by_commit(plan).items():
        if len(steps) == 1:
            yield f"{number}. {_step(steps[0])}"
            continue
        yield f"{number}. in one commit:"
        yield from (f"   - {_step(step)}" for step in steps)


def _sql(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the SQL of a plan, with comments for steps without SQL."""
    found = [step.get("sql") for step in steps]
    if not any(found):
        return
    yield "### SQL"
    said = (
        f"{sql};" if sql else f"-- without SQL: {without_commits(step['explanation'])}"
        for sql, step in zip(found, steps)
    )
    lines = [line for text in said for line in visible_lines(text)]
    yield "\n".join(["~~~~sql", *_diff(lines), "~~~~"])


def _step(step: Mapping[str, Any]) -> str:
    text = escape(shortened(visible(without_commits(step["explanation"])), _MAX_LINE)) + done_mark(step)
    return text if step["metadata_only"] else f"{text} — reads all rows, or writes files"


def _findings(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not found:
        return
    yield title
    lines = [_finding(Finding.from_json(wire)) for wire in found[:_MAX_FINDINGS]]
    if len(found) > _MAX_FINDINGS:
        lines.append(f"- … and {len(found) - _MAX_FINDINGS} more")
    yield "\n".join(lines)


def _finding(finding: Finding) -> str:
    wording = Wording.of(finding)
    said = " ".join(wording.paragraphs)
    accepted = f" Accepted by {finding.waiver.owner}: {finding.waiver.reason}" if finding.waiver else ""
    text = escape(shortened(visible(f"{said}{accepted}"), _MAX_LINE))
    return f"- **{finding.severity.value} {finding.code}** {text}"


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(shortened(visible(text), _MAX_LINE))}" for text in texts)


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
