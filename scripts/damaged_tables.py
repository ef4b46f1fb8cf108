"""Writes the damaged tables of the unit tests to a directory: ``python -m scripts.damaged_tables DIRECTORY``.

For :mod:`scripts.compare_reports`. They are logs without data files, but for the tables of Apache Paimon. Tables with
data files are what the Spark tier leaves behind with ``--basetemp DIRECTORY -o tmp_path_retention_policy=all``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.tables.delta_spark_4_0 import logs
from tests.tables.paimon.archive import unpack
from tests.unit.damages import CASES
from tests.unit.damages.histories import KEY, V
from tests.unit.damages.steps import carry_on
from tests.unit.log_builder import Table


def main(directory: Path) -> None:
    """Write all tables."""
    for case in CASES:
        table = case.before().damaged(case.damage)
        before = table.version
        case.step(table)
        (case.then or carry_on)(table)
        step = getattr(case.step, "__name__", "step")
        name = _named(f"{case.code} {case.name or case.before.__name__} {step}")
        write(directory / "logs" / name, table)
        write(directory / "logs" / f"{name}-replaced", Table.of(table.commits).replace(KEY, V).append())
        write(directory / "logs" / f"{name}-restored", _restored(table, before).append())
    for name, files in logs().items():
        _write(directory / "logs" / _named(f"Delta Spark 4.0 {name}"), files)
    unpack(directory)


def write(path: Path, table: Table) -> None:
    """Write the log of a table."""
    commits = ("".join(f"{json.dumps(action)}\n" for action in actions) for actions in table.commits)
    _write(path, {f"{version:020d}.json": text.encode() for version, text in enumerate(commits)})


def _restored(table: Table, version: int) -> Table:
    restored = Table.of(table.commits)
    restored.restore(version)
    return restored


def _write(path: Path, files: Mapping[str, bytes]) -> None:
    log = path / "_delta_log"
    log.mkdir(parents=True)
    for name, content in files.items():
        (log / name).write_bytes(content)


def _named(text: str) -> str:
    return re.sub(r"\W+", "-", text).strip("-")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path, help="is made")
    main(parser.parse_args(sys.argv[1:]).directory)
