"""Rules about schemas: row tracking must be on, and compatible with the table's options and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.layout import schema_path
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_schema import KNOWN_VERSIONS, TableSchema
from airflow_delta_provider.domain.paimon.violation import provenance
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.visible import visible

_RESERVED = ("_ROW_ID", "_SEQUENCE_NUMBER")

Schemas = Mapping[int, "TableSchema | PaimonFormatError"]


def is_tracked(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Return True if row tracking is on in a schema; False for an unreadable one."""
    return isinstance(schema, TableSchema) and schema.options.get("row-tracking.enabled", "").lower() == "true"


def has_data_evolution(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Return True if several files may have columns of the same row."""
    return isinstance(schema, TableSchema) and schema.options.get("data-evolution.enabled", "").lower() == "true"


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
