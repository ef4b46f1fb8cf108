"""An alert as HTML for mails: no style sheet, no script, nothing to load.

It follows the light or dark mode of the mail program: text has the program's colour, and the colours in these modules
are visible on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from airflow_delta_provider.domain.rendering.document import (
    Block,
    Drawing,
    Entry,
    Facts,
    Link,
    Listing,
    Prose,
    Section,
    Title,
)
from airflow_delta_provider.domain.rendering.html import Markup, element, joined, text
from airflow_delta_provider.domain.rendering.presentation import Tone
from airflow_delta_provider.domain.rendering.timeline import (
    BROKEN,
    FIXED,
    SIGNS,
    Changes,
    Timeline,
    Violations,
    period_text,
)
from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.notifications.alert import Alert
from airflow_delta_provider.notifications.alert_document import MAX_SIZE, document, fitting

#: Colours that are visible on white and on black, with a contrast of 4.5 to one and 3 to the other. White text is
#: readable on them.
RED, AMBER, GREEN, BLUE, GREY = "#d93025", "#b06000", "#188038", "#1a73e8", "#757575"
#: Most columns that fit on a phone. If there are more versions, several share a column.
_MAX_COLUMNS = 24
#: Characters of a line on a phone; most changes in a cell that are described in words.
_CHARACTERS, _MAX_WORDS = 36, 4
_PICTURE = "width: 100%; max-width: 40em; table-layout: fixed; border-collapse: collapse; margin: 0.4em 0 0.8em 0;"
_TIMELINE_LABEL = "padding: 0.5em 0 0.1em 0; font-size: 0.85em; text-align: left;"
_TICK = f"padding: 0.2em 0 0 0; font-size: 0.85em; border-top: 1px solid {GREY};"
_SIGN = "padding: 0; height: 1.3em; line-height: 1.3em; text-align: center; font-weight: bold; font-size: 1em;"
#: Variation selector that keeps programs from showing a sign as an emoji.
_AS_TEXT = "\ufe0e"


@dataclass(frozen=True)
class Cell:
    """The content of a line in one column. Equal neighbours are drawn as one cell.

    :param sign: text of the cell; empty for a line that continues, or for an empty cell
    :param color: colour behind the sign, or of the sign itself if ``filled`` is False
    :param filled: True if the colour is behind the sign
    :param tooltip: description, for programs that show it
    """

    sign: str = ""
    color: str | None = None
    filled: bool = False
    tooltip: str = ""


def picture(shown: Timeline) -> Markup:
    """Return the timeline as a table."""
    columns = Columns(shown.first, shown.last)
    rows: list[Markup] = []
    for line in shown.changes:
        cells = _change_cells(line, columns)
        several = "; a number: so many changes" if any(cell.sign.isdigit() for cell in cells) else ""
        rows += _label(f"{line.legend}{several}", columns), _timeline_row(cells, columns)
    for violations in shown.violations:
        rows += _label(violations.in_words, columns), _timeline_row(_violation_cells(violations, columns), columns)
    return element(
        "table",
        (Markup(f"{row}\n") for row in (*rows, _axis(shown, columns))),
        role="img",
        aria_label=shown.in_words,
        cellspacing=0,
        cellpadding=0,
        style=_PICTURE,
    )


@dataclass(frozen=True)
class Columns:
    """Assignment of versions to columns."""

    first: int
    last: int

    @property
    def number(self) -> int:
        """Number of columns."""
        return min(_MAX_COLUMNS, self.last - self.first + 1)

    def of(self, version: int) -> int:
        """Return the column of a version, counted from 0."""
        return (version - self.first) * self.number // (self.last - self.first + 1)


def _change_cells(line: Changes, columns: Columns) -> list[Cell]:
    """Return the changes by column: the sign if all are of one kind, else the number of changes."""
    cells = [Cell()] * columns.number
    for column, found in groupby(line.events, key=lambda event: columns.of(event.version)):
        events = list(found)
        kinds = {event.kind for event in events}
        sign = f"{SIGNS[events[0].kind]}{_AS_TEXT}" if len(kinds) == 1 else str(len(events))
        words = "; ".join(f"version {event.version}: {event.text}" for event in events[:_MAX_WORDS])
        cells[column] = Cell(sign, BLUE, tooltip=words)
    return cells


def _violation_cells(line: Violations, columns: Columns) -> list[Cell]:
    """Return bars, from the commit that broke the rule to the commit that fixed it, or to the end."""
    cells = [Cell()] * columns.number
    for finding in reversed(line.findings):  # open findings come first in it, and are drawn over the others
        assert finding.version is not None
        color = (RED if finding.severity is Severity.ERROR else AMBER) if finding.is_open else GREY
        begin = columns.of(finding.version)
        end = columns.of(columns.last if finding.healed_version is None else finding.healed_version)
        cells[begin : end + 1] = [Cell(color=color, filled=True)] * (end + 1 - begin)
        cells[begin] = Cell(BROKEN, color, True, period_text(finding))
        if finding.healed_version is not None:
            cells[end] = Cell(FIXED, GREEN, True, period_text(finding))
        if finding.at_or_before:
            cells[:begin] = [Cell("·", color)] * begin
    return cells


def _label(words: str, columns: Columns) -> Markup:
    return element("tr", element("td", words, colspan=columns.number, style=_TIMELINE_LABEL))


def _timeline_row(cells: Sequence[Cell], columns: Columns) -> Markup:
    return element("tr", (_cell(cell, len(list(same)), columns) for cell, same in _runs(cells)))


def _runs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Iterable[int]]]:
    """Yield cells with their columns. Equal neighbours without a sign are merged."""
    numbered = groupby(range(len(cells)), key=lambda n: (cells[n], n if cells[n].sign else -1))
    return ((cell, same) for (cell, _), same in numbered)


def _cell(cell: Cell, span: int, columns: Columns) -> Markup:
    style = _SIGN
    if cell.color:
        style += f" background: {cell.color}; color: #ffffff;" if cell.filled else f" color: {cell.color};"
    return element(
        "td",
        cell.sign or Markup("&#160;"),
        colspan=span if span > 1 else None,
        width=f"{100 * span / columns.number:.4g}%",
        bgcolor=cell.color if cell.filled else None,
        title=cell.tooltip or None,
        style=style,
    )


def _axis(shown: Timeline, columns: Columns) -> Markup:
    """Return the row of version numbers below their columns: the first, the last, and any between that fit."""
    placed: list[tuple[int, int, str, str]] = []
    for version in dict.fromkeys((shown.first, shown.last, *shown.ticks)):
        place = _place(version, columns)
        if all(place[1] <= begin or until <= place[0] for begin, until, *_ in placed):
            placed.append(place)
    parts: list[Markup] = []
    end = 0
    for begin, until, label, side in sorted(placed):
        parts += [_tick("", begin - end), _tick(label, until - begin, side)]
        end = until
    return element("tr", *parts, _tick("", columns.number - end))


def _place(version: int, columns: Columns) -> tuple[int, int, str, str]:
    """Return the first column of a version's label, the column after its last, the label, and its alignment."""
    label = str(version)
    room = min(columns.number, 1 + -(-len(label) * columns.number // _CHARACTERS) // 2 * 2)
    begin = columns.of(version) - room // 2
    side = "left" if begin < 0 else "right" if begin + room > columns.number else "center"
    begin = max(0, min(begin, columns.number - room))
    return begin, begin + room, label, side


def _tick(label: str, span: int, side: str = "left") -> Markup:
    return element("td", label, colspan=span, style=f"{_TICK} text-align: {side};") if span else Markup("")


# Lines wrap anywhere: paths are longer than a phone's screen.
_MAIL = "font-family: sans-serif; line-height: 1.4; max-width: 44em; overflow-wrap: anywhere; word-break: break-word;"
_CELL = "padding: 0 1em 0.2em 0; vertical-align: top; text-align: left;"
_LABEL = f"{_CELL} white-space: nowrap; word-break: normal; overflow-wrap: normal;"
_COLORS = {Tone.BAD: RED, Tone.DOUBTFUL: AMBER, Tone.GOOD: GREEN}


def render(alert: Alert) -> str:
    """Return a ``<div>``. All text from tables, commits and exceptions is escaped."""
    return fitting(alert, _whole, MAX_SIZE)


def _whole(alert: Alert) -> str:
    return element("div", (Markup(f"\n{part}") for part in _blocks(document(alert))), style=_MAIL)


def _blocks(shown: Iterable[Block]) -> Iterator[Markup]:
    for block in shown:
        match block:
            case Title():
                yield element("h2", block.text, style="margin: 0 0 0.4em 0;")
                yield element("p", block.about, style="margin: 0;")
            case Prose():
                yield element("p", element("b", f"{block.label}: ") if block.label else "", _lines(block.text))
            case Facts():
                yield _table([_td(label, _LABEL), _td(_code(value))] for label, value in block.facts)
            case Listing():
                yield from map(_row, block.entries)
            case Drawing():
                yield picture(block.timeline)
                right, center = f"{_LABEL} text-align: right;", f"{_LABEL} text-align: center;"
                yield _table([_td(str(m.version), right), _td(m.sign, center), _td(m.text)] for m in block.marks)
                yield element("p", block.rest) if block.rest else Markup("")
            case Link():
                yield element("p", element("a", block.text, href=block.url))
            case Section():
                mark = f" padding: 0 0 0 0.6em; border-left: 0.3em solid {_COLORS[block.tone]};" if block.tone else ""
                yield element("h3", block.title, style=f"margin: 1.6em 0 0.4em 0;{mark}")
                yield from _blocks(block.blocks)


def _row(entry: Entry) -> Markup:
    """Return one of several findings, without columns, which do not fit on a phone."""
    known = (joined(f" · {label} ", _code(value)) for label, value in entry.facts)
    message = joined(element("br"), _lines(entry.message)) if entry.message else ""
    return element("p", _code(entry.name), known, message, style="margin: 0.8em 0 0 0;")


def _td(content: str, style: str = _CELL) -> Markup:
    return element("td", content, style=style)


def _table(rows: Iterable[list[Markup]]) -> Markup:
    lines = (Markup(f"{element('tr', *row)}\n") for row in rows)
    return element("table", lines, style="border-collapse: collapse; font-size: 0.95em;")


def _code(value: str) -> Markup:
    return element("code", value)


def _lines(value: str) -> Markup:
    return Markup(element("br").join(map(text, value.splitlines())))
