"""Where a column of a later schema was before steps that are committed together."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.changes.step import (
    AddColumns,
    ColumnName,
    InOneCommit,
    Parts,
    RenameColumn,
    RenameColumns,
    Step,
)
from airflow_delta_provider.domain.delta.column import lowered


def earlier_path(parts: Parts, steps: Sequence[Step]) -> Parts | None:
    """Return the path that a column had before ``steps``; None if one of them adds it.

    :param parts: its path after them
    """
    path: Parts | None = parts
    for step in reversed(steps):
        if path is None:
            return None
        if isinstance(step, InOneCommit):
            path = earlier_path(path, step.steps)
        elif isinstance(step, AddColumns):
            added = [lowered(column.parts) for column in step.columns]
            path = None if any(lowered(path)[: len(each)] == each for each in added) else path
        elif isinstance(step, RenameColumns):
            path = _before_renames(path, step.columns)
        elif isinstance(step, RenameColumn):
            path = _before_renames(path, (step.column,))
    return path


def _before_renames(path: Parts, renames: Sequence[ColumnName]) -> Parts:
    """Return a path before all of the renames, whose own paths are those before any of them."""
    old: Parts = ()
    for name in path:
        names = (
            rename.parts[-1]
            for rename in renames
            if lowered(rename.parts[:-1]) == lowered(old) and rename.new.lower() == name.lower()
        )
        old = (*old, next(names, name))
    return old
