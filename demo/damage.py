"""What no engine notices: a table whose log gives a file row ids that other rows have already."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from demo.table_log import TableLog


@dataclass(frozen=True)
class MovedBase:
    """A file whose ``baseRowId`` was changed in the log.

    :param version: version of the commit that was changed
    """

    path: str
    version: int
    old: int
    new: int


def copy_with_colliding_ids(table: Path, copy: Path, operation: str) -> MovedBase:
    """Copy a table, and let the largest file that a commit of ``operation`` added begin with row id 0.

    Only the commits are copied: checkpoints and checksums would still tell what was there before.
    """
    shutil.copytree(table, copy, ignore=shutil.ignore_patterns("*.crc", "*.checkpoint.*", "_last_checkpoint"))
    commit = next(c for c in TableLog(copy).commits() if c.operation == operation)
    path = copy / "_delta_log" / f"{commit.version:020d}.json"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    gone = {(line["remove"]["path"]) for line in lines if "remove" in line}
    added = [line["add"] for line in lines if "add" in line and line["add"]["path"] not in gone]
    add = max(added, key=lambda add: int(add["size"]))
    moved = MovedBase(add["path"], commit.version, add["baseRowId"], 0)
    add["baseRowId"] = 0
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return moved
