"""Paths of columns before and after the steps and renames of a migration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_delta_provider.domain.changes.step import (
    AddColumns,
    ColumnName,
    ForbidNulls,
    InOneCommit,
    Parts,
    RenameColumns,
    Step,
)
from airflow_delta_provider.domain.delta.column import lowered


def earlier_path(parts: Parts, steps: Sequence[Step]) -> Parts | None:
    """Return the path that a column had before ``steps``; None if one of them adds it.

    :param parts: path after the steps
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
            path = before_renames(path, step.columns)
    return path


def before_renames(path: Parts, renames: Sequence[ColumnName]) -> Parts:
    """Return a path as it was before all renames.

    The renames' own paths are those before any of them.
    """
    old: Parts = ()
    for name in path:
        names = (
            rename.parts[-1]
            for rename in renames
            if lowered(rename.parts[:-1]) == lowered(old) and rename.new.lower() == name.lower()
        )
        old = (*old, next(names, name))
    return old


def renamed_path(path: Parts, renames: Mapping[Parts, str]) -> Parts:
    """Return a path after all renames, which name columns by their paths before."""
    return tuple(renames.get(path[: length + 1], path[length]) for length in range(len(path)))


def forbidden_nulls(step: Step, before: Sequence[Step] = ()) -> Iterator[tuple[Parts, Parts | None]]:
    """Yield the columns that a step sets NOT NULL, each with its path before ``before``.

    That path is None if the column did not exist.

    :param before: steps that come before this one
    """
    if isinstance(step, ForbidNulls):
        yield from ((parts, earlier_path(parts, before)) for parts in step.columns)
    elif isinstance(step, InOneCommit):
        for index, each in enumerate(step.steps):
            yield from forbidden_nulls(each, (*before, *step.steps[:index]))
