"""Logs of long histories, as Delta Spark writes them, with statistics and without data files."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any, ClassVar

#: Files that each commit adds.
FILES = 10
#: Rows of a file.
ROWS = 100
_NAMES = (("id", "long"), ("day", "date"), ("amount", "double"), ("name", "string"))


class PlainLog:
    """Appends of ten files each to a table without features.

    :param since: time of the first commit in milliseconds; each later one follows a second after
    """

    protocol: ClassVar[dict[str, Any]] = {"minReaderVersion": 1, "minWriterVersion": 2}
    configuration: ClassVar[dict[str, str]] = {}

    def __init__(self, commits: int, since: int = 1_760_000_000_000) -> None:
        self.chance = random.Random(commits)
        self.commits = commits
        self.since = since

    def write(self, table: Path) -> None:
        """Write all commits."""
        log = table / "_delta_log"
        log.mkdir(parents=True)
        for version in range(self.commits):
            actions = self.actions(version, self.since + 1000 * version)
            text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
            (log / f"{version:020d}.json").write_text(text)

    def actions(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return a commit's actions.

        :param made: when, in milliseconds
        """
        info = {
            "timestamp": made,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": "[]"},
            "isBlindAppend": True,
            "operationMetrics": {"numFiles": str(FILES), "numOutputRows": "1000", "numOutputBytes": "10000"},
            "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0",
            "txnId": self.uuid(),
        }
        created = [{"metaData": self.metadata(made)}, {"protocol": self.protocol}] if version == 0 else []
        return [{"commitInfo": info}, *created, *self.changes(version, made)]

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return what a commit does to files and domains."""
        return [{"add": self.add(version, number, made)} for number in range(FILES)]

    def metadata(self, made: int) -> dict[str, Any]:
        """Return the ``metaData`` action."""
        fields = [self.column(name, kind, number) for number, (name, kind) in enumerate(_NAMES, start=1)]
        return {
            "id": self.uuid(),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": self.configuration,
            "createdTime": made,
        }

    def column(self, name: str, kind: str, number: int) -> dict[str, Any]:
        """Return a field of the schema.

        :param number: its place, from 1 on
        """
        return {"name": name, "type": kind, "nullable": True, "metadata": self.mapping(name, number)}

    def mapping(self, name: str, number: int) -> dict[str, Any]:  # noqa: ARG002 - a mapped table has some
        """Return the metadata of a field."""
        return {}

    def add(self, version: int, number: int, made: int) -> dict[str, Any]:
        """Return an ``add`` action."""
        values = (version * 1000 + number, "2026-01-01", 0.5, "aaaa"), (version * 1000 + 99, "2026-01-31", 99.5, "zzzz")
        names = [self.stored(name) for name, _ in _NAMES]
        low, high = (dict(zip(names, each, strict=True)) for each in values)
        stats = {"numRecords": ROWS, "minValues": low, "maxValues": high, "nullCount": dict.fromkeys(low, 0)}
        return {
            "path": f"part-{number:05d}-{self.uuid()}-c000.snappy.parquet",
            "partitionValues": {},
            "size": 1000 + number,
            "modificationTime": made,
            "dataChange": True,
            "stats": json.dumps(stats, separators=(",", ":")),
        }

    def stored(self, name: str) -> str:
        """Return the name of a column in files and statistics."""
        return name

    def uuid(self) -> str:
        """Return a random one, the same in each run."""
        return str(uuid.UUID(int=self.chance.getrandbits(128)))


class RowTrackedLog(PlainLog):
    """The same, with row tracking: each commit raises the high water mark."""

    protocol: ClassVar[dict[str, Any]] = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["domainMetadata", "rowTracking"],
    }
    configuration: ClassVar[dict[str, str]] = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    }

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return the files with their row ids, and the mark."""
        first = version * FILES * ROWS
        mark = {"rowIdHighWaterMark": first + FILES * ROWS - 1, "domainName": "delta.rowTracking"}
        ids = ({"baseRowId": first + number * ROWS, "defaultRowCommitVersion": version} for number in range(FILES))
        adds = [{"add": {**self.add(version, number, made), **each}} for number, each in enumerate(ids)]
        configuration = json.dumps(mark, separators=(",", ":"))
        domain = {"domain": "delta.rowTracking", "configuration": configuration, "removed": False}
        return [{"domainMetadata": domain}, *adds]


class MappedLog(PlainLog):
    """The same, with columns mapped by name, and deletion vectors: each second commit deletes rows of ten files."""

    protocol: ClassVar[dict[str, Any]] = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["columnMapping", "deletionVectors"],
        "writerFeatures": ["appendOnly", "columnMapping", "deletionVectors", "invariants"],
    }
    configuration: ClassVar[dict[str, str]] = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(len(_NAMES)),
        "delta.enableDeletionVectors": "true",
    }

    def __init__(self, commits: int) -> None:
        super().__init__(commits)
        self._live: list[dict[str, Any]] = []

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return files, or deletion vectors of the last ones."""
        if version % 2 == 0:
            self._live = [self.add(version, number, made) for number in range(FILES)]
            return [{"add": add} for add in self._live]
        vectors = [self._vector(number) for number in range(FILES)]
        removes = [self._remove(add, made) for add in self._live]
        adds = [{**add, "deletionVector": vector} for add, vector in zip(self._live, vectors, strict=True)]
        return [*({"add": add} for add in adds), *({"remove": remove} for remove in removes)]

    def mapping(self, name: str, number: int) -> dict[str, Any]:
        """Return the id and the physical name of a field."""
        return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": self.stored(name)}

    def stored(self, name: str) -> str:
        """Return the physical name."""
        return f"col-{uuid.uuid5(uuid.NAMESPACE_OID, name)}"

    def _vector(self, number: int) -> dict[str, Any]:
        stored = "".join(self.chance.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(20))
        return {
            "storageType": "u",
            "pathOrInlineDv": stored,
            "offset": 1 + 40 * number,
            "sizeInBytes": 34,
            "cardinality": 1,
        }

    @staticmethod
    def _remove(add: dict[str, Any], made: int) -> dict[str, Any]:
        kept = {key: add[key] for key in ("path", "partitionValues", "size", "stats")}
        return {**kept, "deletionTimestamp": made, "dataChange": True, "extendedFileMetadata": True}


class ChecksummedLog(PlainLog):
    """The plain one, with a checksum file for each commit, without a list of the files: the table has too many."""

    _BOUNDS: ClassVar[list[int]] = [0, *(8192 << power for power in range(10)), *range(1 << 23, 347 << 20, 1 << 22)]

    def write(self, table: Path) -> None:
        """Write all commits, and a checksum file for each."""
        super().write(table)
        log = table / "_delta_log"
        head: dict[str, Any] = {}
        files = size = 0
        for version in range(self.commits):
            actions = [json.loads(line) for line in (log / f"{version:020d}.json").read_text().splitlines()]
            adds = [action["add"] for action in actions if "add" in action]
            head |= {kind: action[kind] for action in actions for kind in ("metaData", "protocol") if kind in action}
            files, size = files + len(adds), size + sum(add["size"] for add in adds)
            none = [0] * (len(self._BOUNDS) - 1)
            histogram = {"sortedBinBoundaries": self._BOUNDS, "fileCounts": [files, *none], "totalBytes": [size, *none]}
            checksum = {
                "txnId": actions[0]["commitInfo"]["txnId"],
                "tableSizeBytes": size,
                "numFiles": files,
                "numMetadata": 1,
                "numProtocol": 1,
                "setTransactions": [],
                "domainMetadata": [],
                "metadata": head["metaData"],
                "protocol": head["protocol"],
                "fileSizeHistogram": histogram,
            }
            (log / f"{version:020d}.crc").write_text(json.dumps(checksum, separators=(",", ":")))


LOGS: dict[str, type[PlainLog]] = {
    "plain": PlainLog,
    "row tracking": RowTrackedLog,
    "mapped, vectors": MappedLog,
    "checksum files": ChecksummedLog,
}


def write_log(table: Path, commits: int, kind: str = "plain") -> None:
    """Write the log of a table.

    :param kind: a key of :data:`LOGS`
    """
    LOGS[kind](commits).write(table)
