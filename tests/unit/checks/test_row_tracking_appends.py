"""Commits that append files with row ids in order break no rule of row tracking."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.fast_path.routine_commits import appends_in_id_order
from airflow_delta_provider.domain.checks.row_tracking.commits import check_commit, suspicious_paths
from airflow_delta_provider.domain.checks.row_tracking.history import check_history
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import Transition
from tests.unit.checks.test_row_tracking_rules import ENABLED, SUSPENDED, state

SMALL = st.integers(0, 6)
FILES = st.lists(st.tuples(SMALL | st.none(), SMALL | st.none(), st.sampled_from([4, 4, 4, 3, 5, None])), max_size=3)


@given(FILES, SMALL | st.none(), st.integers(0, 12) | st.none(), st.sampled_from([ENABLED, {}, ENABLED | SUSPENDED]))
@example([(2, 3, 4), (5, 1, 4)], 1, 5, ENABLED)
def test_no_rule_finds_anything_in_an_append_in_id_order(
    files: list[tuple[int | None, int | None, int | None]],
    before: int | None,
    after: int | None,
    configuration: dict[str, str],
) -> None:
    adds = tuple(LiveFile(f"{place}", 1, base, version, rows) for place, (base, rows, version) in enumerate(files))
    old = state(configuration=configuration, mark=before)
    new = replace(old, version=4, domains=state(mark=after).domains)
    made = Transition(old, Commit(4, {"operation": "UPDATE"}, adds=adds), new, {})
    if appends_in_id_order(made):
        assert [*check_commit(made, ()), *check_history(made), *suspicious_paths(made)] == []


def test_appends_that_follow_on_the_mark_are_in_id_order() -> None:
    old = state(mark=1)
    adds = (LiveFile("a", 1, 2, 4, 3), LiveFile("b", 1, 5, 4, 1))
    new = replace(old, version=4, domains=state(mark=5).domains)
    assert appends_in_id_order(Transition(old, Commit(4, adds=adds), new, {}))
    assert not appends_in_id_order(Transition(old, Commit(4, adds=adds[::-1]), new, {}))
    assert not appends_in_id_order(Transition(old, Commit(4, adds=adds), replace(new, domains=old.domains), {}))
