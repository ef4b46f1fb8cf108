"""Renders the curves of ``docs/benchmarks.md`` from the points that ``python -m benchmarks.curves`` measured."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from scripts.sample_blocks import CHECKOUT

#: The measured points: for each curve its title, the name of its axis, and for each series of points its name, and for
#: each point the number on the axis, CPU time in seconds, and largest memory in MB or null.
POINTS = CHECKOUT / "benchmarks" / "curves.json"
_PANELS = ("CPU time", "s"), ("largest memory", "MB")
_WIDTH, _LEFT, _GAP, _TOP, _ROOM = 860, 62, 84, 62, 250
_PANEL = (_WIDTH - _LEFT - _GAP - 24) / 2
_LINE = 21
#: Marks of the series: the shape and the dashes tell them apart without colour.
_MARKS = "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-4-4h8v8h-8z", "M0-5 5 4H-5z", "M0-5 5 0 0 5-5 0z"
_DASHES = "", "7 4", "2 3", "9 3 2 3"
_STYLE = """
text { font: 12px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #3e4c59 }
.head { font-weight: 600; font-size: 14px; fill: #1f2933 } .middle { text-anchor: middle } .end { text-anchor: end }
.back { fill: #ffffff } .grid { stroke: #d9dee4; fill: none } .line { fill: none; stroke-width: 2 }
.s0 { stroke: #0b62c4 } .s1 { stroke: #b3400a } .s2 { stroke: #177245 } .s3 { stroke: #7a3fb0 }
.m0 { fill: #0b62c4 } .m1 { fill: #b3400a } .m2 { fill: #177245 } .m3 { fill: #7a3fb0 }
@media (prefers-color-scheme: dark) {
text { fill: #b6c2cf } .head { fill: #e6edf3 } .back { fill: #161b22 } .grid { stroke: #3a4450 }
.s0 { stroke: #6cb6ff } .s1 { stroke: #f0976c } .s2 { stroke: #6bc48c } .s3 { stroke: #c79bf2 }
.m0 { fill: #6cb6ff } .m1 { fill: #f0976c } .m2 { fill: #6bc48c } .m3 { fill: #c79bf2 }
}
"""
Points = Sequence[tuple[float, float]]


def render(name: str) -> str:
    """Return the picture of a curve, an SVG with logarithmic axes.

    :param name: name of the curve in the file of points
    """
    curve: Mapping[str, Any] = json.loads(POINTS.read_text(encoding="utf-8"))["curves"][name]
    series = list(curve["series"].items())
    height = _TOP + _ROOM + 58 + _LINE * len(series) + 10
    panels = [[(label, _points(points, panel + 1)) for label, points in series] for panel in range(len(_PANELS))]
    across = _decades([x for _, points in panels[0] for x, _ in points])
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'role="img">',
        "<!-- Written by `python -m benchmarks.curves`, and by `make docs` from benchmarks/curves.json. -->",
        f"<title>{escape(curve['title'])}</title>",
        f"<desc>{escape(describe(curve))}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="back" width="{_WIDTH}" height="{height}" rx="9"/>',
        f'<text class="head" x="{_LEFT}" y="26">{escape(curve["title"])}</text>',
    ]
    for number, panel in enumerate(panels):
        left = _LEFT + number * (_PANEL + _GAP)
        lines += _panel(left, *_PANELS[number], curve["across"], across, panel)
    for number, (label, _) in enumerate(series):
        y = _TOP + _ROOM + 62 + _LINE * number
        lines.append(f'<path class="line s{number}" {_dashes(number)}d="M{_LEFT} {y}h40"/>')
        lines.append(f'<path class="m{number}" transform="translate({_LEFT + 20} {y})" d="{_MARKS[number]}"/>')
        lines.append(f'<text x="{_LEFT + 50}" y="{y + 4}">{escape(label)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def describe(curve: Mapping[str, Any]) -> str:
    """Return the ends of each series of a curve, for readers who do not see it."""
    parts = []
    for label, points in curve["series"].items():
        ends = ", ".join(
            f"{_number(x)}: {cpu:g} s" + (f" and {memory:,.0f} MB" if memory else "")
            for x, cpu, memory in (points[0], points[-1])
        )
        parts.append(f"{label}, by {curve['across']}: {ends}.")
    return " ".join(parts)


def _points(points: Sequence[Sequence[float | None]], which: int) -> Points:
    return [(x, y) for x, y in ((point[0], point[which]) for point in points) if x is not None and y is not None]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten that enclose values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _panel(
    left: float, title: str, unit: str, name: str, across: tuple[int, int], series: Sequence[tuple[str, Points]]
) -> Iterator[str]:
    """Yield a diagram: its grid with the names of its axes, and its lines."""
    upward = _decades([y for _, points in series for _, y in points])
    bottom = _TOP + _ROOM

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + _PANEL * (math.log10(x) - across[0]) / (across[1] - across[0]),
            bottom - _ROOM * (math.log10(y) - upward[0]) / (upward[1] - upward[0]),
        )

    yield f'<text x="{left:.0f}" y="{_TOP - 14}">{title}, {unit}</text>'
    for power in range(upward[0], upward[1] + 1):
        _, y = at(10 ** across[0], 10.0**power)
        yield f'<path class="grid" d="M{left:.1f} {y:.1f}h{_PANEL:.1f}"/>'
        yield f'<text class="end" x="{left - 7:.1f}" y="{y + 4:.1f}">{_number(10.0**power)}</text>'
    for power in range(across[0], across[1] + 1):
        x, _ = at(10.0**power, 10 ** upward[0])
        yield f'<path class="grid" d="M{x:.1f} {_TOP}v{_ROOM}"/>'
        yield f'<text class="middle" x="{x:.1f}" y="{bottom + 17}">{_number(10.0**power)}</text>'
    yield f'<text class="middle" x="{left + _PANEL / 2:.1f}" y="{bottom + 36}">{escape(name)}</text>'
    for number, (_, points) in enumerate(series):
        if not points:
            continue
        places = [at(*point) for point in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path class="line s{number}" {_dashes(number)}d="M{path}"/>'
        for x, y in places:
            yield f'<path class="m{number}" transform="translate({x:.1f} {y:.1f})" d="{_MARKS[number]}"/>'


def _dashes(number: int) -> str:
    return f'stroke-dasharray="{_DASHES[number]}" ' if _DASHES[number] else ""


def _number(value: float) -> str:
    """Return a number with commas, or as a decimal fraction."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def pictures() -> Mapping[Path, partial[str]]:
    """Return the files of the pictures, with functions that render them."""
    names = json.loads(POINTS.read_text(encoding="utf-8"))["curves"]
    return {CHECKOUT / "docs" / "images" / f"cost-by-{name}.svg": partial(render, name) for name in names}
