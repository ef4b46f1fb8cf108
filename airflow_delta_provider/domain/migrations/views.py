"""Which of the views that a spec names a step breaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.step import Parts, Step
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.migrations.earlier_path import earlier_path
from airflow_delta_provider.domain.spec.table_spec import View


def broken_views(step: Step, earlier: Sequence[Step], views: Sequence[View]) -> Iterator[str]:
    """Yield what becomes of views, in sentences.

    :param step: a single one
    :param earlier: the steps before it
    :param views: with the names that columns had before all of these
    """
    if not views:
        return
    for parts, change in _changes(step).items():
        path = earlier_path(parts, earlier)
        for view in views if path is not None else ():
            if path is not None and _reads(view, path):
                yield f"The view {view.name} reads {path_text(path)}, which {change}."


def _reads(view: View, path: Parts) -> bool:
    """Whether a view reads a column, a parent of it, or a field below it."""
    if view.columns is None:
        return True
    wanted = lowered(path)
    return any(wanted[: len(read)] == read[: len(wanted)] for read in map(lowered, view.columns))


_DROPPED = "is dropped: it fails"
_RENAMED = "is renamed to {}: it fails until it is created again"
_RETYPED = "becomes {}: it fails or overflows until it is created again"


def _changes(step: Step) -> Mapping[Parts, str]:
    """Return the columns that a step changes for those who read them, each with the end of a sentence."""
    match step:
        case steps.DropColumns():
            return dict.fromkeys(step.columns, _DROPPED)
        case steps.RenameColumns():
            return {column.parts: _RENAMED.format(column.new) for column in step.columns}
        case steps.WidenColumns():
            return {column.parts: _RETYPED.format(column.new) for column in step.columns}
        case steps.RewriteTable():
            return {cast.parts: _RETYPED.format(cast.new) for cast in step.casts}
        case _:
            return {}
