"""Which commits the live rows of a table come from."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.checks.row_tracking.moved_rows import Rewrites, moves_of
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from tests.unit.states import LEGACY, field, metadata_of, struct

STATE = TableState(0, LEGACY.supporting(["rowTracking"]), metadata_of(struct(field("id", "long"))))


def file(name: str) -> LiveFile:
    return LiveFile(name, 100, 0, 1, 10)


class History:
    """Commits as text: what is taken, what is added, and what was there once before."""

    def __init__(self, **known: Any) -> None:
        self.rewrites = Rewrites(**known)
        self.version = 0

    def commit(self, taken: str, new: str, *, again: str = "", operation: str = "UPDATE", whole: bool = False) -> None:
        self.version += 1
        before = {name: file(name) for name in taken}
        commit = Commit(self.version, {"operation": operation}, tuple(map(file, new + again)))
        self.rewrites.add(moves_of(Transition(STATE, commit, STATE, before, whole), frozenset(again)))

    def leading_to(self, live: str) -> list[int]:
        return [moves.version for moves in self.rewrites.leading_to(live)]


def test_commits_are_found_through_files_that_are_gone() -> None:
    history = History()
    history.commit("a", "b")
    history.commit("x", "y")
    history.commit("b", "c")
    history.commit("c", "d", operation="OPTIMIZE", whole=True)
    assert history.leading_to("d") == [1, 3, 4]
    assert history.leading_to("y") == [2]
    assert history.leading_to("") == []


def test_what_was_restored_or_overwritten_leads_to_nothing() -> None:
    history = History()
    history.commit("a", "b")
    history.commit("b", "", again="a", operation="RESTORE")
    history.commit("a", "c")
    assert history.leading_to("c") == [3]
    history.commit("c", "d", operation="WRITE", whole=True)
    assert history.leading_to("d") == [4]


def test_rows_deleted_with_a_vector_leave_the_file_among_what_leads_to_the_live_rows() -> None:
    history = History()
    history.commit("", "a")
    history.commit("a", "b", again="a")
    assert history.leading_to("ab") == [1, 2]


def test_the_oldest_are_forgotten_where_there_are_too_many() -> None:
    history = History(most_files=4)
    for taken, new in zip("abcd", "bcde"):
        history.commit(taken, new)
    assert history.leading_to("e") == [3, 4]
    assert history.leading_to("c") == []
