"""Reading a table's log into values: JSON commits directly, Parquet checkpoints through Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    LogSegment,
    NoLogError,
    commit_name,
    commit_versions,
    select_segment,
)
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.jobs.storage import HadoopStorage, literal_paths

_STATE_KINDS = ("protocol", "metaData", "domainMetadata", "sidecar")
_FILE_FIELDS = ("path", "size", "baseRowId", "defaultRowCommitVersion", "deletionVector")


class TableLog:
    """The ``_delta_log`` of one table."""

    def __init__(self, spark: SparkSession, storage: HadoopStorage, location: str) -> None:
        self._spark = spark
        self._storage = storage
        self._directory = f"{location.rstrip('/')}/_delta_log"

    def exists(self) -> bool:
        """Whether there is a log at all, whole or broken."""
        try:
            select_segment(self._storage.list_names(self._directory))
        except (FileNotFoundError, NoLogError):
            return False
        except BrokenLogError:
            pass
        return True

    def read_state(self, *, with_files: bool = False, version: int | None = None) -> TableState:
        """Replay the log up to ``version``, by default the newest.

        :param with_files: also the live files; without, only their actions are skipped
        :raises FileNotFoundError: if there is no ``_delta_log``
        :raises BrokenLogError: if the log has a gap, is damaged or has no protocol or metadata
        """
        segment = select_segment(self._storage.list_names(self._directory), version)
        replay = Replay(with_files=with_files)
        replay.take(self._checkpoint_actions(segment, with_files))
        for name in segment.commits:
            replay.take(self.read_commit(name))
        return replay.state(segment.version)

    def read_commit(self, name: str) -> list[Action]:
        """Return the actions of a commit file.

        :raises BrokenLogError: if it is damaged
        """
        return parse_commit(name, self._storage.read(f"{self._directory}/{name}"))

    def commits_after(self, version: int) -> Iterator[tuple[int, list[Action]]]:
        """Yield the commits after ``version``, oldest first, with their versions."""
        for later in commit_versions(self._storage.list_names(self._directory)):
            if later > version:
                yield later, self.read_commit(commit_name(later))

    def _checkpoint_actions(self, segment: LogSegment, with_files: bool) -> Iterator[Action]:
        for name in segment.checkpoint_files:
            path = f"{self._directory}/{name}"
            sidecars = []
            actions = (
                iter(parse_commit(name, self._storage.read(path)))
                if name.endswith(".json")
                else self._parquet_actions(path, with_files)
            )
            for action in actions:
                if action.get("sidecar"):
                    sidecars.append(action["sidecar"]["path"])
                yield action
            if with_files:
                for sidecar in sidecars:
                    yield from self._parquet_actions(f"{self._directory}/_sidecars/{sidecar}", with_files)

    def _parquet_actions(self, path: str, with_files: bool) -> Iterator[Action]:
        rows = literal_paths(self._spark).parquet(path)
        columns = [kind for kind in _STATE_KINDS if kind in rows.columns]
        condition = " OR ".join(f"{kind} IS NOT NULL" for kind in columns)
        selected = [f"to_json({kind}) AS {kind}" for kind in columns]
        if with_files and "add" in rows.columns:
            present: Any = rows.schema["add"].dataType
            fields = ", ".join(f"'{name}', add.{name}" for name in _FILE_FIELDS if name in present.names)
            selected.append(f"CASE WHEN add IS NOT NULL THEN to_json(named_struct({fields})) END AS add")
            condition = " OR ".join(filter(None, [condition, "add IS NOT NULL"]))
        if not selected:
            raise BrokenLogError(f"checkpoint file {path.rsplit('/', 1)[-1]} holds no actions")
        for row in rows.where(condition).selectExpr(*selected).collect():
            yield {kind: json.loads(text) for kind, text in row.asDict().items() if text is not None}
