"""An alert as Slack blocks: objects, within Slack's limits.

.. seealso:: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from airflow_delta_provider.domain.rendering.document import (
    Block,
    Drawing,
    Entry,
    Fact,
    Facts,
    Link,
    Listing,
    Prose,
    Section,
    Title,
)
from airflow_delta_provider.domain.text import counted, shortened
from airflow_delta_provider.notifications.alert import Alert, Item
from airflow_delta_provider.notifications.alert_document import MAX_MESSAGE, by_severity, document

#: Most blocks of a message.
MAX_BLOCKS = 50
#: Maximum length of a section's text.
MAX_TEXT = 3000
#: Maximum length of a header.
MAX_HEADER = 150
#: Maximum length of all blocks as JSON: ``chat.postMessage`` refuses about 13,000 (``msg_blocks_too_long``).
MAX_CHARACTERS = 11_500
#: Characters of these that are reserved for the block with the number of findings that did not fit.
_REST = 500
#: Maximum length of a fact, so that the section's limit never cuts off a label.
_MAX_FACT = 300
#: Maximum number of codes of each severity that the block with the number of other findings counts by themselves.
_MAX_CODES = 6
_FORMATTING = re.compile("[*_~]")
#: Characters that code cannot hold.
_NO_CODE = re.compile("[`\r\n]")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

SlackBlock = dict[str, Any]
#: A block, and the number of findings that it names.
Part = tuple[SlackBlock, int]


def render(alert: Alert) -> list[SlackBlock]:
    """Return the blocks.

    If they do not fit, messages are shortened, and finally findings are left out and counted.
    """
    whole = list(document(alert))
    sections = [block for block in whole if isinstance(block, Section)]
    findings = [section for section in sections if not isinstance(section.blocks[0], Drawing)]
    begin = whole.index(sections[0]) if sections else len(whole)
    head = [made for block in whole[:begin] for made in _around(block)]
    tail = [made for block in whole[begin + len(sections) :] for made in _around(block)]
    # One more block gives the number of findings that did not fit.
    room = MAX_BLOCKS - len(head) - len(tail) - 1
    size = MAX_CHARACTERS - _size(head) - _size(tail) - _REST
    for longest in (MAX_MESSAGE, MAX_MESSAGE // 5, 0):
        found = [part for section in findings for part in _section(section, longest)]
        shown = list(_fitting(found, room, size))
        if len(shown) == len(found):
            break
    else:
        while shown and not shown[-1][1]:
            shown.pop()  # a heading, without any finding below it
    room, size = room - len(shown), size - sum(_size(block) for block, _ in shown)
    timelines = ((_timeline(section), 0) for section in sections[len(findings) :])
    drawn = [block for block, _ in _fitting(timelines, room, size)]
    rest = list(map(_rest, filter(None, [_left(alert, sum(number for _, number in shown))])))
    return [*head, *(block for block, _ in shown), *rest, *drawn, *tail]


def _left(alert: Alert, shown: int) -> list[Item]:
    """Return the named findings after the first ones."""
    return [item for group in alert.groups for item in group.items][shown:]


def _rest(items: list[Item]) -> SlackBlock:
    text = f"… and {counted(len(items), 'more finding')} that a Slack message has no room for"
    return _plain(f"{text}: {by_severity(items, _MAX_CODES)}.")


def escape(text: str) -> str:
    """Return ``text`` without mentions, links and formatting, such that copying it yields the same text.

    Slack's mrkdwn has no escape for its formatting characters. Inside code they have no meaning, except the backtick.
    """
    entities = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    return f"`{entities}`" if _FORMATTING.search(text) else entities


def _around(block: Block) -> Iterator[SlackBlock]:
    """Yield a block outside of sections."""
    match block:
        case Title():
            yield {"type": "header", "text": _plain_text(block.text, MAX_HEADER)}
            yield {"type": "context", "elements": [_plain_text(block.about, MAX_TEXT)]}
        case Prose():
            yield _plain(block.text)
        case Link():
            link = block.url.replace("|", "%7C").replace(">", "%3E")
            yield {"type": "section", "text": _mrkdwn(f"<{link}|{block.text}>")}


def _section(section: Section, longest: int) -> Iterator[Part]:
    facts = [fact for block in section.blocks if isinstance(block, Facts) for fact in block.facts]
    rows = [entry for block in section.blocks if isinstance(block, Listing) for entry in block.entries]
    yield _heading(section.title, facts), 0 if rows else 1
    limit = MAX_TEXT // 2 if rows else longest
    message = [shortened(block.line, limit) for block in section.blocks if isinstance(block, Prose)] if limit else []
    if message:
        yield _plain("\n".join(message) or "-"), 0
    lines: list[str] = []
    for line in (_row(row, longest) for row in rows):
        if lines and sum(map(len, lines)) + len(lines) + len(line) > MAX_TEXT:
            yield _plain("\n".join(lines)), len(lines)
            lines = []
        lines.append(line)
    if lines:
        yield _plain("\n".join(lines)), len(lines)


def _timeline(section: Section) -> SlackBlock:
    drawings = [block for block in section.blocks if isinstance(block, Drawing)]
    lines = [f"{mark.version}  {mark.sign} {mark.text}" for drawing in drawings for mark in drawing.marks]
    rest = (drawing.rest for drawing in drawings)
    return _plain("\n".join([shortened(section.title, _MAX_FACT), *lines, *filter(None, rest)]))


def _row(row: Entry, longest: int) -> str:
    """Return a finding: its table and facts in one line, then its message."""
    facts = (shortened(f"{label} {value}", _MAX_FACT) for label, value in row.facts)
    first_line = "  ".join((shortened(row.name, _MAX_FACT), *facts))
    message = shortened(row.message, longest) if longest else ""
    return shortened("\n".join(filter(None, (first_line, message))), MAX_TEXT)


def _heading(title: str, all_facts: Iterable[Fact]) -> SlackBlock:
    facts = [(label, shortened(value, _MAX_FACT)) for label, value in all_facts]
    if _FORMATTING.search(title) or any(_NO_CODE.search(text) for text in (title, *(value for _, value in facts))):
        return _plain("\n".join((title, *(f"{label}: {value}" for label, value in facts))))
    lines = (f"{label}: {escape(value)}" for label, value in facts)
    return {"type": "section", "text": _mrkdwn("\n".join((f"*{escape(title)}*", *lines)))}


def _fitting(parts: Iterable[Part], room: int, size: int) -> Iterator[Part]:
    """Yield the first parts, as many as fit."""
    for block, number in parts:
        room, size = room - 1, size - _size(block)
        if room < 0 or size < 0:
            return
        yield block, number


def _size(blocks: SlackBlock | list[SlackBlock]) -> int:
    return len(json.dumps(blocks, ensure_ascii=False))


def _plain(text: str) -> SlackBlock:
    return {"type": "section", "text": _plain_text(text, MAX_TEXT)}


def _plain_text(text: str, limit: int) -> SlackBlock:
    return {"type": "plain_text", "text": shortened(text, limit), "emoji": False}


def _mrkdwn(text: str) -> SlackBlock:
    return {"type": "mrkdwn", "text": shortened(text, MAX_TEXT), "verbatim": True}
