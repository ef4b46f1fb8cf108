"""The version that a commit of ours is to follow, as values and as it is in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import TableState


@dataclass(frozen=True)
class CommitBase:
    """A table at its newest version.

    :param state: with its files
    :param protocol: the protocol action as it is in the log, with keys that nobody knows
    :param metadata: the metaData action, likewise
    :param previous: the commit of that version; None where only a checkpoint is left of it
    """

    state: TableState
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    previous: Commit | None = None
