"""An alert as Slack blocks: objects, within the limits that Slack sets.

.. seealso:: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.notifications.alert import Alert, Item
from airflow_delta_provider.notifications.formats.facts import closing, facts, heading, message, origin, shortened

#: Blocks of a message.
MAX_BLOCKS = 50
#: Characters of a section's text.
MAX_TEXT = 3000
#: Characters of a header.
MAX_HEADER = 150
_BLOCKS_PER_ITEM = 2
#: Of all facts together, so that a label is never cut off by the limit of the section.
_MAX_FACT = 300
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

Block = dict[str, Any]


def render(alert: Alert) -> list[Block]:
    """Return the blocks; findings for which there is no room are counted."""
    head, tail = list(_head(alert)), list(_tail(alert))
    # One more block says how many findings there was no room for.
    room = (MAX_BLOCKS - len(head) - len(tail) - 1) // _BLOCKS_PER_ITEM
    items = [block for item in alert.shown[:room] for block in _item(item)]
    left = len(alert.shown) - room
    return [*head, *items, *([_plain(f"… and {left} more that a Slack message has no room for.")] * (left > 0)), *tail]


def escape(text: str) -> str:
    """Return ``text`` without anything that mentions, links or formats.

    Slack's mrkdwn knows no escape for its formatting characters; a zero-width space before them takes
    their meaning and is not seen.
    """
    text = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], text)
    return re.sub("([*_~`])", "\u200b\\1", text)


def _head(alert: Alert) -> Iterator[Block]:
    yield {"type": "header", "text": _plain_text(alert.subject, MAX_HEADER)}
    yield {"type": "context", "elements": [_plain_text(origin(alert), MAX_TEXT)]}
    if alert.failure is not None:
        yield _plain(alert.failure)


def _item(item: Item) -> Iterator[Block]:
    said = "\n".join(f"{label}: {escape(shortened(value, _MAX_FACT))}" for label, value in facts(item))
    yield {"type": "section", "text": _mrkdwn(f"*{escape(heading(item))}*\n{said}")}
    yield _plain(message(item) or "-")


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
