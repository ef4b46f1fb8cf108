"""The proof that column mapping can be disabled without rewriting files, and the resulting metadata.

``check_can_disable`` returns reasons against it regardless of the files, even with a rewrite by the provider.
``prove_disabling`` returns a ``Proof``: its basis, or the missing evidence. If evidence is missing, a rewrite would
help. ``disable_in_action`` returns the metadata of the commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.column_history import KnownColumns
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.usage import has_made_up_name, listed, moved_fields
from airflow_delta_provider.domain.changes.schema_string import disable_in_schema
from airflow_delta_provider.domain.checks import disable_mapping as rules
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH as PATH_OF_DROPPED
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.external_owners import iceberg_settings
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.report.finding import Finding

_REWRITE = "repeat the request with allow_rewrite=True (--allow-rewrite) to let the engine rewrite all files"
_AFTER_LOSS = (
    "No engine can read or rewrite such a file: restore it from a backup, RESTORE the table to a version before it was "
    "added, or remove it from the table if its rows are not needed (FSCK REPAIR TABLE, if the engine has it); then run "
    "the job again."
)


@dataclass(frozen=True)
class Proof:
    """A proof that every column reads the same without the mapping, and no dropped column can reappear.

    :param rests_on: ``history``, ``footers``, or ``no files`` if there is no data; None if there is no proof
    :param missing: reasons why there is no proof
    """

    rests_on: str | None
    missing: tuple[Finding, ...] = ()


def check_can_disable(table: str, metadata: Metadata) -> Iterator[Finding]:
    """Yield reasons in the metadata why the mapping of a table cannot be disabled at all."""
    schema = MappedSchema.of(metadata)
    if schema.mode is MappingMode.ID:
        yield rules.WRONG_MODE.found("{table} has column mapping in mode id.", table=table)
    if needing := iceberg_settings(metadata.configuration):
        yield rules.NEEDS_MAPPING.found(
            "{table} is also an Iceberg table, which needs column mapping: {settings}.",
            table=table,
            settings=[f"{key} = {value}" for key, value in needing.items()],
        )
    illegal = [str(field.column) for field in schema.fields if not is_plain_name(field.column.field.name)]
    if illegal:
        yield rules.ILLEGAL_NAMES.found(
            "{table} has column names that need column mapping: {names}.",
            column=illegal[0],
            table=table,
            names=listed(illegal),
        )


def prove_disabling(
    metadata: Metadata, known: KnownColumns, footers: FooterSurvey | None, *, is_empty: bool = False
) -> Proof:
    """Prove that a table of mode name reads the same without its mapping.

    This must hold now and after columns are added.

    :param metadata: metadata of the version to prove it for
    :param known: history up to that version
    :param footers: footers of all live files of that version; None to prove it from the history alone
    :param is_empty: True if it has no live file; then none may be added until the mapping is disabled
    """
    missing = [*_other_names(MappedSchema.of(metadata)), *_reused(known)]
    by_history = not (known.why_incomplete or known.left)
    if not by_history:
        missing += _in_files(known, footers)
    if missing:
        return Proof("no files") if is_empty else Proof(None, tuple(missing))
    return Proof("history" if by_history else "footers")


def needs_footers(metadata: Metadata, known: KnownColumns) -> bool:
    """Return True if footers decide: the history does not prove it, and nothing else rules it out."""
    first = prove_disabling(metadata, known, None).missing
    return bool(first) and all(finding.code == rules.DROPPED_IN_FILES.code for finding in first)


def disable_in_action(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metaData action without column mapping; everything else stays as it is.

    :param wire: JSON of the action
    """
    schema_string, gone = disable_in_schema(wire["schemaString"])
    settings = {key: value for key, value in wire["configuration"].items() if key not in gone}
    return {**wire, "configuration": settings, "schemaString": schema_string}


def disable_in_metadata(metadata: Metadata) -> Metadata:
    """Return ``metadata`` after the change by :func:`disable_in_action`."""
    wire = disable_in_action(metadata.to_json())
    return replace(metadata, configuration=wire["configuration"], schema_string=wire["schemaString"])


def _other_names(schema: MappedSchema) -> Iterator[Finding]:
    moved = moved_fields(schema)
    if moved:
        first = moved[0]
        where = "has no known name" if first.path is None else f"is {path_text(first.path)}"
        if any(map(has_made_up_name, moved)):
            remedy = f"An engine generated such names when it added the columns: {_REWRITE}."
        else:
            remedy = f"Rename each of them back to its name in data files, or {_REWRITE}."
        yield rules.OTHER_NAMES.found(
            "These columns have other names in data files: {names}; {column} {where} there.",
            remedy=remedy,
            column=first.column,
            names=listed([str(field.column) for field in moved]),
            where=where,
        )


def _reused(known: KnownColumns) -> Iterator[Finding]:
    for path, field in known.reused.items():
        yield rules.REUSED_PATH.found(
            "{column} is stored as {stored} in data files, like a column that was dropped before ({rule}).",
            column=field.column,
            stored=path_text(path),
            rule=PATH_OF_DROPPED.code,
        )
        return


def _in_files(known: KnownColumns, footers: FooterSurvey | None) -> Iterator[Finding]:
    if known.left:
        path, version = next(iter(known.left.items()))
        others = f" and {len(known.left) - 1} more" if len(known.left) > 1 else ""
        why = Prose(f"{path_text(path)}{others} was dropped in version {version}")
    else:
        why = Prose(known.why_incomplete)
    if footers is None:
        yield rules.DROPPED_IN_FILES.found("Live data files may still contain dropped columns: {why}.", why=why)
    elif footers.foreign:
        file, columns = next(iter(footers.foreign.items()))
        yield rules.DROPPED_IN_FILES.found(
            "{files:live data file has|live data files have} columns that the table does not have: {path} has {names}.",
            path=file,
            files=len(footers.foreign),
            names=listed([path_text(column) for column in columns]),
        )
    elif footers.unread:
        file = next(iter(footers.lost or footers.unread))
        more = f" (and {len(footers.unread) - 1} more)" if len(footers.unread) > 1 else ""
        yield rules.DROPPED_IN_FILES.found(
            "Live data files may still contain dropped columns: {why}, and {path}" + more + " cannot be read: {error}.",
            remedy=_AFTER_LOSS if file in footers.lost else None,
            path=file,
            files=len(footers.unread),
            why=why,
            error=Prose(footers.unread[file]),
        )
