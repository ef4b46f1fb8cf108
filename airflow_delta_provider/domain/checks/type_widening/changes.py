"""Changes of types and their record that a commit must not make: TW08, TW09, TW11, TW12 and TW15.

Other checks of data files find TW16. Jobs that widen types find TW17 and TW18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.metadata.schema import is_known_type
from airflow_delta_provider.domain.checks.rule import Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.checks.type_widening import FAMILY, READERS, RESTORE, SPEC, UNKNOWING, WRITERS
from airflow_delta_provider.domain.delta.data_type import (
    BYTE,
    INTEGER,
    SHORT,
    ArrayType,
    Column,
    DataType,
    MapType,
    PrimitiveType,
    StructType,
    all_columns,
    children,
    sql_name,
    type_from_json,
)
from airflow_delta_provider.domain.delta.features.columns import (
    TYPE_CHANGES_KEY,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    TypeChange,
    can_widen,
    recorded_changes,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata, field_metadata
from airflow_delta_provider.domain.delta.protocol import Protocol, reader_features
from airflow_delta_provider.domain.delta.table_properties import ENABLE_TYPE_WIDENING
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

#: Types that Parquet stores in the same way. Engines widen among them when they merge schemas, without the feature too.
_STORED_AS_INT32 = (BYTE, SHORT, INTEGER)
#: Types of a column without values, which can be changed to any type.
VOID = (PrimitiveType("void"), PrimitiveType("null"))


class TypeRecord(NamedTuple):
    """The recorded type changes of one struct field.

    :param changes: the changes; None if the record is malformed
    """

    column: Column
    raw: Any
    changes: tuple[TypeChange, ...] | None

    @property
    def chains(self) -> dict[str | None, list[TypeChange]]:
        """The changes by ``fieldPath``, except those between strings."""
        chains: dict[str | None, list[TypeChange]] = {}
        for change in self.changes or ():
            if not between_texts(named_type(change.from_type), named_type(change.to_type)):
                chains.setdefault(change.field_path, []).append(change)
        return chains


def is_enabled(metadata: Metadata) -> bool:
    """Return True if the property that allows widening is true; see :func:`is_supported`."""
    return metadata.properties.type_widening


def is_supported(protocol: Protocol) -> bool:
    """Return True if the protocol lists the feature or its preview."""
    return protocol.supports(TYPE_WIDENING) or protocol.supports(TYPE_WIDENING_PREVIEW)


def is_required_of_readers(protocol: Protocol) -> bool:
    """Return True if the protocol excludes readers without support for the feature or its preview."""
    required = reader_features(protocol)
    return TYPE_WIDENING.name in required or TYPE_WIDENING_PREVIEW.name in required


def records_of(metadata: Metadata) -> list[TypeRecord]:
    """Return the records of all fields that have one.

    :raises BrokenLogError: if the schema string is not a struct
    """
    return [
        TypeRecord(column, field_metadata(column.field)[TYPE_CHANGES_KEY], changes_of(column))
        for column in all_columns(metadata.schema)
        if not column.field_path and TYPE_CHANGES_KEY in field_metadata(column.field)
    ]


def changes_of(column: Column) -> tuple[TypeChange, ...] | None:
    """Return the changes that the nearest field records; None if the record is malformed."""
    metadata = field_metadata(column.field)
    if not isinstance(metadata.get(TYPE_CHANGES_KEY, []), list):
        return None
    try:
        changes = recorded_changes(metadata)
    except ValueError:
        return None
    return (
        changes if all(change.field_path is None or isinstance(change.field_path, str) for change in changes) else None
    )


def named_type(name: str) -> DataType:
    """Return the type that a record names; for an unknown name, a primitive type of that name."""
    try:
        return type_from_json(name)
    except ValueError:  # a decimal with more digits than Python reads
        return PrimitiveType(name)


def stored_alike(old: DataType, new: DataType) -> bool:
    """Return True if ``new`` is wider and files need no conversion."""
    return old in _STORED_AS_INT32 and new in _STORED_AS_INT32 and can_widen(old, new)


def between_texts(old: DataType, new: DataType) -> bool:
    """Return True if both are strings of some kind, whose changes need no feature: delta-io/delta#3744."""
    return is_text(old) and is_text(new)


def is_text(data_type: DataType) -> bool:
    """Return True if a type is a string of some kind."""
    return isinstance(data_type, PrimitiveType) and (
        data_type.name == "string" or data_type.name.startswith(("char(", "varchar(", "string "))
    )


_pair = FAMILY.of(Scope.PAIR, needs=(Need.STATE, Need.FILES, Need.VERSIONS))

UNSUPPORTED_CHANGE = _pair.error(
    8,
    "unsupported change of a type",
    name="unsupported-type-change",
    effect="Readers fail on older files, or read wrong values.",
    remedy=RESTORE,
    source=WRITERS,
    about_older_files=True,
)
UNRECORDED_TYPE_CHANGE = _pair.error(
    9,
    "type change not recorded in delta.typeChanges",
    name="type-change-not-recorded",
    effect="Readers cannot tell that older files hold the narrower type; they fail or read wrong values.",
    remedy=Restore(", and widen the column again with an engine that records it"),
    about_older_files=True,
)
CHANGE_NOT_ENABLED = _pair.error(
    11,
    "type changed while type widening was not enabled",
    name="type-changed-while-widening-disabled",
    effect=UNKNOWING,
    remedy=Restore(", enable the feature typeWidening, and widen the column again"),
    source=SPEC,
    threads=("delta-io/delta#7127",),
)
LOST_TYPE_CHANGES = _pair.error(
    12,
    "earlier delta.typeChanges lost or rewritten",
    name="recorded-type-changes-lost",
    effect="Readers can no longer tell that older files hold other types; they fail or read wrong values.",
    remedy=RESTORE,
)
RECORD_LEFT_BY_DROP = _pair.error(
    15,
    "feature dropped, but its traces left",
    name="dropped-widening-leaves-traces",
    effect="Readers that do not know the feature open the table now, and fail on older files or read them wrongly.",
    remedy="Enable the feature typeWidening again, and let ALTER TABLE … DROP FEATURE drop it.",
    source=WRITERS,
    needs=(Need.STATE,),
    survives_replacement=True,
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.LISTED_FEATURES),
)


@on_change(RECORD_LEFT_BY_DROP)
def _left_by_drop(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before, transition.after
    if before.protocol == after.protocol or not is_supported(before.protocol) or is_supported(after.protocol):
        return
    try:
        left = records_of(after.metadata)
    except BrokenLogError:
        return
    what = [f"{TYPE_CHANGES_KEY} of {left[0].column}"] if left else []
    if is_enabled(after.metadata):
        what.append(f"{ENABLE_TYPE_WIDENING}=true")
    if what:
        yield RECORD_LEFT_BY_DROP.found(
            "The commit removes {feature} from the protocol, but leaves {left}.",
            column=left[0].column if left else None,
            feature=TYPE_WIDENING,
            left=what,
        )


@on_change(UNSUPPORTED_CHANGE, CHANGE_NOT_ENABLED, UNRECORDED_TYPE_CHANGE, LOST_TYPE_CHANGES)
def _changes_of_types(transition: Transition) -> Iterator[Finding]:
    """Yield findings about changed types.

    Nothing is checked if a commit changes no metadata, replaces every file or restores an earlier version: then no live
    file has values of another type.
    """
    before, after = transition.before.metadata, transition.after.metadata
    if before == after or transition.replaces_all or transition.restores:
        return
    try:
        pairs = _matched(before, after)
    except BrokenLogError:
        return
    yield from _changed_types(transition, pairs)
    yield from _lost_records(pairs)


def _changed_types(transition: Transition, pairs: Sequence[tuple[Column, Column]]) -> Iterator[Finding]:
    on = is_enabled(transition.before.metadata) or is_enabled(transition.after.metadata)
    recorded = on or is_supported(transition.after.protocol)
    for old, new in (change for pair in pairs for change in _changes(*pair)):
        was, now = old.data_type, new.data_type
        alike = not on and stored_alike(was, now)
        if was in VOID or between_texts(was, now) or (alike and not recorded):
            continue
        if not is_known_type(was):  # MD13: a change away from it makes nothing worse
            continue
        facts: dict[str, Any] = {"column": new, "old": sql_name(was), "new": sql_name(now)}
        if not can_widen(was, now):
            yield UNSUPPORTED_CHANGE.found(
                "The commit changes {column} from {old} to {new}, which is not a supported widening, and keeps "
                "older files.",
                **facts,
            )
            continue
        if not on:
            yield CHANGE_NOT_ENABLED.found(
                "The commit widens {column} from {old} to {new} while {property} is not true.",
                # Delta Spark does that, unrecorded, if it merges schemas; ALTER TABLE and Java Kernel refuse it.
                severity=Severity.WARNING if alike else None,
                effect="Readers are unaffected, since files store both types alike, but the table's owner has not "
                "allowed changes of types."
                if alike
                else None,
                remedy="If the wider type is wanted, nothing needs to be done. To keep the types, do not merge schemas."
                if alike
                else None,
                **facts,
                property=ENABLE_TYPE_WIDENING,
            )
        if recorded and not alike and not _is_recorded(old, new):
            yield UNRECORDED_TYPE_CHANGE.found(
                "The commit widens {column} from {old} to {new} without a record in {key}.",
                **facts,
                key=TYPE_CHANGES_KEY,
            )


def _lost_records(pairs: Sequence[tuple[Column, Column]]) -> Iterator[Finding]:
    """Yield lost records, needed or not: an audit leaves out records that no live file needs."""
    for old, new in pairs:
        earlier, now = changes_of(old), changes_of(new)
        if earlier and now is not None and now[: len(earlier)] != earlier:
            yield LOST_TYPE_CHANGES.found(
                "{column} had {changes:recorded type change}, which the commit " + ("rewrites." if now else "removes."),
                column=new,
                changes=len(earlier),
            )


def changed_fields(before: Metadata, after: Metadata) -> list[tuple[Column, Column]]:
    """Return the struct fields that both schemas have and whose types differ, down to the next struct.

    :raises BrokenLogError: if a schema string is not a struct
    """
    return [pair for pair in _matched(before, after) if any(_changes(*pair))]


def _matched(before: Metadata, after: Metadata) -> list[tuple[Column, Column]]:
    """Return the struct fields that both schemas have: by id and physical path if both are mapped, otherwise by path.

    A field with the id or physical path of another field is a different field.
    """
    old, new = before.mapped_schema, after.mapped_schema
    if old.is_mapped and new.is_mapped:
        pairs = ((field, new.by_id.get(number)) for number, field in old.by_id.items())
        return [(was.column, now.column) for was, now in pairs if now is not None and now.path == was.path]
    columns = {field.column.parts: field.column for field in new.fields}
    return [(f.column, columns[f.column.parts]) for f in old.fields if f.column.parts in columns]


def _changes(old: Column, new: Column) -> Iterator[tuple[Column, Column]]:
    """Yield the places inside a field, down to the next struct, with different types."""
    was, now = old.data_type, new.data_type
    if isinstance(was, StructType) and isinstance(now, StructType):
        return
    if type(was) is type(now) and isinstance(was, (ArrayType, MapType)):
        for old_child, new_child in zip(children(old), children(new)):
            yield from _changes(old_child, new_child)
    elif was != now:
        yield old, new


def _is_recorded(old: Column, new: Column) -> bool:
    changes = changes_of(new)
    if changes is None:
        return True  # reported for the state
    due = TypeChange.of(old, new.data_type)
    here = [change for change in changes if change.field_path == due.field_path]
    return bool(here) and here[-1].to_type == due.to_type and any(change.from_type == due.from_type for change in here)


_data = FAMILY.of(Scope.DATA, READERS)

UNREACHABLE_TYPE = _data.error(
    16,
    "data file type cannot be explained by recorded type changes",
    name="data-file-type-unexplained",
    effect="Readers fail on the file, or read wrong values from it.",
    remedy=Restore(", and write its rows again with an engine that writes the type of the table", of_file=True),
)
VALUES_CHANGED = _data.error(
    18,
    "values read differently after widening",
    name="values-differ-after-widening",
    effect="Readers get other values than before the change.",
    remedy="Do not write to the table; RESTORE it to the version before the change, and report the engine that wrote "
    "its files.",
)


TYPE_NOT_CHANGED = FAMILY.of(Scope.OUTCOME, "").error(
    17,
    "column does not have the requested type",
    name="column-type-not-as-requested",
    effect="Consumers relying on the wider type do not get it.",
    remedy="Check the table's history for another writer, then run the job again.",
)
