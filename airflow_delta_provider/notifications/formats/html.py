"""An alert as HTML for mails: no style sheet, no script, nothing to load."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from airflow_delta_provider.notifications.alert import Alert, Item, News
from airflow_delta_provider.notifications.formats.facts import closing, facts, heading, message, origin

_RED, _GREEN = "#b3261e", "#1b6e3c"
_CELL = 'style="padding: 0 1em 0 0; vertical-align: top;"'


def render(alert: Alert) -> str:
    """Return a ``<div>``; everything that a table, a commit or an exception says is escaped."""
    return "\n".join(['<div style="font-family: sans-serif;">', *_parts(alert), "</div>"])


def _parts(alert: Alert) -> Iterator[str]:
    yield f"<h2>{escape(alert.subject)}</h2>"
    yield f"<p>{escape(origin(alert))}</p>"
    if alert.failure is not None:
        yield _paragraph(alert.failure)
    for item in alert.shown:
        yield from _item(item)
    for sentence in closing(alert):
        yield _paragraph(sentence)
    if alert.origin.log_url:
        yield f'<p><a href="{escape(alert.origin.log_url)}">Log</a></p>'


def _item(item: Item) -> Iterator[str]:
    color = _GREEN if item.news is News.RESOLVED else _RED
    yield f'<h3 style="color: {color};">{escape(heading(item))}</h3>'
    yield "<table>"
    for label, value in facts(item):
        yield f"<tr><td {_CELL}>{escape(label)}</td><td><code>{escape(value)}</code></td></tr>"
    yield "</table>"
    yield _paragraph(message(item))


def _paragraph(text: str) -> str:
    return f"<p>{'<br>'.join(map(escape, text.splitlines()))}</p>"
