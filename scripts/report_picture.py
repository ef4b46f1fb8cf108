"""Renders ``docs/images/report.svg``: a report as a terminal shows it, from the sample in the docs; ``make docs``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from scripts.sample_blocks import CHECKOUT, all_shown

PICTURE = CHECKOUT / "docs" / "images" / "report.svg"
_SAMPLE = "row-ids"
_COMMAND = "$ delta-provider check-row-tracking s3a://lake/flights_damaged …"
_TITLE = "Two files of a table share row ids: the report names the commit, the files, the effect and the remedy"

_CHARACTER, _LINE, _MARGIN, _BAR = 8.4, 20, 22, 34
_STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }
.plain { fill: #d4dae3 } .dim { fill: #8b97a8 } .error { fill: #ff7b72; font-weight: 600 }
.warning { fill: #f2cc60; font-weight: 600 } .good { fill: #7ee787; font-weight: 600 }
.code { fill: #79c0ff; font-weight: 600 }
"""
_STYLES = {
    "VIOLATED": "error",
    "REFUSED": "error",
    "FAULT": "error",
    "ERROR": "error",
    "WARNING": "warning",
    "UNDECIDED": "warning",
    "UNDETERMINED": "warning",
    "PASS": "good",
}
_WORD = re.compile(rf"\b(?:{'|'.join(_STYLES)}|[A-Z]{{2}}\d\d)\b")


def render() -> str:
    """Return the picture, an SVG."""
    ((_, text), *_) = all_shown()[_SAMPLE]
    lines = [_COMMAND, "", *text.splitlines()]
    width = 2 * _MARGIN + _CHARACTER * max(map(len, lines))
    height = _BAR + _MARGIN + _LINE * len(lines)
    return "\n".join([*_frame(width, height), *_lines(lines), "</svg>", ""])


def _frame(width: float, height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img">'
    )
    yield "<!-- Written by `make docs` from the sample of the report. -->"
    yield f"<title>{_TITLE}</title>"
    yield f"<style>{_STYLE}</style>"
    yield f'<rect width="{width:.0f}" height="{height:.0f}" rx="9" fill="#161b22"/>'
    for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{22 + 20 * place}" cy="18" r="6" fill="{colour}"/>'


def _lines(lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        y = _BAR + _LINE * number + 14
        if line:
            yield f'<text x="{_MARGIN}" y="{y}" xml:space="preserve">{"".join(_spans(line))}</text>'


def _spans(line: str) -> Iterator[str]:
    """Yield a line in pieces of one colour: a heading of a table or a finding has its words marked."""
    rest = "plain" if line.startswith(" " * 8) else "dim"
    if rest == "plain":
        yield _span(line, rest)
        return
    end = 0
    for word in _WORD.finditer(line):
        yield _span(line[end : word.start()], rest)
        yield _span(word[0], _STYLES.get(word[0], "code"))
        end = word.end()
    yield _span(line[end:], rest)


def _span(text: str, style: str) -> str:
    return f'<tspan class="{style}">{escape(text)}</tspan>' if text else ""
