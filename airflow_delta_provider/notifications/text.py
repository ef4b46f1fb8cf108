"""An alert as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from airflow_delta_provider.domain.text import printed
from airflow_delta_provider.notifications.alert import Alert, Group, TableTimeline
from airflow_delta_provider.notifications.facts import Listing, closing, failure, origin

_WIDTH = 100
_INDENT = "    "


def render(alert: Alert) -> str:
    """Return the alert, with one section per rule and the findings indented below its heading."""
    return "\n".join(printed(_lines(alert)))


def _lines(alert: Alert) -> Iterator[str]:
    yield alert.subject
    yield origin(alert)
    if said := failure(alert):
        yield ""
        yield from said.splitlines()
    for group in alert.groups:
        yield ""
        yield from _group(group)
    for shown in alert.timelines:
        yield ""
        yield from _timeline(shown)
    if rest := closing(alert):
        yield ""
        yield from rest
    if alert.origin.log_url:
        yield ""
        yield f"Log: {alert.origin.log_url}"


def _group(group: Group) -> Iterator[str]:
    listing = Listing.of(group)
    yield listing.heading
    for label, value in listing.facts:
        yield f"{_INDENT}{label}: {value}"
    for paragraph in listing.text:
        yield from _wrapped(paragraph.line, _INDENT)
    for row in listing.rows:
        yield f"{_INDENT}- {'  '.join([row.table, *(f'{label} {value}' for label, value in row.facts)])}"
        yield from _wrapped(row.message, f"{_INDENT}    ")


def _timeline(shown: TableTimeline) -> Iterator[str]:
    yield shown.title
    width = len(str(shown.timeline.last))
    for mark in shown.marks:
        indent = f"{_INDENT}{' ' * width}    "
        head = f"{_INDENT}{mark.version:>{width}}  {mark.sign} "
        yield from textwrap.wrap(mark.text, _WIDTH, initial_indent=head, subsequent_indent=indent)
    if shown.rest:
        yield f"{_INDENT}{shown.rest}"


def _wrapped(text: str, indent: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent=indent, subsequent_indent=indent)
