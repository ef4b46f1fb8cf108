"""A table that DAGs watch, and what they wrote down of it."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

Json = dict[str, Any]
#: Column mapping is on, which the protocol of the table does not support: CM01.
BROKEN = {"delta.columnMapping.mode": "name"}


class WatchedTable:
    """A table whose commits are written one by one, each whole.

    :param path: where it is watched
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = -1
        self.broken: list[int] = []
        """The versions that broke a rule which held before."""
        self._is_broken = False
        self._properties = 0

    def create(self) -> None:
        """Make the table: no rows, one column."""
        self.path.joinpath("_delta_log").mkdir(parents=True)
        self.write({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, metadata())

    def commit(self, *, breaks: bool | None = None) -> None:
        """Commit at random: a transaction, a property, a violation or its end.

        :param breaks: whether the table breaks a rule afterwards; None for at random
        """
        if breaks is None and random.random() < 0.7:
            self.write({"txn": {"appId": "writer", "version": self.version}})
            return
        breaks = random.random() < 0.3 if breaks is None else breaks
        self._properties += 1
        self.write(metadata(properties={"commit": str(self._properties), **(BROKEN if breaks else {})}))
        if breaks and not self._is_broken:
            self.broken.append(self.version)
        self._is_broken = breaks

    def write(self, *actions: Json, user: str | None = None) -> None:
        """Write the next commit: no reader sees half of it."""
        self.version += 1
        info = {"timestamp": int(time.time() * 1000), "operation": "SET TBLPROPERTIES", "version": self.version}
        lines = [{"commitInfo": {**info, "userName": user}}, *actions]
        part = self.path / "part"
        part.write_text("".join(json.dumps(line) + "\n" for line in lines))
        part.rename(self.path / "_delta_log" / f"{self.version:020d}.json")


def metadata(*columns: str, properties: Json | None = None) -> Json:
    """A metaData action of a table with an ``id`` and these columns of text."""
    fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("id", *columns)]
    return {
        "metaData": {
            "id": "watched",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": properties or {},
        }
    }


class Record:
    """What the DAGs of ``dags/watched_commits.py`` wrote down."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, key: str) -> list[Any]:
        """Return what was written under a key, oldest first."""
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [line[key] for line in map(json.loads, lines) if key in line]

    @property
    def audited(self) -> list[int]:
        """The versions that were audited, as often as they were."""
        ranges = [(first, commits) for first, commits, _ in self.of("audited") if first is not None]
        return [version for first, commits in ranges for version in range(first, first + commits)]

    @property
    def told(self) -> list[tuple[str, str, int]]:
        """The alerts, as often as they were told."""
        return [(news, code, version) for one in self.of("told") for news, code, version in one]
