"""Ids and physical names in one version of a table: CM01 to CM08, and CM20."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.column_mapping import (
    DO_NOT_ADD,
    FAMILY,
    PATH,
    READERS,
    RESTORE,
    SPEC,
    WRITERS,
)
from airflow_delta_provider.domain.checks.rule import RepairMethod, Restore, Rule, Scope
from airflow_delta_provider.domain.delta.data_type import Column, lowered
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.metadata import (
    ID,
    NESTED_IDS,
    PHYSICAL_NAME,
    MappedField,
    MappedSchema,
    field_metadata,
    is_id,
)
from airflow_delta_provider.domain.delta.protocol import reader_features
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding

#: Maximum number of columns that one rule reports one by one. If there are more, it reports the first and their number.
MOST_FINDINGS = 10
#: Maximum number of characters shown of a wrong value.
_MOST_TEXT = 60
_ADD_AGAIN = Restore(instead="add the column again with an engine that supports column mapping")
#: Evidence that a column is wrong, and its facts.
_Wrong = tuple[str, dict[str, Any]]
_state = FAMILY.of(Scope.STATE, SPEC)

UNKNOWN_MODE = _state.error(
    20,
    "unknown mapping mode",
    name="unknown-mapping-mode",
    effect="Engines refuse to open the table.",
    remedy="Restore the log file from a backup or another replica, and update the engine that wrote it.",
)


@on_state(UNKNOWN_MODE)
def _unknown_mode(state: TableState) -> Iterator[Finding]:
    mode = state.metadata.properties.unknown_mapping_mode
    if mode is not None:
        yield UNKNOWN_MODE.found(
            "{property} is {mode!r}; the known modes are none, name and id.",
            property=COLUMN_MAPPING_MODE,
            mode=mode[:_MOST_TEXT],
        )


UNSUPPORTED_MODE = _state.error(
    1,
    "column mapping without protocol support",
    name="column-mapping-without-protocol-support",
    effect="Some readers use the mapping and others look for columns under their own names, so columns may read NULL.",
    remedy=RESTORE,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_state(UNSUPPORTED_MODE)
def _unsupported(state: TableState) -> Iterator[Finding]:
    schema = _mapped(state)
    if schema is not None and not _is_supported(state):
        yield UNSUPPORTED_MODE.found(
            "{property} is {mode}, but the protocol ({protocol}) does not support column mapping.",
            property=COLUMN_MAPPING_MODE,
            mode=schema.mode.value,
            protocol=str(state.protocol),
        )


NO_ID = _state.error(
    2,
    "column id missing or not a 32-bit integer",
    name="column-id-missing-or-invalid",
    effect="Engines refuse the table, or find no values of the column in files that they search by id.",
    remedy=_ADD_AGAIN,
)


@on_state(NO_ID)
def _ids(state: TableState) -> Iterator[Finding]:
    schema = _ever_mapped(state)
    wrong: list[_Wrong] = []
    for field in () if schema is None else schema.fields:
        found = {"": field_metadata(field.column.field).get(ID)} | dict(field.nested_ids)
        for at, number in found.items():
            if not is_id(number):
                what = "{key} of {column}" if not at else "{at!r} in {key} of {column}"
                how = "is missing" if number is None else "is {id!r}, not a 32-bit integer"
                facts = {"column": field.column, "key": NESTED_IDS if at else ID, "at": at, "id": number}
                wrong.append((f"{what} {how}", facts))
                break
    yield from _each(NO_ID, wrong)


NO_PHYSICAL_NAME = _state.error(
    3,
    "physical name missing",
    name="physical-name-missing",
    effect="The column's name in data files is unknown: engines refuse the table or read NULL.",
    remedy=_ADD_AGAIN,
)


@on_state(NO_PHYSICAL_NAME)
def _physical_names(state: TableState) -> Iterator[Finding]:
    schema = _ever_mapped(state)
    fields = () if schema is None else schema.fields
    yield from _each(
        NO_PHYSICAL_NAME,
        [
            ("{key} of {column} is missing", {"column": field.column, "key": PHYSICAL_NAME})
            for field in fields
            if field.name is None
        ],
    )


DUPLICATE_ID = _state.error(
    4,
    "two columns have the same id",
    name="duplicate-column-id",
    effect="Readers that find columns by id mix up their values, and the table can no longer be altered.",
    remedy=RESTORE,
)


@on_state(DUPLICATE_ID)
def _duplicate_ids(state: TableState) -> Iterator[Finding]:
    schema = _mapped(state)
    first: dict[int, Column] = {}
    wrong: list[_Wrong] = []
    for field in () if schema is None else schema.fields:
        for number in field.ids:
            if number in first:
                other = "another field below it" if first[number] == field.column else str(first[number])
                facts = {"column": field.column, "id": number, "other": other}
                wrong.append(("{column} has the id {id}, and so does {other}", facts))
            first.setdefault(number, field.column)
    yield from _each(DUPLICATE_ID, wrong)


DUPLICATE_PATH = _state.error(
    5,
    "two columns have the same physical path",
    name="duplicate-physical-path",
    effect="Both columns read the same values, or one of them reads made-up values, and writes fail or mix them.",
    remedy=RESTORE,
    source=PATH,
    threads=("delta-io/delta#6939",),
)


@on_state(DUPLICATE_PATH)
def _duplicate_paths(state: TableState) -> Iterator[Finding]:
    schema = _mapped(state)
    first: dict[tuple[str, ...], MappedField] = {}
    twice: set[tuple[str, ...]] = set()
    wrong: list[_Wrong] = []
    for field in () if schema is None else schema.fields:
        if field.path is None:
            continue
        path = lowered(field.path)  # Spark ignores case when it looks for columns in data files
        if any(path[:length] in twice for length in range(1, len(path))):
            continue
        if path in first:
            twice.add(path)
            other = first[path]
            facts = {"column": field.column, "other": str(other.column), "at": ".".join(field.path)}
            if other.path == field.path:
                wrong.append(("{column} and {other} are both stored at {at}", facts))
            else:
                facts["differs"] = ".".join(other.path or ())
                wrong.append(
                    ("{column} is stored at {at}, and {other} at {differs}, which differs in case only", facts)
                )
        first.setdefault(path, field)
    yield from _each(DUPLICATE_PATH, wrong)


NO_MAX_COLUMN_ID = _state.error(
    6,
    "maxColumnId missing",
    name="max-column-id-missing",
    effect="The next column that is added may get the id of a dropped one, and its values.",
    remedy=RESTORE,
    source=WRITERS,
    repairs=(RepairMethod.GREATEST_COLUMN_ID, RepairMethod.EARLIER_VALUES),
)
MAX_COLUMN_ID_TOO_LOW = _state.error(
    7,
    "maxColumnId below a column's id",
    name="max-column-id-too-low",
    effect="The next column that is added gets an id that is already taken, and readers mix up the two columns.",
    remedy=DO_NOT_ADD,
    source=WRITERS,
    repairs=(RepairMethod.GREATEST_COLUMN_ID, RepairMethod.EARLIER_VALUES),
)


@on_state(NO_MAX_COLUMN_ID, MAX_COLUMN_ID_TOO_LOW)
def _max_column_id(state: TableState) -> Iterator[Finding]:
    schema = _ever_mapped(state)
    if schema is None:
        return
    highest = max(schema.ids, default=0)
    if schema.max_column_id is None:
        value = state.metadata.configuration.get(MAX_COLUMN_ID)
        yield NO_MAX_COLUMN_ID.found(
            "{property} is missing; it must be at least {highest}."
            if value is None
            else "{property} is {value!r}, not an integer; it must be at least {highest}.",
            property=MAX_COLUMN_ID,
            value=value,
            highest=highest,
        )
    elif schema.max_column_id < highest:
        field = next(field for field in schema.fields if highest in field.ids)
        yield MAX_COLUMN_ID_TOO_LOW.found(
            "{property} is {value}, but {column} has the id {highest}.",
            column=field.column,
            property=MAX_COLUMN_ID,
            value=schema.max_column_id,
            highest=highest,
        )


LEFT_METADATA = _state.warning(
    8,
    "mapping metadata left in mode none",
    name="mapping-metadata-in-mode-none",
    effect="Columns that data files store under physical names read NULL, and engines that ignore the mode may assign "
    "or search columns wrongly.",
    remedy=Restore(
        " if columns have read NULL since the mode was changed",
        instead="use CREATE OR REPLACE TABLE (Delta Spark keeps the keys otherwise)",
    ),
    source=READERS,
    threads=("delta-io/delta#3688",),
)


@on_state(LEFT_METADATA)
def _left_metadata(state: TableState) -> Iterator[Finding]:
    schema = _readable(state)
    left = [] if schema is None or schema.is_mapped else [field for field in schema.fields if field.is_mapped]
    if not left:
        return
    renamed = [field for field in left if field.name is not None and field.name != field.column.field.name]
    first = (renamed or left)[0]
    yield LEFT_METADATA.found(
        "The mapping mode is none, but {columns:column still has|columns still have} delta.columnMapping keys, for "
        "example {column}" + (", which data files store as {name!r}." if renamed else "."),
        column=first.column,
        columns=len(left),
        name=first.name if renamed else None,
    )


def _readable(state: TableState) -> MappedSchema | None:
    """Return the schema; None if it or its mode cannot be read."""
    if state.metadata.properties.unknown_mapping_mode is not None:
        return None
    return state.metadata.readable_mapped_schema


def _mapped(state: TableState) -> MappedSchema | None:
    schema = _readable(state)
    return schema if schema is not None and schema.is_mapped else None


def _ever_mapped(state: TableState) -> MappedSchema | None:
    """Return the same, but None if the mode is an orphan property: CM01 covers that."""
    schema = _mapped(state)
    if schema is None or _is_supported(state) or any(field.is_mapped for field in schema.fields):
        return schema
    return None


def _is_supported(state: TableState) -> bool:
    return state.protocol.supports(COLUMN_MAPPING) and COLUMN_MAPPING.name in reader_features(state.protocol)


def _each(rule: Rule, wrong: Sequence[_Wrong]) -> Iterator[Finding]:
    """Yield a finding per column, or one for all if there are many."""
    many = len(wrong) > MOST_FINDINGS
    for evidence, facts in wrong[:1] if many else wrong:
        if many:
            evidence += ", and {more:more column has|more columns have} the same problem"
            facts = {**facts, "more": len(wrong) - 1}
        yield rule.found(f"{evidence}.", **facts)
