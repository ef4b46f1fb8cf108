"""How a table differs from its spec in what is not of its columns."""

from __future__ import annotations

from airflow_delta_provider.domain.changes.step import (
    AddConstraint,
    CommentTable,
    DropConstraint,
    Parts,
    UnsetProperties,
)
from airflow_delta_provider.domain.delta.clustering import clustering_of
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.expression import same_expression
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.spec.table_spec import TableSpec, Unsaid


def new_constraints(metadata: Metadata, spec: TableSpec) -> tuple[AddConstraint, ...]:
    """Return the CHECK constraints that are missing, or have another expression."""
    known = {name.lower(): expression for name, expression in metadata.check_constraints.items()}
    return tuple(
        AddConstraint(name, expression)
        for name, expression in spec.constraints.items()
        if expression is not None and not (name.lower() in known and same_expression(expression, known[name.lower()]))
    )


def old_constraints(metadata: Metadata, spec: TableSpec) -> tuple[DropConstraint, ...]:
    """Return the CHECK constraints that go, those that get another expression included."""
    wanted = {name.lower(): expression for name, expression in spec.constraints.items()}
    return tuple(
        DropConstraint(name)
        for name, expression in metadata.check_constraints.items()
        if _goes(wanted.get(name.lower()), expression, named=name.lower() in wanted, exact=spec.exact)
    )


def _goes(wanted: str | None, expression: str, *, named: bool, exact: bool) -> bool:
    if not named:
        return exact
    return wanted is None or not same_expression(wanted, expression)


def new_properties(metadata: Metadata, spec: TableSpec) -> dict[str, str]:
    """Return the properties that are missing, or have another value, in the spelling that the table has."""
    known = {name.lower(): name for name in metadata.configuration}
    wanted = {known.get(name.lower(), name): value for name, value in spec.properties.items() if value is not None}
    return {name: value for name, value in wanted.items() if metadata.configuration.get(name) != value}


def old_properties(metadata: Metadata, spec: TableSpec) -> UnsetProperties | None:
    """Return the properties that go: with ``exact``, all that are not named, but for those that writers keep.

    Neither do those go that enable a table feature, which is declared by its name, nor constraints.
    """
    named = {name.lower(): value for name, value in spec.properties.items()}
    kept = {name.lower() for name in WRITER_OWNED_PROPERTIES}
    kept |= {feature.enabling_property.lower() for feature in FEATURES.values() if feature.enabling_property}
    gone = [
        name
        for name in metadata.configuration
        if (name.lower() in named and named[name.lower()] is None)
        or (
            spec.exact
            and name.lower() not in named
            and name.lower() not in kept
            and not name.lower().startswith((CONSTRAINT_PREFIX, *_KEPT))
        )
    ]
    return UnsetProperties(tuple(sorted(gone))) if gone else None


#: Settings of these are not properties that somebody declares.
_KEPT = ("delta.columnmapping.", "delta.rowtracking", "delta.incommittimestamp", "delta.requirecheckpointprotection")


def new_comment(metadata: Metadata, spec: TableSpec) -> CommentTable | None:
    """Return the step that sets the table's comment, or removes it."""
    if isinstance(spec.comment, Unsaid) or (spec.comment or None) == (metadata.description or None):
        return None
    return CommentTable(spec.comment or None)


def is_partitioned_otherwise(metadata: Metadata, spec: TableSpec) -> bool:
    """Whether the spec declares other partition columns."""
    return spec.partition_by is not None and lowered(spec.partition_by) != lowered(metadata.partition_columns)


def is_clustered_otherwise(state: TableState, spec: TableSpec) -> bool:
    """Whether the spec declares other clustering columns."""
    if spec.cluster_by is None:
        return False
    return [lowered(path) for path in spec.cluster_by] != [lowered(path) for path in clustered_by(state)]


def clustered_by(state: TableState) -> list[Parts]:
    """Return the columns that a table is clustered by: the domain has their names in data files."""
    return clustering_of(state.metadata, state.domains)
