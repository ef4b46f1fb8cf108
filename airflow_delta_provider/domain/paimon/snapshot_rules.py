"""Rules about snapshots and the newest one's files, for tables whose manifests are not available.

This is the case for access through a catalog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.paimon.change_rules import NewIds, check_change, check_files, check_next_row_id
from airflow_delta_provider.domain.paimon.layout import schema_path, snapshot_path
from airflow_delta_provider.domain.paimon.live_files import Change
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.row_groups import check_row_groups
from airflow_delta_provider.domain.paimon.schema import KNOWN_VERSIONS, PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_history import IdRanges, carries_ids, id_range, range_texts
from airflow_delta_provider.domain.paimon.violations import listed, provenance
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import visible

#: Effect of rows that were merged from a branch on the table's readers.
#: Remedy for a compaction that assigned ids, although the options of the table do not let it.
BY_OPTIONS = (
    "If options of a call clustered the table (sys.compact(options => …)), set them in the table too: this is then a "
    "warning. Otherwise roll the table back to the previous snapshot (sys.rollback), and find the writer of this one."
)
BRANCH_EFFECT = (
    "Consumers that read changes by _SEQUENCE_NUMBER miss these rows; their ids differ from their ids in the branch."
)


def has_row_ids(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> bool:
    """Return True if rows of a table have ids, or if there are no rows."""
    assigned = any(snapshot.next_row_id for snapshot in snapshots)
    return assigned or not files or any(file.first_row_id is not None or carries_ids(file) for file in files)


def check_snapshots(
    snapshots: Sequence[Snapshot], files: Sequence[DataFile], schemas: Sequence[TableSchema] | None = None
) -> Iterator[Finding]:
    """Yield problems of snapshots, which are in order, and of the live files of the newest one.

    :param schemas: all schemas of the table with their options; None if the options are unknown
    """
    if not snapshots:
        return
    evolution = has_column_files(files)
    first, newest = snapshots[0], snapshots[-1]
    if first is newest and newest.id == 1:  # so its files are exactly the files that it added
        change = Change(newest, None, tuple(files), (), (), (), True)
        new = NewIds.of(change, tracked_before=False, data_evolution=evolution)
        yield from (_at(one.finding, newest) for one in check_change(change, new, newest.id))
    else:
        yield from (_at(finding, first) for finding in check_next_row_id(None, first))
        highest = max([newest.id, *(file.max_sequence for file in _of_branches(snapshots, files))])
        next_row_id = max((one.next_row_id for one in snapshots if one.next_row_id is not None), default=None)
        for violation in check_files(files, replace(newest, next_row_id=next_row_id), highest):
            yield replace(_at(violation.finding, newest), at_or_before=True)
    for before, after in pairwise(snapshots):
        if after.id == before.id + 1:
            yield from (_at(finding, after) for finding in check_next_row_id(before, after))
            renumbers = schemas is None or may_renumber(schemas, after)
            yield from (_at(finding, after) for finding in _check_growth(before, after, files, evolution, renumbers))
        else:
            yield missing_snapshots(before, after, range(before.id + 1, after.id))
    yield from _check_record_counts(snapshots, files)
    if evolution:
        for violation in check_row_groups(files, files):
            yield replace(_at(violation.finding, newest), at_or_before=True)
    ranges = IdRanges()
    for file in files:
        for other in ranges.clashes(file, equal_allowed=evolution):
            finding = rules.OVERLAPPING_ROW_IDS.found(
                "{path} and {other} have the same row ids.", path=file.name, other=other.name
            )
            yield replace(_at(finding, newest), at_or_before=True)
        ranges.add(file)


def missing_snapshots(before: Snapshot, after: Snapshot, missing: Sequence[int]) -> Finding:
    """Return a finding: snapshots are missing between two others."""
    finding = rules.NEXT_ROW_ID_OR_SNAPSHOTS.found(
        "Between snapshots {before} and {after} there is no {missing}. The changes of those commits are not checked.",
        path=snapshot_path(missing[0]),
        before=before.id,
        after=after.id,
        missing=listed(map(str, missing)),
    )
    return replace(finding, **{**provenance(after), "version": missing[0]})


def has_column_files(files: Sequence[DataFile]) -> bool:
    """Return True if some files have columns of other files' rows, which means data evolution."""
    return any(file.first_row_id is not None and file.write_cols is not None for file in files)


def _check_growth(
    before: Snapshot, after: Snapshot, files: Sequence[DataFile], evolution: bool, renumbers: bool
) -> Iterator[Finding]:
    """Check the ids that a commit assigned, with nextRowId and the number of rows.

    :param renumbers: True if compaction may assign new ids to old rows
    """
    first, now, rows = before.next_row_id, after.next_row_id, after.delta_record_count
    fewer = rows is not None and rows < 0 and after.permits.added and not after.permits.removed
    # An UPDATE by deletion vectors writes rows again, which count twice.
    more = rows is not None and rows > 0 and not after.permits.added and after.operation != "UPDATE"
    if fewer or (more and now == first):
        yield rules.NOT_AS_STATED.found(
            "{operation} left the files of the table with {rows:row} {than} than before.",
            operation=after.name,
            rows=abs(rows or 0),
            than="fewer" if fewer else "more",
        )
        return
    if first is None or now is None or now < first:
        return
    growth, new = now - first, range_texts([range(first, now)])
    if growth and (after.keeps_ids or (after.commit_kind == "COMPACT" and not renumbers)):
        yield rules.NEW_IDS_FOR_OLD_ROWS.found(
            "{operation} assigned the new row ids {new}.",
            remedy=BY_OPTIONS if after.commit_kind == "COMPACT" else None,
            operation=after.name,
            new=new,
        )
    elif after.operation is None and growth and after.commit_kind == "COMPACT":
        yield rules.REASSIGNED.found(
            "The commit names no operation, kept the number of rows, and assigned the new row ids {new}.", new=new
        )
    elif after.operation is None and growth and after.commit_kind == "OVERWRITE" and rows == 0:
        yield rules.REASSIGNED.found(
            "The commit names no operation, kept the number of rows, and assigned the new row ids {new}. Sort "
            "compaction writes the same rows again in this way, and an overwrite writes other rows; the metadata does "
            "not show which.",
            effect=rules.IF_SAME_ROWS,
            new=new,
            likeness="unknown",
        )
    elif _of_branches((before, after), files):
        yield rules.REASSIGNED.found(
            "The commit added rows from elsewhere, as sys.merge_branch does: they have the new ids {new}, "
            "but the sequence numbers of the branch.",
            effect=BRANCH_EFFECT,
            new=new,
        )
    elif after.commit_kind == "APPEND" and not evolution and rows is not None and _differ(rows, growth, after):
        yield rules.GROWTH.found(
            "nextRowId grew from {first} to {now}, by {growth}, but the commit has {rows:new row}.",
            first=first,
            now=now,
            growth=growth,
            rows=rows,
        )


def _differ(rows: int, growth: int, after: Snapshot) -> bool:
    """Return True if a commit that adds files assigned a wrong number of ids for its new rows.

    Rows of files with columns of others also count, but have no new ids; WRITE adds no such files.
    """
    return growth != rows if after.operation == "WRITE" else growth > rows


def _of_branches(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> list[DataFile]:
    """Return the files that commits merged from branches, as their sequence numbers show."""
    return [
        file
        for before, after in pairwise(snapshots)
        if after.is_branch_merge
        for file in files
        if (ids := id_range(file))
        and (before.next_row_id or 0) <= ids.start < (after.next_row_id or 0)
        and file.min_sequence != after.id
    ]


def _check_record_counts(snapshots: Sequence[Snapshot], files: Sequence[DataFile]) -> Iterator[Finding]:
    """Check the row counts of snapshots.

    The newest count is checked against the live files, earlier ones against the changes of the commits after them.
    """
    rows = [sum(file.row_count for file in files), sum(file.row_count for file in files if file.holds_rows)]
    wrong: list[tuple[Snapshot, int]] = []
    good: list[int] = []
    later: int | None = None
    for snapshot in reversed(snapshots):
        if later is not None and snapshot.id != later - 1:
            break
        later = snapshot.id
        total, delta = snapshot.total_record_count, snapshot.delta_record_count
        if total is None or total in rows:
            good.append(snapshot.id)
        else:
            wrong.append((snapshot, rows[0]))
        if delta is None:
            break
        rows = [count - delta for count in rows]
    last: int | None = None
    for snapshot, count in reversed(wrong):
        excess = (snapshot.total_record_count or 0) - count
        if excess == last and snapshot.id - 1 not in good:
            continue
        last = excess
        finding = rules.RECORD_COUNT.found(
            "totalRecordCount is {recorded}; by the live files and what later commits changed, there are {rows:row}.",
            recorded=snapshot.total_record_count,
            rows=count,
        )
        healed = min((number for number in good if number > snapshot.id), default=None)
        yield replace(_at(finding, snapshot), healed_version=healed)


def _at(finding: Finding, snapshot: Snapshot) -> Finding:
    return replace(finding, **provenance(snapshot))


_RESERVED = ("_ROW_ID", "_SEQUENCE_NUMBER")

Schemas = Mapping[int, "TableSchema | PaimonFormatError"]


def is_tracked(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Return True if row tracking is on in a schema; False for an unreadable one."""
    return isinstance(schema, TableSchema) and schema.options.get("row-tracking.enabled", "").lower() == "true"


def has_data_evolution(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Return True if several files may have columns of the same row."""
    return isinstance(schema, TableSchema) and schema.options.get("data-evolution.enabled", "").lower() == "true"


def may_renumber(schemas: Iterable[TableSchema | PaimonFormatError], snapshot: Snapshot) -> bool:
    """Return True if compaction may assign new ids: with clustering, data evolution or deletion vectors.

    The options of any schema count, as an option may have been set and removed since.
    """
    if snapshot.index_manifest is not None:
        return True
    return any(
        "clustering." in key
        or (key in ("data-evolution.enabled", "deletion-vectors.enabled") and value.lower() == "true")
        for schema in schemas
        if isinstance(schema, TableSchema)
        for key, value in schema.options.items()
    )


def manifest_format(schema: TableSchema | PaimonFormatError | None) -> str | None:
    """Return the format of manifests according to a schema, if it is not Avro; otherwise None."""
    named = schema.options.get("manifest.format", "avro").lower() if isinstance(schema, TableSchema) else "avro"
    return None if named == "avro" else named


def check_schemas(
    schemas: Schemas, snapshots: Sequence[Snapshot], of_files: Mapping[int, Snapshot], *, has_ids: bool
) -> Iterator[Finding]:
    """Yield problems of the schemas that snapshots use, and of the newest, which the next commit uses.

    :param snapshots: snapshots to check, in order
    :param of_files: schemas of data files, each with the first snapshot that has such a file
    :param has_ids: True if some snapshot records that row ids were assigned
    """
    used = dict.fromkeys([*(snapshot.schema_id for snapshot in snapshots), *sorted(schemas)[-1:]])
    first = {snapshot.schema_id: snapshot for snapshot in reversed(snapshots)}
    for schema_id in used:
        where = provenance(first[schema_id]) if schema_id in first else {}
        for finding in _check_schema(schema_id, schemas.get(schema_id)):
            yield replace(
                finding, path=schema_path(schema_id), **where, healed_version=_healed(finding, schemas, snapshots)
            )
    for schema_id in of_files.keys() - used.keys():
        for finding in _check_readable(schema_id, schemas.get(schema_id)):
            yield replace(finding, path=schema_path(schema_id), **provenance(of_files[schema_id]))
    yield from _check_tracking(schemas, snapshots, has_ids)


def _check_schema(schema_id: int, schema: TableSchema | PaimonFormatError | None) -> Iterator[Finding]:
    unreadable = list(_check_readable(schema_id, schema))
    yield from unreadable
    if isinstance(schema, TableSchema) and not unreadable and (faults := list(_unsuited(schema))):
        yield rules.UNSUITED_OPTIONS.found(
            "Schema {schema} is incompatible with row tracking: {faults}.", schema=schema_id, faults="; ".join(faults)
        )


def _check_readable(schema_id: int, schema: TableSchema | PaimonFormatError | None) -> Iterator[Finding]:
    if schema is None:
        yield rules.UNREADABLE_METADATA.found("Schema {schema}, which the table uses, is missing.", schema=schema_id)
    elif isinstance(schema, PaimonFormatError):
        yield rules.UNREADABLE_METADATA.found(
            "Schema {schema} cannot be read: {error}.", schema=schema_id, error=Prose(visible(str(schema)))
        )
    elif schema.version not in KNOWN_VERSIONS:
        yield rules.UNKNOWN_VERSION.found(
            "Schema {schema} has the format version {format}; known ones are up to {known}.",
            schema=schema_id,
            format=schema.version,
            known=KNOWN_VERSIONS[-1],
        )
    elif schema.id != schema_id:
        yield rules.UNREADABLE_METADATA.found(
            "The file of schema {schema} says that it is schema {other}.", schema=schema_id, other=schema.id
        )


def _unsuited(schema: TableSchema) -> Iterator[str]:
    """Yield options and columns that are incompatible with row tracking, or with data evolution."""
    try:
        options = schema.table_options()
    except PaimonFormatError as error:
        yield str(error)
        return
    if options.data_evolution and not options.row_tracking:
        yield "data-evolution.enabled needs row-tracking.enabled, which is off"
    if not options.row_tracking:
        return
    if schema.primary_keys:
        yield f"it has the primary key {', '.join(schema.primary_keys)}"
    if options.bucket != -1:
        yield f"it has the option bucket {options.bucket}, not -1"
    if options.bucket_key:
        yield f"it has the option bucket-key {', '.join(options.bucket_key)}"
    for field in schema.fields:
        if field.name in _RESERVED:
            yield f"it has a column {field.name}, whose name is reserved"


def _healed(finding: Finding, schemas: Schemas, snapshots: Sequence[Snapshot]) -> int | None:
    """Return the snapshot since which no schema has such options; None if the newest still has them."""
    newest = schemas.get(max(schemas)) if schemas else None
    if finding.code != rules.UNSUITED_OPTIONS.code or not isinstance(newest, TableSchema) or any(_unsuited(newest)):
        return None
    return _since(snapshots, lambda schema: isinstance(schema, TableSchema) and not any(_unsuited(schema)), schemas)


def _check_tracking(schemas: Schemas, snapshots: Sequence[Snapshot], has_ids: bool) -> Iterator[Finding]:
    """Check that tracking was never off while there were rows. A table that never had it is not checked."""
    newest = schemas.get(max(schemas)) if schemas else None
    known = [snapshot for snapshot in snapshots if isinstance(schemas.get(snapshot.schema_id), TableSchema)]
    if not has_ids and not any(is_tracked(schema) for schema in (newest, *(schemas[one.schema_id] for one in known))):
        return
    off = [
        snapshot for snapshot in known if not is_tracked(schemas[snapshot.schema_id]) and snapshot.total_record_count
    ]
    if off:
        first = off[0]
        finding = rules.TRACKING_OFF.found(
            "Row tracking is off in schema {schema}, which the snapshot uses. The table has {rows:row}, and nextRowId "
            "is {next_row_id}.",
            path=schema_path(first.schema_id),
            schema=first.schema_id,
            rows=first.total_record_count,
            next_row_id=first.next_row_id or 0,
        )
        healed = _since(snapshots, is_tracked, schemas) if is_tracked(newest) else None
        yield replace(finding, **provenance(first), healed_version=healed)
    elif isinstance(newest, TableSchema) and not is_tracked(newest):
        yield rules.TRACKING_OFF.found(
            "Row tracking is off in schema {schema}, the newest, which the next commit uses.",
            path=schema_path(newest.id),
            schema=newest.id,
        )


def _since(snapshots: Sequence[Snapshot], good: Callable[..., bool], schemas: Schemas) -> int | None:
    """Return the snapshot since which all snapshots use a good schema; None if the last one does not."""
    healed: int | None = None
    for snapshot in reversed(snapshots):
        if not good(schemas.get(snapshot.schema_id)):
            break
        healed = snapshot.id
    return healed
