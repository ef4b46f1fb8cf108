"""What the steps of a migration do to a table, for the rules about plans."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from airflow_delta_provider.domain.changes import step as steps_of
from airflow_delta_provider.domain.changes.step import ColumnName, Step
from airflow_delta_provider.domain.checks.migrations.planned import (
    Added,
    DroppedFeature,
    Path,
    PlannedMigration,
    Renamed,
    Retyped,
)
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState


def planned_migration(
    steps: Iterable[Step],
    before: TableState,
    *,
    features_added: Collection[str] | None = None,
    most_rewritten: int | None = None,
) -> PlannedMigration:
    """Return what steps do to a table.

    :param before: the table; with its files, rules know whether it has rows
    :param features_added: to its protocol; None for those that the steps name
    :param most_rewritten: bytes that policy lets a migration rewrite; None for no limit
    """
    effects = _Effects()
    for step in steps:
        effects.take(step)
    found = effects.features if features_added is None else features_added
    return PlannedMigration(
        before=before,
        features_added=tuple(sorted(set(found) - before.protocol.features)),
        most_rewritten=most_rewritten,
        **effects.found,
    )


class _Effects:
    """Collects what steps do, in their order."""

    def __init__(self) -> None:
        self.features: set[str] = set()
        self._lists: dict[str, list[Any]] = {}
        self._mappings: dict[str, dict[Any, Any]] = {}
        self._values: dict[str, Any] = {}
        #: The renames up to now: for each step, new names by the paths before it.
        self._renames: list[Mapping[Path, str]] = []

    @property
    def found(self) -> dict[str, Any]:
        """The parameters of the value."""
        return {
            **{name: tuple(values) for name, values in self._lists.items()},
            **self._mappings,
            **self._values,
        }

    def take(self, step: Step) -> None:
        """Take the next step."""
        _HANDLERS.get(type(step), _nothing)(self, step)

    def _add(self, name: str, values: Iterable[Any]) -> None:
        self._lists.setdefault(name, []).extend(values)

    def _put(self, name: str, values: Mapping[Any, Any]) -> None:
        self._mappings.setdefault(name, {}).update(values)

    def _before(self, path: Path) -> Path:
        """Return the path that a column had before all renames."""
        for renames in reversed(self._renames):
            path = _renamed_back(path, renames)
        return path

    def _rename(self, columns: Iterable[ColumnName]) -> None:
        renames = {column.parts: column.new for column in columns}
        renamed = [Renamed(self._before(parts), renamed_path(parts, renames)) for parts in renames]
        self._add("renamed", (each for each in renamed if each.old != each.new))
        self._renames.append(renames)

    def _drop(self, columns: Iterable[Path]) -> None:
        self._add("dropped", map(self._before, columns))

    def _rewritten(self, files: int, size: int) -> None:
        self._values["rewritten_files"] = self._values.get("rewritten_files", 0) + files
        self._values["rewritten_size"] = self._values.get("rewritten_size", 0) + size

    def in_one_commit(self, step: steps_of.InOneCommit) -> None:
        for each in step.steps:
            self.take(each)

    def set_properties(self, step: steps_of.SetProperties) -> None:
        self._put("properties", dict(step.properties))
        self.features.update(step.enables)

    def unset_properties(self, step: steps_of.UnsetProperties) -> None:
        self._put("properties", dict.fromkeys(step.names))

    def widen(self, step: steps_of.WidenColumns) -> None:
        self._add(
            "retyped",
            (Retyped(self._before(c.parts), parse_sql_type(c.old), parse_sql_type(c.new)) for c in step.columns),
        )

    def add(self, step: steps_of.AddColumns) -> None:
        self._add("added", (Added(column.parts, column.data_type) for column in step.columns))

    def drop(self, step: steps_of.DropColumns) -> None:
        self._drop(step.columns)

    def rename(self, step: steps_of.RenameColumn) -> None:
        self._rename((step.column,))

    def rename_all(self, step: steps_of.RenameColumns) -> None:
        self._rename(step.columns)

    def alter(self, step: steps_of.Alteration) -> None:
        self._drop(step.drops)
        for column in step.renames:
            self._rename((column,))
        self._add("added", (Added(column.parts, column.data_type) for column in step.adds))

    def order(self, step: steps_of.OrderFields) -> None:
        self._add("reordered", (self._before(step.parent),))

    def allow_nulls(self, step: steps_of.AllowNulls) -> None:
        self._add("nulls_allowed", map(self._before, step.columns))

    def forbid_nulls(self, step: steps_of.ForbidNulls) -> None:
        self._add("nulls_forbidden", map(self._before, step.columns))

    def set_defaults(self, step: steps_of.SetDefaults) -> None:
        self._put("defaults", {self._before(each.parts): each.text for each in step.columns if each.text is not None})

    def add_constraint(self, step: steps_of.AddConstraint) -> None:
        self._put("constraints", {step.name: step.expression})

    def drop_constraint(self, step: steps_of.DropConstraint) -> None:
        self._put("constraints", {step.name: None})

    def cluster(self, step: steps_of.ClusterBy) -> None:
        self._values["cluster_by"] = tuple(step.columns)

    def rewrite(self, step: steps_of.RewriteTable) -> None:
        retyped = (
            Retyped(self._before(c.parts), parse_sql_type(c.old), parse_sql_type(c.new), c.null_on_loss)
            for c in step.casts
        )
        self._add("retyped", retyped)
        if step.partition_by is not None:
            self._values["partition_by"] = tuple(step.partition_by)
        self._values["rewrites_all"] = True
        self._rewritten(step.files, step.size)

    def drop_feature(self, step: steps_of.DropFeature) -> None:
        self._add("features_dropped", (DroppedFeature(step.feature, step.truncate_history),))
        self._rewritten(step.files, step.size)


def _nothing(_: _Effects, step: Step) -> None:
    del step


_HANDLERS: Mapping[type[Step], Callable[[_Effects, Any], None]] = {
    steps_of.InOneCommit: _Effects.in_one_commit,
    steps_of.SetProperties: _Effects.set_properties,
    steps_of.UnsetProperties: _Effects.unset_properties,
    steps_of.WidenColumns: _Effects.widen,
    steps_of.AddColumns: _Effects.add,
    steps_of.DropColumns: _Effects.drop,
    steps_of.RenameColumn: _Effects.rename,
    steps_of.RenameColumns: _Effects.rename_all,
    steps_of.Alteration: _Effects.alter,
    steps_of.OrderFields: _Effects.order,
    steps_of.AllowNulls: _Effects.allow_nulls,
    steps_of.ForbidNulls: _Effects.forbid_nulls,
    steps_of.SetDefaults: _Effects.set_defaults,
    steps_of.AddConstraint: _Effects.add_constraint,
    steps_of.DropConstraint: _Effects.drop_constraint,
    steps_of.ClusterBy: _Effects.cluster,
    steps_of.RewriteTable: _Effects.rewrite,
    steps_of.DropFeature: _Effects.drop_feature,
}


def renamed_path(path: Path, renames: Mapping[Path, str]) -> Path:
    """Return the path after renames, which name columns as they were before."""
    return tuple(renames.get(path[: length + 1], path[length]) for length in range(len(path)))


def _renamed_back(path: Path, renames: Mapping[Path, str]) -> Path:
    """Return the path before renames, of one after them."""
    before: Path = ()
    for part in path:
        old = (parts for parts, new in renames.items() if parts[:-1] == before and lowered((new,)) == lowered((part,)))
        before = next(old, (*before, part))
    return before
