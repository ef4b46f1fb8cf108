"""What must hold of the column mapping of a table: CM01 to CM08, and CM20.

Commits are judged in :mod:`.mapping_changes`, the names in the files that they add in
:mod:`.added_file_names`, and the history of physical paths in :mod:`.physical_path_history`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping import rules
from airflow_delta_provider.domain.checks.column_mapping.mapping_changes import check_transition
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import (
    ID,
    NESTED_IDS,
    PHYSICAL_NAME,
    MappedField,
    MappedSchema,
    field_metadata,
    is_id,
)
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

__all__ = ["check_state", "check_transition"]

#: Columns that one rule names one by one; of more it says how many.
MOST_FINDINGS = 10
#: Characters of a wrong value that a message shows.
_MOST_TEXT = 60
_RESTORE = "RESTORE the table to the version before"


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the column mapping of ``state``: CM01 to CM08 and CM20.

    They depend on protocol, metadata and domains alone. Silent where the schema cannot be read.
    """
    unknown = state.metadata.properties.unknown_mapping_mode
    if unknown is not None:
        yield rules.UNKNOWN_MODE.finding(
            f"{COLUMN_MAPPING_MODE} is {unknown[:_MOST_TEXT]!r}, which is none of none, name and id: "
            "engines refuse to open the table. Restore the file of the log from a backup or another replica, and "
            "update the engine that wrote it.",
            version=state.version,
        )
        return
    try:
        schema = MappedSchema.of(state.metadata)
    except BrokenLogError:
        return
    for rule in _STATE_RULES if schema.is_mapped else (_left_metadata,):
        yield from rule(state, schema)


def _unsupported(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    if _is_supported(state):
        return
    yield rules.UNSUPPORTED_MODE.finding(
        f"delta.columnMapping.mode is {schema.mode.value}, but the protocol ({state.protocol}) does not support column "
        "mapping: some readers honour the mode and others look for the columns under their own names, so that "
        f"columns may read NULL. {_RESTORE}, or enable the feature columnMapping.",
        version=state.version,
    )


def _ids(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    if _never_mapped(state, schema):
        return
    broken: list[tuple[Column, str]] = []
    for field in schema.fields:
        found = {"": field_metadata(field.column.field).get(ID)} | dict(field.nested_ids)
        for at, number in found.items():
            if not is_id(number):
                what = f"{ID} of {field.column}" if not at else f"{at!r} in {NESTED_IDS} of {field.column}"
                how = "is missing" if number is None else f"is {number!r}, no 32-bit integer"
                broken.append((field.column, f"{what} {how}"))
                break
    yield from _each(
        rules.NO_ID,
        state,
        broken,
        "engines refuse the table, or find no values of the column in files that they search by id. "
        f"{_RESTORE}, or let an engine with column mapping add the column again",
    )


def _physical_names(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    if _never_mapped(state, schema):
        return
    broken = [
        (field.column, f"{PHYSICAL_NAME} of {field.column} is missing") for field in schema.fields if field.name is None
    ]
    yield from _each(
        rules.NO_PHYSICAL_NAME,
        state,
        broken,
        "nobody can tell under which name the column lies in the data files; engines refuse the table or read NULL. "
        f"{_RESTORE}, or let an engine with column mapping add the column again",
    )


def _duplicate_ids(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    first: dict[int, Column] = {}
    broken: list[tuple[Column, str]] = []
    for field in schema.fields:
        for number in field.ids:
            if number in first:
                other = "another field below it" if first[number] == field.column else str(first[number])
                broken.append((field.column, f"{field.column} has the id {number}, which {other} has too"))
            first.setdefault(number, field.column)
    yield from _each(
        rules.DUPLICATE_ID,
        state,
        broken,
        "readers that find columns by id take the values of one for the other's, and the table can no longer be "
        f"altered. {_RESTORE}",
    )


def _duplicate_paths(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    first: dict[tuple[str, ...], Column] = {}
    twice: set[tuple[str, ...]] = set()
    broken: list[tuple[Column, str]] = []
    for field in schema.fields:
        if field.path is None or any(field.path[:length] in twice for length in range(1, len(field.path))):
            continue
        if field.path in first:
            twice.add(field.path)
            where = ".".join(field.path)
            broken.append((field.column, f"{field.column} lies at {where} in data files, where {first[field.path]} is"))
        first.setdefault(field.path, field.column)
    yield from _each(
        rules.DUPLICATE_PATH,
        state,
        broken,
        f"both columns read the same values, and writes fail or mix them. {_RESTORE}",
    )


def _max_column_id(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    if _never_mapped(state, schema):
        return
    highest = max(schema.ids, default=0)
    if schema.max_column_id is None:
        value = state.metadata.configuration.get(MAX_COLUMN_ID)
        yield rules.NO_MAX_COLUMN_ID.finding(
            f"{MAX_COLUMN_ID} {'is missing' if value is None else f'is {value!r}, no integer'}: the next column that "
            f"is added may get the id of a dropped one, and its values. {_RESTORE}; at least {highest} is due.",
            version=state.version,
        )
    elif schema.max_column_id < highest:
        field = next(field for field in schema.fields if highest in field.ids)
        yield rules.MAX_COLUMN_ID_TOO_LOW.finding(
            f"{MAX_COLUMN_ID} is {schema.max_column_id}, but {field.column} has the id {highest}: the next column that "
            "is added gets an id that exists already, and readers take its values for the other's. Add no column; "
            f"{_RESTORE}.",
            version=state.version,
            column=str(field.column),
        )


def _left_metadata(state: TableState, schema: MappedSchema) -> Iterator[Finding]:
    left = [field for field in schema.fields if field.is_mapped]
    if not left:
        return
    renamed = [field for field in left if field.name is not None and field.name != field.column.field.name]
    effect = (
        f"files that were written under physical names, as of {renamed[0].column}, read NULL"
        if renamed
        else "engines that look at it without looking at the mode may assign or search columns wrongly"
    )
    yield rules.LEFT_METADATA.finding(
        f"The mode of column mapping is none, but the metadata of {_counted(left)} still has delta.columnMapping keys, "
        f"first of {left[0].column}: {effect}. If columns read NULL since the mode was changed, {_RESTORE}; else "
        "remove the keys, with the next change of the schema or through CREATE OR REPLACE.",
        version=state.version,
        column=str((renamed or left)[0].column),
    )


_STATE_RULES: tuple[Callable[[TableState, MappedSchema], Iterator[Finding]], ...] = (
    _unsupported,
    _ids,
    _physical_names,
    _duplicate_ids,
    _duplicate_paths,
    _max_column_id,
)


def _is_supported(state: TableState) -> bool:
    # A feature that only one of the two lists has is the protocol's fault.
    return state.protocol.supports("columnMapping") and state.protocol.min_reader_version > 1


def _never_mapped(state: TableState, schema: MappedSchema) -> bool:
    """Whether the mode is an orphan property: the lack of support says it all."""
    return not _is_supported(state) and not any(field.is_mapped for field in schema.fields)


def _each(rule: Rule, state: TableState, broken: Sequence[tuple[Column, str]], effect: str) -> Iterator[Finding]:
    """Yield a finding for each column, or one for all where they are many."""
    if len(broken) > MOST_FINDINGS:
        column, what = broken[0]
        many = f"{what}, and so it is with {len(broken) - 1} more columns"
        yield rule.finding(f"{many}: {effect}.", version=state.version, column=str(column))
        return
    for column, what in broken:
        yield rule.finding(f"{what}: {effect}.", version=state.version, column=str(column))


def _counted(fields: Sequence[MappedField]) -> str:
    return "1 column" if len(fields) == 1 else f"{len(fields)} columns"
