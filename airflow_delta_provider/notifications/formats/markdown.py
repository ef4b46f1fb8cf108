"""An alert as Markdown (CommonMark)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_delta_provider.notifications.alert import Alert, Group
from airflow_delta_provider.notifications.formats.facts import Listing, Row, closing, origin

#: What means something inside a line, in CommonMark or in what trackers and chats add to it.
_INLINE = re.compile(r"([\\`*_\[\]<>&#|~@$])")
#: What makes a list or an underlined heading of a line.
_LINE_START = re.compile(r"^(\s*)([-+=])", re.MULTILINE)
_NUMBERED = re.compile(r"^(\s*\d+)([.)])", re.MULTILINE)


def render(alert: Alert) -> str:
    """Return the alert, one section a rule."""
    return "\n\n".join(filter(None, _paragraphs(alert))) + "\n"


def escape(text: str) -> str:
    """Return ``text`` escaped, to be shown as it is."""
    inline = _INLINE.sub(r"\\\1", text)
    return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", inline))


def code(text: str) -> str:
    """Return ``text`` as a code span, in a fence that is longer than any in it; line breaks become blanks."""
    text = " ".join(text.split()) or " "
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def _paragraphs(alert: Alert) -> Iterator[str]:
    yield f"## {escape(alert.subject)}"
    yield escape(origin(alert))
    if alert.failure is not None:
        yield _text(alert.failure)
    for group in alert.groups:
        yield from _group(group)
    yield from map(escape, closing(alert))
    if alert.origin.log_url:
        yield f"[Log](<{alert.origin.log_url}>)"


def _group(group: Group) -> Iterator[str]:
    listing = Listing.of(group)
    yield f"### {escape(listing.heading)}"
    yield "\n".join(f"- {label}: {code(value)}" for label, value in listing.facts)
    yield from map(_text, listing.text)
    yield "\n".join(map(_row, listing.rows))


def _row(row: Row) -> str:
    said = ", ".join((code(row.table), *(f"{label} {code(value)}" for label, value in row.facts)))
    message = _text(row.message).replace("\n", "\n  ")
    return f"* {said}\\\n  {message}" if message else f"* {said}"


def _text(text: str) -> str:
    """Return several lines as one paragraph that keeps its line breaks."""
    return "\\\n".join(escape(line.strip()) for line in text.splitlines() if line.strip())
