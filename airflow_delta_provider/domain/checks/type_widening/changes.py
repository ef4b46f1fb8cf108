"""Changes of types and their record that a commit must not make: TW08, TW09, TW11, TW12 and TW15.

Other checks of data files find TW16. Jobs that widen types find TW17 and TW18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.column_mapping.changes import (
    ID_CHANGED,
    ILLEGAL_MODE_CHANGE,
    PHYSICAL_NAME_CHANGED,
    REUSED_ID,
)
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH
from airflow_delta_provider.domain.checks.metadata.schema import DUPLICATE_COLUMN, UNKNOWN_TYPE_OR_VALUE, is_known_type
from airflow_delta_provider.domain.checks.protocol.changes import FEATURE_VANISHED, VERSION_LOWERED
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Need, Scope, causes
from airflow_delta_provider.domain.checks.type_widening.family import FAMILY, READERS, RESTORE, SPEC, UNKNOWING, WRITERS
from airflow_delta_provider.domain.checks.type_widening.type_record import (
    VOID,
    between_texts,
    changes_of,
    is_enabled,
    is_supported,
    records_of,
    stored_alike,
)
from airflow_delta_provider.domain.delta.column import Column, children
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, StructType
from airflow_delta_provider.domain.delta.features.types import TYPE_WIDENING
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import ENABLE_TYPE_WIDENING
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY, TypeChange, can_widen
from airflow_delta_provider.domain.report.finding import Finding

_pair = FAMILY.of(Scope.PAIR, needs=(Need.STATE, Need.FILES, Need.VERSIONS))

UNSUPPORTED_CHANGE = _pair.error(
    8,
    "unsupported change of a type",
    effect="Readers fail on older files, or read wrong values.",
    remedy=RESTORE,
    source=WRITERS,
    follows_from=causes(UNKNOWN_TYPE_OR_VALUE, DUPLICATE_COLUMN),
    about_older_files=True,
)
UNRECORDED_TYPE_CHANGE = _pair.error(
    9,
    "type change not recorded in delta.typeChanges",
    effect="Readers cannot tell that older files hold the narrower type; they fail or read wrong values.",
    remedy=Restore(", and widen the column again with an engine that records it"),
    follows_from=causes("TW11", "TW04", "TW05"),
    about_older_files=True,
)
CHANGE_NOT_ENABLED = _pair.error(
    11,
    "type changed while type widening was not enabled",
    effect=UNKNOWING,
    remedy=Restore(", enable the feature typeWidening, and widen the column again"),
    source=SPEC,
    threads=("delta-io/delta#7127",),
)
LOST_TYPE_CHANGES = _pair.error(
    12,
    "earlier delta.typeChanges lost or rewritten",
    effect="Readers can no longer tell that older files hold other types; they fail or read wrong values.",
    remedy=RESTORE,
    follows_from=causes("TW03", "TW08", "TW09", ILLEGAL_MODE_CHANGE),
)
RECORD_LEFT_BY_DROP = _pair.error(
    15,
    "feature dropped, but its traces left",
    effect="Readers that do not know the feature open the table now, and fail on older files or read them wrongly.",
    remedy="Enable the feature typeWidening again, and let ALTER TABLE … DROP FEATURE drop it.",
    source=WRITERS,
    follows_from=causes(FEATURE_VANISHED, VERSION_LOWERED),
    needs=(Need.STATE,),
    survives_replacement=True,
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
        if was in VOID or between_texts(was, now) or (not on and stored_alike(was, now)):
            continue
        if not is_known_type(was):  # MD13: a change away from it makes nothing worse
            continue
        facts: dict[str, Any] = {"column": new, "old": str(was), "new": str(now)}
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
                **facts,
                property=ENABLE_TYPE_WIDENING,
            )
        if recorded and not _is_recorded(old, new):
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
    old, new = MappedSchema.of(before), MappedSchema.of(after)
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
    effect="Readers fail on the file, or read wrong values from it.",
    remedy=Restore(", and write its rows again with an engine that writes the type of the table", of_file=True),
    follows_from=causes(
        "TW08",
        "TW09",
        "TW12",
        REUSED_PATH,
        PHYSICAL_NAME_CHANGED,
        ID_CHANGED,
        REUSED_ID,
        ILLEGAL_MODE_CHANGE,
        earlier=True,
        later=True,
    ),
)
VALUES_CHANGED = _data.error(
    18,
    "values read differently after widening",
    effect="Readers get other values than before the change.",
    remedy="Do not write to the table; RESTORE it to the version before the change, and report the engine that wrote "
    "its files.",
)


TYPE_NOT_CHANGED = FAMILY.of(Scope.OUTCOME, "").error(
    17,
    "column does not have the requested type",
    effect="Consumers relying on the wider type do not get it.",
    remedy="Check the table's history for another writer, then run the job again.",
)
