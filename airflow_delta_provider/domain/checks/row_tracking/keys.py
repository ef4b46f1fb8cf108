"""Whether a key kept its row id since a version: RT29 and RT31, and RT30 for keys that are none.

What happened to a key is told by who gave out its new id, and by what was written when; its values are never named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.checks.row_tracking.commits import moves_rows
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves
from airflow_delta_provider.domain.delta.column import Column, UnknownColumnError, all_columns, find_column, lowered
from airflow_delta_provider.domain.delta.column_mapping import physical_parts
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_tracking import row_tracking_of
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import base_of, in_order

_CONSEQUENCE = (
    "Whatever follows row ids (change feeds, incremental views) sees one row deleted and another one inserted."
)


@dataclass(frozen=True, slots=True)
class IdRange:
    """Row ids that a commit gave out: from ``first`` to before ``end``."""

    first: int
    end: int
    version: int


@dataclass(frozen=True, order=True)
class ChangedKey:
    """A key that has another row id than before.

    :param path: where the row with the new id is
    :param position: physical, from 0
    """

    new_id: int
    old_id: int
    path: str
    position: int


@dataclass(frozen=True)
class ChangedKeys:
    """Keys to which the same happened.

    :param first: the first of them
    """

    count: int
    first: tuple[ChangedKey, ...]


def find_keys(names: Iterable[str], metadata: Metadata) -> tuple[list[Column], list[Finding]]:
    """Find key columns in the schema; what cannot be found, or cannot be compared, is a refusal."""
    found: list[Column] = []
    refusals: list[Finding] = []
    for name in names:
        try:
            column = find_column(metadata.schema, name)
        except UnknownColumnError as error:
            refusals.append(requests.UNKNOWN_COLUMN.finding(str(error), column=name))
            continue
        if set(column.kinds) != {"field"} or not _comparable(column.data_type):
            refusals.append(
                requests.UNKNOWN_COLUMN.finding(
                    f"{column} ({column.data_type}) cannot be part of a key: it has no one value in a row that can be "
                    "compared. Name columns that tell the rows apart.",
                    column=str(column),
                )
            )
        elif any(column.parts == other.parts for other in found):
            refusals.append(
                requests.COLUMN_TWICE.finding(f"{column} is named twice. Name it once.", column=str(column))
            )
        else:
            found.append(column)
    return found, refusals


def keys_before(keys: Sequence[Column], now: Metadata, before: Metadata) -> tuple[list[Column], list[Finding]]:
    """Find in an earlier schema what the key columns were then: the same physical columns, else the same names."""
    found: list[Column] = []
    findings: list[Finding] = []
    columns = list(all_columns(before.schema))
    modes = now.properties.mapping_mode, before.properties.mapping_mode
    physical = (
        {}
        if MappingMode.NONE in modes
        else {physical_parts(column, before.schema, modes[1]): column for column in columns}
    )
    names = {lowered(column.parts): column for column in columns}
    for key in keys:
        column = physical.get(physical_parts(key, now.schema, modes[0])) or names.get(lowered(key.parts))
        if column is None:
            findings.append(
                undecided_keys(
                    f"{key} was no column of the table at that version. Compare with a later one", column=str(key)
                )
            )
        else:
            found.append(column)
    return found, findings


def id_ranges(commits: Iterable[RowMoves]) -> list[IdRange]:
    """Return which ids each commit gave out, by commit; those of a commit do not overlap."""
    ranges: list[IdRange] = []
    for moves in commits:
        mark = row_tracking_of(moves.transition.after).high_water_mark
        for file in in_order(moves.new):
            first = base_of(file)
            # Of a file without a row count all ids up to the mark may be its own, or those of the files after it.
            end = max(first, mark or 0) + 1 if file.num_records is None else first + file.num_records
            last = ranges[-1] if ranges and ranges[-1].version == moves.version else None
            if last is not None and first <= last.end:
                ranges[-1] = IdRange(last.first, max(last.end, end), last.version)
            elif first < end:
                ranges.append(IdRange(first, end, moves.version))
    return ranges


def undecided_keys(why: str, **where: object) -> Finding:
    """Return the finding that keys cannot be compared.

    :param why: and what to do, without a full stop
    """
    return rules.HISTORY_UNREADABLE.finding(f"Whether keys kept their row ids cannot be decided: {why}.", **where)


def repeated_keys(count: int, version: int, newest: int) -> Finding:
    """Return the finding about keys that several rows have."""
    return undecided_keys(
        f"{count} key{' is' if count == 1 else 's are'} not unique at version {version} or at version {newest}, so "
        "nobody can tell which row is which; they are left out, the others were compared. Name columns that tell "
        "the rows apart"
    )


def unwritten_keys(keys: ChangedKeys, since: int) -> Finding:
    """Return the finding about keys whose rows claim not to have been written since the earlier version."""
    return rules.KEY_CHANGED_ROW_ID.finding(
        f"{_keys(keys.count)} another row id than at version {since}, in rows that nobody wrote since, going by their "
        f"row commit versions. First: {_listed(keys.first)}. {_CONSEQUENCE} Find the commit that added the file, and "
        "RESTORE the table to the version before.",
        path=keys.first[0].path if keys.first else None,
    )


def renumbered_keys(keys: ChangedKeys, moves: RowMoves) -> Finding:
    """Return the finding about keys whose rows one commit took away and wrote again with other ids.

    Overwriting a part of the table does that rightly. So it is a warning where the commit neither calls
    itself one that moves rows nor vouches for their ids.
    """
    rule = rules.KEY_CHANGED_ROW_ID if moves_rows(moves.transition.commit) else rules.KEY_OVERWRITTEN
    return rule.finding(
        f"{_keys(keys.count)} another row id than before: this commit took the rows away and added them again under "
        f"new ids. First: {_listed(keys.first)}. {_CONSEQUENCE} Either its engine does not keep row ids, or it "
        "overwrote part of the table, which gives new ids; MERGE and UPDATE keep them.",
        path=keys.first[0].path if keys.first else None,
        **moves.transition.commit.provenance,
    )


def inserted_again(keys: ChangedKeys, moves: RowMoves) -> Finding:
    """Return the finding about keys that were deleted by an earlier commit than the one that inserted them again."""
    return rules.KEY_INSERTED_AGAIN.finding(
        f"{_keys(keys.count)} another row id than before: the rows were deleted, and this commit inserted others with "
        f"the same keys. First: {_listed(keys.first)}. That is as it should be if these are other things of the same "
        "name; a MERGE instead would have kept the ids.",
        **moves.transition.commit.provenance,
    )


def moved_keys(keys: ChangedKeys, since: int) -> Finding:
    """Return the finding about keys that went over to rows from before the earlier version."""
    return rules.KEY_INSERTED_AGAIN.finding(
        f"{_keys(keys.count)} another row id than at version {since}, one given out before it: the keys of rows were "
        f"updated, or RESTORE brought earlier rows back. First: {_listed(keys.first)}. That is as it should be if "
        "either was meant."
    )


def _keys(count: int) -> str:
    return "1 key has" if count == 1 else f"{count} keys have"


def _listed(keys: Sequence[ChangedKey]) -> str:
    return "; ".join(f"id {key.old_id} became {key.new_id}, row {key.position} of {key.path}" for key in keys)


def _comparable(data_type: DataType) -> bool:
    return not any(isinstance(part, MapType) or str(part) == "variant" for part in _parts(data_type))


def _parts(data_type: DataType) -> Iterator[DataType]:
    yield data_type
    if isinstance(data_type, ArrayType):
        yield from _parts(data_type.element)
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _parts(field.data_type)
