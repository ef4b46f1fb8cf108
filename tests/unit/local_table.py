"""A table whose log lies on disk, read by the real reader and written by puts that fail as storages do; no Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.commit import parse_commit
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointFiles
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.storage.local_storage import LocalStorage
from tests.unit.log_builder import Actions, Table


def open_log(storage: Any, location: str) -> TableLog:
    """Return the log of a table, without Spark.

    :param storage: any storage: the border of a table is not what these tests are about
    """
    return TableLog(storage, location, CheckpointFiles(storage))


class OnDisk:
    """A table, commit by commit on disk, with what :class:`Table` can write to it."""

    def __init__(self, path: Path, table: Table) -> None:
        self.log = path / "_delta_log"
        self.log.mkdir(parents=True)
        self._table = table
        for version, actions in enumerate(table.commits):
            self._write(version, actions)
        location = f"file:{path}"
        self.opened = OpenTable(TableName.parse(str(path)), location, open_log(LocalStorage(), location))

    def others(self, change: Callable[[Table], Any]) -> None:
        """Let another writer commit."""
        table = Table.of(self.commits())
        first = len(table.commits)
        table._counter += first  # each writer names its files anew
        change(table)
        for version in range(first, len(table.commits)):
            self._write(version, table.commits[version])

    def commits(self) -> list[Actions]:
        names = sorted(path.name for path in self.log.glob("*.json"))
        return [parse_commit(name, (self.log / name).read_bytes()) for name in names]  # type: ignore[misc]  # of commits

    @property
    def newest(self) -> Actions:
        return self.commits()[-1]

    def _write(self, version: int, actions: Actions) -> None:
        lines = [json.dumps(action) for action in actions]
        LocalStore(self.log).put(version, lines)


class LocalStore:
    """Puts commits into a directory, only where none is there.

    :param before: runs before each put, with its number
    :param after: runs after each put that wrote
    """

    def __init__(
        self,
        log: Path,
        before: Callable[[int], None] = lambda _: None,
        after: Callable[[int], None] = lambda _: None,
        name: str = "io.delta.storage.HDFSLogStore",
    ) -> None:
        self._log = log
        self._before = before
        self._after = after
        self.name = name
        self.puts = 0

    def put(self, version: int, lines: Sequence[str]) -> None:
        self.puts += 1
        self._before(self.puts)
        with open(self._log / commit_name(version), "x", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        self._after(self.puts)

    def refresh(self) -> None:
        pass
