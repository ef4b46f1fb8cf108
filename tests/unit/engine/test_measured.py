"""Profiles of engines say what was measured with the real engines: ``make measure`` measures, this compares."""

from __future__ import annotations

from collections import defaultdict

import pytest

from airflow_delta_provider.domain.engine.access import Access
from airflow_delta_provider.domain.engine.profile import Support
from scripts.measure_engines.comparison import Comparison, Outcome, accepted, comparisons, reads

ACCEPTED = accepted()
BY_ENGINE = defaultdict(list)
for one in comparisons():
    BY_ENGINE[one.engine].append(one)


@pytest.mark.parametrize("engine", BY_ENGINE)
def test_a_profile_says_what_its_release_did_or_a_reason_is_given(engine):
    """Both ways: no table is said to work that did not, and no table that did is warned about."""
    unexplained = [one for one in BY_ENGINE[engine] if not one.agrees and not any(x.covers(one) for x in ACCEPTED)]
    assert [str(one) for one in unexplained] == []


@pytest.mark.parametrize("known", ACCEPTED, ids=lambda known: f"{known.profiles[0]}, {known.tables[0]}")
def test_an_accepted_disagreement_still_exists_and_has_a_reason(known):
    assert known.reason
    covered = [one for one in comparisons() if known.covers(one)]
    assert {one.profile for one in covered} == set(known.profiles)
    assert {one.table for one in covered} == set(known.tables)
    assert {one.version for one in covered} >= set(known.releases)


@pytest.mark.parametrize(
    ("said", "measured", "says", "did", "agrees"),
    [
        (set(), {"read": "OK"}, Outcome.RIGHT, Outcome.RIGHT, True),
        (set(), {"read": "wrong: []"}, Outcome.RIGHT, Outcome.WRONG, False),
        (set(), {"read": "refused: why"}, Outcome.RIGHT, Outcome.REFUSED, False),
        (set(), {"read": "not tried: its process was ended by SIGABRT"}, Outcome.RIGHT, Outcome.REFUSED, False),
        (set(), {"read, all": "OK", "read, a = 1": "refused: x"}, Outcome.RIGHT, Outcome.PARTLY_REFUSED, False),
        ({Support.NO}, {"read, all": "refused: x", "read, a = 1": "OK"}, Outcome.REFUSED, Outcome.REFUSED, True),
        ({Support.WRONG}, {"read, all": "OK", "read, a = 1": "wrong: no row"}, Outcome.WRONG, Outcome.WRONG, True),
        ({Support.WRONG}, {"read": "OK"}, Outcome.WRONG, Outcome.RIGHT, False),
        ({Support.WRONG}, {"read": "refused: why"}, Outcome.WRONG, Outcome.REFUSED, False),
        ({Support.NO, Support.UNKNOWN}, {"read": "OK"}, Outcome.REFUSED, Outcome.RIGHT, False),
        ({Support.UNKNOWN}, {"read": "wrong: []"}, Outcome.UNDECIDED, Outcome.WRONG, True),
    ],
)
def test_sayings_and_doings_are_compared_both_ways(said, measured, says, did, agrees):
    one = Comparison("Acme", "1", "t", Access.READ, measured, frozenset(said))
    assert (one.says, one.did, one.agrees) == (says, did, agrees)


def test_misreads_were_measured_and_are_known():
    wrong = [one for one in reads() if one.wrong]
    by_values = [one for one in wrong if one.table == "decimals, bounds of deltalake"]  # the log does not show values
    assert {one.says for one in by_values} == {Outcome.UNDECIDED}
    wrong = [one for one in wrong if one not in by_values]
    assert {one.profile for one in wrong} >= {"DuckDB", "Daft", "Polars", "delta-rs"}
    known = [one for one in wrong if one.says in (Outcome.WRONG, Outcome.REFUSED)]
    assert len(known) / len(wrong) > 0.9


def test_engines_were_measured_in_three_releases_or_more():
    releases = defaultdict(set)
    for one in comparisons():
        releases[one.profile].add(one.version)
    assert {name for name, versions in releases.items() if len(versions) >= 3} >= {"delta-rs", "DuckDB"}
