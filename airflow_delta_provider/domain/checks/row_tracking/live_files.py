"""Row ids of all live files of a table: RT05 to RT09, and LG04."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log.duplicate_files import TWO_DELETION_VECTORS
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, MOST_FINDINGS, NEW_IDS, SPEC, STOP_WRITING
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import (
    RowCount,
    base_of,
    end_if_apart,
    in_order,
    last_ids,
    overlaps,
)
from airflow_delta_provider.domain.checks.row_tracking.row_ids import IMPOSSIBLE_ROW_ID
from airflow_delta_provider.domain.checks.rule import (
    Details,
    FileAspect,
    Healing,
    Need,
    Prose,
    RepairMethod,
    Scope,
    StillOpen,
)
from airflow_delta_provider.domain.delta.features.log import lacks_row_ids
from airflow_delta_provider.domain.delta.live_file import LiveFile, RowIds
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding


def until_mark_reaches(due: int) -> StillOpen:
    """Return the check whether the high water mark is still missing or below ``due``."""
    details = {"due": due}
    return StillOpen(lambda later: mark_is_too_low(later, None, details), details)


#: Maximum number of files with ids assigned again that are remembered: with more, only a RESTORE helps.
_MOST_FINDINGS_KEPT = 1000


def mark_is_too_low(later: Transition, _: Finding | None, details: Details) -> bool:
    """Return True until the high water mark is high enough.

    Files that were assigned ids up to there again have to go, too; a RESTORE also helps.
    """
    due = int(details["due"])
    tracking = later.after.row_tracking
    if not tracking.assigns or (later.replaces_all and later.commit.metadata):
        return False
    version = later.commit.version
    again = details.get("given_again", [])
    if later.restores:
        again = []
    elif again is not True:  # an older release did not save the files
        removed_paths = later.removed_files.keys() - {file.path for file in later.commit.adds}
        new = [
            file.path
            for file in later.new_files
            if file.base_row_id is not None and file.base_row_id <= due and file.default_row_commit_version == version
        ]
        again = [path for path in [*(again or []), *new] if path not in removed_paths]
        again = again if len(again) <= _MOST_FINDINGS_KEPT else True
    details["given_again"] = again
    mark = tracking.high_water_mark
    return bool(again) or mark is None or mark < due


def highest_added(_: Finding, transition: Transition) -> Details:
    """Return the highest row id that the commit adds."""
    adds = [file for file in transition.commit.adds if file.base_row_id is not None]
    return {"due": max((file.base_row_id or 0) + max((file.num_records or 0) - 1, 0) for file in adds)}


def mark_before(_: Finding, transition: Transition) -> Details:
    """Return the high water mark before the commit."""
    mark = transition.before.row_tracking.high_water_mark
    return {"due": -1 if mark is None else mark}


def ids_before(finding: Finding, transition: Transition) -> Details:
    """Return the row ids of the file before the commit."""
    before = earlier_ids(transition, finding.path or "")
    return {"ids": None if before is None else list(before)}


def earlier_ids(transition: Transition, path: str) -> RowIds | None:
    """Return the ids that a file had before the commit, or when it was last live; None if no such ids are known."""
    live = transition.before_files.get(path)
    return (transition.past.row_ids or {}).get(path) if live is None else live.row_ids


def ids_are_others(later: Transition, finding: Finding, details: Details) -> bool:
    """Return True until the file has its ids back."""
    return not any(
        file.path == finding.path and [file.base_row_id, file.default_row_commit_version] == details["ids"]
        for file in later.commit.adds
    )


def is_suspended(later: Transition, _: Finding, __: Details) -> bool:
    """Return True until row tracking is no longer suspended."""
    return later.after.row_tracking.suspended


def names_before(_: Finding, transition: Transition) -> Details:
    """Return the names of the materialized columns before the commit."""
    before = transition.before.row_tracking
    return {"names": [before.row_id_column, before.commit_version_column]}


def names_are_others(later: Transition, _: Finding, details: Details) -> bool:
    """Return True until the earlier names are back, no file with them is left, or row tracking is dropped."""
    now = later.after.row_tracking
    if not now.supported:
        return False
    return not later.keeps_no_file and list(details["names"]) != [now.row_id_column, now.commit_version_column]


#: Maximum number of files that one finding names.
_MOST_PATHS = 3
NO_IDS = "The rows do not have a row id or a row commit version, and reading it fails."
FILL_IN = (
    "Set delta.enableRowTracking to false, then to true: files without a baseRowId get ids. If only commit versions "
    "are missing, drop row tracking and enable it again: all rows get new ids."
)
_state = FAMILY.of(Scope.STATE, about_live_files=True)


def check_files(state: TableState, tracking: RowTracking) -> Iterator[Finding]:
    """Yield findings about single files: RT05, RT09 and LG04.

    :param state: the state with its files
    """
    files = state.known_files
    yield from check_row_ids(files, tracking)
    if tracking.supported:
        yield from _commit_version_in_future(files, state.version)
        yield from _live_twice(files)


MISSING_ROW_IDS = _state.error(
    5,
    "live file without baseRowId or defaultRowCommitVersion",
    name="live-file-without-row-ids",
    effect=NO_IDS,
    remedy=FILL_IN,
    repairs=(RepairMethod.ROW_IDS, RepairMethod.EARLIER_VALUES, RepairMethod.COPY),
)


@on_demand(MISSING_ROW_IDS)
def check_row_ids(files: Collection[LiveFile], tracking: RowTracking) -> Iterator[Finding]:
    """Yield a finding about files without row ids, if the table's row ids are relied on: RT05."""
    without = [file for file in files if lacks_row_ids(file)] if tracking.relied_upon else []
    if without:
        names = lacking(*without)
        yield MISSING_ROW_IDS.found(
            f"Row tracking is enabled, but {{lacking}} {'is' if len(names) == 1 else 'are'} missing on "
            f"{{files:live file}}: {_PATHS}.",
            lacking=" and ".join(names),
            **_named(without),
        )


def lacking(*files: LiveFile) -> list[str]:
    """Return the fields of row tracking that one of the files lacks."""
    lacks = {
        "baseRowId": any(file.base_row_id is None for file in files),
        "defaultRowCommitVersion": any(file.default_row_commit_version is None for file in files),
    }
    return [name for name, is_missing in lacks.items() if is_missing]


COMMIT_VERSION_IN_FUTURE = _state.error(
    9,
    "defaultRowCommitVersion above the table's version",
    name="row-commit-version-above-table-version",
    effect="The rows seem to come from a commit that does not exist yet.",
    remedy=NEW_IDS,
    repairs=(RepairMethod.COPY,),
)


@on_demand(COMMIT_VERSION_IN_FUTURE)
def _commit_version_in_future(files: Collection[LiveFile], version: int) -> Iterator[Finding]:
    future = [file for file in files if (file.default_row_commit_version or 0) > version]
    if future:
        yield COMMIT_VERSION_IN_FUTURE.found(
            "A defaultRowCommitVersion above {table_version}, the table's version, is set on {files:live file}: "
            f"{_PATHS}; the first has {{commit_version}}.",
            table_version=Prose(version),
            commit_version=future[0].default_row_commit_version,
            **_named(future),
        )


@on_demand(TWO_DELETION_VECTORS)
def _live_twice(files: Collection[LiveFile]) -> Iterator[Finding]:
    if all(file.deletion_vector is None for file in files):
        return
    hashes = sorted(hash(file.path) for file in files)  # smaller than the paths, of which few are needed
    again = {one for one, other in pairwise(hashes) if one == other}
    seen: set[str] = set()
    twice = [file for file in files if hash(file.path) in again and (file.path in seen or seen.add(file.path))]  # type: ignore[func-returns-value]  # None is meant
    if twice:
        yield TWO_DELETION_VECTORS.found(
            f"{{files:live file has|live files have}} more than one deletion vector at a time: {_PATHS}.",
            **_named(twice),
        )


def check_fresh_ids(state: TableState, tracking: RowTracking, rows_of: RowCount) -> Iterator[Finding]:
    """Yield findings about row ids assigned twice, below 0 or above the high water mark: RT06 to RT08, and RT21.

    :param state: the state with its files
    :param rows_of: returns the number of rows of a file, from its statistics or its footer
    """
    if not tracking.supported:
        return
    mark = tracking.high_water_mark
    end = end_if_apart(state.known_files, rows_of)
    if end is not None and (mark is None or end <= mark + 1):
        return  # nothing can be wrong
    files = in_order(state.known_files)
    yield from _unknown_row_counts(files, rows_of)
    yield from _negative_bases(files)
    yield from _above_mark(files, rows_of, mark)
    yield from _overlapping(files, rows_of)


UNKNOWN_ROW_COUNT = _state.undecided(
    6,
    "number of rows not in the log",
    name="row-count-not-in-log",
    effect="The log does not show which row ids the file assigns.",
    remedy="Check at level 'footers' or 'data', which reads the number from the file.",
    source=SPEC,
    blames=FileAspect.ROW_COUNT,
    repairs=(RepairMethod.STATISTICS,),
)


@on_demand(UNKNOWN_ROW_COUNT)
def _unknown_row_counts(files: Sequence[LiveFile], rows_of: RowCount) -> Iterator[Finding]:
    if unknown := [file for file in files if rows_of(file) is None]:
        yield UNKNOWN_ROW_COUNT.found(
            f"The statistics of {{files:live file}} lack numRecords: {_PATHS}.", **_named(unknown)
        )


@on_demand(IMPOSSIBLE_ROW_ID)
def _negative_bases(files: Sequence[LiveFile]) -> Iterator[Finding]:
    if negative := [file for file in files if base_of(file) < 0]:
        yield IMPOSSIBLE_ROW_ID.found(
            f"A negative baseRowId, the first one {{base}}, is set on {{files:live file}}: {_PATHS}.",
            base=negative[0].base_row_id,
            **_named(negative),
        )


ABOVE_HIGH_WATER_MARK = _state.error(
    7,
    "row ids above the high water mark",
    name="row-ids-above-high-water-mark",
    effect="The next insert assigns row ids that already exist.",
    remedy=STOP_WRITING,
    healing=Healing(mark_is_too_low, highest_added, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    repairs=(RepairMethod.HIGH_WATER_MARK, RepairMethod.EARLIER_VALUES, RepairMethod.COPY),
)


@on_demand(ABOVE_HIGH_WATER_MARK)
def _above_mark(files: Sequence[LiveFile], rows_of: RowCount, mark: int | None) -> Iterator[Finding]:
    above = [] if mark is None else [(file, last) for file, last in last_ids(files, rows_of) if last > mark]
    if above:
        yield ABOVE_HIGH_WATER_MARK.found(
            "The high water mark of row ids is {mark}, but ids above it, up to {highest}, are assigned by "
            f"{{files:live file}}: {_PATHS}.",
            mark=mark,
            highest=max(last for _, last in above),
            **_named([file for file, _ in above]),
        )


OVERLAPPING_ROW_IDS = _state.error(
    8,
    "two files assign the same row ids",
    name="files-share-row-ids",
    effect="Joins on row ids (change feeds, incremental views) mix up the rows that share one.",
    remedy=NEW_IDS,
    needs=(Need.STATE, Need.FILES),
    repairs=(RepairMethod.COPY,),
)


@on_demand(OVERLAPPING_ROW_IDS)
def _overlapping(files: Sequence[LiveFile], rows_of: RowCount) -> Iterator[Finding]:
    found = overlaps(files, rows_of)
    for overlap in islice(found, MOST_FINDINGS):
        one, other = overlap.one, overlap.other
        shared = overlap.last - overlap.first + 1
        yield OVERLAPPING_ROW_IDS.found(
            "{path} (baseRowId {base}, {rows:row}) and {other} (baseRowId {other_base}, {other_rows:row}) both assign "
            + ("the row id {first}." if shared == 1 else "{shared:row id}, {first} to {last}."),
            path=other.path,
            base=other.base_row_id,
            rows=rows_of(other),
            other=one.path,
            other_base=one.base_row_id,
            other_rows=rows_of(one),
            shared=shared,
            first=overlap.first,
            last=overlap.last,
        )
    if more := sum(1 for _ in found):
        yield OVERLAPPING_ROW_IDS.found(
            "{more:more file assigns|more files assign} row ids that another file assigns.", more=more
        )


#: Placeholder for the facts of :func:`_named` in an evidence.
_PATHS = "{paths}"


def _named(files: Sequence[LiveFile]) -> dict[str, Any]:
    """Return the number of files and the first paths, as facts."""
    paths = [file.path for file in files[:_MOST_PATHS]]
    more = len(files) - len(paths)
    return {"path": paths[0], "files": len(files), "paths": [*paths, f"{more} more"] if more else paths}
