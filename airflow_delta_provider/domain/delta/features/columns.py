"""Features of columns: rules for their values, and rules that produce values."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.features.feature import Domains, Feature, FeatureKind, Removal
from airflow_delta_provider.domain.delta.field_keys import CURRENT_DEFAULT
from airflow_delta_provider.domain.delta.identity import START
from airflow_delta_provider.domain.delta.metadata import Metadata


def _constraints(metadata: Metadata) -> Iterator[str]:
    return (f"The CHECK constraint {name}" for name in metadata.check_constraints)


def _has_constraints(metadata: Metadata, _: Domains) -> str | None:
    if not metadata.check_constraints:
        return None
    constraints = ", ".join(sorted(metadata.check_constraints))
    return f"the table has CHECK constraints: {constraints}. Run ALTER TABLE … DROP CONSTRAINT first."


def enforced_columns(metadata: Metadata) -> Iterator[Column]:
    """Yield the NOT NULL columns and fields of structs, except within arrays or maps.

    Delta Spark treats them as invariants: ``Invariants.getFromSchema`` of v4.4.0.
    """
    for column in metadata.readable_columns or ():
        if set(column.kinds) == {"field"} and not column.field.nullable:
            yield column


INVARIANTS = Feature(
    name="invariants",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Column Invariants",
    legacy_writer=2,
    field_key="delta.invariants",
    instead_of_removal="ALTER TABLE … ALTER COLUMN … DROP NOT NULL ends invariants; the feature stays.",
)
CHECK_CONSTRAINTS = Feature(
    name="checkConstraints",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, CHECK Constraints",
    legacy_writer=3,
    used_by=_constraints,
    removal=Removal(obstacle=_has_constraints),
)
GENERATED_COLUMNS = Feature(
    name="generatedColumns",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Generated Columns",
    legacy_writer=4,
    field_key="delta.generationExpression",
    instead_of_removal="Write the table again without generated columns.",
)
IDENTITY_COLUMNS = Feature(
    name="identityColumns",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Identity Columns",
    legacy_writer=6,
    field_key=START,
    instead_of_removal="Write the table again without identity columns.",
)
ALLOW_COLUMN_DEFAULTS = Feature(
    name="allowColumnDefaults",
    kind=FeatureKind.WRITER,
    source="PROTOCOL.md, Default Columns",
    field_key=CURRENT_DEFAULT,
)
