"""Renders ``docs/images/folders.svg``: the folders of the package, floor above floor, from the import contracts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tomllib

from scripts.sample_blocks import CHECKOUT

PICTURE = CHECKOUT / "docs" / "images" / "folders.svg"
_PACKAGE = "airflow_delta_provider"
_TITLE = "The folders of the package: each imports only from those below it"
_BETWEEN = "both import domain, never each other"
_FLOOR, _GAP, _HEAD, _MARGIN, _WIDTH = 26, 6, 52, 16, 860
_STYLE = """
text { font: 13px system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2933; }
.head { font-weight: 600; font-size: 15px } .note { fill: #52606d; font-size: 12px }
.name { text-anchor: middle } .arrow { stroke: #52606d; stroke-width: 1.5; fill: none; marker-end: url(#tip) }
"""
_Floors = Sequence[Sequence[str]]


def render() -> str:
    """Return the picture, an SVG."""
    airflow, jobs, domain = [[name] for name in _others()], [["command_line"], *_floors("jobs")], _floors("domain")
    half = (_WIDTH - 3 * _MARGIN - 24) / 2
    top = max(_height(airflow), _height(jobs))
    below = _MARGIN + top + 40
    height = below + _height(domain) + _MARGIN
    right = _WIDTH - _MARGIN - half
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" '
        f'height="{height:.0f}" role="img">',
        "<!-- Written by `make docs` from the contracts of import-linter in pyproject.toml. -->",
        f"<title>{_TITLE}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#52606d"/></marker></defs>',
        f'<rect width="{_WIDTH}" height="{height:.0f}" rx="9" fill="#ffffff"/>',
        *_tower(_MARGIN, _MARGIN, half, top, "Airflow side", "Airflow, no PySpark", airflow, "#dbeafe"),
        *_tower(right, _MARGIN, half, top, "jobs", "PySpark, no Airflow; shipped to Spark", jobs, "#fde8cd"),
        *_tower(
            _MARGIN, below, _WIDTH - 2 * _MARGIN, _height(domain), "domain", "standard library only", domain, "#d9f2dd"
        ),
        *(f'<path class="arrow" d="M{x:.0f} {_MARGIN + top}v38"/>' for x in (_MARGIN + half / 2, right + half / 2)),
        f'<text class="name note" x="{_WIDTH / 2}" y="{_MARGIN + top / 2 - 8:.0f}">JSON</text>',
        f'<text class="name note" x="{_WIDTH / 2}" y="{_MARGIN + top + 26}">{_BETWEEN}</text>',
        f'<path class="arrow" d="M{_MARGIN + half + 4} {_MARGIN + top / 2:.0f}H{right - 3}"/>',
        f'<path class="arrow" d="M{right - 4} {_MARGIN + top / 2 + 12:.0f}H{_MARGIN + half + 3}"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _floors(tower: str) -> _Floors:
    """Return the folders of a tower, the highest first, as the contract of its layers has them."""
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(c["layers"] for c in contracts if c.get("containers") == [f"{_PACKAGE}.{tower}"])
    floors = [[name.strip() for name in layer.split("|")] for layer in layers]
    folders = [[name for name in floor if (CHECKOUT / _PACKAGE / tower / name).is_dir()] for floor in floors]
    return [floor for floor in folders if floor]


def _others() -> list[str]:
    """Return the folders beside ``domain`` and ``jobs``: those that touch Airflow."""
    folders = (path.parent.name for path in (CHECKOUT / _PACKAGE).glob("*/__init__.py"))
    return sorted(name for name in folders if name not in ("command_line", "domain", "jobs"))


def _height(floors: _Floors) -> float:
    return _HEAD + len(floors) * (_FLOOR + _GAP) + _GAP


def _tower(
    x: float, y: float, width: float, height: float, head: str, note: str, floors: _Floors, colour: str
) -> Iterator[str]:
    yield f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="7" fill="{colour}"/>'
    yield f'<text class="head" x="{x + 14:.0f}" y="{y + 23:.0f}">{head}</text>'
    yield f'<text class="note" x="{x + 14:.0f}" y="{y + 41:.0f}">{note}</text>'
    for number, floor in enumerate(floors):
        room = (width - 28 - _GAP * (len(floor) - 1)) / len(floor)
        for place, name in enumerate(floor):
            left, above = x + 14 + place * (room + _GAP), y + _HEAD + number * (_FLOOR + _GAP)
            yield f'<rect x="{left:.0f}" y="{above:.0f}" width="{room:.0f}" height="{_FLOOR}" rx="4" fill="#ffffff"/>'
            yield f'<text class="name" x="{left + room / 2:.0f}" y="{above + 18:.0f}">{name}</text>'
