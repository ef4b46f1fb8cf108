"""What has to hold of the metaData action: MD01 to MD13. PROTOCOL.md, Change Metadata.

A schema that cannot be read is MD02; rules that look into the schema are silent then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from airflow_delta_provider.domain.delta.column import Column, all_columns
from airflow_delta_provider.domain.delta.column_mapping import mapping_mode, physical_name
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import (
    MAX_PRECISION,
    ArrayType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructType,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules import metadata as rules

#: Names of primitive types, with ``decimal`` and ``null`` as old versions of Spark wrote them.
_PRIMITIVES = frozenset(
    {
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "void",
        "variant",
        "decimal",
        "null",
    }
)
#: Types with parameters of the features geospatial and geospatial-dev.
_GEOSPATIAL = ("geometry", "geography")
_USER_DEFINED = '"type":"udt"'
_MOST_TEXT = 300


def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the metadata of ``state``."""
    for rule in _RULES:
        yield from rule(state)
    columns = readable_columns(state.metadata)
    if columns is not None:
        for schema_rule in _SCHEMA_RULES:
            yield from schema_rule(state, columns)


def check_first(commit: Commit) -> Iterator[Finding]:
    """Yield what the metaData actions of version 0 do wrong."""
    if not commit.metadata:
        yield rules.FIRST_WITHOUT_METADATA.finding(
            f"Version {commit.version}, the first one, has no metaData action: nobody can tell which columns the "
            "table has, and engines refuse to open it. Restore the file from a backup or another replica of the log.",
            **commit.provenance,
        )
    yield from _several(commit)


def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit's metaData action did wrong.

    Of several ones each reader may take another, so that MD03 is then all there is to say.
    """
    found = list(_several(transition.commit))
    yield from found
    if found or not transition.commit.metadata or transition.restores:
        return
    for rule in _TRANSITION_RULES:
        yield from rule(transition)


def no_metadata(version: int) -> Finding:
    """Return the finding about a log without a metaData action up to ``version``: MD09."""
    return rules.NO_METADATA.finding(
        f"There is no metaData action up to version {version}, neither in a commit nor in a checkpoint: nobody can "
        "tell which columns the table has. Restore the missing files of the log from a backup or another replica.",
        version=version,
    )


def readable_columns(metadata: Metadata) -> tuple[Column, ...] | None:
    """Return every place of the schema, or None where the schema cannot be read, which MD02 says."""
    try:
        columns = tuple(all_columns(metadata.schema))
    except (BrokenLogError, RecursionError):
        return None
    fields = (column.field for column in columns)
    sound = all(isinstance(field.name, str) and isinstance(field.metadata, Mapping) for field in fields)
    return columns if sound else None


def _no_id(state: TableState) -> Iterator[Finding]:
    if not state.metadata.id:
        yield rules.NO_ID.finding(
            "The metaData action has no id: readers that remember the table by its id, such as streams, cannot tell "
            "it from another one. RESTORE the table to the version before, or write the metadata again with an engine "
            "that gives it one.",
            version=state.version,
        )


def _broken_schema(state: TableState) -> Iterator[Finding]:
    schema = state.metadata.schema_string
    if not schema:
        problem = "The metaData action has no schemaString"
    elif readable_columns(state.metadata) is not None:
        return
    elif _USER_DEFINED in "".join(str(schema).split()):
        yield replace(
            rules.UNKNOWN_TYPE_OR_VALUE.finding(
                "The schema holds a user-defined type of Spark (udt), which the protocol does not have: other engines "
                "cannot read the table, and its schema is not judged here. Store such columns as arrays or structs.",
                version=state.version,
            ),
            severity=Severity.WARNING,
        )
        return
    else:
        problem = f"The schemaString of the metaData action cannot be read: {_reason(state.metadata)[:_MOST_TEXT]}"
    yield rules.BROKEN_SCHEMA.finding(
        f"{problem}. Most engines refuse to open such a table, and its columns are not judged here. RESTORE the table "
        "to a version before, or restore the file of the log from a backup.",
        version=state.version,
    )


def _reason(metadata: Metadata) -> str:
    try:
        all(all_columns(metadata.schema))
    except BrokenLogError as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return "the name of a field is no text, or its metadata no map"


def _other_format(state: TableState) -> Iterator[Finding]:
    metadata = state.metadata
    if metadata.format_provider.lower() != "parquet":
        what = f"The format of the data files is {metadata.format_provider!r}, not 'parquet'"
    elif metadata.format_options:
        what = f"The format has options: {', '.join(sorted(metadata.format_options))}"
    else:
        return
    yield rules.OTHER_FORMAT.finding(
        f"{what}. Engines of today write Parquet without options only, and either refuse such a table or read "
        "its files as Parquet all the same. Copy it into a new table.",
        version=state.version,
    )


def _values_that_are_no_texts(state: TableState) -> Iterator[Finding]:
    if keys := state.metadata.not_texts:
        values = ", ".join(f"{key} ({state.metadata.configuration.get(key)})" for key in keys)
        yield rules.UNKNOWN_TYPE_OR_VALUE.finding(
            f"Table properties are texts, but these are none in the metaData action: {values[:_MOST_TEXT]}. Strict "
            "readers cannot parse the action, and with it the table. Set these properties again with ALTER TABLE … "
            "SET TBLPROPERTIES.",
            version=state.version,
        )


def _partition_columns(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    top = {column.parts[0]: column for column in columns if len(column.parts) == 1}
    folded = {name.lower(): column for name, column in top.items()}
    named = [str(name) for name in state.metadata.partition_columns]
    for name, times in Counter(name.lower() for name in named).items():
        if times > 1:
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {name!r} {times} times: readers do not agree on the partitions. RESTORE "
                "the table to the version before, or rewrite it with other partitions.",
                version=state.version,
                column=name,
            )
    for name in dict.fromkeys(named):
        column = top.get(name) or folded.get(name.lower())
        if column is None:
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {name!r}, which is no column at the top of its schema: engines refuse "
                "the table or lose the partition's values. RESTORE the table to the version before.",
                version=state.version,
                column=name,
            )
        elif isinstance(column.data_type, (ArrayType, MapType, StructType)):
            yield rules.BAD_PARTITION_COLUMNS.finding(
                f"The table is partitioned by {column}, whose type {column.data_type} no partition value can have: "
                "readers cannot make values of it. Rewrite the table with other partitions.",
                version=state.version,
                column=str(column),
            )
        elif column.parts[0] != name:
            yield replace(
                rules.BAD_PARTITION_COLUMNS.finding(
                    f"The table is partitioned by {name!r}, but its column is spelled {column.parts[0]!r}: engines "
                    "that mind the case do not find it. Rewrite the table with the column's own spelling.",
                    version=state.version,
                    column=str(column),
                ),
                severity=Severity.WARNING,
            )


def _duplicate_columns(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    nested = [(c.parts, c.data_type) for c in columns if isinstance(c.data_type, StructType)]
    for above, struct in [((), state.metadata.schema), *nested]:
        names: dict[str, str] = {}
        for field in struct.fields:
            folded = field.name.lower()
            if folded not in names:
                names[folded] = field.name
                continue
            where = f"the struct {'.'.join(above)}" if above else "the table"
            yield rules.DUPLICATE_COLUMN.finding(
                f"In {where} the columns {names[folded]!r} and {field.name!r} have one name, as case does not count: "
                "which one a query gets is up to the engine, and most refuse the table. RESTORE the table to the "
                "version before.",
                version=state.version,
                column=".".join((*above, field.name)),
            )


def _unknown_types(state: TableState, columns: tuple[Column, ...]) -> Iterator[Finding]:
    for column in columns:
        data_type = column.data_type
        if isinstance(data_type, PrimitiveType):
            known = data_type.name in _PRIMITIVES or data_type.name.startswith(_GEOSPATIAL)
        elif isinstance(data_type, DecimalType):
            known = 1 <= data_type.precision <= MAX_PRECISION and data_type.scale <= data_type.precision
        else:
            continue
        if not known:
            yield rules.UNKNOWN_TYPE_OR_VALUE.finding(
                f"The column {column} is of the type {str(data_type)[:_MOST_TEXT]!r}, which the protocol does not "
                "have: readers refuse the table. RESTORE the table to the version before.",
                version=state.version,
                column=str(column),
            )


def _several(commit: Commit) -> Iterator[Finding]:
    if len(commit.metadata) > 1:
        same = len({(m.id, m.schema_string) for m in commit.metadata}) == 1
        yield rules.SEVERAL_METADATA.finding(
            f"The commit of version {commit.version} holds {len(commit.metadata)} metaData actions where one is "
            f"allowed{'' if same else ', and they differ'}: which one counts is up to the reader, so engines may see "
            "different schemas. Set a table property with an up-to-date engine, which writes the metadata as it is "
            "meant to be, and update the engine that wrote this commit.",
            **commit.provenance,
        )


def _id_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata.id, transition.after.metadata.id
    if not before or not after or before == after:
        return
    if transition.replaces_all:
        finding = rules.ID_CHANGED.finding(
            f"The commit replaced the whole table and changed its id from {before} to {after}, though an id is for "
            "the table's life. Streams and caches that know the table by its id stop or start over. That is how "
            "engines replace tables; INSERT OVERWRITE keeps the id.",
            **transition.commit.provenance,
        )
        yield replace(finding, severity=Severity.WARNING)
    else:
        yield rules.ID_CHANGED.finding(
            f"The commit changed the table's id from {before} to {after} and kept its files. An id never changes: "
            "streams refuse to go on, and caches and shares take it for another table. RESTORE the table to the "
            "version before, and look at what wrote this commit.",
            **transition.commit.provenance,
        )


def _created_time_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if before.id != after.id or transition.replaces_all or None in (before.created_time, after.created_time):
        return
    if before.created_time != after.created_time:
        yield rules.CREATED_TIME_CHANGED.finding(
            f"The commit changed createdTime from {before.created_time} to {after.created_time}, though the table is "
            "the same. Readers do not mind; what asks for the table's age gets a wrong answer.",
            **transition.commit.provenance,
        )


def _partitioning_changed(transition: Transition) -> Iterator[Finding]:
    if transition.replaces_all:
        return
    before, after = _partitioning(transition.before.metadata), _partitioning(transition.after.metadata)
    if before is None or after is None:
        return
    # A column that is renamed keeps its physical name, and files know only that one.
    if before.keys() != after.keys() and set(before.values()) != set(after.values()):
        yield rules.PARTITIONING_CHANGED.finding(
            f"The commit changed the partition columns from {_listed(before)} to {_listed(after)}, but kept files that "
            "are partitioned the old way: their values of these columns read as NULL, or the files are skipped or "
            "refused. RESTORE the table to the version before; to change partitions, rewrite the whole table.",
            **transition.commit.provenance,
        )


def _nothing_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if transition.commit.protocols or before != after or before.created_time != after.created_time:
        return  # with a protocol action it is a way to upgrade, or to RESTORE
    yield rules.NOTHING_CHANGED.finding(
        "The commit's metaData action is the same as before. Readers do not mind, but every writer that works on the "
        "table meanwhile fails, since the metadata seems to have changed. Leave such commits out.",
        **transition.commit.provenance,
    )


_RULES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (
    _no_id,
    _broken_schema,
    _other_format,
    _values_that_are_no_texts,
)
_SCHEMA_RULES: tuple[Callable[[TableState, tuple[Column, ...]], Iterator[Finding]], ...] = (
    _partition_columns,
    _duplicate_columns,
    _unknown_types,
)
_TRANSITION_RULES: tuple[Callable[[Transition], Iterator[Finding]], ...] = (
    _id_changed,
    _created_time_changed,
    _partitioning_changed,
    _nothing_changed,
)


def _partitioning(metadata: Metadata) -> dict[str, str] | None:
    """Return the names in files of the partition columns by their names, or None where they are not known."""
    columns = readable_columns(metadata)
    if columns is None:
        return None
    mode = mapping_mode(metadata.configuration)
    physical = {c.parts[0].lower(): physical_name(c.field, mode) for c in columns if len(c.parts) == 1}
    names = [str(name).lower() for name in metadata.partition_columns]
    if not all(name in physical for name in names):
        return None  # MD05 says so
    return {name: physical[name].lower() for name in names}


def _listed(names: Mapping[str, str]) -> str:
    return ", ".join(names) or "none"
