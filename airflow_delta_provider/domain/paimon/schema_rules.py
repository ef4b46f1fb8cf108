"""Rules about schemas: that row tracking is on, and goes with the table's options and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.layout import schema_path
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.table_schema import KNOWN_VERSIONS, TableSchema
from airflow_delta_provider.domain.report.finding import Finding

_RESERVED = ("_ROW_ID", "_SEQUENCE_NUMBER")

Schemas = Mapping[int, "TableSchema | PaimonFormatError"]


def is_tracked(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Whether rows have ids by a schema; one that cannot be read says nothing of it."""
    return isinstance(schema, TableSchema) and schema.options.get("row-tracking.enabled", "").lower() == "true"


def has_data_evolution(schema: TableSchema | PaimonFormatError | None) -> bool:
    """Whether columns of a row may lie in several files."""
    return isinstance(schema, TableSchema) and schema.options.get("data-evolution.enabled", "").lower() == "true"


def manifest_format(schema: TableSchema | PaimonFormatError | None) -> str | None:
    """Return the format of manifests by a schema where it is another than Avro."""
    named = schema.options.get("manifest.format", "avro").lower() if isinstance(schema, TableSchema) else "avro"
    return None if named == "avro" else named


def check_schemas(
    schemas: Schemas, snapshots: Sequence[Snapshot], of_files: Mapping[int, Snapshot]
) -> Iterator[Finding]:
    """Yield what is wrong with the schemas that snapshots use, and the newest, which the next commit uses.

    :param snapshots: those that are looked at, in order
    :param of_files: schemas by which data files were written, each with the first snapshot that has one
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
    yield from _check_tracking(schemas, snapshots)


def _check_schema(schema_id: int, schema: TableSchema | PaimonFormatError | None) -> Iterator[Finding]:
    unreadable = list(_check_readable(schema_id, schema))
    yield from unreadable
    if isinstance(schema, TableSchema) and not unreadable and (faults := list(_unsuited(schema))):
        yield rules.UNSUITED_OPTIONS.finding(f"Row tracking does not go with schema {schema_id}: {'; '.join(faults)}.")


def _check_readable(schema_id: int, schema: TableSchema | PaimonFormatError | None) -> Iterator[Finding]:
    if schema is None:
        yield rules.UNREADABLE_METADATA.finding(
            f"Schema {schema_id}, by which the table was written, is missing: there is no {schema_path(schema_id)}."
        )
    elif isinstance(schema, PaimonFormatError):
        yield rules.UNREADABLE_METADATA.finding(f"Schema {schema_id} cannot be read: {schema}.")
    elif schema.version not in KNOWN_VERSIONS:
        yield rules.UNKNOWN_VERSION.finding(
            f"Schema {schema_id} is of version {schema.version}; known are those up to {KNOWN_VERSIONS[-1]}."
        )
    elif schema.id != schema_id:
        yield rules.UNREADABLE_METADATA.finding(f"The file of schema {schema_id} says that it is schema {schema.id}.")


def _unsuited(schema: TableSchema) -> Iterator[str]:
    """Yield what row tracking, or data evolution, does not go with."""
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
    """Return since when no schema has options like these, where the newest has not."""
    newest = schemas.get(max(schemas)) if schemas else None
    if finding.code != rules.UNSUITED_OPTIONS.code or not isinstance(newest, TableSchema) or any(_unsuited(newest)):
        return None
    return _since(snapshots, lambda schema: isinstance(schema, TableSchema) and not any(_unsuited(schema)), schemas)


def _check_tracking(schemas: Schemas, snapshots: Sequence[Snapshot]) -> Iterator[Finding]:
    """Judge whether tracking was off while there were rows; a table that never had it is not judged."""
    newest = schemas.get(max(schemas)) if schemas else None
    known = [snapshot for snapshot in snapshots if isinstance(schemas.get(snapshot.schema_id), TableSchema)]
    if not is_tracked(newest) and not any(is_tracked(schemas.get(snapshot.schema_id)) for snapshot in known):
        return
    off = [
        snapshot for snapshot in known if not is_tracked(schemas[snapshot.schema_id]) and snapshot.total_record_count
    ]
    if off:
        yield replace(
            rules.TRACKING_OFF.finding(
                f"Row tracking is off in schema {off[0].schema_id}, which the snapshot uses, and the table has "
                f"{off[0].total_record_count} rows. Rows that are written so have no ids.",
                path=schema_path(off[0].schema_id),
                **provenance(off[0]),
            ),
            healed_version=_since(snapshots, is_tracked, schemas) if is_tracked(newest) else None,
        )
    elif isinstance(newest, TableSchema) and not is_tracked(newest):
        yield rules.TRACKING_OFF.finding(
            f"Row tracking is off in schema {newest.id}, the newest: rows of the next commit have no ids.",
            path=schema_path(newest.id),
        )


def _since(snapshots: Sequence[Snapshot], good: Callable[..., bool], schemas: Schemas) -> int | None:
    """Return since which snapshot all use a schema that is good."""
    healed: int | None = None
    for snapshot in reversed(snapshots):
        if not good(schemas.get(snapshot.schema_id)):
            break
        healed = snapshot.id
    return healed
