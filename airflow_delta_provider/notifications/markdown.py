"""An alert as Markdown (CommonMark)."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.rendering.markdown import code, escape, paragraph
from airflow_delta_provider.domain.text import printed
from airflow_delta_provider.notifications.alert import Alert, Group, TableTimeline
from airflow_delta_provider.notifications.facts import Listing, Paragraph, Row, closing, failure, origin


def render(alert: Alert) -> str:
    """Return the alert, with one section per rule."""
    whole = "\n\n".join(filter(None, _paragraphs(alert)))
    return "\n".join(printed(whole.split("\n"))) + "\n"


def _paragraphs(alert: Alert) -> Iterator[str]:
    yield f"## {escape(alert.subject)}"
    yield escape(origin(alert))
    if said := failure(alert):
        yield paragraph(said)
    for group in alert.groups:
        yield from _group(group)
    for shown in alert.timelines:
        yield from _timeline(shown)
    yield from map(escape, closing(alert))
    if alert.origin.log_url:
        yield f"[Log](<{alert.origin.log_url}>)"


def _group(group: Group) -> Iterator[str]:
    listing = Listing.of(group)
    yield f"### {escape(listing.heading)}"
    yield "\n".join(f"- {label}: {code(value)}" for label, value in listing.facts)
    yield from map(_paragraph, listing.text)
    yield "\n".join(map(_row, listing.rows))


def _paragraph(part: Paragraph) -> str:
    return f"**{part.label}:** {paragraph(part.text)}" if part.label else paragraph(part.text)


def _timeline(shown: TableTimeline) -> Iterator[str]:
    yield f"### {escape(shown.title)}"
    lines = [f"- {code(str(mark.version))} {escape(mark.sign)} {escape(mark.text)}" for mark in shown.marks]
    yield "\n".join([*lines, *([f"- {shown.rest}"] if shown.rest else [])])


def _row(row: Row) -> str:
    said = ", ".join((code(row.table), *(f"{label} {code(value)}" for label, value in row.facts)))
    message = paragraph(row.message).replace("\n", "\n  ")
    return f"* {said}\\\n  {message}" if message else f"* {said}"
