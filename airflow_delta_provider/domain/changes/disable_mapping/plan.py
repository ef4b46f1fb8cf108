"""Planning to disable column mapping, by the engine or in one commit by the provider.

The provider commits it if the table has usage tracking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnFacts, MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.usage import fields_with_other_names, has_generated_name
from airflow_delta_provider.domain.changes.plan import Plan, Planned, check_table, check_tracked
from airflow_delta_provider.domain.changes.provider_commit import check_writable
from airflow_delta_provider.domain.changes.schema import remove_mapping
from airflow_delta_provider.domain.changes.step import size_text
from airflow_delta_provider.domain.changes.steps import (
    DisableMapping,
    RewriteWithoutMapping,
    Step,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.column_mapping import disabling as rules
from airflow_delta_provider.domain.checks.column_mapping.names import REUSED_PATH as PATH_OF_DROPPED
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.log import named_by_files
from airflow_delta_provider.domain.delta.metadata import MappedSchema, Metadata, is_plain_name
from airflow_delta_provider.domain.delta.table_features import iceberg_settings, managing
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import counted, listed

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
    schema = metadata.mapped_schema
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
            names=listed(illegal, 5),
        )


def prove_disabling(
    metadata: Metadata, known: ColumnFacts, footers: FooterSurvey | None, *, is_empty: bool = False
) -> Proof:
    """Prove that a table of mode name reads the same without its mapping.

    This must hold now and after columns are added.

    :param metadata: metadata of the version to prove it for
    :param known: history up to that version
    :param footers: footers of all live files of that version; None to prove it from the history alone
    :param is_empty: True if it has no live file; then none may be added until the mapping is disabled
    """
    missing = [*_other_names(metadata.mapped_schema), *_reused(known)]
    by_history = not (known.why_incomplete or known.left)
    if not by_history:
        missing += _in_files(known, footers)
    if missing:
        return Proof("no files") if is_empty else Proof(None, tuple(missing))
    return Proof("history" if by_history else "footers")


def needs_footers(metadata: Metadata, known: ColumnFacts) -> bool:
    """Return True if footers decide: the history does not prove it, and nothing else rules it out."""
    first = prove_disabling(metadata, known, None).missing
    return bool(first) and all(finding.code == rules.DROPPED_IN_FILES.code for finding in first)


def disable_in_action(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return a metaData action without column mapping; everything else stays as it is.

    :param wire: JSON of the action
    """
    schema_string, unset = remove_mapping(wire["schemaString"])
    settings = {key: value for key, value in wire["configuration"].items() if key not in unset}
    return {**wire, "configuration": settings, "schemaString": schema_string}


def disable_in_metadata(metadata: Metadata) -> Metadata:
    """Return ``metadata`` after the change by :func:`disable_in_action`."""
    wire = disable_in_action(metadata.to_json())
    return replace(metadata, configuration=wire["configuration"], schema_string=wire["schemaString"])


def _other_names(schema: MappedSchema) -> Iterator[Finding]:
    renamed = fields_with_other_names(schema)
    if renamed:
        first = renamed[0]
        where = "has no known name" if first.path is None else f"is {path_text(first.path)}"
        if any(map(has_generated_name, renamed)):
            problem = "These columns have other names in data files than in the schema"
            remedy = f"An engine generated such names when it added the columns: {_REWRITE}."
        else:
            problem = "These columns were renamed, and data files keep their former names"
            remedy = f"Rename each of them back to its name in data files (alter-columns), or {_REWRITE}."
        yield rules.OTHER_NAMES.found(
            f"{problem}: {{names}}. In data files, {{column}} {{where}}.",
            remedy=remedy,
            column=first.column,
            names=listed([str(field.column) for field in renamed], 5),
            where=where,
        )


def _reused(known: ColumnFacts) -> Iterator[Finding]:
    for path, field in known.reused.items():
        yield rules.REUSED_PATH.found(
            "{column} is stored as {stored} in data files, like a column that was dropped before ({rule}).",
            column=field.column,
            stored=path_text(path),
            rule=PATH_OF_DROPPED.code,
        )
        return


def _in_files(known: ColumnFacts, footers: FooterSurvey | None) -> Iterator[Finding]:
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
            names=listed([path_text(column) for column in columns], 5),
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


def check_disabling(table: str, state: TableState, engine: Engine) -> tuple[Finding, ...]:
    """Return reasons why the mapping cannot be disabled at all, regardless of the files."""
    if managed := managing(state.protocol, state.metadata.configuration):
        return (requests.catalog_managed(table, managed[0]),)
    return check_table(table, state.protocol, engine) or check_mapping(table, state)


def check_mapping(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons in the metadata why the mapping is needed; empty if there is no mapping."""
    if not state.metadata.properties.is_mapped:
        return ()
    return (*check_can_disable(table, state.metadata), *_clustered(table, state))


def plan_disabling(
    table: TableName, options: DisableColumnMappingOptions, found: MappedTable, engine: Engine
) -> Planned:
    """Plan to disable the mapping: in the metadata if that is proven safe, else with a rewrite."""
    if refusals := check_disabling(table.text, found.state, engine):
        return Planned(None, refusals)
    if not found.is_mapped:
        return Planned(disabling_plan(table, found, None))
    files = found.state.live_files
    rewrite = RewriteWithoutMapping(len(files), sum(file.size for file in files))
    if options.strategy == "rewrite":
        if too_old := _check_rewriting(engine):
            return Planned(None, too_old)
        refused = () if options.allow_rewrite else (_not_allowed(table, rewrite),)
        return Planned(disabling_plan(table, found, rewrite), refused)
    proof = prove(found)
    if proof.rests_on is not None:
        return Planned(disabling_plan(table, found, DisableMapping(proof.rests_on)))
    if options.allow_rewrite:
        too_old = _check_rewriting(engine)
        return Planned(None, (*proof.missing, *too_old)) if too_old else Planned(disabling_plan(table, found, rewrite))
    lost = found.footers is not None and found.footers.lost  # then the engine cannot rewrite the files either
    if options.strategy == "auto" and not lost:
        return Planned(disabling_plan(table, found, rewrite), (*proof.missing, _not_allowed(table, rewrite)))
    return Planned(None, proof.missing)


def prove(found: MappedTable) -> Proof:
    """Return the proof that changing only the metadata is safe, or the reasons why it is not proven."""
    return prove_disabling(found.state.metadata, found.known, found.footers, is_empty=found.state.files == {})


def disabling_plan(table: TableName, found: MappedTable, step: Step | None) -> Plan:
    """Return the plan of one step, with notes; ``step`` is None if there is nothing to do."""
    protocol = found.state.protocol
    if step is None:
        return Plan(table, (), protocol, protocol)
    return Plan(table, (step,), protocol, protocol, tuple(_notes(found)))


def _clustered(table: str, state: TableState) -> Iterator[Finding]:
    columns = named_by_files(state.metadata, state.domains)
    if columns:
        yield rules.CLUSTERED.found(
            "{table} is clustered by {columns}, recorded by physical names, which disabling column mapping does not "
            "change.",
            column=columns[0],
            table=table,
            columns=columns,
        )


def _notes(found: MappedTable) -> Iterator[str]:
    state = found.state
    if state.metadata.properties.change_data_feed:
        yield (
            "The change data feed is enabled. Reading it across this commit fails with "
            "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE: let its readers reach this version first, then resume "
            "after it."
        )
    if found.last_stream is not None:
        yield (
            f"Version {found.last_stream} was written by a stream. Streams that read this table fail with "
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG and have to start over, or track the schema "
            "with schemaTrackingLocation; streams that write it fail once with DELTA_METADATA_CHANGED."
        )
    yield (
        f"The protocol ({state.protocol}) keeps columnMapping, so readers still have to support it. ALTER TABLE … DROP "
        "FEATURE columnMapping would remove it, but add checkpointProtection with writer version 7, which locks out "
        "writers that do not support that."
    )


def _check_rewriting(engine: Engine) -> tuple[Finding, ...]:
    """Return a refusal if the engine cannot rewrite the files without the mapping."""
    if engine.rewrites_without_mapping:
        return ()
    evidence = "{engine} cannot disable column mapping by rewriting the files."
    remedy = "Use Delta 3.3 or later."
    return (requests.UNSUPPORTED_BY_ENGINE.found(evidence, remedy=remedy, engine=engine),)


def _not_allowed(table: TableName, rewrite: RewriteWithoutMapping) -> Finding:
    return rules.REWRITE_NOT_ALLOWED.found(
        "The engine would rewrite {files:data file} ({size}) of {table} in one commit.",
        table=table.text,
        files=rewrite.files,
        size=size_text(rewrite.size),
    )


def check_disabling_tracked(table: str, state: TableState) -> tuple[Finding, ...]:
    """Return reasons why a tracked table's mapping cannot be disabled, regardless of the files."""
    return (*check_writable(table, state), *check_tracked(table, state)) or check_mapping(table, state)


def plan_disabling_tracked(table: TableName, options: DisableColumnMappingOptions, found: MappedTable) -> Planned:
    """Plan to disable the mapping in the metadata, if that is proven safe.

    No engine can rewrite the files of such a table.
    """
    if refusals := check_disabling_tracked(table.text, found.state):
        return Planned(None, refusals)
    if not found.is_mapped:
        return Planned(disabling_plan(table, found, None))
    no_rewrite = requests.UNSUPPORTED_BY_ENGINE.found(
        "{table} has the table feature {feature}, so no engine can rewrite its files.",
        remedy="Drop that feature first.",
        table=table.text,
        feature=USAGE_TRACKING,
    )
    if options.strategy == "rewrite":
        return Planned(None, (no_rewrite,))
    proof = prove(found)
    if proof.rests_on is None:
        return Planned(None, (*map(_after_dropping, proof.missing), no_rewrite))
    return Planned(disabling_plan(table, found, DisableMapping(proof.rests_on)))


def _after_dropping(finding: Finding) -> Finding:
    """Return a finding whose remedy, if it asks for a rewrite, also says to drop usage tracking first."""
    rule = rule_of(finding)
    remedy = rule.remedy if finding.remedy is None else finding.remedy
    if "allow_rewrite" not in remedy:
        return finding
    first = f"Files are rewritten only once the table feature {USAGE_TRACKING} is dropped: do that first."
    return rule.worded(replace(finding, remedy=f"{remedy} {first}"))


def verify_disabled(before: TableState, after: TableState, *, rewritten: bool) -> Iterator[Finding]:
    """Yield differences from the expected table after the commit that disabled its mapping.

    :param before: state before the commit, with its files
    :param after: state after the commit, with its files
    """
    expected = disable_in_metadata(before.metadata)
    wrong = [f"{what} changed" for what in _differences(expected, after.metadata)]
    if not rewritten:
        if before.protocol != after.protocol:
            wrong.append("the protocol changed")
        lost, added = (
            (before.files or {}).keys() - (after.files or {}),
            (after.files or {}).keys() - (before.files or {}),
        )
        wrong += [f"it removed {counted(len(lost), 'data file')}"] if lost else []
        wrong += [f"it added {counted(len(added), 'data file')}"] if added else []
    for what in wrong:
        yield _changed("{difference}", after.version, before.version, difference=what)


def _changed(what: str, version: int, good: int | None = None, remedy: str = "", **known: Any) -> Finding:
    """Return the finding for a difference since the mapping was disabled.

    :param good: version before the commit; None for the one just before ``version``
    :param remedy: alternative to restoring that version
    """
    return rules.NOT_AS_BEFORE.found(
        f"Version {{version}} disabled the column mapping, but {what}.",
        remedy=f"RESTORE the table to version {version - 1 if good is None else good}{remedy}.",
        version=version,
        **known,
    )


def _differences(expected: Metadata, actual: Metadata) -> Iterator[str]:
    if expected.schema != actual.schema:
        yield "the schema without its mapping"
    if _settings(expected) != _settings(actual):
        yield "the configuration, the mapping left out,"
    if MAX_COLUMN_ID in actual.configuration or actual.mapped_schema.is_mapped:
        yield f"{COLUMN_MAPPING_MODE} or {MAX_COLUMN_ID} is still set: the configuration"
    same = ("id", "partition_columns", "name", "description", "format_provider", "format_options", "created_time")
    for name in same:
        if getattr(expected, name) != getattr(actual, name):
            yield f"{name} of the metadata"


def _settings(metadata: Metadata) -> dict[str, str]:
    """Return the properties except the mapping's own: mode none is the same as no mode."""
    return {
        key: value for key, value in metadata.configuration.items() if key not in (COLUMN_MAPPING_MODE, MAX_COLUMN_ID)
    }


def rebased_over(commits: Iterable[tuple[int, Sequence[Action]]], version: int) -> Iterator[Finding]:
    """Yield commits that the commit of ``version`` must not have been rebased over.

    :param commits: commits between the version of the proof and ``version``
    """
    for between, actions in commits:
        if changes_metadata(actions):
            yield _changed(
                "as of a version before {between}, which changed metadata or protocol: that change is lost",
                version,
                between=between,
            )


def foreign_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield files with foreign columns that were added while the mapping was disabled."""
    for path, columns in survey.foreign.items():
        yield _changed(
            "in the meantime another writer added {path}, which has {columns}, not a column of the table: a new column "
            "of that name would get these values",
            version,
            remedy=", or do not add such a column before the file is rewritten",
            path=path,
            columns=listed([path_text(column) for column in columns], 5),
        )


def nulls_differ(
    before: Mapping[tuple[str, ...], int | None], after: Mapping[tuple[str, ...], int | None], version: int
) -> Iterator[Finding]:
    """Yield columns whose number of nulls in the same files differs without the mapping."""
    for parts, count in before.items():
        now = after.get(parts)
        if count is not None and count != now:
            yield _changed(
                "{column} has {now} nulls in the data files since then, {before} before",
                version,
                column=path_text(parts),
                now=now,
                before=count,
            )


def unread_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield files that could not be read, so whether they read as before is unknown."""
    for path, why in survey.unread.items():
        yield rules.NOT_VERIFIED.found(
            "{path} could not be read after version {version} disabled the column mapping: {why}.",
            version=version,
            path=path,
            why=Prose(why),
        )


def rows_differ(
    before: tuple[int, Mapping[str, int]], after: tuple[int, Mapping[str, int]], version: int
) -> Iterator[Finding]:
    """Yield columns whose values, over all rows, differ from the previous version.

    :param before: number of rows, and a checksum of the values by column
    """
    if before[0] != after[0]:
        yield _changed("the table has {now:row} since then, {before} before", version, now=after[0], before=before[0])
    for name, total in before[1].items():
        if after[1].get(name) != total:
            yield _changed("{column} has other values since then", version, column=path_text([name]))
