"""Row tracking in one version of a table: RT01 to RT04, RT10, and RT25 to RT27 for tables without ids to check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, MARK_IS_LOST, NEW_IDS, SPEC
from airflow_delta_provider.domain.checks.row_tracking.live_files import mark_is_too_low
from airflow_delta_provider.domain.checks.rule import BY_COMMIT, Healing, Need, RepairMethod, Scope
from airflow_delta_provider.domain.delta.features.log import DOMAIN
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_name
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK, RowTracking
from airflow_delta_provider.domain.delta.table_properties import (
    ENABLE_ROW_TRACKING,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING_SUSPENDED,
    MappingMode,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding

#: Maximum number of characters shown of a wrong value.
_MOST_TEXT = 200
_TRACK = "Enable the feature: enable-feature --feature rowTracking (DeltaEnableFeatureOperator)."
_state = FAMILY.of(Scope.STATE)


def check_state(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    """Yield findings about row tracking in properties and domain metadata: RT01 to RT04, and RT10.

    :param state: the state with its files
    """
    for check in (_enabled_without_feature, _enabled_and_suspended, _materialized_names, _high_water_mark):
        for finding in check(state, tracking):
            yield replace(finding, version=state.version)


ENABLED_WITHOUT_FEATURE = _state.error(
    1,
    "row tracking enabled without the feature",
    name="row-tracking-without-feature",
    effect="Readers expect row ids that no writer assigns.",
    remedy="Enable the feature rowTracking, or unset the property.",
    source=SPEC,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_demand(ENABLED_WITHOUT_FEATURE)
def _enabled_without_feature(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.enabled and not tracking.supported:
        yield ENABLED_WITHOUT_FEATURE.found(
            "{property} is true, but the protocol ({protocol}) does not list rowTracking.",
            property=ENABLE_ROW_TRACKING,
            protocol=str(state.protocol),
        )


ENABLED_AND_SUSPENDED = _state.error(
    2,
    "row tracking enabled and suspended",
    name="row-tracking-enabled-and-suspended",
    effect="Readers rely on row ids, but writers do not assign them.",
    remedy=f"Write a metaData action with only one of the two, {BY_COMMIT}.",
    source=SPEC,
)


@on_demand(ENABLED_AND_SUSPENDED)
def _enabled_and_suspended(_: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.relied_upon and tracking.suspended:
        yield ENABLED_AND_SUSPENDED.found(
            "{enabled} and {suspended} are both true.", enabled=ENABLE_ROW_TRACKING, suspended=ROW_TRACKING_SUSPENDED
        )


NO_MATERIALIZED_NAMES = _state.error(
    3,
    "names of the materialized columns missing",
    name="materialized-column-names-missing",
    effect="It is unknown which column holds the ids of rows that were moved, and writers may choose another one.",
    remedy=NEW_IDS,
)
MATERIALIZED_NAME_TAKEN = _state.error(
    4,
    "name of a materialized column is taken",
    name="materialized-column-name-taken",
    effect="Readers mix up the column's values with the values of row tracking.",
    remedy="Rename the column if the table has column mapping; otherwise drop row tracking and enable it again, which "
    "assigns every row a new id.",
)


@on_demand(NO_MATERIALIZED_NAMES, MATERIALIZED_NAME_TAKEN)
def _materialized_names(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if not tracking.relied_upon:
        return
    names = {ROW_ID_COLUMN: tracking.row_id_column, ROW_COMMIT_VERSION_COLUMN: tracking.commit_version_column}
    missing = [key for key, name in names.items() if name is None]
    if missing:
        yield NO_MATERIALIZED_NAMES.found(
            "Row tracking is enabled, but {missing} is missing."
            if len(missing) == 1
            else "Row tracking is enabled, but these properties are missing: {missing}.",
            missing=missing,
        )
    taken = _column_names(state.metadata.schema_string, state.metadata.properties.mapping_mode)
    for key, name in names.items():
        column = taken.get(name.casefold()) if name else None
        if column is not None:
            yield MATERIALIZED_NAME_TAKEN.found(
                "{property} is {name!r}, which is also the name of the column {column!r}.",
                column=column,
                property=key,
                name=name,
            )
    one, other = names.values()
    if one and other and one.casefold() == other.casefold():
        yield MATERIALIZED_NAME_TAKEN.found(
            "Row ids and row commit versions are both materialized in the column {name!r}.",
            effect="Readers mix up row ids and row commit versions.",
            remedy=NEW_IDS,
            name=one,
        )


@lru_cache(maxsize=64)
def _column_names(schema_string: str, mode: MappingMode) -> Mapping[str, str]:
    """Return the logical name of each top-level column by its casefolded logical and physical name."""
    fields = Metadata("", schema_string).schema.fields
    names = {field.name.casefold(): field.name for field in fields}
    if mode is not MappingMode.NONE:
        names |= {physical_name(field, mode).casefold(): field.name for field in fields}
    return names


NO_HIGH_WATER_MARK = _state.error(
    10,
    "no row id high water mark",
    name="row-id-high-water-mark-missing",
    effect="Engines assume a mark of 0, and assign existing row ids again with the next insert.",
    remedy=MARK_IS_LOST,
    threads=("delta-io/delta#4923",),
    healing=Healing(mark_is_too_low, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    shows="domainMetadata",
    repairs=(RepairMethod.HIGH_WATER_MARK, RepairMethod.EARLIER_VALUES),
)


@on_demand(NO_HIGH_WATER_MARK)
def _high_water_mark(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if not tracking.supported or tracking.high_water_mark is not None:
        return
    configuration = state.domains.get(DOMAIN)
    if configuration is not None:
        yield NO_HIGH_WATER_MARK.found(
            "The domainMetadata {domain} holds {configuration}, not a number {key!r}.",
            domain=DOMAIN,
            configuration=str(configuration)[:_MOST_TEXT],
            key=HIGH_WATER_MARK,
        )
    elif any(file.base_row_id is not None and file.num_records != 0 for file in state.known_files):
        yield NO_HIGH_WATER_MARK.found(
            "Files of the table have row ids, but there is no domainMetadata {domain}.", domain=DOMAIN
        )


_untracked = FAMILY.of(Scope.STATE, SPEC, remedy=_TRACK)
ABSENT = _untracked.undecided(
    25, "no row tracking", name="table-without-row-tracking", effect="The rows have no ids to check."
)
SUPPORTED_ONLY = _untracked.undecided(
    26,
    "row tracking supported, not enabled",
    name="row-tracking-not-enabled",
    effect="Writers do not keep the ids of rows that they move.",
)
SUSPENDED = _untracked.undecided(
    27,
    "row tracking suspended",
    name="row-tracking-suspended",
    effect="Writers do not assign ids to new rows, and ids cannot be relied upon.",
    remedy=f"Unset {ROW_TRACKING_SUSPENDED}. {_TRACK}",
)


@on_demand(ABSENT, SUPPORTED_ONLY, SUSPENDED)
def check_enabled(tracking: RowTracking) -> Iterator[Finding]:
    """Yield the reason why there are no row ids to check; nothing if row tracking is enabled."""
    if tracking.enabled:
        return
    if not tracking.supported:
        yield ABSENT.found("The table has no row tracking.")
    elif tracking.suspended:
        yield SUSPENDED.found("Row tracking is suspended ({property} is true).", property=ROW_TRACKING_SUSPENDED)
    else:
        yield SUPPORTED_ONLY.found(
            "Row tracking is supported, but not enabled ({property} is not true).", property=ENABLE_ROW_TRACKING
        )
