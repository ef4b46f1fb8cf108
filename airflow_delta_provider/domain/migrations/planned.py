"""The combined changes of a migration's steps, for the rules about plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from airflow_delta_provider.domain.changes import step as steps_of
from airflow_delta_provider.domain.changes.step import ColumnName, ColumnType, Parts, Step, each_step
from airflow_delta_provider.domain.checks.migrations.planned import (
    Added,
    DroppedFeature,
    PlannedMigration,
    Renamed,
    Retyped,
)
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.earlier_path import before_renames, renamed_path

#: Fields that the last step decides. All other changes add up.
_LAST_DECIDES = ("partition_by", "cluster_by", "rewrites_all")


def planned_migration(
    steps: Iterable[Step],
    before: TableState,
    *,
    features_added: Collection[str] | None = None,
    most_rewritten: int | None = None,
) -> PlannedMigration:
    """Return the combined changes of steps on a table.

    :param before: state of the table; with its files, rules know whether it has rows
    :param features_added: features added to its protocol; None for the features that the steps name
    :param most_rewritten: maximum number of bytes that policy lets a migration rewrite; None for no limit
    """
    found: dict[str, Any] = {}
    for step, origin in _with_origins(steps):
        for name, value in _effects(step, origin).items():
            found[name] = _joined(found[name], value) if name in found and name not in _LAST_DECIDES else value
    added = found.pop("features_added", ()) if features_added is None else features_added
    found["features_added"] = tuple(sorted(set(added) - before.protocol.features))
    return PlannedMigration(before=before, most_rewritten=most_rewritten, **found)


def _joined(before: Any, more: Any) -> Any:
    return {**before, **more} if isinstance(more, Mapping) else before + more


def _with_origins(steps: Iterable[Step]) -> Iterator[tuple[Step, Callable[[Parts], Parts]]]:
    """Yield each step with a function from a column's path to its path before all renames."""
    renames: list[tuple[ColumnName, ...]] = []
    for step in each_step(steps):
        yield step, partial(_origin, tuple(reversed(renames)))
        if isinstance(step, steps_of.RenameColumns):
            renames.append(step.columns)


def _origin(renames: Iterable[tuple[ColumnName, ...]], path: Parts) -> Parts:
    for columns in renames:
        path = before_renames(path, columns)
    return path


def _effects(step: Step, origin: Callable[[Parts], Parts]) -> dict[str, Any]:
    """Return the changes of a step, as fields of :class:`PlannedMigration`."""
    match step:
        case steps_of.SetProperties():
            return {"properties": dict(step.properties), "features_added": step.enables}
        case steps_of.UnsetProperties():
            return {"properties": dict.fromkeys(step.names)}
        case steps_of.AddColumns():
            return {"added": tuple(Added(column.parts, column.data_type) for column in step.columns)}
        case steps_of.DropColumns():
            return {"dropped": tuple(map(origin, step.columns))}
        case steps_of.RenameColumns():
            renames = {column.parts: column.new for column in step.columns}
            renamed = (Renamed(origin(parts), renamed_path(parts, renames)) for parts in renames)
            return {"renamed": tuple(each for each in renamed if each.old != each.new)}
        case steps_of.WidenColumns():
            return {"retyped": tuple(_retyped(column, origin) for column in step.columns)}
        case steps_of.OrderFields():
            return {"reordered": (origin(step.parent),)}
        case steps_of.AllowNulls():
            return {"nulls_allowed": tuple(map(origin, step.columns))}
        case steps_of.ForbidNulls():
            return {"nulls_forbidden": tuple(map(origin, step.columns))}
        case steps_of.SetDefaults():
            return {"defaults": {origin(c.parts): c.text for c in step.columns if c.text is not None}}
        case steps_of.AddConstraint():
            return {"constraints": {step.name: step.expression}}
        case steps_of.DropConstraint():
            return {"constraints": {step.name: None}}
        case steps_of.ClusterBy():
            return {"cluster_by": step.columns}
        case steps_of.RewriteTable():
            partitions = {} if step.partition_by is None else {"partition_by": step.partition_by}
            retyped = tuple(_retyped(cast, origin, null_on_loss=cast.null_on_loss) for cast in step.casts)
            return {"retyped": retyped, **partitions, "rewrites_all": True, **_rewritten(step)}
        case steps_of.DropFeature():
            return {"features_dropped": (DroppedFeature(step.feature, step.truncate_history),), **_rewritten(step)}
        case _:
            return {}


def _retyped(column: ColumnType, origin: Callable[[Parts], Parts], *, null_on_loss: bool = False) -> Retyped:
    return Retyped(origin(column.parts), parse_sql_type(column.old), parse_sql_type(column.new), null_on_loss)


def _rewritten(step: steps_of.RewriteTable | steps_of.DropFeature) -> dict[str, int]:
    return {"rewritten_files": step.files, "rewritten_size": step.size}
