"""Renders pictures of a terminal: ``report.svg``, from the sample in the docs, and ``demo.svg``; ``make docs``.

The second one is a recording: it runs ``delta-provider demo``, and its lines appear one after the other.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from airflow_delta_provider.command_line.main import main as delta_provider
from airflow_delta_provider.domain.rendering.presentation import FORMATS
from airflow_delta_provider.domain.report.report import JobReport
from scripts.sample_blocks import CHECKOUT, all_shown

PICTURE = CHECKOUT / "docs" / "images" / "report.svg"
DEMO = CHECKOUT / "docs" / "images" / "demo.svg"
_SAMPLE = "row-ids"
_COMMAND = "$ delta-provider check-row-tracking s3a://lake/flights_damaged …"
_TITLE = "Two files of a table share row ids: the report names the commit, the files, the effect and the remedy"

_DEMO_TITLE = "Three of five tables are damaged: the audit names the commits, the effects and the remedies"
_SECONDS = re.compile(r"\d+\.\d s$", re.MULTILINE)
#: Seconds between two lines of the recording, and between the command and its first line.
_STEP, _START = 0.06, 1.0

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
    text = text.partition("\n")[2]  # without its label
    return _picture([_COMMAND, "", *text.splitlines()], _TITLE, "from the sample of the report", moves=False)


def render_demo() -> str:
    """Return the recording of the demo, an SVG."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/demo"
        with contextlib.redirect_stdout(printed):
            delta_provider(["demo", place, "--no-browser"])
        wire = json.loads(Path(place, "report.json").read_text().replace(f"file:{place}/", "").replace(f"{place}/", ""))
    # Lines are wrapped again, since their length depends on the folder.
    report = _SECONDS.sub("0.1 s", FORMATS["text"].render(JobReport.from_json(wire)))
    before, audit, _ = printed.getvalue().replace(f"{place}/", "").partition("$ delta-provider audit 'lake/*'\n\n")
    lines = f"{before}{audit}{report}".splitlines()
    return _picture(["$ delta-provider demo", "", *lines], _DEMO_TITLE, "by a run of the demo", moves=True)


def _picture(lines: Sequence[str], title: str, source: str, *, moves: bool) -> str:
    """Return lines as a terminal shows them.

    :param source: source of the lines, for a comment
    :param moves: True to show one line after the other
    """
    width = 2 * _MARGIN + _CHARACTER * max(map(len, lines))
    height = _BAR + _MARGIN + _LINE * len(lines)
    style = _STYLE + (_motion(lines) if moves else "")
    return "\n".join([*_frame(width, height, title, source, style), *_lines(lines, named=moves), "</svg>", ""])


def _motion(lines: Sequence[str]) -> str:
    """Return the style that shows each line at its time; readers who want no motion see all at once."""
    times = (f"#l{n} {{ animation-delay: {_START + _STEP * n:.2f}s }}" for n, line in enumerate(lines) if n and line)
    appear = "@keyframes appear { to { visibility: visible } }\ntext[id] { visibility: hidden; "
    shown = "@media (prefers-reduced-motion: no-preference) {\n"
    return f"{shown}{appear}animation: appear 0s forwards }}\n{chr(10).join(times)}\n}}\n"


def _frame(width: float, height: float, title: str, source: str, style: str) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img">'
    )
    yield f"<!-- Written by `make docs` {source}. -->"
    yield f"<title>{title}</title>"
    yield f"<style>{style}</style>"
    yield f'<rect width="{width:.0f}" height="{height:.0f}" rx="9" fill="#161b22"/>'
    for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        yield f'<circle cx="{22 + 20 * place}" cy="18" r="6" fill="{colour}"/>'


def _lines(lines: Sequence[str], *, named: bool) -> Iterator[str]:
    for number, line in enumerate(lines):
        y = _BAR + _LINE * number + 14
        if line:
            name = f' id="l{number}"' if named and number else ""
            yield f'<text{name} x="{_MARGIN}" y="{y}" xml:space="preserve">{"".join(_spans(line))}</text>'


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
