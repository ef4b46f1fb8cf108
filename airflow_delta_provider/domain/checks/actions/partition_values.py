"""The partition values of files in a commit: AC08, AC12, AC24, AC28 and AC40.

PROTOCOL.md, Partition Value Serialization.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.actions import ADD_AND_REMOVE, FAMILY, UPDATE, WRITE_AGAIN
from airflow_delta_provider.domain.checks.check import on_file, on_tracked
from airflow_delta_provider.domain.checks.metadata import MOST_TEXT
from airflow_delta_provider.domain.checks.rule import OF_SUBJECT, Details, Healing, Need, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.data_type import Column, DataType
from airflow_delta_provider.domain.delta.features.columns import TYPE_CHANGES_KEY
from airflow_delta_provider.domain.delta.metadata import CHAR_OR_VARCHAR, Metadata, physical_name
from airflow_delta_provider.domain.delta.partition_value import is_partition_value, readings
from airflow_delta_provider.domain.delta.row_condition import allowed_values, comparable
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

_commit = FAMILY.of(Scope.COMMIT)

NO_PARTITION_VALUES = _commit.error(
    8,
    "partition values missing, or for other columns than the partition columns",
    name="partition-values-missing-or-extra",
    effect="Readers fail on the table, or read NULL in the partition columns of the file, and filters miss its rows.",
    remedy=WRITE_AGAIN,
    source=ADD_AND_REMOVE,
    about_live_files=True,
    repairs=(RepairMethod.PARTITION_VALUES,),
)
WRONG_PARTITION_VALUE = _commit.error(
    12,
    "partition value does not match the column's type",
    name="partition-value-of-wrong-type",
    effect="Reading the file fails, or the column reads NULL in it, and filters miss its rows.",
    remedy=WRITE_AGAIN,
    source="PROTOCOL.md, Partition Value Serialization",
    repairs=(RepairMethod.PARTITION_VALUES,),
)
AMBIGUOUS_PARTITION_VALUE = _commit.warning(
    40,
    "partition value that engines read differently",
    name="partition-value-read-differently",
    effect="The same filter on the column returns other rows in each engine, or some engines cannot read the table.",
    remedy="Write the rows of the partition again, with a value that all engines read alike; until then, read the "
    "table with engines that agree.",
    source="PROTOCOL.md, Partition Value Serialization",
    repairs=(RepairMethod.PARTITION_VALUES,),
)


@on_file(
    NO_PARTITION_VALUES,
    WRONG_PARTITION_VALUE,
    AMBIGUOUS_PARTITION_VALUE,
    reads=("add.path", "add.partitionValues", "metaData"),
)
def check_partition_values(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield findings about the partition values of a file that a commit adds.

    :param add: the body of the ``add`` action, as in the log
    :param metadata: the table's metadata after the commit
    """
    if not metadata.properties.is_mapped:
        yield from _columns(add, metadata)
    elif (
        add.get("partitionValues") is None and not metadata.partition_columns and metadata.readable_columns is not None
    ):
        yield _missing(add)  # the family of column mapping compares the names
    found = list(_values(add, metadata))
    yield from found or _readings(add, metadata)


OTHER_PARTITION_VALUES = _commit.error(
    24,
    "partition values of a removed or change data file wrong",
    name="remove-or-cdc-partition-values-wrong",
    effect="Readers of the change data feed fail on the commit, or read NULL in the partition columns of its rows.",
    remedy=UPDATE,
    source=ADD_AND_REMOVE,
    shows=OF_SUBJECT,
)


@on_file(OTHER_PARTITION_VALUES, reads=("remove.path", "remove.partitionValues", "cdc", "metaData"))
def check_other_partition_values(kind: str, body: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield findings about the partition values in a ``remove`` or ``cdc`` action, if it has any.

    :param metadata: the table's metadata; for a file that was there before the commit, the metadata before it
    """
    if not isinstance(body.get("partitionValues"), Mapping):
        return
    for found in (*_columns(body, metadata), *_values(body, metadata)):
        if kind == "remove" and _are_columns((found.facts or {}).get("extra"), metadata):
            continue
        yield OTHER_PARTITION_VALUES.found(
            "In a {subject} action: {problem}",
            path=_path(body),
            column=found.column,
            subject=kind,
            problem=Prose(found.evidence),
        )


def _are_columns(extra: list[str] | None, metadata: Metadata) -> bool:
    """Return True if wrong names of a removed file's partition values are acceptable.

    Additional names must be columns of the table, which may have been partitioned by others before. Names may be
    missing: Delta Spark leaves out NULLs.

    :param extra: additional names; None if the names are not wrong
    """
    mode = metadata.properties.mapping_mode
    columns = {
        physical_name(column.field, mode).lower()
        for column in metadata.readable_columns or ()
        if len(column.parts) == 1
    }
    return extra is not None and {name.lower() for name in extra} <= columns


def _columns(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield findings about the names of partition columns in files."""
    values = add.get("partitionValues")
    if not isinstance(values, Mapping):
        if values is None:
            yield _missing(add)
        return
    if not values and not metadata.partition_columns:
        return
    logical = _stored_partition_columns(metadata)
    columns = {name.lower(): name for name in logical}
    names = {str(name).lower(): str(name) for name in values}
    if columns.keys() == names.keys():
        return
    missing = [columns[name] for name in sorted(columns.keys() - names.keys())]
    extra = sorted(names[name] for name in names.keys() - columns.keys())
    found = [text for text, some in (("lacks {missing}", missing), ("has {extra}", extra)) if some]
    yield NO_PARTITION_VALUES.found(
        f"The partition columns are {{expected}}, but partitionValues of {{path}} {' and '.join(found)}.",
        path=_path(add),
        column=logical.get((missing or extra)[0], (missing or extra)[0]),
        expected=sorted(columns.values()) or "none",
        missing=missing,
        extra=extra,
    )


def _stored_partition_columns(metadata: Metadata) -> dict[str, str]:
    """Return the partition columns by their names in files."""
    mode = metadata.properties.mapping_mode
    if mode is MappingMode.NONE:
        return {str(name): str(name) for name in metadata.partition_columns}
    fields = {c.field.name.lower(): c.field for c in metadata.readable_columns or () if len(c.parts) == 1}
    named = ((str(name), fields.get(str(name).lower())) for name in metadata.partition_columns)
    return {name if field is None else physical_name(field, mode): name for name, field in named}


def _missing(add: Mapping[str, Any]) -> Finding:
    return NO_PARTITION_VALUES.found(
        "{path} is added without partitionValues, which every add action must have: an empty map if the table has no "
        "partitions.",
        path=_path(add),
    )


def _path(add: Mapping[str, Any]) -> str | None:
    path = add.get("path")
    return path if isinstance(path, str) else None


def _texts(add: Mapping[str, Any], metadata: Metadata) -> Iterator[tuple[_Column, str]]:
    """Yield the partition columns with their values that are strings; AC16 reports others."""
    values = add.get("partitionValues")
    if not values or not isinstance(values, Mapping):
        return
    mode = metadata.properties.mapping_mode
    kinds = _kinds(metadata.schema_string, tuple(map(str, metadata.partition_columns)), mode)
    for name, value in values.items():
        column = kinds.get(str(name).lower())
        if column is not None and isinstance(value, str):
            yield column, value


def _values(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    for column, value in _texts(add, metadata):
        if not value or is_partition_value(value, column.type, widened=column.widened):
            continue
        yield WRONG_PARTITION_VALUE.found(
            "The partition column {column} has the type {type}, but its value for {path} is {value!r}.",
            path=_path(add),
            column=column.name,
            type=str(column.type),
            value=value[:100],
        )
        return


def _readings(add: Mapping[str, Any], metadata: Metadata) -> Iterator[Finding]:
    """Yield a finding about the first value that engines read differently."""
    for column, value in _texts(add, metadata):
        if (read := readings(value, column.type)) is not None:
            yield AMBIGUOUS_PARTITION_VALUE.found(
                "The value of the partition column {column}, a {type}, is {value!r} for {path}. {readings}.",
                path=_path(add),
                column=column.name,
                type=str(column.type),
                value=value[:100],
                readings=Prose(read),
            )
            return


class _Column(NamedTuple):
    """A partition column.

    :param widened: True if it may have had another type before
    """

    name: str
    type: DataType
    widened: bool


@lru_cache(maxsize=64)
def _kinds(schema_string: str, partition_columns: tuple[str, ...], mode: MappingMode) -> Mapping[str, _Column]:
    """Return the partition columns, by their lower-case names in files."""
    columns = Metadata("", schema_string).readable_columns or ()
    named = {name.lower() for name in partition_columns}
    return {
        physical_name(column.field, mode).lower(): _Column(
            str(column), column.data_type, TYPE_CHANGES_KEY in column.field.metadata
        )
        for column in columns
        if len(column.parts) == 1 and column.field.name.lower() in named
    }


def _is_not_undone(later: Transition, _: Finding, __: Details) -> bool:
    return not (later.restores or (later.replaces_all and later.commit.removes))


OTHER_PARTITION_WRITTEN = _commit.warning(
    28,
    "overwrite of other partitions than its predicate names",
    name="overwrite-outside-its-predicate",
    effect="The rows that were to be replaced are gone, and another partition may have rows twice.",
    remedy="Compare the table with its previous version. If rows are missing, RESTORE that version and write the "
    "change again, with rows that fit the predicate.",
    source="PROTOCOL.md, Commit Provenance Information",
    threads=("delta-io/delta-rs#1220",),
    healing=Healing(_is_not_undone, by_restore=True),
    needs=(Need.FILES, Need.VERSIONS),
    shows="add",
)


@on_tracked(
    OTHER_PARTITION_WRITTEN,
    reads=(
        "add.path",
        "add.partitionValues",
        "add.dataChange",
        "commitInfo.operation",
        "commitInfo.operationParameters",
        "files",
        "metaData",
    ),
)
def check_overwritten_partitions(transition: Transition, actions: Iterable[Action]) -> Iterator[Finding]:
    """Yield a finding if an overwrite adds files to partitions that its predicate excludes.

    :param actions: actions of the commit, as in the log
    """
    metadata, predicate = transition.after.metadata, _predicate_of(transition.commit)
    columns = {} if predicate is None else _columns_by_name(metadata)
    if predicate is None or not columns:
        return
    allowed = allowed_values(predicate, {name: column.data_type for name, column in columns.items()})
    found: list[tuple[str, str, Any]] = []
    new = {file.path for file in transition.new_files if file.data_change} if allowed else set()
    for add in (action["add"] for action in actions if action.get("add")):
        if add["path"] in new:
            excluded = _excluded(add, allowed, columns, metadata.properties.mapping_mode)
            found += [(add["path"], *excluded)] if excluded else []
    if found:
        path, name, value = found[0]
        yield OTHER_PARTITION_WRITTEN.found(
            "The commit overwrites the rows with {predicate}, but {files:new file is|new files are} in other "
            "partitions, for example {path}, in which {column} is " + ("NULL." if value is None else "{value!r}."),
            path=path,
            column=columns[name],
            predicate=predicate[:MOST_TEXT],
            files=len(found),
            value=value,
        )


def _predicate_of(commit: Commit) -> str | None:
    """Return the predicate of an overwrite; None if there is none."""
    if not commit.adds or not overwrites_by_predicate(commit.info):
        return None
    return str(commit.info["operationParameters"]["predicate"])


def overwrites_by_predicate(info: Mapping[str, Any]) -> bool:
    """Return True if a commit overwrites the rows of a predicate.

    :param info: its ``commitInfo``
    """
    parameters = info.get("operationParameters")
    if info.get("operation") != "WRITE" or not isinstance(parameters, Mapping):
        return False
    mode = parameters.get("mode")
    is_overwrite = isinstance(mode, str) and mode.lower() == "overwrite"
    return is_overwrite and isinstance(parameters.get("predicate"), str)


def _columns_by_name(metadata: Metadata) -> dict[str, Column]:
    """Return the partition columns by lower-case name, without those whose values are padded."""
    named = {str(name).lower() for name in metadata.partition_columns}
    return {
        column.field.name.lower(): column
        for column in (metadata.readable_columns or ())
        if named
        if len(column.parts) == 1
        and column.field.name.lower() in named
        and CHAR_OR_VARCHAR not in column.field.metadata
    }


def _excluded(
    add: Mapping[str, Any], allowed: Mapping[str, frozenset[Any]], columns: Mapping[str, Column], mode: MappingMode
) -> tuple[str, Any] | None:
    """Return a partition column whose value excludes a file, with the value; None if the file may be allowed."""
    given = add.get("partitionValues")
    if not isinstance(given, Mapping):
        return None
    values = {str(name).lower(): value for name, value in given.items()}
    for name, possible in allowed.items():
        column = columns[name]
        physical = physical_name(column.field, mode).lower()
        if physical not in values:
            continue  # AC08 or the family of column mapping reports it
        value = values[physical] or None
        known = comparable(value, column.data_type) if isinstance(value, str) else None
        if value is None or (known is not None and known not in possible):
            return name, value
    return None
