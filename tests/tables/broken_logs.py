"""Delta tables whose log was broken on purpose, one way each; built on the table of ``protocols.legacy``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.tables import log
from tests.tables.beginning import beginning_as
from tests.tables.protocols import legacy


@beginning_as(legacy)
def gap(spark: SparkSession, path: Path) -> None:
    """Commit 1 of 0, 1, 2 is missing, and there is no checkpoint."""
    log.log_file(path, 1).unlink()


@beginning_as(legacy)
def truncated_last_commit(spark: SparkSession, path: Path) -> None:
    """The last commit ends in the middle of a line."""
    last = log.log_file(path, log.newest(path))
    last.write_bytes(last.read_bytes()[:-40])


@beginning_as(legacy)
def empty_last_commit(spark: SparkSession, path: Path) -> None:
    """The last commit has no byte."""
    log.log_file(path, log.newest(path)).write_bytes(b"")


@beginning_as(legacy)
def no_protocol(spark: SparkSession, path: Path) -> None:
    """No commit has a protocol action."""
    first = log.log_file(path, 0)
    kept = [line for line in first.read_text().splitlines() if "protocol" not in json.loads(line)]
    first.write_text("\n".join(kept) + "\n")


@beginning_as(legacy)
def damaged_schema(spark: SparkSession, path: Path) -> None:
    """The schema string of the newest metadata is cut."""
    metadata = log.last(path, "metaData")
    log.commit(path, {"metaData": {**metadata, "schemaString": metadata["schemaString"][:30]}})


def _with_features(path: Path, reader: list[str], writer: list[str]) -> None:
    protocol: dict[str, Any] = {
        "minReaderVersion": 3 if reader else 1,
        "minWriterVersion": 7,
        "writerFeatures": writer,
    }
    if reader:
        protocol["readerFeatures"] = reader
    log.commit(path, {"commitInfo": {"operation": "UPGRADE PROTOCOL"}}, {"protocol": protocol})


@beginning_as(legacy)
def catalog_managed(spark: SparkSession, path: Path) -> None:
    """The protocol lists ``catalogManaged``."""
    _with_features(
        path,
        ["catalogManaged", "vacuumProtocolCheck"],
        ["catalogManaged", "vacuumProtocolCheck", "inCommitTimestamp"],
    )


@beginning_as(legacy)
def unknown_reader_feature(spark: SparkSession, path: Path) -> None:
    """A feature that no engine knows, for readers and writers."""
    _with_features(path, ["hologram"], ["hologram"])


@beginning_as(legacy)
def unknown_writer_feature(spark: SparkSession, path: Path) -> None:
    """A feature that no engine knows, for writers."""
    _with_features(path, [], ["hologram"])
