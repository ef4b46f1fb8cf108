"""Where pages show samples: in a block of text after the comment ``<!-- sample: NAME -->``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"(<!-- sample: ([\w-]+) -->\n+```text\n)(.*?)(```)", re.DOTALL)


def pages() -> Iterator[Path]:
    """Yield the pages of the project: those in its root, and the docs."""
    yield from sorted(CHECKOUT.glob("*.md"))
    yield from sorted((CHECKOUT / "docs").rglob("*.md"))


def shown(page: str) -> Iterator[tuple[str, str]]:
    """Yield the samples that a page shows: name and text."""
    for block in _BLOCK.finditer(page):
        yield block[2], block[3].rstrip("\n")


def all_shown() -> dict[str, list[tuple[Path, str]]]:
    """Return the samples that pages show: by name, each page with the text that it has."""
    found: dict[str, list[tuple[Path, str]]] = {}
    for page in pages():
        for name, text in shown(page.read_text(encoding="utf-8")):
            found.setdefault(name, []).append((page, text))
    return found


def with_samples(page: str, texts: Mapping[str, str]) -> str:
    """Return a page that shows these texts, by the name of the sample."""
    return _BLOCK.sub(lambda block: f"{block[1]}{texts[block[2]]}\n{block[4]}", page)
