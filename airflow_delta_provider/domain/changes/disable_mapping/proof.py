"""Whether column mapping can go without rewriting data files, and the metadata that it leaves behind.

``check_can_disable`` names what rules it out whatever lies in the files; no rewrite by the provider helps there.
``prove_disabling`` gives a ``Proof``: by what it holds, or what is missing of it, where a rewrite would help.
``disable_in_action`` is the metadata of the commit. All are pure: readers of log and footers feed them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.column_history import KnownColumns
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.schema_mapping import disable_in_schema
from airflow_delta_provider.domain.changes.disable_mapping.usage import has_made_up_name, listed, moved_fields
from airflow_delta_provider.domain.checks import disable_mapping as rules
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.column_mapping import is_plain_name
from airflow_delta_provider.domain.delta.external_owners import iceberg_settings
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MappingMode
from airflow_delta_provider.domain.report.finding import Finding

_REWRITE = "repeat the request with allow_rewrite=True (--allow-rewrite), so that the engine rewrites all files"
_PURGE = (
    "Rewrite the files that were written before (REORG TABLE … APPLY (PURGE), or OPTIMIZE) and run the job again, or "
    f"{_REWRITE}"
)
_AFTER_LOSS = (
    "No engine can read or rewrite such a file: bring it back from a backup, RESTORE the table to a version before it "
    "was added, or take it out of the table if its rows are given up (FSCK REPAIR TABLE, where the engine has that); "
    "then run the job again"
)


@dataclass(frozen=True)
class Proof:
    """Why every column reads the same without the mapping, and none that is gone can come back.

    :param rests_on: ``history``, ``footers``, or ``no files``, where there is nothing to be read otherwise; None where
        there is no proof
    :param missing: what keeps it from being one
    """

    rests_on: str | None
    missing: tuple[Finding, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the mapping can go."""
        return not self.missing


def check_can_disable(table: str, metadata: Metadata) -> Iterator[Finding]:
    """Yield why the mapping of a table cannot go at all, as far as its metadata tells."""
    schema = MappedSchema.of(metadata)
    if schema.mode is MappingMode.ID:
        yield rules.WRONG_MODE.finding(
            f"{table} has column mapping in mode id: its columns are found by ids, and nobody knows whether their "
            "names in data files are right. To leave it, let the engine rewrite every file: ALTER TABLE … SET "
            f"TBLPROPERTIES ('{COLUMN_MAPPING_MODE}' = 'none')."
        )
    if needing := iceberg_settings(metadata.configuration):
        yield rules.NEEDS_MAPPING.finding(
            f"{table} is also kept as an Iceberg table, and that needs column mapping: "
            f"{', '.join(f'{key} = {value}' for key, value in needing.items())}. Disable it first, if no Iceberg "
            "reader needs the table."
        )
    illegal = [str(field.column) for field in schema.fields if not is_plain_name(field.column.field.name)]
    if illegal:
        yield rules.ILLEGAL_NAMES.finding(
            f"Without column mapping names cannot have spaces, line breaks, tabs or any of ,;{{}}()=. {table} has such "
            f"names: {listed(illegal)}. Change them first, and allow the rewrite that it takes then.",
            column=illegal[0],
        )


def prove_disabling(
    metadata: Metadata, known: KnownColumns, footers: FooterSurvey | None, *, is_empty: bool = False
) -> Proof:
    """Prove that a table of mode name reads the same without its mapping, now and after columns are added.

    :param metadata: of the version that the proof is about
    :param known: what the history up to that version tells
    :param footers: of all live files of that version; None where the history is to prove it alone
    :param is_empty: whether it has no live file: then it may have no other one, either, until the mapping is gone
    """
    missing = [*_other_names(MappedSchema.of(metadata)), *_reused(known)]
    by_history = not (known.why_incomplete or known.left)
    if not by_history:
        missing += _in_files(known, footers)
    if missing:
        return Proof("no files") if is_empty else Proof(None, tuple(missing))
    return Proof("history" if by_history else "footers")


def needs_footers(metadata: Metadata, known: KnownColumns) -> bool:
    """Whether footers decide: the history does not prove it, and nothing else rules it out."""
    first = prove_disabling(metadata, known, None).missing
    return bool(first) and all(finding.code == rules.DROPPED_IN_FILES.code for finding in first)


def disable_in_action(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metaData action without column mapping; all that is not the mapping's stays as it is.

    :param wire: the action's JSON
    """
    schema_string, gone = disable_in_schema(wire["schemaString"])
    settings = {key: value for key, value in wire["configuration"].items() if key not in gone}
    return {**wire, "configuration": settings, "schemaString": schema_string}


def disable_in_metadata(metadata: Metadata) -> Metadata:
    """Return what :func:`disable_in_action` makes of ``metadata``."""
    wire = disable_in_action(metadata.to_json())
    return replace(metadata, configuration=wire["configuration"], schema_string=wire["schemaString"])


def _other_names(schema: MappedSchema) -> Iterator[Finding]:
    moved = moved_fields(schema)
    if moved:
        first = moved[0]
        where = "has no known name" if first.path is None else f"is {path_text(first.path)}"
        if any(map(has_made_up_name, moved)):
            remedy = f"An engine made such names up when it added the columns: {_REWRITE}"
        else:
            remedy = f"Rename every such column back to its name there, or {_REWRITE}"
        yield rules.OTHER_NAMES.finding(
            "Without the mapping these columns would read NULL, since they have other names in data files: "
            f"{listed([str(field.column) for field in moved])}; {first.column} {where} there. {remedy}.",
            column=str(first.column),
        )


def _reused(known: KnownColumns) -> Iterator[Finding]:
    for path, field in known.reused.items():
        yield rules.REUSED_PATH.finding(
            f"{field.column} lies at {path_text(path)} in data files, where a column that was dropped lay before: "
            "nobody can tell the values of the two apart (CM16). Look into that, then have all files rewritten: repeat "
            "the request with allow_rewrite=True (--allow-rewrite).",
            column=str(field.column),
        )
        return


def _in_files(known: KnownColumns, footers: FooterSurvey | None) -> Iterator[Finding]:
    if known.left:
        path, version = next(iter(known.left.items()))
        others = f" and {len(known.left) - 1} more" if len(known.left) > 1 else ""
        why = f"{path_text(path)}{others} was dropped in version {version}"
    else:
        why = known.why_incomplete
    if footers is None:
        yield _in_files_finding(f"Dropped columns may still lie in live data files: {why}", "")
    elif footers.foreign:
        file, columns = next(iter(footers.foreign.items()))
        count = len(footers.foreign)
        yield _in_files_finding(
            f"{count} live data file{'s hold' if count > 1 else ' holds'} columns that the table has not: {file} has "
            f"{listed([path_text(column) for column in columns])}. Without the mapping their values would come back in "
            "the next column of that name",
            file,
        )
    elif footers.unread:
        file = next(iter(footers.lost or footers.unread))
        error = footers.unread[file]
        more = f" (and {len(footers.unread) - 1} more)" if len(footers.unread) > 1 else ""
        yield _in_files_finding(
            f"Dropped columns may still lie in live data files: {why}, and {file}{more} cannot be looked into: {error}",
            file,
            _AFTER_LOSS if file in footers.lost else _PURGE,
        )


def _in_files_finding(what: str, path: str, remedy: str = _PURGE) -> Finding:
    return rules.DROPPED_IN_FILES.finding(f"{what}. {remedy}.", path=path or None)
