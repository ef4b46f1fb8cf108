"""Differences between a table and its spec, except for columns."""

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
    """Return the CHECK constraints that are missing or have another expression."""
    known = {name.lower(): expression for name, expression in metadata.check_constraints.items()}
    return tuple(
        AddConstraint(name, expression)
        for name, expression in spec.constraints.items()
        if expression is not None and not (name.lower() in known and same_expression(expression, known[name.lower()]))
    )


def old_constraints(metadata: Metadata, spec: TableSpec) -> tuple[DropConstraint, ...]:
    """Return the CHECK constraints to drop, or to replace by another expression."""
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
    """Return the properties that are missing or have another value, in the table's own spelling."""
    known = {name.lower(): name for name in metadata.configuration}
    wanted = {known.get(name.lower(), name): value for name, value in spec.properties.items() if value is not None}
    return {name: value for name, value in wanted.items() if metadata.configuration.get(name) != value}


def old_properties(metadata: Metadata, spec: TableSpec) -> UnsetProperties | None:
    """Return the properties to remove; with ``exact``, all that the spec does not name.

    Properties that writers maintain stay. So do constraints, and properties that enable a table feature: a feature is
    declared by its name.
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


#: Prefixes of properties that a spec does not declare.
_KEPT = ("delta.columnmapping.", "delta.rowtracking", "delta.incommittimestamp", "delta.requirecheckpointprotection")


def new_comment(metadata: Metadata, spec: TableSpec) -> CommentTable | None:
    """Return the step that sets or removes the table's comment; None if it stays."""
    if isinstance(spec.comment, Unsaid) or (spec.comment or None) == (metadata.description or None):
        return None
    return CommentTable(spec.comment or None)


def is_partitioned_otherwise(metadata: Metadata, spec: TableSpec) -> bool:
    """Return True if the spec declares other partition columns than the table has."""
    return spec.partition_by is not None and lowered(spec.partition_by) != lowered(metadata.partition_columns)


def is_clustered_otherwise(state: TableState, spec: TableSpec) -> bool:
    """Return True if the spec declares other clustering columns than the table has."""
    if spec.cluster_by is None:
        return False
    return [lowered(path) for path in spec.cluster_by] != [lowered(path) for path in clustered_by(state)]


def clustered_by(state: TableState) -> list[Parts]:
    """Return the clustering columns; the metadata domain has them by their names in data files."""
    return clustering_of(state.metadata, state.domains)
