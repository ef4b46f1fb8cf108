"""A commit between the states that it leads from and to: what rules about a change of the table look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import TableState


@dataclass(frozen=True)
class Transition:
    """One commit.

    :param before: the state before it, without files; None where the log no longer tells
    :param after: the state after it, without files
    :param before_files: of the paths that it adds or removes, those that were live before, by path
    """

    before: TableState
    commit: Commit
    after: TableState
    before_files: Mapping[str, LiveFile]
