"""What a commit must not do to types and their record: TW08, TW09, TW11, TW12 and TW15."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.metadata.schema import is_known_type
from airflow_delta_provider.domain.checks.type_widening import rules
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

_RESTORE = "RESTORE the table to the version before"


@on_change()
def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit did wrong to types and their record: TW08, TW09, TW11, TW12 and TW15.

    But for TW15, silent where it changes no metadata, replaces every file or restores an earlier
    version: then no live file has values of another type.
    """
    before, after = transition.before.metadata, transition.after.metadata
    try:
        yield from _left_by_drop(transition)
        if before == after or transition.replaces_all or transition.restores:
            return
        pairs = _matched(before, after)
    except BrokenLogError:
        return
    for rule in _TRANSITION_RULES:
        yield from rule(transition, pairs)


def _left_by_drop(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before, transition.after
    if before.protocol == after.protocol or not is_supported(before.protocol) or is_supported(after.protocol):
        return
    left = records_of(after.metadata)
    what = [f"{TYPE_CHANGES_KEY} of {left[0].column}"] if left else []
    if is_enabled(after.metadata):
        what.append(f"{ENABLE_TYPE_WIDENING}=true")
    if what:
        yield rules.RECORD_LEFT_BY_DROP.finding(
            f"The commit takes {TYPE_WIDENING} out of the protocol, but leaves {' and '.join(what)}: readers that do "
            "not know the feature open the table now, and fail on older files or read them wrongly. Enable it again: "
            f"DeltaEnableFeatureOperator(features=['{TYPE_WIDENING}']), and let ALTER TABLE … DROP FEATURE drop "
            "it.",
            column=str(left[0].column) if left else None,
            **transition.commit.provenance,
        )


def _changed_types(transition: Transition, pairs: Sequence[tuple[Column, Column]]) -> Iterator[Finding]:
    on = is_enabled(transition.before.metadata) or is_enabled(transition.after.metadata)
    recorded = on or is_supported(transition.after.protocol)
    for old, new in (change for pair in pairs for change in _changes(*pair)):
        was, now = old.data_type, new.data_type
        if was in VOID or between_texts(was, now) or (not on and stored_alike(was, now)):
            continue
        if not is_known_type(was):  # MD13: a change away from it is none for the worse
            continue
        where = {"column": str(new), **transition.commit.provenance}
        if not can_widen(was, now):
            yield rules.UNSUPPORTED_CHANGE.finding(
                f"The commit changes {new} from {was} to {now}, which is no supported widening, and keeps older files: "
                f"readers fail on them, or read wrong values. {_RESTORE}.",
                **where,
            )
            continue
        if not on:
            yield rules.CHANGE_NOT_ENABLED.finding(
                f"The commit widens {new} from {was} to {now} while {ENABLE_TYPE_WIDENING} is not true: readers that "
                f"do not know the feature fail on older files, or read wrong values. {_RESTORE}, and enable it first: "
                f"DeltaEnableFeatureOperator(features=['{TYPE_WIDENING}']).",
                **where,
            )
        if recorded and not _is_recorded(old, new):
            yield rules.UNRECORDED_TYPE_CHANGE.finding(
                f"The commit widens {new} from {was} to {now} without a record in {TYPE_CHANGES_KEY}: readers cannot "
                f"tell that older files hold the narrower type; they fail or read wrong values. {_RESTORE}, and widen "
                "the column again with an engine that records it: DeltaWidenTypesOperator.",
                **where,
            )


def _lost_records(transition: Transition, pairs: Sequence[tuple[Column, Column]]) -> Iterator[Finding]:
    after = transition.after
    removed = TYPE_CHANGES_KEY not in after.metadata.schema_string and not is_enabled(after.metadata)
    if removed or not is_supported(after.protocol):
        # All gone, and widening off: how the feature is dropped, once no file has an older type.
        return
    for old, new in pairs:
        earlier, now = changes_of(old), changes_of(new)
        if earlier and now is not None and now[: len(earlier)] != earlier:
            yield rules.LOST_TYPE_CHANGES.finding(
                f"{new} had {len(earlier)} recorded type change{'s' if len(earlier) > 1 else ''}, which the commit "
                f"{'rewrites' if now else 'removes'}: readers cannot tell any more that older files hold other types; "
                f"they fail or read wrong values. {_RESTORE}.",
                column=str(new),
                **transition.commit.provenance,
            )


_TRANSITION_RULES: tuple[Callable[[Transition, Sequence[tuple[Column, Column]]], Iterator[Finding]], ...] = (
    _changed_types,
    _lost_records,
)


def _matched(before: Metadata, after: Metadata) -> list[tuple[Column, Column]]:
    """Return the struct fields that both schemas have: by id where both are mapped, else by path."""
    old, new = MappedSchema.of(before), MappedSchema.of(after)
    if old.is_mapped and new.is_mapped:
        return [(field.column, new.by_id[number].column) for number, field in old.by_id.items() if number in new.by_id]
    columns = {field.column.parts: field.column for field in new.fields}
    return [(f.column, columns[f.column.parts]) for f in old.fields if f.column.parts in columns]


def _changes(old: Column, new: Column) -> Iterator[tuple[Column, Column]]:
    """Yield the places inside a field, down to the next struct, whose types differ."""
    was, now = old.data_type, new.data_type
    if isinstance(was, StructType) and isinstance(now, StructType):
        return
    if type(was) is type(now) and isinstance(was, (ArrayType, MapType)):
        for below, beside in zip(children(old), children(new)):
            yield from _changes(below, beside)
    elif was != now:
        yield old, new


def _is_recorded(old: Column, new: Column) -> bool:
    changes = changes_of(new)
    if changes is None:
        return True  # said of the state
    due = TypeChange.of(old, new.data_type)
    here = [change for change in changes if change.field_path == due.field_path]
    return bool(here) and here[-1].to_type == due.to_type and any(change.from_type == due.from_type for change in here)
