"""Profiles of engines say what was measured with the real engines: ``make measure`` measures, this compares."""

from __future__ import annotations

from collections import defaultdict

import pytest

from airflow_delta_provider.domain.engine.profile import Support
from scripts.measure_engines.comparison import cells, reads

CELLS = [cell for cell in cells() if cell.is_decided]
BY_ENGINE = defaultdict(list)
for cell in CELLS:
    BY_ENGINE[cell.engine].append(cell)


@pytest.mark.parametrize("engine", BY_ENGINE)
def test_a_profile_says_what_its_release_did(engine):
    assert [cell for cell in BY_ENGINE[engine] if not cell.agrees] == []


READS = defaultdict(list)
for read in reads():
    READS[read.engine].append(read)


@pytest.mark.parametrize("engine", READS)
def test_a_profile_calls_no_measured_misread_right_and_no_right_read_wrong(engine):
    assert {read.situation: (read.said, read.wrong) for read in READS[engine] if not read.agrees} == {}


def test_misreads_were_measured_and_are_known():
    wrong = [read for each in READS.values() for read in each if read.wrong]
    assert {read.engine.rpartition(" ")[0] for read in wrong} >= {"DuckDB", "Daft", "Polars", "delta-rs"}
    known = [read for read in wrong if Support.WRONG in read.said or Support.NO in read.said]
    assert len(known) / len(wrong) > 0.9


def test_engines_were_measured_in_three_releases_or_more():
    releases = defaultdict(set)
    for engine in BY_ENGINE:
        name, _, version = engine.rpartition(" ")
        releases[name].add(version)
    assert {name for name, versions in releases.items() if len(versions) >= 3} >= {"delta-rs", "DuckDB"}
