"""An alert as HTML for mails: no style sheet, no script, nothing to load.

It follows the light or dark mode of the mail program: text has the program's colour, and the colours in these modules
are visible on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined, text
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.notifications.alert import Alert, Group, News, TableTimeline
from airflow_delta_provider.notifications.formats.facts import Listing, Paragraph, Row, closing, failure, origin
from airflow_delta_provider.notifications.formats.html_timeline import AMBER, GREEN, RED, picture

# Lines wrap anywhere: paths are longer than a phone's screen.
_MAIL = "font-family: sans-serif; line-height: 1.4; max-width: 44em; overflow-wrap: anywhere; word-break: break-word;"
_CELL = "padding: 0 1em 0.2em 0; vertical-align: top; text-align: left;"
_LABEL = f"{_CELL} white-space: nowrap; word-break: normal; overflow-wrap: normal;"
_SECTION = "margin: 1.6em 0 0.4em 0; padding: 0 0 0 0.6em; border-left: 0.3em solid {};"
_ROW = "margin: 0.8em 0 0 0;"


def render(alert: Alert) -> str:
    """Return a ``<div>``. All text from tables, commits and exceptions is escaped."""
    return element("div", (Markup(f"\n{part}") for part in _parts(alert)), style=_MAIL)


def _parts(alert: Alert) -> Iterator[Markup]:
    yield element("h2", alert.subject, style="margin: 0 0 0.4em 0;")
    yield element("p", origin(alert), style="margin: 0;")
    if said := failure(alert):
        yield element("p", _lines(said))
    for group in alert.groups:
        yield from _group(group)
    for shown in alert.timelines:
        yield from _timeline(shown)
    for sentence in closing(alert):
        yield element("p", _lines(sentence))
    if alert.origin.log_url:
        yield element("p", element("a", "Log", href=alert.origin.log_url))


def _group(group: Group) -> Iterator[Markup]:
    listing = Listing.of(group)
    yield element("h3", listing.heading, style=_SECTION.format(_color(group)))
    if listing.facts:
        yield _table(
            element("tr", element("td", label, style=_LABEL), element("td", _code(value), style=_CELL))
            for label, value in listing.facts
        )
    yield from map(_paragraph, listing.text)
    yield from map(_row, listing.rows)


def _color(group: Group) -> str:
    if group.first.news is News.RESOLVED:
        return GREEN
    return RED if group.first.finding.severity is Severity.ERROR else AMBER


def _row(row: Row) -> Markup:
    """Return one of several findings, without columns, which do not fit on a phone."""
    known = (joined(f" · {label} ", _code(value)) for label, value in row.facts)
    message = joined(element("br"), _lines(row.message)) if row.message else ""
    return element("p", _code(row.table), known, message, style=_ROW)


def _timeline(shown: TableTimeline) -> Iterator[Markup]:
    yield element("h3", shown.title, style="margin: 1.6em 0 0.4em 0;")
    yield picture(shown.timeline)
    rows = [
        element(
            "tr",
            element("td", str(mark.version), style=f"{_LABEL} text-align: right;"),
            element("td", mark.sign, style=f"{_LABEL} text-align: center;"),
            element("td", mark.text, style=_CELL),
        )
        for mark in shown.marks
    ]
    yield _table(rows)
    if shown.rest:
        yield element("p", shown.rest)


def _table(rows: Iterable[Markup]) -> Markup:
    return element("table", (Markup(f"{row}\n") for row in rows), style="border-collapse: collapse; font-size: 0.95em;")


def _code(value: str) -> Markup:
    return element("code", value)


def _paragraph(part: Paragraph) -> Markup:
    return element("p", element("b", f"{part.label}: ") if part.label else "", _lines(part.text))


def _lines(value: str) -> Markup:
    return Markup(element("br").join(map(text, value.splitlines())))
