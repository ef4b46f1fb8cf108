"""Row groups of tables with data evolution: several files have columns of the same rows.

Paimon reads a group only if all of its files that hold rows have the same row ids, and if the blob or vector files of
each column together have exactly these (``DataEvolutionSplitRead``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import NewIds
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.table_history import id_range, joined, range_texts
from airflow_delta_provider.domain.paimon.violations import Violation, listed
from airflow_delta_provider.domain.report.report import Severity

Schemas = Mapping[int, "TableSchema | PaimonFormatError"]


def groups_of(files: Collection[DataFile]) -> dict[tuple[int, int], list[DataFile]]:
    """Return files that contain columns of the same rows, by their first row id and their number of rows."""
    groups: dict[tuple[int, int], list[DataFile]] = defaultdict(list)
    for file in files:
        if file.first_row_id is not None and file.holds_rows:
            groups[file.first_row_id, file.row_count].append(file)
    return groups


class Ranges:
    """A set of row ids."""

    def __init__(self, ranges: Iterable[range]) -> None:
        self._ranges = joined(ranges)

    @classmethod
    def of(cls, files: Collection[DataFile]) -> Ranges:
        """Create the set of ids that files assign to rows of the table."""
        return cls(ids for file in files if (ids := id_range(file)))

    def meet(self, ids: range | None) -> bool:
        """Return True if some of the ids are in the set."""
        return ids is not None and bool(ids) and _meet(self._before(ids), ids)

    def cover(self, ids: range) -> bool:
        """Return True if all of the ids are in the set."""
        other = self._before(ids)
        return other.start <= ids.start and ids.stop <= other.stop

    def _before(self, ids: range) -> range:
        """Return the last range that begins before the end of some ids."""
        index = bisect_left(self._ranges, ids.stop, key=lambda other: other.start) - 1
        return self._ranges[index] if index >= 0 else range(0)


def check_row_groups(
    touched: Iterable[DataFile], live: Collection[DataFile], new: NewIds | None = None, schemas: Schemas | None = None
) -> Iterator[Violation]:
    """Yield problems of the row groups that some files belong to.

    :param touched: files that a commit added or deleted, or all files
    :param live: live files after the commit
    :param new: new ids of the commit, if one is checked
    """
    changed = Ranges(_rows_of(file) for file in touched)
    groups = {ids: file for file in live if (ids := id_range(file)) and changed.meet(ids)}
    whole, parts = Ranges(groups), [file for file in live if not file.holds_rows and file.first_row_id is not None]
    near = [file for file in parts if changed.meet(_rows_of(file)) or whole.meet(_rows_of(file))]
    there = Ranges.of(live)
    if orphans := [file for file in near if not there.meet(_rows_of(file))]:
        yield _violation("Files have columns of rows that no file has: {files}.", orphans)
    for (ids, column), files in _by_group_and_column(sorted(groups, key=lambda ids: ids.start), near).items():
        covered = joined(map(_rows_of, files))
        if covered != [ids]:
            yield _violation(
                "Files of {column} have the row ids {covered}, but their row group has {ids}: {files}.",
                files,
                column=column,
                covered=listed(range_texts(covered)),
                ids=listed(range_texts([ids])),
            )
    if new is not None:
        yield from _check_columns(new, live)
        yield from _check_parts(new, parts, schemas or {}) if not orphans else ()


def check_lost_columns(
    change: Change, new: NewIds, live: Collection[DataFile], schemas: Schemas
) -> Iterator[Violation]:
    """Yield a violation if rows, or columns of rows, are gone with files that a commit deleted."""
    if change.renumbered or not change.deleted:
        return
    after = defaultdict[range, set[int]](set)
    before = defaultdict[range, set[int]](set)
    touched = Ranges(_rows_of(file) for file in change.deleted)
    there = Ranges.of(live)
    for file in live:
        if touched.meet(_rows_of(file)):
            after[_rows_of(file)] |= _fields(file, schemas)
    for file in change.deleted:
        before[_rows_of(file)] |= _fields(file, schemas)
    newest = schemas.get(max(schemas)) if schemas else None
    current = {field.id: field.name for field in newest.fields} if isinstance(newest, TableSchema) else {}
    permits = change.snapshot.permits
    removed = [ids for ids in before if ids and not there.cover(ids)]
    if removed and change.snapshot.states_changes and not permits.removed and not new.assigned:
        yield Violation(
            rules.NOT_AS_STATED.found(
                "{operation} removed all files of the row ids {ids}.",
                operation=change.snapshot.name,
                ids=listed(range_texts(removed)),
            )
        )
    lost: dict[range, list[str]] = {}
    for ids, fields in before.items():
        if ids and ids not in removed:
            kept = [others for rows, others in after.items() if _meet(ids, rows)]
            missing = (number for number in fields & current.keys() if not any(number in one for one in kept))
            if names := [current[number] for number in missing]:
                lost[ids] = names
    if lost:
        rows_left = Ranges(lost)
        yield _violation(
            "The commit removed the values of {columns} for the row ids {ids}, whose rows stay.",
            [file for file in live if rows_left.meet(id_range(file))],
            columns=listed(sorted({name for names in lost.values() for name in names})),
            ids=listed(range_texts(lost)),
        )


def _check_columns(new: NewIds, live: Collection[DataFile]) -> Iterator[Violation]:
    """Check that files with columns of other files' rows have rows of a group."""
    keys = {file.key for file in new.columns}
    there = Ranges.of([file for file in live if file.key not in keys] if keys else ())
    if alone := [file for file in new.columns if not there.meet(_rows_of(file))]:
        yield _violation("Files have columns of rows that no other file has: {files}.", alone)


def _check_parts(new: NewIds, parts: Collection[DataFile], schemas: Schemas) -> Iterator[Violation]:
    """Check that new rows have a file of each column that has files of its own elsewhere."""
    for ids, files in groups_of(new.assigned if parts else ()).items():
        here = range(ids[0], ids[0] + ids[1])
        schema = schemas.get(files[0].schema_id)
        names = {field.name for field in schema.fields} if isinstance(schema, TableSchema) else set()
        held = {name for file in files for name in (names if file.write_cols is None else file.write_cols)}
        near = {name for file in parts if _meet(here, _rows_of(file)) for name in file.write_cols or ()}
        others = {name for file in parts for name in file.write_cols or ()}
        if missing := (others & names) - held - near:
            yield _violation(
                "The new rows {ids} have no file of {columns}, as other rows have: {files}. Either it is missing, or "
                "the writer left these columns out.",
                files,
                severity=Severity.UNDECIDED,
                columns=listed(sorted(missing)),
                ids=listed(range_texts([here])),
            )


def _violation(evidence: str, files: Collection[DataFile], **facts: Any) -> Violation:
    if "{files}" in evidence:
        facts["files"] = listed(f"{file.name} from {file.first_row_id}" for file in files)
    return Violation.of_files(rules.ROW_GROUP, evidence, files, **facts)


def _by_group_and_column(groups: Sequence[range], parts: Iterable[DataFile]) -> dict[tuple[range, str], list[DataFile]]:
    """Return the files of single columns, by row group and column.

    :param groups: row ids of the groups, in order
    """
    found: dict[tuple[range, str], list[DataFile]] = defaultdict(list)
    for file in parts:
        rows, column = _rows_of(file), ", ".join(file.write_cols or ())
        for index in range(bisect_left(groups, rows.stop, key=lambda ids: ids.start) - 1, -1, -1):
            if not _meet(groups[index], rows):
                break
            found[groups[index], column].append(file)
    return found


def _meet(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)


def _rows_of(file: DataFile) -> range:
    """Return the ids of the rows whose columns a file has; empty if its rows have their ids in the file."""
    return range(0) if file.first_row_id is None else range(file.first_row_id, file.first_row_id + file.row_count)


def _fields(file: DataFile, schemas: Schemas) -> set[int]:
    """Return the ids of the columns in a file."""
    schema = schemas.get(file.schema_id)
    if not isinstance(schema, TableSchema):
        return set()
    written = file.write_cols
    return {field.id for field in schema.fields if field.id is not None and (written is None or field.name in written)}


def is_of_new_rows(change: Change, new: NewIds, live: Mapping[FileKey, DataFile]) -> bool:
    """Return True if a commit only added files of new rows, and no row has files for single columns."""
    plain = not change.deleted and not new.columns and all(file.holds_rows for file in change.added)
    return plain and all(file.holds_rows for file in live.values())
