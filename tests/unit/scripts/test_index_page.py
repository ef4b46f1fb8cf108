"""What a package index shows of the README: links that lead somewhere from there, or none."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[3]
HOME = "https://git.example.com/lake/airflow-delta-provider"


@pytest.fixture(scope="module")
def setup() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "setup.py"))


def targets(text: str) -> list[str]:
    """Return where the links and images of a text lead to."""
    tokens = [child for token in MarkdownIt("commonmark").enable("table").parse(text) for child in token.children or ()]
    found = [token.attrGet("href") or token.attrGet("src") for token in tokens]
    return [str(target) for target in found if target]


def test_links_lead_to_the_files_of_this_version_where_they_are_published(setup):
    before, after = (targets(text) for text in (readme(), setup["page"](readme(), f"{HOME}/", "1.2.3")))
    moved = [target for target in before if not re.match("https?:|#", target)]
    assert len(moved) > 50
    assert all((ROOT / target.partition("#")[0]).exists() for target in moved)
    expected = [
        f"{HOME}/{'raw' if target.endswith('.svg') else 'blob'}/v1.2.3/{target}" if target in moved else target
        for target in before
    ]
    assert after == expected


def test_without_a_home_words_stay_and_lead_nowhere(setup):
    text = setup["page"](readme(), None, "1.2.3")
    assert [target for target in targets(text) if not target.startswith(("https:", "#"))] == []
    assert "checks a table's full history against every rule" in text


def test_index_links_to_the_repository_only_where_it_is_known(setup):
    assert setup["urls"](None, "1.2.3") == {}
    assert setup["urls"](HOME, "1.2.3")["Changelog"] == f"{HOME}/blob/v1.2.3/CHANGELOG.md"


def test_version_is_that_of_the_package(setup):
    from airflow_delta_provider import __version__

    assert setup["version"]() == __version__


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")
