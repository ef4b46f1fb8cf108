"""Escaping for Markdown: CommonMark with the extensions of issue trackers and chats."""

from __future__ import annotations

import re

from airflow_delta_provider.domain.visible import visible

#: Characters with a meaning inside a line.
_INLINE = re.compile(r"([\\`*_\[\]<>&#|~@$])")
#: Starts of lines that would become a list or an underlined heading.
_LINE_START = re.compile(r"^(\s*)([-+=])", re.MULTILINE)
_NUMBERED = re.compile(r"^(\s*\d+)([.)])", re.MULTILINE)


def escape(text: str) -> str:
    """Return ``text`` escaped, to be shown as it is; unprintable characters are written as in Python."""
    inline = _INLINE.sub(r"\\\1", "\n".join(map(visible, text.split("\n"))))
    return _NUMBERED.sub(r"\1\\\2", _LINE_START.sub(r"\1\\\2", inline))


def code(text: str) -> str:
    """Return ``text`` as a code span. Line breaks become blanks.

    The fence is longer than any run of backticks in the text.
    """
    text = visible(" ".join(text.split())) or " "
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"{fence}{text}{fence}"


def paragraph(text: str) -> str:
    """Return several lines as one paragraph that keeps its line breaks."""
    return "\\\n".join(escape(line.strip()) for line in text.splitlines() if line.strip())
