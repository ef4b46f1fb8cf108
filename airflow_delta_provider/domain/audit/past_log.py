"""What the log of a table may be asked for besides the commits that are judged in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_delta_provider.domain.audit.earlier_states import EarlierStates
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState


class LogMemory:
    """By default it tells nothing."""

    def commit_at(self, version: int) -> Commit | None:
        """Return a commit, None where the log no longer has it."""
        del version
        return None

    def state_at(self, version: int) -> TableState | None:
        """Return a state with its files, None where the log no longer has it."""
        del version
        return None

    def states_up_to(self, version: int) -> EarlierStates | None:
        """Return the states that led to a version, as far back as they are kept; None where nobody knows them."""
        del version
        return None

    def added_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        """Return those of ``paths`` that a commit before ``version`` added or removed."""
        del version, paths
        return frozenset()

    def commits_that_added(self, files: Sequence[LiveFile]) -> Mapping[str, Commit]:
        """Return, by path, the oldest kept commit that added each file with the row ids that it has."""
        del files
        return {}
