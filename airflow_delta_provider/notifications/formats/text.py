"""An alert as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from airflow_delta_provider.notifications.alert import Alert, Item
from airflow_delta_provider.notifications.formats.facts import closing, facts, heading, message, origin

_WIDTH = 100
_INDENT = "    "


def render(alert: Alert) -> str:
    """Return the alert, the findings indented below their headings."""
    return "\n".join(_lines(alert))


def _lines(alert: Alert) -> Iterator[str]:
    yield alert.subject
    yield origin(alert)
    if alert.failure is not None:
        yield ""
        yield alert.failure
    for item in alert.shown:
        yield ""
        yield from _item(item)
    if rest := closing(alert):
        yield ""
        yield from rest
    if alert.origin.log_url:
        yield ""
        yield f"Log: {alert.origin.log_url}"


def _item(item: Item) -> Iterator[str]:
    yield heading(item)
    for label, value in facts(item):
        yield f"{_INDENT}{label}: {value}"
    for line in message(item).splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
