"""Tables whose log does not show their state: LG06 and LG19, and TF17 for reader features.

PROTOCOL.md, Catalog-managed tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_demand, on_state
from airflow_delta_provider.domain.checks.log import catalog_managed
from airflow_delta_provider.domain.checks.log.family import FAMILY
from airflow_delta_provider.domain.checks.protocol.lists import UNKNOWN_FEATURE
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.features.owners import CATALOG_MANAGED as MANAGED
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED, FEATURES
from airflow_delta_provider.domain.delta.table_properties import ENABLE_IN_COMMIT_TIMESTAMPS
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

MANAGED_BY_CATALOG = FAMILY.of(Scope.STATE).undecided(
    6,
    "the catalog knows more than the log",
    effect="Some commits may not be in the directory yet, so the directory may not show the current state of the "
    "table.",
    remedy="Check the table in a place where it can be read through its catalog.",
    source="PROTOCOL.md, Catalog-managed tables",
)


@on_state(MANAGED_BY_CATALOG)
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield a finding if a catalog manages the table and so may know more than its log."""
    managing = sorted(state.protocol.features.intersection(CATALOG_MANAGED))
    if managing:
        yield MANAGED_BY_CATALOG.found(
            "The table is managed by a catalog: its protocol has {features}.", features=managing, version=state.version
        )


_SOURCE = "PROTOCOL.md, Writer Requirements for Catalog-managed tables"

WITHOUT_TIMESTAMPS = FAMILY.of(Scope.STATE, _SOURCE).error(
    19,
    "catalog-managed table without in-commit timestamps",
    effect="Commits are published later than they are made, so readers that rely on the times of files get other "
    "versions than the catalog says.",
    remedy="Set delta.enableInCommitTimestamps to true.",
    shows="metaData",
)


@on_state(WITHOUT_TIMESTAMPS)
def _timestamps(state: TableState) -> Iterator[Finding]:
    if state.protocol.supports(MANAGED) and not state.metadata.properties.in_commit_timestamps:
        yield WITHOUT_TIMESTAMPS.found(
            "The protocol has catalogManaged, but delta.enableInCommitTimestamps is {value}.",
            value=state.metadata.configuration.get(ENABLE_IN_COMMIT_TIMESTAMPS, "missing"),
        )


@on_demand(UNKNOWN_FEATURE)
def why_undecidable(state: TableState) -> Iterator[Finding]:
    """Yield the reasons why the log does not show the table's state."""
    yield from catalog_managed.check_state(state)
    unknown = sorted((state.protocol.reader_features or frozenset()) - FEATURES.keys())
    if unknown:
        yield UNKNOWN_FEATURE.found(
            "The protocol has the reader feature {unknown}, which this version of the provider does not know.",
            effect="The feature may change the meaning of the log.",
            remedy="Update the provider.",
            unknown=unknown,
            version=state.version,
        )
