"""The rules of row tracking about one state of a table: RT01 to RT10, and that there is anything to check.

Each is a generator of findings; :data:`_HEAD_RULES` and :data:`_FILE_RULES` list them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from airflow_delta_provider.domain.checks.log import rules as log_rules
from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.column_mapping import physical_name
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK, RowTracking
from airflow_delta_provider.domain.delta.table_properties import (
    ENABLE_ROW_TRACKING,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING_SUSPENDED,
    MappingMode,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import RowCount, base_of, in_order, last_ids, overlaps

#: Findings of one rule that name files one by one.
MOST_FINDINGS = 10
_RESTORE = (
    "RESTORE the table to the version before, or drop row tracking and enable it again, which gives every row a new id"
)


def check_state(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    """Yield what is wrong with row tracking in ``state``, leaving out what needs the number of rows of files.

    :param state: with its files
    """
    yield from _nothing_to_prove(state, tracking)
    yield from check_head(state, tracking)
    yield from check_files(state, tracking)


def check_files(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    """Yield what is wrong with single files: RT05, RT09 and LG04.

    :param state: with its files
    """
    for rule in _FILE_RULES:
        yield from rule(state, tracking)


def check_head(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    """Yield what is wrong with row tracking in protocol, metadata and domain metadata: RT01 to RT04 and RT10.

    :param state: with its files
    """
    for rule in _HEAD_RULES:
        yield from rule(state, tracking)


def check_fresh_ids(state: TableState, tracking: RowTracking, rows_of: RowCount) -> Iterator[Finding]:
    """Yield where fresh row ids are given out twice or beyond the mark: RT06 to RT08.

    :param state: with its files
    :param rows_of: number of rows of a file, from its statistics or its footer
    """
    if tracking.state is FeatureState.ABSENT:
        return
    files = in_order(_files(state))
    if unknown := [file for file in files if rows_of(file) is None]:
        yield rules.UNKNOWN_ROW_COUNT.finding(
            f"The statistics of {_counted(unknown)} lack numRecords, so the row ids that they give out cannot be "
            f"told from the log: {_named(unknown)}. Check at level 'footers' or 'data', which reads it from the files.",
            path=unknown[0].path,
        )
    if negative := [file for file in files if base_of(file) < 0]:
        yield rules.IMPOSSIBLE_ROW_ID.finding(
            f"A negative baseRowId, the first one {negative[0].base_row_id}, is set on {_counted(negative)}: "
            f"{_named(negative)}. No writer gives out negative row ids. {_RESTORE}.",
            path=negative[0].path,
        )
    mark = tracking.high_water_mark
    if mark is not None:
        given = [(file, last) for file, last in last_ids(files, rows_of) if last > mark]
        above = [file for file, _ in given]
        if above:
            highest = max(last for _, last in given)
            yield rules.ABOVE_HIGH_WATER_MARK.finding(
                f"The high water mark of row ids is {mark}, but ids above it, up to {highest}, are given out by "
                f"{_counted(above)}: {_named(above)}. The next insert gives out ids that exist already. Stop "
                f"writing to the table; {_RESTORE}.",
                path=above[0].path,
            )
    found = overlaps(files, rows_of)
    for overlap in islice(found, MOST_FINDINGS):
        one, other = overlap.one, overlap.other
        yield rules.OVERLAPPING_ROW_IDS.finding(
            f"{other.path} (baseRowId {other.base_row_id}, {rows_of(other)} rows) and {one.path} (baseRowId "
            f"{one.base_row_id}, {rows_of(one)} rows) both give out the row ids {_span(overlap.first, overlap.last)}: "
            f"these {overlap.last - overlap.first + 1} ids stand for two rows each. Whatever joins on row ids (change "
            f"feeds, incremental views) mixes those rows up. {_RESTORE}.",
            path=other.path,
        )
    if more := sum(1 for _ in found):
        yield rules.OVERLAPPING_ROW_IDS.finding(f"{more} more files give out row ids that another file gives out.")


def _nothing_to_prove(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    del state
    if tracking.enabled:
        return
    if tracking.state is FeatureState.ABSENT:
        yield rules.ABSENT.finding(
            "The table has no row tracking, so its rows have no ids to check. To track them: "
            "DeltaEnableFeatureOperator(features=['rowTracking'])."
        )
    elif tracking.suspended:
        yield rules.SUSPENDED.finding(
            f"Row tracking is suspended ({ROW_TRACKING_SUSPENDED} is true): writers give no ids to new rows, and "
            f"nothing can be relied upon. Unset the property, then enable row tracking: "
            "DeltaEnableFeatureOperator(features=['rowTracking'])."
        )
    else:
        yield rules.SUPPORTED_ONLY.finding(
            f"Row tracking is supported, but not enabled ({ENABLE_ROW_TRACKING} is not true): writers do not keep the "
            "ids of rows that they move. To rely on them: DeltaEnableFeatureOperator(features=['rowTracking'])."
        )


def _enabled_without_feature(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.enabled and tracking.state is FeatureState.ABSENT:
        yield rules.ENABLED_WITHOUT_FEATURE.finding(
            f"{ENABLE_ROW_TRACKING} is true, but the protocol (writer {state.protocol.min_writer_version}) does not "
            "list rowTracking: readers expect row ids that no writer assigns. Enable the feature: "
            "DeltaEnableFeatureOperator(features=['rowTracking']), or unset the property.",
            version=state.version,
        )


def _enabled_and_suspended(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.relied_upon and tracking.suspended:
        yield rules.ENABLED_AND_SUSPENDED.finding(
            f"{ENABLE_ROW_TRACKING} and {ROW_TRACKING_SUSPENDED} are both true: readers rely on row ids, while writers "
            "assign none. Unset one of them.",
            version=state.version,
        )


def _materialized_names(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if not tracking.relied_upon:
        return
    names = {
        ROW_ID_COLUMN: tracking.row_id_column,
        ROW_COMMIT_VERSION_COLUMN: tracking.commit_version_column,
    }
    missing = [key for key, name in names.items() if name is None]
    if missing:
        yield rules.NO_MATERIALIZED_NAMES.finding(
            f"Row tracking is enabled, but {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing: "
            "nobody can tell which column of the data files holds the ids of rows that were moved, and the next "
            f"writer may choose another. {_RESTORE}.",
            version=state.version,
        )
    taken = _column_names(state)
    for key, name in names.items():
        column = taken.get(name.casefold()) if name else None
        if column is not None:
            yield rules.MATERIALIZED_NAME_TAKEN.finding(
                f"{key} is {name!r}, which is also the name of the column {column!r}: its values are read as row "
                "tracking's, or the other way about. Rename the column where the table has column mapping, or "
                "restore the property.",
                version=state.version,
                column=column,
            )
    one, other = names.values()
    if one and other and one.casefold() == other.casefold():
        yield rules.MATERIALIZED_NAME_TAKEN.finding(
            f"Row ids and row commit versions are both materialized in a column {one!r}. {_RESTORE}.",
            version=state.version,
        )


def _missing_ids(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if not tracking.relied_upon:
        return
    without = [f for f in _files(state) if f.base_row_id is None or f.default_row_commit_version is None]
    if without:
        yield missing_ids_finding(rules.MISSING_ROW_IDS, without, "Row tracking is enabled, but")


def _commit_version_in_future(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.state is FeatureState.ABSENT:
        return
    future = [file for file in _files(state) if (file.default_row_commit_version or 0) > state.version]
    if future:
        yield rules.COMMIT_VERSION_IN_FUTURE.finding(
            f"A defaultRowCommitVersion above {state.version}, the table's version, is set on {_counted(future)}: "
            f"{_named(future)}, the first one {future[0].default_row_commit_version}. Their rows seem to be of a "
            f"commit that does not exist yet. {_RESTORE}.",
            path=future[0].path,
        )


def _no_high_water_mark(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.state is FeatureState.ABSENT or tracking.high_water_mark is not None:
        return
    configuration = state.domains.get(DOMAIN)
    with_ids = any(file.base_row_id is not None and file.num_records != 0 for file in _files(state))
    if configuration is None and not with_ids:
        return  # no row was ever given an id
    what = (
        f"there is no domainMetadata {DOMAIN}"
        if configuration is None
        else f"the domainMetadata {DOMAIN} holds {str(configuration)[:200]}, not a number {HIGH_WATER_MARK!r}"
    )
    yield rules.NO_HIGH_WATER_MARK.finding(
        f"Files of the table have row ids, but {what}. Engines take the mark for 0 and give the same ids out again "
        f"with the next insert. Stop writing to the table; {_RESTORE}.",
        version=state.version,
    )


def _live_twice(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    if tracking.state is FeatureState.ABSENT:
        return
    files = _files(state)
    seen: set[str] = set()
    twice = [file for file in files if file.path in seen or seen.add(file.path)]  # type: ignore[func-returns-value]
    if twice:
        yield log_rules.TWO_DELETION_VECTORS.finding(
            f"More than one deletion vector at a time is live for {_counted(twice)}: {_named(twice)}. "
            f"Their rows are read twice, with the same ids. {_RESTORE}.",
            path=twice[0].path,
        )


_StateRules = tuple[Callable[[TableState, RowTracking], Iterator[Finding]], ...]
_HEAD_RULES: _StateRules = (
    _enabled_without_feature,
    _enabled_and_suspended,
    _materialized_names,
    _no_high_water_mark,
)
_FILE_RULES: _StateRules = (_missing_ids, _commit_version_in_future, _live_twice)


def missing_ids_finding(rule: Rule, without: list[LiveFile], when: str, **where: object) -> Finding:
    """Return the finding about live files that lack a base or a commit version."""
    lacking = [
        name
        for name, lacks in (
            ("baseRowId", any(file.base_row_id is None for file in without)),
            ("defaultRowCommitVersion", any(file.default_row_commit_version is None for file in without)),
        )
        if lacks
    ]
    return rule.finding(
        f"{when} {' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing on {_counted(without)}: "
        f"{_named(without)}. Their rows have no "
        "row id or commit version of their own, and reading it fails. Enable row tracking again to have them filled "
        f"in: set {ENABLE_ROW_TRACKING} to false, then DeltaEnableFeatureOperator(features=['rowTracking']).",
        path=without[0].path,
        **where,
    )


def added_without_ids(rule: Rule, transition: Transition, when: str) -> Iterator[Finding]:
    """Yield a finding for each file that a commit adds without a base or a commit version."""
    for file in transition.commit.adds:
        if file.base_row_id is None or file.default_row_commit_version is None:
            yield missing_ids_finding(rule, [file], when, **transition.commit.provenance)


def _column_names(state: TableState) -> dict[str, str]:
    """Return the logical name of each top-level column by its logical and physical name, without case."""
    mode = state.metadata.properties.mapping_mode
    names = {field.name.casefold(): field.name for field in state.metadata.schema.fields}
    if mode is not MappingMode.NONE:
        names |= {physical_name(field, mode).casefold(): field.name for field in state.metadata.schema.fields}
    return names


def _files(state: TableState) -> Collection[LiveFile]:
    return (state.files or {}).values()


def _counted(files: list[LiveFile]) -> str:
    return "1 live file" if len(files) == 1 else f"{len(files)} live files"


def _named(files: list[LiveFile], most: int = 3) -> str:
    shown = ", ".join(file.path for file in files[:most])
    return shown if len(files) <= most else f"{shown} and {len(files) - most} more"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
