"""What a commit must not do to column mapping: CM09 to CM13."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.column_mapping import rules
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.table_properties import MAX_COLUMN_ID, MappingMode
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_RESTORE = "RESTORE the table to the version before"


@on_change()
def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit did wrong to the column mapping: CM09 to CM13.

    Silent where it changes no metadata, replaces every file or restores an earlier version: then
    nothing that is live was written under another mapping.
    """
    before, after = transition.before.metadata, transition.after.metadata
    if before == after or transition.replaces_all or transition.restores:
        return
    try:
        old, new = MappedSchema.of(before), MappedSchema.of(after)
    except BrokenLogError:
        return
    for rule in _TRANSITION_RULES:
        yield from rule(transition, old, new)


def _mode_change(transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
    if old.mode is new.mode:
        return
    fault, column = "its data files were not written for that mode", None
    if new.mode is MappingMode.NONE:
        moved = [field for field in old.fields if field.path is not None and field.path != field.column.parts]
        left = [field for field in new.fields if field.is_mapped]
        if not moved and not left:
            return  # every file reads the same without the mapping
        column = (moved or left)[0].column
        fault = (
            f"{_counted(moved)} lie under other names in the data files, which it did not rewrite, and read NULL now"
            if moved
            else "delta.columnMapping keys were left in the schema"
        )
    elif old.mode is MappingMode.NONE and new.mode is MappingMode.NAME:
        files = {field.column.parts for field in old.fields if not field.is_mapped}
        moved = [
            field
            for field in new.fields
            if field.column.parts in files and field.name is not None and field.name != field.column.field.name
        ]
        if not moved:
            return
        column = moved[0].column
        fault = (
            f"it looks for {column} under the physical name {moved[0].name!r}, while the files have it under its own "
            "name: the column reads NULL"
        )
    yield rules.ILLEGAL_MODE_CHANGE.finding(
        f"The commit changes delta.columnMapping.mode from {old.mode.value} to {new.mode.value}, and {fault}. "
        f"{_RESTORE}.",
        column=None if column is None else str(column),
        **transition.commit.provenance,
    )


def _max_lowered(transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
    if not (old.is_mapped and new.is_mapped) or old.max_column_id is None or new.max_column_id is None:
        return
    if new.max_column_id < old.max_column_id:
        yield rules.MAX_COLUMN_ID_LOWERED.finding(
            f"The commit lowers {MAX_COLUMN_ID} from {old.max_column_id} to {new.max_column_id}: the next column that "
            "is added gets an id that another one has or had, and readers may take that one's values for its own. "
            f"Add no column; {_RESTORE}.",
            **transition.commit.provenance,
        )


def _physical_name_changed(transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
    if not (old.is_mapped and new.is_mapped):
        return
    for number, was in old.by_id.items():
        now = new.by_id.get(number)
        if now is None or now.name is None or was.name in (None, now.name) or now.path not in new.by_path:
            continue
        if now.column.parts != was.column.parts and _kept(old, now):
            continue  # the ids were changed, not the names
        yield rules.PHYSICAL_NAME_CHANGED.finding(
            f"The commit changes the physical name of {now.column} (id {number}) from {was.name!r} to {now.name!r}: "
            f"files that were written before have it under the old name, so the column reads NULL there. {_RESTORE}.",
            column=str(now.column),
            **transition.commit.provenance,
        )


def _id_changed(transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
    if not (old.is_mapped and new.is_mapped):
        return
    for path, was in old.by_path.items():
        now = new.by_path.get(path)
        if now is None or now.id is None or was.id in (None, now.id) or now.id not in new.by_id:
            continue
        if now.column.parts != was.column.parts and (was.id in new.by_id or now.id in old.by_id):
            continue  # the names were changed, not the ids
        yield rules.ID_CHANGED.finding(
            f"The commit changes the id of {now.column} (in data files {'.'.join(path)}) from {was.id} to {now.id}: "
            f"readers that find columns by id read NULL, or another column's values, from older files. {_RESTORE}.",
            column=str(now.column),
            **transition.commit.provenance,
        )


def _reused_id(transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
    if not (old.is_mapped and new.is_mapped) or old.max_column_id is None:
        return
    for number, field in new.by_id.items():
        if number > old.max_column_id or number in old.ids or field.path in old.by_path:
            continue
        yield rules.REUSED_ID.finding(
            f"The commit adds {field.column} with the id {number}, though ids up to {old.max_column_id} were given out "
            "before: files of a dropped column with that id are read as this one's by readers that find columns by id. "
            "Look for files older than this commit; an engine with column mapping takes the next free id.",
            column=str(field.column),
            **transition.commit.provenance,
        )


_TRANSITION_RULES: tuple[Callable[[Transition, MappedSchema, MappedSchema], Iterator[Finding]], ...] = (
    _mode_change,
    _max_lowered,
    _physical_name_changed,
    _id_changed,
    _reused_id,
)


def _kept(old: MappedSchema, now: MappedField) -> bool:
    """Whether the physical path of ``now`` belonged to a column of the same name before."""
    other = old.by_path.get(now.path) if now.path is not None else None
    return other is not None and other.column.parts == now.column.parts


def _counted(fields: Sequence[MappedField]) -> str:
    return "1 column" if len(fields) == 1 else f"{len(fields)} columns"
