"""What is wrong with the ids of rows: RT19 and RT21, from ids and where rows with them were found."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import base_of
from airflow_delta_provider.domain.row_ids.id_buckets import FaultyIds, Landing
from airflow_delta_provider.domain.row_ids.located_row import LocatedRow

#: Ids that a finding names.
MOST_ROWS = 5
_REMEDY = (
    "Whatever joins on row ids (change feeds, incremental views, MERGE by row id) takes different rows for one. Find "
    "the writer of the commit named here; RESTORE the table to the version before it, or drop row tracking and enable "
    "it again, which gives every row a new id"
)


def repeated_ids_found(rows: Sequence[LocatedRow], repeated: FaultyIds) -> Finding:
    """Return the finding about ids that several rows in files with materialized ids have.

    :param rows: the rows of the first of them, by id
    :param repeated: those ids, counted by the rows that have an id that another row had before
    """
    count = repeated.count
    return rules.DUPLICATE_ROW_IDS.finding(
        f"{count:,} row{' has' if count == 1 else 's have'} a row id that another row has, "
        f"too{_range(repeated)}. {_listed(rows)} {_REMEDY}.",
        path=_newest(rows),
    )


def landed_ids(landing: Landing, rows: Sequence[LocatedRow]) -> Finding:
    """Return the finding about rows elsewhere that have the ids of live rows of a file.

    :param rows: the rows elsewhere that have the first of these ids
    """
    base = base_of(landing.file)
    here = [LocatedRow(row_id, landing.file, row_id - base, False) for row_id in landing.ids]
    both = sorted([*rows, *here])
    return rules.DUPLICATE_ROW_IDS.finding(
        f"{landing.count:,} row{' has' if landing.count == 1 else 's have'} a row id that a row of "
        f"{landing.file.path} has, too{_range(landing)}, which no deletion vector deletes. {_listed(both)} {_REMEDY}.",
        path=_newest(both),
    )


def impossible_ids_found(rows: Sequence[LocatedRow], impossible: FaultyIds, high_water_mark: int | None) -> Finding:
    """Return the finding about row ids that are negative or above the mark.

    :param rows: the first rows that have them
    """
    count = impossible.count
    mark = "" if high_water_mark is None else f" or above the high water mark {high_water_mark}"
    return rules.IMPOSSIBLE_ROW_ID.finding(
        f"{count:,} row id{' is' if count == 1 else 's are'} negative{mark}{_range(impossible)}. {_listed(rows)} "
        f"Ids above the mark will be given out again by later inserts. {_REMEDY}.",
        path=_newest(rows),
    )


def impossible_bounds(path: str, minimum: int, maximum: int, high_water_mark: int | None) -> Finding:
    """Return the finding about a file whose statistics show a row id that cannot be."""
    mark = "" if high_water_mark is None else f"; the high water mark is {high_water_mark}"
    return rules.IMPOSSIBLE_ROW_ID.finding(
        f"The materialized row ids of {path} go from {minimum} to {maximum}{mark}. Ids above the mark will be given "
        f"out again by later inserts, negative ones no writer gives out. {_REMEDY}.",
        path=path,
    )


def _range(ids: FaultyIds | Landing) -> str:
    """Return between which ids they are."""
    first = ids.first if isinstance(ids, FaultyIds) else ids.ids
    return "" if not first or ids.last is None or ids.last == first[0] else f", between id {first[0]} and {ids.last}"


def _listed(rows: Sequence[LocatedRow]) -> str:
    """Return, as a sentence, which rows of which files have the ids."""
    ids = sorted({row.row_id for row in rows})
    by_file: dict[tuple[str, bool], list[int]] = {}
    for row in rows:
        by_file.setdefault((row.file.path, row.materialized), []).append(row.position)
    places = [
        f"row{'s' if len(positions) > 1 else ''} {_numbers(positions)} of {path} "
        f"({'materialized there' if materialized else 'its baseRowId and their position'})"
        for (path, materialized), positions in by_file.items()
    ]
    return f"The first: id{'s' if len(ids) > 1 else ''} {_numbers(ids)}, of {', and of '.join(places)}." if rows else ""


def _newest(rows: Sequence[LocatedRow]) -> str | None:
    """Return the file that was added last: the rows before it were right until then."""
    newest = max(rows, key=lambda row: row.file.default_row_commit_version or 0, default=None)
    return None if newest is None else newest.file.path


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
