"""The archive of tables: unpacked, and where each table in it is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

_ARCHIVE = Path(__file__).with_name("tables.tar.gz")

#: Histories of the archive whose every snapshot has its rows, files and metadata in :func:`expected`.
HISTORIES = (
    "worked/05_delete",
    "big/w1/06_delete",
    "big/p/final",
    "big/dv/06_call",
    "big/de/08_merge",
    "big/de3/07_call",
)


def unpack(target: Path) -> Path:
    """Unpack the archive, and return the directory that has what the names of histories are relative to."""
    shutil.unpack_archive(_ARCHIVE, target)
    return target / "paimon"


def table_of(unpacked: Path, name: str) -> Path:
    """Return the directory of a table: what it is called in the archive, or the warehouse that has it alone."""
    directory = unpacked / name
    return directory if (directory / "schema").is_dir() else next(directory.glob("db.db/*"))


def tables(unpacked: Path) -> list[Path]:
    """Return the directories of all tables."""
    return sorted(schema.parent for schema in unpacked.rglob("schema") if schema.is_dir())


def expected(unpacked: Path) -> dict[str, Any]:
    """Return what the connector itself says of the histories, by name."""
    found: dict[str, Any] = json.loads((unpacked / "expected" / "expected.json").read_text())
    return found
