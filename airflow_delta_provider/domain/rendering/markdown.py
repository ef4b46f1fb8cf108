"""A report as Markdown, for comments on pull requests and summaries of CI jobs, worst first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.rendering.document import (
    Block,
    Code,
    Drawing,
    Facts,
    Link,
    Listing,
    Prose,
    Section,
    Title,
)
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.report_blocks import (
    answer_document,
    answers,
    plan_document,
    problem_section,
)
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    is_known,
    problems,
    set_aside,
    table_codes,
    totals,
    versions,
)
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.report.report import JobReport, TableReport, Verdict
from airflow_delta_provider.domain.text import MAX_TEXT, counted, counted_codes, printed, shortened, visible

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
#: Maximum number of characters of code and of a line; the rest is counted.
_MAX_CODE, _MAX_LINE = 20_000, 1500


def render_plan(plan: Mapping[str, Any]) -> str:
    """Return the information that is needed to approve a plan.

    :param plan: JSON of a migration's plan: see ``report.schema.json``
    """
    parts = [f"## Migration of {code(visible(plan['table']))}"]
    parts += blocks(plan_document(plan)) if plan["steps"] else ["Nothing to do: the table is what its spec says."]
    whole = "\n".join(printed("\n\n".join(parts).split("\n")))
    return whole if len(whole) <= _MAX else f"{whole[:_MAX]}\n\n… and more, which there is no room for.\n"


def blocks(document: Iterable[Block], most: int = MAX_TEXT) -> Iterator[str]:
    """Yield the blocks of a document as Markdown.

    :param most: maximum number of characters of a paragraph
    """
    for block in document:
        match block:
            case Title():
                yield f"## {escape(block.text)}"
                yield escape(block.about)
            case Prose():
                label = f"**{_capital(block.label)}:** " if block.label else ""
                yield f"{label}{paragraph(shortened(block.text, most))}"
            case Facts():
                yield "\n".join(f"- {label}: {code(value)}" for label, value in block.facts)
            case Listing():
                if block.title:
                    yield f"### {escape(_capital(block.title))}"
                yield "\n".join(_entries(block))
            case Code():
                if block.title and block.language != "diff":  # whose signs tell what it is
                    yield f"### {_capital(block.title)}"
                yield "\n".join([f"~~~~{block.language}", *_code(block.lines), "~~~~"])
            case Drawing():
                lines = [f"- {code(str(m.version))} {escape(m.sign)} {escape(m.text)}" for m in block.marks]
                yield "\n".join([*lines, *([f"- {block.rest}"] if block.rest else [])])
            case Link():
                yield f"[{block.text}](<{block.url}>)"
            case Section():
                yield from [f"### {escape(visible(block.title))}"] if block.title else []
                yield from blocks(block.blocks, most)


def _entries(listing: Listing, indent: str = "") -> Iterator[str]:
    # Another mark than that of facts: else a list that follows them would continue theirs.
    mark = "*" if any(entry.name for entry in listing.entries) else "-"
    for number, entry in enumerate(listing.entries, start=1):
        bullet = f"{number}." if listing.numbered else mark
        label = f"**{escape(entry.label)}** " if entry.label else ""
        text = f"{label}{escape(shortened(visible(entry.text), _MAX_LINE))}"
        facts = (f"{label} {code(value)}" for label, value in entry.facts)
        content = ", ".join(filter(None, (code(shortened(entry.name, _MAX_NAME)) if entry.name else "", text, *facts)))
        message = paragraph(entry.message).replace("\n", "\n  ")
        yield f"{indent}{bullet} {content}\\\n  {message}" if message else f"{indent}{bullet} {content}"
        yield from _entries(Listing(entry.entries), f"{indent}   ")


def _code(lines: Sequence[str]) -> Iterator[str]:
    left = _MAX_CODE
    for number, line in enumerate(lines):
        shown = shortened(visible(line), _MAX_LINE).replace("~~~~", "~ ~ ~ ~")
        left -= len(shown) + 1
        if left < 0:
            yield f"… and {len(lines) - number} more lines"
            return
        yield shown


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


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
    ranked = sorted(report.tables, key=lambda table: (-table.verdict.rank, is_known(table)))
    bad = [table for table in ranked if table.verdict is not Verdict.PASS or table.changed]
    if bad:
        yield "\n".join(["| verdict | table | version | rules |", "|---|---|---|---|", *map(_row, bad[:_MAX_TABLES])])
    if len(bad) > _MAX_TABLES:
        yield f"… and {counted(len(bad) - _MAX_TABLES, 'more table')}, none worse."
    answered = ((table, _answer(table)) for table in ranked[:_MAX_TABLES])
    yield from _answers((table, text) for table, text in answered if text)


def _answer(table: TableReport) -> str:
    if table.plan is not None and table.plan.get("diff"):
        return "\n\n".join(blocks(answer_document(table, much=False)))
    # Lines indented by four are code, which nothing in them can end.
    return shortened("\n".join(answers(table, _WIDTH)), _MAX_ANSWER)


def _row(table: TableReport) -> str:
    # Not as code: a bar in a name would end it.
    cells = shortened(visible(table.table), _MAX_NAME), versions(table), table_codes(table, 5)
    return f"| {table.verdict.value} | {' | '.join(map(escape, cells))} |"


def _answers(answered: Iterable[tuple[TableReport, str]]) -> Iterator[str]:
    """Yield the requested plans and metadata, as far as there is room."""
    left = MAX_BYTES // 3
    for table, text in answered:
        left -= len(text.encode(errors="replace"))
        if left < 0:
            yield "… and more, which there is no room for."
            return
        yield f"{code(shortened(visible(table.table), _MAX_NAME))}:"
        yield text


def _section(problem: Problem, shown_as: Presentation) -> Iterator[str]:
    yield from blocks([problem_section(problem, _MAX_OF_RULE)], _MAX_PARAGRAPH)
    if url := shown_as.rules.url(problem.code):
        yield f"[About {problem.code}](<{url}>)"


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[str]:
    if aside := set_aside(report):
        yield escape(f"Not counted: {aside}.")
    if phrases := not_checked(report.tables, _WIDTH):
        yield escape(" ".join(map(str.strip, phrases)))
    if shown_as.place is not None:
        yield escape(visible(shown_as.place.shown))


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode(errors="replace")) + 2 for part in parts)
