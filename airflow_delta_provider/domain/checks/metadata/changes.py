"""Changes that a commit makes to the metadata: MD03, MD04, MD08, MD10 to MD12, MD16 and MD27."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.checks.check import on_change, on_first_commit, on_transition
from airflow_delta_provider.domain.checks.metadata import ENTRIES, FAMILY, FILES
from airflow_delta_provider.domain.checks.rule import Need, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import Column, lowered, path_text
from airflow_delta_provider.domain.delta.features.columns import ALLOW_COLUMN_DEFAULTS
from airflow_delta_provider.domain.delta.metadata import ID, Metadata, physical_name
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

_commit = FAMILY.of(Scope.COMMIT)
#: Needs of a rule that compares a commit's metadata with the metadata of the version before.
OF_EARLIER = (Need.STATE, Need.FILES, Need.VERSIONS)
_pair = FAMILY.of(Scope.PAIR, needs=OF_EARLIER)

FIRST_WITHOUT_METADATA = _commit.error(
    4,
    "first version without metaData action",
    name="first-version-without-metadata",
    effect="It is unknown which columns the table has, and engines refuse to open it.",
    remedy="Restore the log file from a backup or another replica.",
)


@on_first_commit(FIRST_WITHOUT_METADATA)
def _first(commit: Commit) -> Iterator[Finding]:
    if not commit.metadata:
        yield FIRST_WITHOUT_METADATA.found(
            "Version {first}, the first one, has no metaData action.", first=commit.version
        )


SEVERAL_METADATA = _commit.error(
    3,
    "several metaData actions in a commit",
    name="several-metadata-actions-in-commit",
    effect="Readers may follow any of them, so engines can see different schemas.",
    remedy="Set a table property with an up-to-date engine, which writes the metadata again, and update the engine "
    "that wrote the commit.",
    source=ENTRIES,
    threads=("delta-io/delta-rs#3785",),
)


@on_first_commit(SEVERAL_METADATA)
def _several_in_first(commit: Commit) -> Iterator[Finding]:
    if len(commit.metadata) > 1:
        differ = len({(m.id, m.schema_string) for m in commit.metadata}) > 1
        yield SEVERAL_METADATA.found(
            "The commit has {actions} metaData actions, but only one is allowed"
            + (", and they differ." if differ else "."),
            actions=len(commit.metadata),
            differ=differ,
        )


@on_change(SEVERAL_METADATA)
def _several(transition: Transition) -> Iterator[Finding]:
    return _several_in_first(transition.commit)


def is_compared(transition: Transition) -> bool:
    """Return True if the metadata of a commit is compared with the version before.

    It is not if there are several metaData actions, as readers may follow different ones, or if an earlier version of
    the table is restored.
    """
    return len(transition.commit.metadata) == 1 and not (transition.restores and transition.past.had_identity)


ID_CHANGED = _pair.error(
    8,
    "table id changed",
    name="table-id-changed",
    effect="Streams refuse to continue, and caches and shares mistake it for another table.",
    remedy=Restore(", and check what wrote the commit; to replace all rows and keep the id, use INSERT OVERWRITE"),
)


@on_change(ID_CHANGED)
def _id_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or not before.id or not after.id or before.id == after.id:
        return
    if transition.replaces_all:
        yield ID_CHANGED.found(
            "The commit replaced the "
            + ("table, which had no files," if transition.found_empty else "whole table")
            + " and changed its id from {before} to {after}.",
            severity=Severity.WARNING,
            effect="Streams and caches that know the table by its id stop or start over.",
            remedy="Engines replace tables this way; INSERT OVERWRITE keeps the id.",
            before=before.id,
            after=after.id,
        )
    elif (
        before.created_time is not None and after.created_time is not None and before.created_time < after.created_time
    ):
        yield ID_CHANGED.found(
            "The commit wrote new metadata, with another id ({before} became {after}) and creation time, and kept the "
            "table's files.",
            severity=Severity.WARNING,
            remedy="A MERGE of delta-rs 1.6 that adds columns does this: add the columns first.",
            before=before.id,
            after=after.id,
        )
    else:
        yield ID_CHANGED.found(
            "The commit changed the table's id from {before} to {after}"
            + (", which had no files." if transition.found_empty else " and kept its files."),
            before=before.id,
            after=after.id,
        )


CREATED_TIME_CHANGED = _pair.warning(
    10,
    "createdTime changed",
    name="created-time-changed",
    effect="Readers are unaffected; tools that show the creation time show a wrong one.",
    remedy="No action is needed.",
)


@on_change(CREATED_TIME_CHANGED)
def _created_time_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    known = before.created_time is not None and after.created_time is not None
    if not is_compared(transition) or before.id != after.id or transition.replaces_all or not known:
        return
    if before.created_time != after.created_time:
        yield CREATED_TIME_CHANGED.found(
            "The commit changed createdTime from {before} to {after}, though the table is the same.",
            before=before.created_time,
            after=after.created_time,
        )


PARTITIONING_CHANGED = _pair.error(
    11,
    "partition columns changed under live files",
    name="partition-columns-changed-under-files",
    effect="The values of these columns read NULL in older files, or the files are skipped or refused.",
    remedy=Restore("; to change partitions, rewrite the whole table"),
    source=FILES,
    threads=("delta-io/delta-rs#2468",),
    about_older_files=True,
    of_all_columns=True,
)


@on_change(PARTITIONING_CHANGED)
def _partitioning_changed(transition: Transition) -> Iterator[Finding]:
    if not is_compared(transition) or transition.keeps_no_file:
        return
    before, after = _partitioning(transition.before.metadata), _partitioning(transition.after.metadata)
    if before is None or after is None:
        return
    # A renamed column keeps its physical name, and files contain only that name.
    if before.keys() != after.keys() and set(before.values()) != set(after.values()):
        yield PARTITIONING_CHANGED.found(
            "The commit changed the partition columns from {before} to {after}, but kept files that are partitioned "
            "the old way.",
            before=list(before) or "none",
            after=list(after) or "none",
        )


NOTHING_CHANGED = _pair.warning(
    12,
    "metaData action that changes nothing",
    name="metadata-action-changes-nothing",
    effect="Readers are unaffected, but every concurrent writer fails because the metadata seems to have changed.",
    remedy="Avoid such commits.",
)


@on_change(NOTHING_CHANGED)
def _nothing_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.commit.protocols:
        return  # with a protocol action it is a way to upgrade, or to RESTORE
    if before == after and before.created_time == after.created_time:
        yield NOTHING_CHANGED.found("The commit's metaData action is the same as before.")


COLUMN_LOST = _pair.warning(
    16,
    "column removed from the schema, but not from the files",
    name="column-removed-from-schema-only",
    effect="Its values can no longer be read; the next column with its name gets them, or cannot be read.",
    remedy=Restore("; to drop a column, enable column mapping first"),
    source=FILES,
)


@on_change(COLUMN_LOST)
def _column_lost(transition: Transition) -> Iterator[Finding]:
    states = (transition.before, transition.after)
    if not is_compared(transition) or transition.keeps_no_file:
        return
    before, after = (state.metadata.readable_columns for state in states)
    if before is None or after is None or any(state.metadata.properties.is_mapped for state in states):
        return
    left = {lowered(column.parts) for column in after}
    left |= {(str(name).lower(),) for name in transition.before.metadata.partition_columns}  # these are in no file
    dropped = [column for column in before if column.kinds[-1] == "field" and lowered(column.parts) not in left]
    if dropped:
        more = " and {more:more column|more columns}" if len(dropped) > 1 else ""
        yield COLUMN_LOST.found(
            f"The commit removes {{column}}{more} from the schema, but keeps the files, and the table has no column "
            "mapping.",
            column=dropped[0],
            more=len(dropped) - 1,
        )


def _partitioning(metadata: Metadata) -> dict[str, str] | None:
    """Return the physical names of the partition columns by their names; None if they are unknown."""
    columns = metadata.readable_columns
    if columns is None:
        return None
    mode = metadata.properties.mapping_mode
    physical = {c.parts[0].lower(): physical_name(c.field, mode) for c in columns if len(c.parts) == 1}
    names = [str(name).lower() for name in metadata.partition_columns]
    if not all(name in physical for name in names):
        return None  # MD05 reports it
    return {name: physical[name].lower() for name in names}


WRITTEN_WITHOUT_COLUMNS = FAMILY.of(Scope.COMMIT).error(
    27,
    "data written though a column cannot be in files",
    name="data-written-with-unstorable-column",
    effect="Data files lack the column or have one that the protocol does not know, and engines fail to read them.",
    remedy=Restore(", and give the column another type", of_file=True),
    source="PROTOCOL.md, Void Type",
    shows="add",
)


@on_transition(WRITTEN_WITHOUT_COLUMNS, reads=("add.path", "files", "metaData"))
def _written(transition: Transition) -> Iterator[Finding]:
    where = transition.after.metadata.void_without_file if transition.commit.adds else None
    if where is None:
        return
    new = transition.new_files
    if new:
        yield WRITTEN_WITHOUT_COLUMNS.found(
            "The commit adds {files:data file}, for example {path}, though "
            + ("all columns of the table are void." if not where else "{column} holds nothing but void."),
            path=new[0].path,
            files=len(new),
            column=where or None,
        )


_NOT_NULL = re.compile(r'"nullable"\s*:\s*false')
_KEY = ALLOW_COLUMN_DEFAULTS.field_key

DEFAULT_OF_NEW_COLUMN = _pair.error(
    23,
    "column added with a default",
    name="column-added-with-default",
    effect="Rows that are there already read NULL, not the default; engines may take it for their value.",
    remedy=Restore(", add the column, and set its default in a second statement"),
    source="PROTOCOL.md, Default Columns",
)


@on_change(DEFAULT_OF_NEW_COLUMN)
def _default_of_new_column(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.replaces_all or _KEY not in after.schema_string:
        return
    for column in _new_columns(before, after):
        default = column.field.metadata.get(_KEY)
        if default is not None:
            yield DEFAULT_OF_NEW_COLUMN.found(
                "The commit adds {column} together with its default, {default}.", column=column, default=str(default)
            )


REQUIRED_COLUMN_ADDED = _pair.error(
    31,
    "column that cannot be null added to a table with files",
    name="not-null-column-added-after-files",
    effect="Older files do not have the column, so their rows have nulls: Delta Spark fails to read them, and queries "
    "for nulls can miss them in other engines.",
    remedy=Restore(", and add the column as a nullable one"),
    source="PROTOCOL.md, Struct Field and Consistency Between Table Metadata and Data Files",
    about_older_files=True,
)


@on_change(REQUIRED_COLUMN_ADDED)
def _required_column(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if not is_compared(transition) or transition.keeps_no_file or after.readable_columns is None:
        return
    if _NOT_NULL.search(after.schema_string) is None:
        return
    partitions = {str(name).lower() for name in after.partition_columns}
    required = {column.parts for column in after.readable_columns if not column.field.nullable}
    new = {column.parts: column for column in _new_columns(before, after)}
    for column in new.values():
        above = [column.parts[:length] for length in range(1, len(column.parts))]
        if column.parts not in required or not new.keys().isdisjoint(above) or column.parts[0].lower() in partitions:
            continue
        certain = required.issuperset(above) and set(column.kinds) == {"field"}
        yield REQUIRED_COLUMN_ADDED.found(
            "The commit adds {column}, which cannot be null, but keeps files that do not have it"
            + ("." if certain else ". That is wrong unless {above} is NULL or empty in all of their rows."),
            severity=None if certain else Severity.UNDECIDED,
            column=column,
            above=None if certain else path_text(column.parts[:-1]),
        )


def fields_by_id(metadata: Metadata, *, mapped: bool) -> dict[Any, Column]:
    """Return the columns and nested fields by id, those without an id by path; all by path if not ``mapped``."""
    fields = (column for column in metadata.readable_columns or () if column.kinds[-1] == "field")
    ids = ((column.field.metadata.get(ID) if mapped else None, column) for column in fields)
    return {number if isinstance(number, int) else lowered(column.parts): column for number, column in ids}


def _new_columns(before: Metadata, after: Metadata) -> Iterator[Column]:
    """Yield the fields that had neither their name nor their id before."""
    columns = before.readable_columns
    if columns is None:
        return
    names = {lowered(column.parts) for column in columns}
    ids = {column.field.metadata.get(ID) for column in columns} - {None}
    for column in after.readable_columns or ():
        if column.kinds[-1] != "field" or lowered(column.parts) in names:
            continue
        if column.field.metadata.get(ID) not in ids:
            yield column
