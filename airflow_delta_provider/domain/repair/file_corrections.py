"""Corrections of the ``add`` actions of live files. The planner tries them, one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

from airflow_delta_provider.domain.checks.rule import RepairMethod
from airflow_delta_provider.domain.delta.deletion_vector import (
    BrokenDeletionVectorError,
    DeletionVector,
    deleted_rows,
    inline_bitmap,
)
from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.repair.corrections import Correction, Situation, known_mark, mark_change, proposes
from airflow_delta_provider.domain.repair.logged_table import (
    FILE,
    Change,
    Json,
    physical_names,
    rows_text,
    value_at,
)
from airflow_delta_provider.domain.report.answers import ABSENT, RightStatistics

_STATS = "stats"


def _files(situation: Situation, *, of_rule: bool = False) -> Iterator[tuple[FileKey, Json]]:
    """Yield the live files that a finding is about, with their ``add`` actions.

    :param of_rule: True for all files that break its rule: corrections without a loss are made in all of them at once
    """
    paths = {situation.finding.path, *situation.past.paths_of(situation.finding, of_rule=of_rule)}
    for key, add in situation.table.files.items():
        if key[0] in paths and key not in situation.table.removed and key not in situation.table.copied:
            yield key, add


def _set(key: FileKey, add: Json, values: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the changes of fields of an ``add`` action; None removes a field."""
    changes = (
        Change((FILE, *key, name), value_at(add, (name,)), () if value is None else (value,))
        for name, value in values.items()
    )
    return tuple(change for change in changes if change.before != change.after)


def _for_all(
    situation: Situation, method: RepairMethod, better: Callable[[Json], Iterable[Mapping[str, Any]]]
) -> Iterator[Correction]:
    """Yield corrections of all files that a finding is about. The first one has the first values of each file.

    :param better: yields fields of an ``add`` action with better values
    """
    files = [(key, add, list(better(add))) for key, add in _files(situation, of_rule=True)]
    for number in range(max((len(found) for _, _, found in files), default=0)):
        each = ((key, add, found[min(number, len(found) - 1)]) for key, add, found in files if found)
        if changes := tuple(change for key, add, values in each for change in _set(key, add, values)):
            yield Correction(method, changes)


@proposes(RepairMethod.STATISTICS)
def _statistics(situation: Situation) -> Iterator[Correction]:
    yield from _for_all(
        situation, RepairMethod.STATISTICS, lambda add: ({_STATS: text} for text in _better_statistics(situation, add))
    )


def _better_statistics(situation: Situation, add: Json) -> Iterator[str | None]:
    stored = situation.past.stored(add["path"])
    stats = _parsed(add.get(_STATS))
    metadata = Metadata.from_json(situation.table.metadata)
    if metadata.properties.is_mapped:
        yield _text(_by_physical_name(stats, metadata))
    if stored is not None and stored.right is not None:
        yield _text(right_statistics(stats, stored.right))
    if stored is not None and stored.statistics is not None:
        yield _text({**stats, **stored.statistics})
    rows = stats.get("numRecords") if stored is None or stored.rows is None else stored.rows
    if type(rows) is int and rows >= 0:
        yield _text({"numRecords": rows})
    yield None


def _parsed(text: Any) -> Json:
    try:
        found = json.loads(text, parse_float=Decimal)
    except (TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_NUMBER = re.compile(r'"\\u0000([^"\\]*)\\u0000"')


def _text(stats: Json) -> str:
    """Return statistics as in the log. Decimals keep all digits."""
    text = json.dumps(stats, separators=(",", ":"), default=lambda value: f"\0{value}\0")
    return _NUMBER.sub(r"\1", text)


#: Types whose bounds are numbers in the log.
_NUMERIC = ("byte", "short", "integer", "long", "float", "double", "decimal")


def right_statistics(stats: Json, right: RightStatistics) -> Json:
    """Return statistics with the right values of a file; bounds that are not known are left out."""
    parts: dict[str, Json] = {part: deepcopy(stats.get(part) or {}) for part in ("minValues", "maxValues", "nullCount")}
    for column in right.columns:
        is_number = column.type.startswith(_NUMERIC)
        for part, value in (("minValues", column.min), ("maxValues", column.max)):
            known = value is not ABSENT and value not in ("NaN", "Infinity", "-Infinity")
            _put(parts[part], column.column, Decimal(value) if known and is_number else value)
        _put(parts["nullCount"], column.column, column.nulls)
    others = {key: value for key, value in stats.items() if key not in parts and key != "tightBounds"}
    return {**others, "numRecords": right.rows, **parts, "tightBounds": right.tight}


def _put(values: Json, names: Sequence[str], value: Any) -> None:
    *above, last = names
    for name in above:
        below = values.get(name)
        values[name] = values = below if isinstance(below, dict) else {}
    if value is ABSENT:
        values.pop(last, None)
    else:
        values[last] = value


def _by_physical_name(stats: Json, metadata: Metadata) -> Json:
    """Return statistics with the logical names of top-level columns replaced by their physical names."""
    names = physical_names(metadata)
    parts = ("minValues", "maxValues", "nullCount")
    renamed = {part: _renamed(stats[part], names) for part in parts if isinstance(stats.get(part), dict)}
    return {**stats, **renamed}


def _renamed(values: Json, names: Mapping[str, str]) -> Json:
    taken = set(names.values())
    return {name if name in taken else names.get(name, name): value for name, value in values.items()}


@proposes(RepairMethod.PARTITION_VALUES)
def _partition_values(situation: Situation) -> Iterator[Correction]:
    metadata = Metadata.from_json(situation.table.metadata)
    names = physical_names(metadata) if metadata.properties.is_mapped else {}
    columns = {names.get(name, name): name for name in metadata.partition_columns}
    for correction in _for_all(
        situation,
        RepairMethod.PARTITION_VALUES,
        lambda add: ({"partitionValues": values} for values in _better_values(situation, metadata, names, add)),
    ):
        values = [(_read_values(change.before), _read_values(change.after)) for change in correction.changes]
        seen = [
            name for key, name in columns.items() if any(before.get(key) != after.get(key) for before, after in values)
        ]
        sees = (f"These columns then have other values: {', '.join(seen)}.",) if seen else ()
        yield replace(correction, sees=sees)


def _read_values(known: Sequence[Any]) -> Json:
    """Return the partition values that readers see: a missing value and an empty one are NULL."""
    values = known[0] if known and isinstance(known[0], dict) else {}
    return {name: _as_text(value) for name, value in values.items() if value not in (None, "")}


def _better_values(situation: Situation, metadata: Metadata, names: Mapping[str, str], add: Json) -> Iterator[Json]:
    present = add.get("partitionValues")
    expected = [names.get(name, name) for name in metadata.partition_columns]
    if isinstance(present, dict):
        yield _renamed(present, names)
        yield {name: value for name, value in present.items() if name in expected}
        yield {name: _as_text(value) for name, value in present.items()}
    if present is None and not expected:
        yield {}
    if (version := situation.finding.version) is not None and version > 0:
        earlier = situation.past.added(add["path"], version - 1)
        if earlier is not None and isinstance(earlier.get("partitionValues"), dict):
            yield earlier["partitionValues"]


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


@proposes(RepairMethod.FILE_FIELDS)
def _fields(situation: Situation) -> Iterator[Correction]:
    yield from _for_all(situation, RepairMethod.FILE_FIELDS, lambda add: [_right_fields(situation, add)])


def _right_fields(situation: Situation, add: Json) -> Json:
    fields: Json = {}
    stored = situation.past.stored(add["path"])
    if stored is not None:
        fields["size"] = stored.size
    if not _is_whole(add.get("modificationTime")):
        fields["modificationTime"] = _commit_time(situation) if stored is None else stored.written_at
    if add.get("tags") is not None and not _are_texts(add["tags"]):
        tags = add["tags"] if isinstance(add["tags"], dict) else {}
        fields["tags"] = {name: _as_text(value) for name, value in tags.items()} or None
    if add.get(_STATS) is not None and not isinstance(add[_STATS], str):
        fields[_STATS] = None
    if type(add.get("dataChange")) is not bool:
        fields["dataChange"] = False
    if add.get("clusteringProvider") is not None and not isinstance(add["clusteringProvider"], str):
        fields["clusteringProvider"] = None
    return fields


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(item is None or isinstance(item, str) for item in value.values())


def _commit_time(situation: Situation) -> int | None:
    """Return the time that the commit of the finding states, in milliseconds since 1970."""
    version = situation.finding.version
    infos = () if version is None else (a.get("commitInfo") or {} for a in situation.past.commit_of(version))
    times = (info.get(name) for info in infos for name in ("inCommitTimestamp", "timestamp"))
    return next((time for time in times if _is_whole(time)), None)


@proposes(RepairMethod.VECTOR_FIELDS)
def _vector_fields(situation: Situation) -> Iterator[Correction]:
    for key, add in _files(situation):
        wire = add.get("deletionVector")
        if not isinstance(wire, dict) or wire.get("storageType") != "i":
            continue
        better = {name: value for name, value in wire.items() if name != "offset"}
        for size in range(8, len(str(wire.get("pathOrInlineDv"))) + 1):
            fitting = _fitting({**better, "sizeInBytes": size})
            if fitting is not None:
                yield Correction(RepairMethod.VECTOR_FIELDS, _set(key, add, {"deletionVector": fitting}))
                break


def _fitting(wire: Json) -> Json | None:
    """Return a descriptor with the number of rows that its inline bitmap deletes; None if the bitmap does not fit."""
    for count in (wire.get("cardinality"), *range(1, 1000)):
        try:
            vector = DeletionVector.from_json({**wire, "cardinality": count})
            deleted_rows(inline_bitmap(vector), vector, None)
        except BrokenDeletionVectorError:
            continue
        return {**wire, "cardinality": count}
    return None


@proposes(RepairMethod.ROW_IDS)
def _row_ids(situation: Situation) -> Iterator[Correction]:
    """Assign fresh ids to all live files without them, in one commit."""
    mark = known_mark(situation)
    changes: list[Change] = []
    for key, add in situation.table.files.items():
        if key in situation.table.removed or (add.get("baseRowId") is not None and "defaultRowCommitVersion" in add):
            continue
        rows = _rows(situation, add)
        if rows is None:
            return
        ids: Json = {"defaultRowCommitVersion": situation.version}
        if add.get("baseRowId") is None:
            ids["baseRowId"], mark = mark + 1, mark + rows
        changes += (replace(change, is_fresh=True) for change in _set(key, add, ids))
    if changes:
        marks = (replace(change, is_fresh=True) for change in mark_change(situation, mark))
        yield Correction(RepairMethod.ROW_IDS, (*changes, *marks))


def _rows(situation: Situation, add: Json) -> int | None:
    rows = _parsed(add.get(_STATS)).get("numRecords")
    if type(rows) is int and rows >= 0:
        return rows
    stored = situation.past.stored(add["path"])
    return None if stored is None else stored.rows


@proposes(RepairMethod.ONE_PATH)
def _one_path(situation: Situation) -> Iterator[Correction]:
    """Remove the second reference to a file. A file that one commit added twice is committed again."""
    keys = [key for key, _ in _files(situation)]
    other = situation.facts.get("other")
    if other is not None or len(keys) > 1:
        for key in sorted(keys, key=lambda key: _deleted(situation.table.files[key])):
            yield Correction(RepairMethod.ONE_PATH, removed=(key,), sees=("Rows that were read twice are read once.",))
        return
    if keys:
        yield Correction(RepairMethod.ONE_PATH, again=tuple(keys))


def _deleted(add: Json) -> int:
    cardinality = (add.get("deletionVector") or {}).get("cardinality", 0)
    return cardinality if isinstance(cardinality, int) else 0


@proposes(RepairMethod.MISSING_FILE)
def _missing(situation: Situation) -> Iterator[Correction]:
    """Remove the reference to a data file that is gone; its rows are lost already."""
    for key, add in _files(situation):
        lost = rows_text(add, situation.table.metadata)
        yield Correction(RepairMethod.MISSING_FILE, removed=(key,), loses=(f"{lost[:1].upper()}{lost[1:]}.",))


@proposes(RepairMethod.COPY)
def _copy(situation: Situation) -> Iterator[Correction]:
    """Copy the files that the finding is about, and commit the copies as new files with fresh row ids."""
    try:
        tracked = Protocol.from_json(situation.table.protocol).supports(ROW_TRACKING)
    except (KeyError, ValueError):
        return
    changes: list[Change] = []
    copied: list[FileKey] = []
    loses: list[str] = []
    mark = known_mark(situation)
    for key, add in _files(situation):
        stored = situation.past.stored(add["path"])
        changes += _set(key, add, {} if stored is None else {"size": stored.size})
        copied.append(key)
        if not tracked:
            changes += _set(key, add, {name: None for name in _ROW_IDS if name in add})
            continue
        rows = _rows(situation, add)
        if rows is None:
            return
        fresh = _set(key, add, dict(zip(_ROW_IDS, (mark + 1, situation.version))))
        changes += (replace(change, is_fresh=True) for change in fresh)
        old = add.get("baseRowId")
        of = "" if old is None else f": {old} to {old + rows - 1} become {mark + 1} to {mark + rows}"
        loses.append(f"Row ids of {key[0]} change{of}.")
        mark += rows
    if copied:
        marks = mark_change(situation, mark) if tracked else ()
        changes += (replace(change, is_fresh=True) for change in marks)
        yield Correction(RepairMethod.COPY, tuple(changes), copied=tuple(copied), loses=tuple(loses))


_ROW_IDS = ("baseRowId", "defaultRowCommitVersion")
