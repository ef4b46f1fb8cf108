"""Profiles of engines say what was measured with the real engines: ``make measure`` measures, this compares."""

from __future__ import annotations

from collections import defaultdict

import pytest

from scripts.measure_engines.comparison import cells

CELLS = [cell for cell in cells() if cell.is_decided]
BY_ENGINE = defaultdict(list)
for cell in CELLS:
    BY_ENGINE[cell.engine].append(cell)


@pytest.mark.parametrize("engine", BY_ENGINE)
def test_a_profile_says_what_its_release_did(engine):
    assert [cell for cell in BY_ENGINE[engine] if not cell.agrees] == []


def test_engines_were_measured_in_three_releases_or_more():
    releases = defaultdict(set)
    for engine in BY_ENGINE:
        name, _, version = engine.rpartition(" ")
        releases[name].add(version)
    assert {name for name, versions in releases.items() if len(versions) >= 3} >= {"delta-rs", "DuckDB"}
