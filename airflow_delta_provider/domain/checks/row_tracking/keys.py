"""Changed row ids of keys since a version: RT29, RT31 and RT32, and RT30 for keys that cannot be compared.

The commit that assigned a key's new id, and the order of writes, show how the key got another id. Its values are never
shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, SPEC
from airflow_delta_provider.domain.checks.row_tracking.commits import moves_rows
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import base_of, in_order
from airflow_delta_provider.domain.checks.row_tracking.history import NOT_COMPARABLE
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves
from airflow_delta_provider.domain.checks.rule import Prose, Restore, Scope
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    Column,
    DataType,
    MapType,
    StructType,
    UnknownColumnError,
    all_columns,
    find_column,
    lowered,
)
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_parts
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.report.report import Finding

_OTHER_ROW = "Consumers that follow row ids (change feeds, incremental views) see one row deleted and another inserted."
_data = FAMILY.of(Scope.DATA, SPEC, effect=_OTHER_ROW)


class IdRange(NamedTuple):
    """Row ids that a commit assigned: from ``first`` up to but excluding ``end``."""

    first: int
    end: int
    version: int


@dataclass(frozen=True, order=True)
class ChangedKey:
    """A key that has another row id than before.

    :param path: file of the row with the new id
    :param position: physical row number in the file, from 0
    """

    new_id: int
    old_id: int
    path: str
    position: int

    def __str__(self) -> str:
        return f"id {self.old_id} became {self.new_id} (row {self.position} of {self.path})"


@dataclass(frozen=True)
class ChangedKeys:
    """Keys with the same kind of change.

    :param first: the first of them
    """

    count: int
    first: tuple[ChangedKey, ...]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts for findings about these keys."""
        return {"keys": self.count, "first": [str(key) for key in self.first]}

    @property
    def path(self) -> str | None:
        """The file of the first key; None if there is none."""
        return self.first[0].path if self.first else None


def find_keys(names: Iterable[str], metadata: Metadata) -> tuple[list[Column], list[Finding]]:
    """Return the key columns in the schema, and refusals of names that cannot be found or compared."""
    found: list[Column] = []
    refusals: list[Finding] = []
    for name in names:
        try:
            column = find_column(metadata.schema, name)
        except UnknownColumnError as error:
            refusals.append(requests.UNKNOWN_COLUMN.found("{problem}", column=name, problem=Prose(error)))
            continue
        if set(column.kinds) != {"field"} or not _comparable(column.data_type):
            refusals.append(
                requests.UNKNOWN_COLUMN.found(
                    "{column} ({type}) cannot be part of a key: it does not have one value per row that can be "
                    "compared.",
                    remedy="Name columns that identify rows.",
                    column=column,
                    type=str(column.data_type),
                )
            )
        elif any(column.parts == other.parts for other in found):
            refusals.append(requests.COLUMN_TWICE.found("{column} is named twice.", column=column))
        else:
            found.append(column)
    return found, refusals


def keys_before(keys: Sequence[Column], now: Metadata, before: Metadata) -> tuple[list[Column], list[Finding]]:
    """Return the earlier columns of the key: the same physical columns, or else the same names.

    Also return findings about columns that did not exist.
    """
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
                    "{column} was not a column of the table at that version",
                    remedy="Compare with a later version.",
                    column=key,
                )
            )
        else:
            found.append(column)
    return found, findings


def id_ranges(commits: Iterable[RowMoves]) -> list[IdRange]:
    """Return the ids that each commit assigned, by commit; the ranges of one commit do not overlap."""
    ranges: list[IdRange] = []
    for moves in commits:
        mark = moves.transition.after.row_tracking.high_water_mark
        for file in in_order(moves.new):
            first = base_of(file)
            # Without a row count, all ids up to the mark may belong to the file or to the files after it.
            end = max(first, mark or 0) + 1 if file.num_records is None else first + file.num_records
            last = ranges[-1] if ranges and ranges[-1].version == moves.version else None
            if last is not None and first <= last.end:
                ranges[-1] = IdRange(last.first, max(last.end, end), last.version)
            elif first < end:
                ranges.append(IdRange(first, end, moves.version))
    return ranges


@on_demand(NOT_COMPARABLE)
def undecided_keys(why: str, **known: Any) -> Finding:
    """Return the finding that keys cannot be compared.

    :param why: evidence, without a full stop
    :param known: further facts, as in :meth:`Rule.found`
    """
    effect = "It is unknown whether keys kept their row ids."
    return NOT_COMPARABLE.found(f"{why}.", effect=effect, **known)


def repeated_keys(count: int, version: int, newest: int) -> Finding:
    """Return the finding about keys that several rows have."""
    return undecided_keys(
        "{keys:key is|keys are} not unique at version {since} or at version {newest}; they were left out, and the "
        "others were compared",
        remedy="Name columns that identify rows.",
        keys=count,
        since=version,
        newest=newest,
    )


def hidden_row_ids(column: str) -> Finding:
    """Return the finding about a column that hides the row ids from SQL."""
    return undecided_keys("A column called {name} hides the row ids from SQL", remedy="Rename it.", name=column)


def lost_rows(path: str, version: int, why: str) -> Finding:
    """Return the finding about a file that had rows of the earlier version and can no longer be read.

    :param version: version that removed it
    """
    return undecided_keys(
        "{file}, which version {removed} removed, cannot be read: {problem}",
        remedy="VACUUM deletes the files of earlier versions; compare with a later version.",
        file=path,
        removed=version,
        problem=Prose(why),
    )


KEY_CHANGED_ROW_ID = _data.error(
    29,
    "key with another row id than before",
    name="key-changes-row-id",
    remedy=Restore(", and write the rows with MERGE or UPDATE of an engine that keeps row ids"),
)
KEY_OVERWRITTEN = _data.warning(
    32,
    "key overwritten, its row id is new",
    name="key-overwritten-with-new-row-id",
    remedy="Nothing, if this was intended; MERGE and UPDATE keep the ids.",
)


@on_demand(KEY_CHANGED_ROW_ID)
def unwritten_keys(keys: ChangedKeys, since: int) -> Finding:
    """Return the finding about changed keys in rows that, by their commit versions, were not written since."""
    return KEY_CHANGED_ROW_ID.found(
        "{keys:key has|keys have} another row id than at version {since}, in rows that were not written since, "
        "according to their row commit versions. First: {first}.",
        remedy=Restore(first="Find the commit that added the file.", of_file=True),
        path=keys.path,
        since=since,
        **keys.facts,
    )


@on_demand(KEY_CHANGED_ROW_ID, KEY_OVERWRITTEN)
def renumbered_keys(keys: ChangedKeys, moves: RowMoves) -> Finding:
    """Return the finding about keys whose rows one commit removed and wrote again with other ids.

    That is correct if the commit overwrites part of the table. So it is a warning unless the commit's operation moves
    rows or the commit confirms that it kept their ids.
    """
    rule = KEY_CHANGED_ROW_ID if moves_rows(moves.transition.commit) else KEY_OVERWRITTEN
    return rule.found(
        "{keys:key has|keys have} another row id than before: the commit removed the rows and added them again with "
        "new ids. First: {first}. Either its engine does not keep row ids, or it overwrote part of the table, which "
        "assigns new ids.",
        path=keys.path,
        made_by=moves.transition.commit.provenance,
        **keys.facts,
    )


KEY_INSERTED_AGAIN = _data.warning(
    31,
    "key deleted and inserted again, or moved to another row",
    name="key-reinserted-or-moved",
    remedy="Nothing, if this was intended; MERGE keeps the ids.",
)


@on_demand(KEY_INSERTED_AGAIN)
def inserted_again(keys: ChangedKeys, moves: RowMoves) -> Finding:
    """Return the finding about keys that one commit deleted and a later commit inserted again."""
    return KEY_INSERTED_AGAIN.found(
        "{keys:key has|keys have} another row id than before: the rows were deleted, and the commit inserted others "
        "with the same keys. First: {first}.",
        remedy="Nothing, if the new rows are other things with the same keys; MERGE would have kept the ids.",
        made_by=moves.transition.commit.provenance,
        **keys.facts,
    )


@on_demand(KEY_INSERTED_AGAIN)
def moved_keys(keys: ChangedKeys, since: int) -> Finding:
    """Return the finding about keys that moved to rows from before the earlier version."""
    return KEY_INSERTED_AGAIN.found(
        "{keys:key has|keys have} another row id than at version {since}, one that was assigned before it: the keys of "
        "rows were updated, or RESTORE brought earlier rows back. First: {first}.",
        since=since,
        **keys.facts,
    )


def _comparable(data_type: DataType) -> bool:
    return not any(isinstance(part, MapType) or str(part) == "variant" for part in _parts(data_type))


def _parts(data_type: DataType) -> Iterator[DataType]:
    yield data_type
    if isinstance(data_type, ArrayType):
        yield from _parts(data_type.element)
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _parts(field.data_type)
