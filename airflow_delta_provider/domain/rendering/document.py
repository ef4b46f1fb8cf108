"""Blocks of a document for people, and the writer of plain text.

A plan, an answer or an alert becomes blocks once. Writers turn blocks into a format: ``text_lines`` here, ``blocks`` in
``markdown.py``, ``blocks`` in ``page_parts.py``, and those of ``notifications`` for mails and Slack. Blocks hold values
as they are; a writer escapes and cuts them by the means of its format.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from airflow_delta_provider.domain.rendering.presentation import Tone
from airflow_delta_provider.domain.text import MAX_TEXT, shortened, visible, visible_lines

if TYPE_CHECKING:
    from airflow_delta_provider.domain.rendering.timeline import Mark, Timeline

#: Maximum number of lines of code; the rest is counted.
_MAX_LINES = 60
#: A label and a value.
Fact = tuple[str, str]


class Title(NamedTuple):
    """The title of a document, and the line below it."""

    text: str
    about: str = ""


class Prose(NamedTuple):
    """A paragraph that keeps its line breaks.

    :param label: label before it
    """

    text: str
    label: str = ""

    @property
    def line(self) -> str:
        """Label and text."""
        return f"{self.label}: {self.text}" if self.label else self.text


class Facts(NamedTuple):
    facts: tuple[Fact, ...]


class Entry(NamedTuple):
    """An entry of a list.

    :param label: label before its text
    :param name: name at its beginning, which readers copy
    :param message: paragraph below it
    """

    text: str = ""
    label: str = ""
    name: str = ""
    facts: tuple[Fact, ...] = ()
    message: str = ""
    entries: tuple[Entry, ...] = ()


class Listing(NamedTuple):
    """A list.

    :param marked: True if entries have marks in plain text
    """

    entries: tuple[Entry, ...]
    title: str = ""
    numbered: bool = False
    marked: bool = True


class Code(NamedTuple):
    """Lines of a language: ``diff``, ``sql``, ``yaml``."""

    lines: tuple[str, ...]
    language: str
    title: str = ""


class Drawing(NamedTuple):
    """A timeline.

    :param most: number of changes to describe in words, the newest
    """

    timeline: Timeline
    most: int

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The changes that are described, oldest first."""
        return self.timeline.newest_marks(self.most)

    @property
    def rest(self) -> str:
        """Number of changes that are left out, in words; empty if there are none."""
        left = len(self.timeline.marks) - self.most
        return f"… and {left:,} more" if left > 0 else ""


class Link(NamedTuple):
    text: str
    url: str


class Section(NamedTuple):
    """Blocks with a common title.

    :param tone: its meaning, for a mark in colour
    """

    title: str
    blocks: tuple[Block, ...]
    tone: Tone | None = None


Block = Title | Prose | Facts | Listing | Code | Drawing | Link | Section


def text_document(blocks: Iterable[Block], width: int) -> Iterator[str]:
    """Yield the lines of a document, with blank lines between its blocks."""
    for number, block in enumerate(blocks):
        if number:
            yield ""
        # Outside of sections, lines stay whole.
        yield from block.text.splitlines() if isinstance(block, Prose) else text_lines([block], width)


def text_lines(blocks: Iterable[Block], width: int, indent: int = 0) -> Iterator[str]:
    """Yield the lines of blocks as plain text.

    :param indent: number of blanks before each line
    """
    blanks = " " * indent
    for block in blocks:
        match block:
            case Title():
                yield from filter(None, (block.text, block.about))
            case Prose():
                for line in visible_lines(shortened(block.line, MAX_TEXT)):
                    # Names are not broken at hyphens.
                    yield from textwrap.wrap(
                        line, width, initial_indent=blanks, subsequent_indent=blanks, break_on_hyphens=False
                    )
            case Facts():
                for label, value in block.facts:
                    yield from _wrapped(f"{label}: {value}", width, indent, indent + 4, long=False)
            case Listing():
                yield from _heading(block.title, indent)
                yield from _entries(block, width, indent + 2 * bool(block.title))
            case Code():
                yield from _heading(block.title, indent)
                inner = " " * (indent + 2 * bool(block.title))
                yield from (f"{inner}{visible(line)}" for line in block.lines[:_MAX_LINES])
                if len(block.lines) > _MAX_LINES:
                    yield f"{inner}… and {len(block.lines) - _MAX_LINES} more lines"
            case Drawing():
                yield from _drawing(block, width, indent)
            case Link():
                yield f"{blanks}{block.text}: {block.url}"
            case Section():
                yield from [f"{blanks}{visible(block.title)}"] if block.title else []
                yield from text_lines(block.blocks, width, indent + 4)


def _heading(title: str, indent: int) -> Iterator[str]:
    if title:
        yield f"{' ' * indent}{title}:"


def _entries(listing: Listing, width: int, indent: int) -> Iterator[str]:
    for number, entry in enumerate(listing.entries, start=1):
        bullet = f"{number}. " if listing.numbered else "- " if listing.marked else ""
        facts = (f"{label} {value}" for label, value in entry.facts)
        line = "  ".join(filter(None, (entry.label, entry.name, entry.text, *facts)))
        rest = indent + (len(bullet) or 2)
        yield from _wrapped(line, width, indent, rest, bullet, long=not entry.name)
        yield from text_lines([Prose(entry.message)], width, indent + 4)
        yield from _entries(Listing(entry.entries), width, rest)


def _drawing(drawing: Drawing, width: int, indent: int) -> Iterator[str]:
    blanks, room = " " * indent, len(str(drawing.timeline.last))
    for mark in drawing.marks:
        head = f"{blanks}{mark.version:>{room}}  {mark.sign} "
        yield from textwrap.wrap(mark.text, width, initial_indent=head, subsequent_indent=" " * len(head))
    if drawing.rest:
        yield f"{blanks}{drawing.rest}"


def _wrapped(text: str, width: int, first: int, rest: int, bullet: str = "", *, long: bool = True) -> list[str]:
    """Return the lines of a text, wrapped and indented.

    :param first: indentation of the first line
    :param rest: indentation of the other lines
    :param long: True if long words may be broken
    """
    line = visible(" ".join(shortened(text, MAX_TEXT).splitlines()).expandtabs(1))
    start, blanks = " " * first + bullet, " " * rest
    return textwrap.wrap(
        line, width, initial_indent=start, subsequent_indent=blanks, break_long_words=long, break_on_hyphens=long
    )
