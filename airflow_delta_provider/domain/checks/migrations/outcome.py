"""A table after a migration, against what its spec declares: MG40."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.migrations.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.report.finding import Finding

NOT_AS_DECLARED = FAMILY.of(Scope.OUTCOME).error(
    40,
    "the table is not what was declared, although every step was done",
    effect="What relies on the declared state may fail.",
    remedy="Check the table's history for another writer, and run the migration again.",
)


@on_demand(NOT_AS_DECLARED)
def still_needed(table: str, left: Sequence[str], version: int) -> Iterator[Finding]:
    """Yield what a table still needs after a migration.

    :param left: the steps of a new plan, as sentences
    """
    if left:
        yield NOT_AS_DECLARED.found(
            "{table} still needs this at version {version}: {steps}.", table=table, version=version, steps=list(left)
        )
