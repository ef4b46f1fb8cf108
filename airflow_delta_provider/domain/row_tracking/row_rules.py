"""What is wrong with the ids of rows: RT19 and RT21, from ids and where rows with them were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_tracking.id_buckets import Landing
from airflow_delta_provider.domain.rules import row_tracking as rules

#: Rows that a finding names.
MOST_ROWS = 5
_REMEDY = (
    "Whatever joins on row ids (change feeds, incremental views, MERGE by row id) takes different rows for one. Find "
    "the writer of the commit named here; RESTORE the table to the version before it, or drop row tracking and enable "
    "it again, which gives every row a new id"
)


@dataclass(frozen=True, order=True)
class LocatedRow:
    """Where a row with a certain id is: file and physical position in it, from 0.

    :param materialized: whether the id is in the file, or follows from the file's base and the position
    """

    row_id: int
    path: str
    position: int
    materialized: bool


def repeated_ids_found(rows: Sequence[LocatedRow], count: int) -> Finding:
    """Return the finding about ids that several rows in files with materialized ids have.

    :param rows: the rows of the first of them, by id
    :param count: how many rows have an id that another row had before
    """
    return rules.DUPLICATE_ROW_IDS.finding(
        f"{count} row{'' if count == 1 else 's'} with the row id of another row, ids {_span(rows)}. First: "
        f"{_listed(rows)}. {_REMEDY}.",
        path=rows[-1].path if rows else None,
    )


def landed_ids(landing: Landing, rows: Sequence[LocatedRow]) -> Finding:
    """Return the finding about rows elsewhere that have the ids of live rows of a file.

    :param rows: the rows elsewhere that have the first of these ids
    """
    base = landing.file.base_row_id or 0
    here = [LocatedRow(row_id, landing.file.path, row_id - base, False) for row_id in landing.ids]
    both = sorted([*rows, *here])
    hidden = (
        "has no deletion vector" if landing.file.deletion_vector is None else "has a deletion vector that keeps them"
    )
    return rules.DUPLICATE_ROW_IDS.finding(
        f"{landing.count} row id{'' if landing.count == 1 else 's'} of {landing.file.path} (baseRowId {base}), which "
        f"{hidden}, {'is' if landing.count == 1 else 'are'} also in other files, ids {_span(both)}. First: "
        f"{_listed(both)}. {_REMEDY}.",
        path=rows[0].path if rows else landing.file.path,
    )


def impossible_ids_found(rows: Sequence[LocatedRow], count: int, high_water_mark: int | None) -> Finding:
    """Return the finding about row ids that are negative or above the mark.

    :param rows: the first rows that have them
    """
    mark = "" if high_water_mark is None else f", or above the high water mark {high_water_mark}"
    return rules.IMPOSSIBLE_ROW_ID.finding(
        f"{count} row id{'' if count == 1 else 's'} negative{mark}. First: {_listed(rows)}. Ids above the mark will be "
        f"given out again by later inserts. {_REMEDY}.",
        path=rows[0].path if rows else None,
    )


def impossible_bounds(path: str, minimum: int, maximum: int, high_water_mark: int | None) -> Finding:
    """Return the finding about a file whose statistics show a row id that cannot be."""
    mark = "" if high_water_mark is None else f"; the high water mark is {high_water_mark}"
    return rules.IMPOSSIBLE_ROW_ID.finding(
        f"The materialized row ids of {path} go from {minimum} to {maximum}{mark}. Ids above the mark will be given "
        f"out again by later inserts, negative ones no writer gives out. {_REMEDY}.",
        path=path,
    )


def _listed(rows: Sequence[LocatedRow]) -> str:
    return "; ".join(
        f"id {row.row_id} at row {row.position} of {row.path} ({'materialized' if row.materialized else 'fresh'})"
        for row in rows[: MOST_ROWS * 2]
    )


def _span(rows: Sequence[LocatedRow]) -> str:
    if not rows:
        return "unknown"
    first, last = rows[0].row_id, rows[-1].row_id
    return str(first) if first == last else f"{first} to {last}"
