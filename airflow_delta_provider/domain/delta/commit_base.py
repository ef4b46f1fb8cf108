"""The version that a commit of this provider will follow, as values and as in the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import TableState


@dataclass(frozen=True)
class CommitBase:
    """A table at its newest version.

    :param state: state of the table, with its files
    :param protocol: protocol action as in the log, with unknown keys
    :param metadata: metaData action as in the log, with unknown keys
    :param previous: commit of that version; None if only a checkpoint of it is left
    """

    state: TableState
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]
    previous: Commit | None = None
