"""Ids of live rows: RT19, RT21 and RT28, from ids and the places of rows with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.row_tracking import ASSIGN_AGAIN, FAMILY, READERS
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import LocatedRow, base_of
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.report.report import Finding

if TYPE_CHECKING:
    from airflow_delta_provider.domain.checks.row_tracking.id_sets import FaultyIds, SharedIds


#: Maximum number of ids that a finding names.
MOST_ROWS = 5
_FIND_WRITER = Restore(first="Find the writer of the commit.", instead=ASSIGN_AGAIN)
_data = FAMILY.of(Scope.DATA, remedy=_FIND_WRITER)

DUPLICATE_ROW_IDS = _data.error(
    19,
    "row ids that are not unique",
    name="duplicate-row-ids",
    effect="Joins on row ids (change feeds, incremental views, MERGE by row id) confuse these rows.",
)


@on_demand(DUPLICATE_ROW_IDS)
def repeated_ids_found(rows: Sequence[LocatedRow], repeated: FaultyIds) -> Finding:
    """Return the finding about ids that several rows in files with materialized ids have.

    :param rows: rows with the first of these ids, by id
    :param repeated: repeated ids; a row counts if another row before it has its id
    """
    return DUPLICATE_ROW_IDS.found(
        "{rows:row shares|rows share} a row id with another row{range}. {first}",
        path=_newest(rows),
        rows=repeated.count,
        **_located(rows, repeated.first, repeated.last),
    )


@on_demand(DUPLICATE_ROW_IDS)
def landed_ids(landing: SharedIds, rows: Sequence[LocatedRow]) -> Finding:
    """Return the finding about rows elsewhere that have the ids of live rows of a file.

    :param rows: rows elsewhere that have the first of these ids
    """
    base = base_of(landing.file)
    both = sorted([*rows, *(LocatedRow(row_id, landing.file, row_id - base, False) for row_id in landing.ids)])
    return DUPLICATE_ROW_IDS.found(
        "{rows:row shares|rows share} a row id with a row of {file} that no deletion vector deletes{range}. {first}",
        path=_newest(both),
        rows=landing.count,
        file=landing.file.path,
        **_located(both, landing.ids, landing.last),
    )


@on_demand(DUPLICATE_ROW_IDS)
def more_landings(files: int) -> Finding:
    """Return the finding that counts further files with landings, which have no findings of their own."""
    return DUPLICATE_ROW_IDS.found(
        "{files:more file has|more files have} rows that share row ids with rows of other files.", files=files
    )


IMPOSSIBLE_ROW_ID = _data.error(
    21,
    "row id negative or above the high water mark",
    name="stored-row-id-out-of-range",
    effect="Later inserts assign ids above the mark again; negative ids are never assigned.",
    source=READERS,
    repairs=(RepairMethod.COPY,),
)


@on_demand(IMPOSSIBLE_ROW_ID)
def impossible_ids_found(rows: Sequence[LocatedRow], impossible: FaultyIds, high_water_mark: int | None) -> Finding:
    """Return the finding about row ids that are negative or above the mark.

    :param rows: the first rows that have them
    """
    return IMPOSSIBLE_ROW_ID.found(
        "{ids:row id is|row ids are} negative{range}. {first}"
        if high_water_mark is None
        else "{ids:row id is|row ids are} negative or above the high water mark {mark}{range}. {first}",
        path=_newest(rows),
        ids=impossible.count,
        mark=high_water_mark,
        **_located(rows, impossible.first, impossible.last),
    )


@on_demand(IMPOSSIBLE_ROW_ID)
def impossible_bounds(path: str, minimum: int, maximum: int, high_water_mark: int | None) -> Finding:
    """Return the finding about a file whose statistics show an impossible row id."""
    mark = "" if high_water_mark is None else "; the high water mark is {mark}"
    return IMPOSSIBLE_ROW_ID.found(
        f"The materialized row ids of {{path}} range from {{minimum}} to {{maximum}}{mark}.",
        path=path,
        minimum=minimum,
        maximum=maximum,
        mark=high_water_mark,
    )


MATERIALIZED_TYPE = _data.error(
    28,
    "materialized column of another type",
    name="materialized-column-of-wrong-type",
    effect="Engines fail on the column, or read other ids.",
    remedy=Restore(instead="restore the file from a backup", of_file=True),
    source=READERS,
)


@on_demand(MATERIALIZED_TYPE)
def wrong_type(path: str, column: str | None, problem: object) -> Finding:
    """Return the finding about a file whose column of row ids has another type.

    :param problem: description of that type
    """
    return MATERIALIZED_TYPE.found(
        "The column {column!r} of {path} should hold row ids, which are 64-bit integers, but {problem}.",
        path=path,
        column=column,
        problem=Prose(problem),
    )


def _located(rows: Sequence[LocatedRow], ids: Sequence[int], last: int | None) -> dict[str, Any]:
    """Return the places of the rows with the first ids, as facts and as prose.

    :param last: the last of all ids, including those beyond the first ones
    """
    between = "" if not ids or last in (None, ids[0]) else f", between id {ids[0]} and {last}"
    return {
        "ids_shown": list(ids),
        "files_shown": sorted({row.file.path for row in rows}),
        "last_id": last,
        "range": Prose(between),
        "first": Prose(_listed(rows)),
    }


def _listed(rows: Sequence[LocatedRow]) -> str:
    """Return a sentence with the files and row numbers of the ids."""
    if not rows:
        return ""
    ids = sorted({row.row_id for row in rows})
    by_file: dict[tuple[str, bool], list[int]] = {}
    for row in rows:
        by_file.setdefault((row.file.path, row.materialized), []).append(row.position)
    places = [
        f"row{'s' if len(positions) > 1 else ''} {_numbers(positions)} of {path} "
        f"({'materialized there' if materialized else 'its baseRowId and their position'})"
        for (path, materialized), positions in by_file.items()
    ]
    return f"The first: id{'s' if len(ids) > 1 else ''} {_numbers(ids)}, of {', and of '.join(places)}."


def _newest(rows: Sequence[LocatedRow]) -> str | None:
    """Return the file that was added last: the rows before it were right until then. None if there are no rows."""
    newest = max(rows, key=lambda row: row.file.default_row_commit_version or 0, default=None)
    return None if newest is None else newest.file.path


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
