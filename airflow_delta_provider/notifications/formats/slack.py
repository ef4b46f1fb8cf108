"""An alert as Slack blocks: objects, within the limits that Slack sets.

.. seealso:: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_delta_provider.domain.rendering.counts import shortened
from airflow_delta_provider.notifications.alert import Alert, Group, TableTimeline
from airflow_delta_provider.notifications.formats.facts import MAX_MESSAGE, Listing, Row, closing, failure, origin

#: Blocks of a message.
MAX_BLOCKS = 50
#: Characters of a section's text.
MAX_TEXT = 3000
#: Characters of a header.
MAX_HEADER = 150
#: Characters of all blocks as JSON: ``chat.postMessage`` refuses some 13,000 (``msg_blocks_too_long``).
MAX_CHARACTERS = 11_500
#: Of those, what the block takes that counts the findings without room.
_REST = 200
#: Of all facts together, so a label is never cut off by the limit of the section.
_MAX_FACT = 300
_FORMATTING = re.compile("[*_~]")
#: Characters that code cannot hold.
_NO_CODE = re.compile("[`\r\n]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

Block = dict[str, Any]
#: A block, and how many findings it names.
Part = tuple[Block, int]


def render(alert: Alert) -> list[Block]:
    """Return the blocks: with shorter messages if there is no room, and finally with fewer findings, counted."""
    head, tail = list(_head(alert)), list(_tail(alert))
    # One more block says how many findings there was no room for.
    room = MAX_BLOCKS - len(head) - len(tail) - 1
    size = MAX_CHARACTERS - _size(head) - _size(tail) - _REST
    for longest in (MAX_MESSAGE, MAX_MESSAGE // 5, 0):
        found = [part for group in alert.groups for part in _group(group, longest)]
        shown = list(_fitting(found, room, size))
        if len(shown) == len(found):
            break
    room, size = room - len(shown), size - sum(_size(block) for block, _ in shown)
    drawn = [block for block, _ in _fitting(((_timeline(each), 0) for each in alert.timelines), room, size)]
    left = len(alert.named) - sum(number for _, number in shown)
    rest = [_plain(f"… and {left:,} more that a Slack message has no room for.")] * (left > 0)
    return [*head, *(block for block, _ in shown), *rest, *drawn, *tail]


def escape(text: str) -> str:
    """Return ``text`` without anything that mentions, links or formats, so that a copy of it is the same text.

    Slack's mrkdwn has no escape for its formatting characters. They mean nothing in code, except the backtick.
    """
    entities = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    return f"`{entities}`" if _FORMATTING.search(text) else entities


def _head(alert: Alert) -> Iterator[Block]:
    yield {"type": "header", "text": _plain_text(alert.subject, MAX_HEADER)}
    yield {"type": "context", "elements": [_plain_text(origin(alert), MAX_TEXT)]}
    if said := failure(alert):
        yield _plain(said)


def _group(group: Group, longest: int) -> Iterator[Part]:
    listing = Listing.of(group)
    yield _section(listing.heading, listing.facts), 0 if listing.rows else 1
    limit = MAX_TEXT // 2 if listing.rows else longest
    if listing.text and limit:
        yield _plain("\n".join(shortened(paragraph.line, limit) for paragraph in listing.text) or "-"), 0
    lines: list[str] = []
    for line in (_row(row, longest) for row in listing.rows):
        if lines and sum(map(len, lines)) + len(lines) + len(line) > MAX_TEXT:
            yield _plain("\n".join(lines)), len(lines)
            lines = []
        lines.append(line)
    if lines:
        yield _plain("\n".join(lines)), len(lines)


def _timeline(shown: TableTimeline) -> Block:
    lines = [f"{mark.version}  {mark.sign} {mark.text}" for mark in shown.marks]
    return _plain("\n".join([shortened(shown.title, _MAX_FACT), *lines, *filter(None, [shown.rest])]))


def _row(row: Row, longest: int) -> str:
    """Return a finding with its table, in one line and those of its message."""
    known = (shortened(f"{label} {value}", _MAX_FACT) for label, value in row.facts)
    said = "\n".join(
        filter(None, ("  ".join((shortened(row.table, _MAX_FACT), *known)), shortened(row.message, longest)))
    )
    return shortened(said, MAX_TEXT)


def _section(said: str, known: Iterable[tuple[str, str]]) -> Block:
    facts = [(label, shortened(value, _MAX_FACT)) for label, value in known]
    if _FORMATTING.search(said) or any(_NO_CODE.search(text) for text in (said, *(value for _, value in facts))):
        return _plain("\n".join((said, *(f"{label}: {value}" for label, value in facts))))
    lines = (f"{label}: {escape(value)}" for label, value in facts)
    return {"type": "section", "text": _mrkdwn("\n".join((f"*{escape(said)}*", *lines)))}


def _fitting(parts: Iterable[Part], room: int, size: int) -> Iterator[Part]:
    """Yield the first parts, as many as there is room for."""
    for block, number in parts:
        room, size = room - 1, size - _size(block)
        if room < 0 or size < 0:
            return
        yield block, number


def _size(blocks: Block | list[Block]) -> int:
    return len(json.dumps(blocks, ensure_ascii=False))


def _tail(alert: Alert) -> Iterator[Block]:
    if sentences := closing(alert):
        yield _plain("\n".join(sentences))
    if alert.origin.log_url:
        link = alert.origin.log_url.replace("|", "%7C").replace(">", "%3E")
        yield {"type": "section", "text": _mrkdwn(f"<{link}|Log>")}


def _plain(text: str) -> Block:
    return {"type": "section", "text": _plain_text(text, MAX_TEXT)}


def _plain_text(text: str, limit: int) -> Block:
    return {"type": "plain_text", "text": shortened(text, limit), "emoji": False}


def _mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": shortened(text, MAX_TEXT), "verbatim": True}
