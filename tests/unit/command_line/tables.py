"""Tables on disk for the tests of the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.damages import FIRST
from tests.unit.damages.histories import plain
from tests.unit.damages.steps import carry_on
from tests.unit.log_builder import Table


def write(folder: Path, table: Table) -> Path:
    """Write the log of a table."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(table.commits):
        text = "".join(f"{json.dumps(action)}\n" for action in actions)
        (log / f"{version:020d}.json").write_text(text, encoding="utf-8")
    return folder


def sound(folder: Path) -> Path:
    """Write a table that breaks no rule."""
    return write(folder, plain().append().append())


def damaged(folder: Path, code: str) -> Path:
    """Write a table with a commit that breaks a rule."""
    return write(folder, history(code))


def damaged_again(folder: Path, code: str, other: str) -> Path:
    """Write the table of :func:`damaged` with a later commit that breaks another rule, too."""
    return write(folder, _broken(Table.of(history(code).commits), other))


def history(code: str) -> Table:
    """Return a table that breaks a rule."""
    return _broken(FIRST[code].before(), code)


def _broken(table: Table, code: str) -> Table:
    case = FIRST[code]
    table = table.damaged(case.damage)
    case.step(table)
    (case.then or carry_on)(table)
    return table


def unreadable(folder: Path) -> Path:
    """Write a table with a directory where a commit has to be."""
    sound(folder)
    newest = max((folder / "_delta_log").iterdir())
    newest.unlink()
    newest.mkdir()
    return folder
