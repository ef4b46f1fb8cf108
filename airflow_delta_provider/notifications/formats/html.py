"""An alert as HTML for mails: no style sheet, no script, nothing to load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from airflow_delta_provider.notifications.alert import Alert, Group, News
from airflow_delta_provider.notifications.formats.facts import Listing, closing, origin

_RED, _GREEN = "#b3261e", "#1b6e3c"
_CELL = 'style="padding: 0 1em 0 0; vertical-align: top; text-align: left;"'
_NOTE = 'style="padding: 0 1em 0.6em 1.5em; color: #444444;"'


def render(alert: Alert) -> str:
    """Return a ``<div>``; everything that a table, a commit or an exception says is escaped."""
    return "\n".join(['<div style="font-family: sans-serif;">', *_parts(alert), "</div>"])


def _parts(alert: Alert) -> Iterator[str]:
    yield f"<h2>{escape(alert.subject)}</h2>"
    yield f"<p>{escape(origin(alert))}</p>"
    if alert.failure is not None:
        yield _paragraph(alert.failure)
    for group in alert.groups:
        yield from _group(group)
    for sentence in closing(alert):
        yield _paragraph(sentence)
    if alert.origin.log_url:
        yield f'<p><a href="{escape(alert.origin.log_url)}">Log</a></p>'


def _group(group: Group) -> Iterator[str]:
    listing = Listing.of(group)
    color = _GREEN if group.first.news is News.RESOLVED else _RED
    yield f'<h3 style="color: {color};">{escape(listing.heading)}</h3>'
    yield from _facts(listing.facts)
    yield from map(_paragraph, listing.text)
    if not listing.rows:
        return
    # A column for each fact that is not the same of all, in their order.
    labels = list(dict.fromkeys(label for row in listing.rows for label, _ in row.facts))
    yield '<table style="margin-top: 0.6em;">'
    yield f"<tr>{''.join(f'<th {_CELL}>{escape(label)}</th>' for label in ('table', *labels))}</tr>"
    for row in listing.rows:
        known = dict(row.facts)
        cells = (_code(row.table), *(_code(known.get(label, "")) for label in labels))
        yield f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in cells)}</tr>"
        if row.message:
            yield f'<tr><td colspan="{len(cells)}" {_NOTE}>{_lines(row.message)}</td></tr>'
    yield "</table>"


def _facts(known: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = [f"<tr><td {_CELL}>{escape(label)}</td><td>{_code(value)}</td></tr>" for label, value in known]
    if rows:
        yield from ("<table>", *rows, "</table>")


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else ""


def _paragraph(text: str) -> str:
    return f"<p>{_lines(text)}</p>"


def _lines(text: str) -> str:
    return "<br>".join(map(escape, text.splitlines()))
