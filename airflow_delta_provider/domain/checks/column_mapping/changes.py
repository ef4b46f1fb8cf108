"""Changes of column mapping that a commit must not make: CM09 to CM13."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state
from airflow_delta_provider.domain.checks.column_mapping import DO_NOT_ADD, FAMILY, RESTORE, SPEC
from airflow_delta_provider.domain.checks.rule import Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.features.log import (
    CLUSTERING_DOMAIN,
    clustering_columns,
    field_called,
    fields_by_name,
    fields_by_path,
)
from airflow_delta_provider.domain.delta.metadata import MappedField, MappedSchema
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

_pair = FAMILY.of(Scope.PAIR, remedy=RESTORE, needs=(Need.STATE, Need.FILES, Need.VERSIONS))

ILLEGAL_MODE_CHANGE = _pair.error(
    9,
    "illegal change of the mapping mode",
    name="illegal-mapping-mode-change",
    effect="Columns read NULL in files that were not written for the new mode.",
    about_older_files=True,
    of_all_columns=True,
)


@on_change(ILLEGAL_MODE_CHANGE)
def _mode_change(transition: Transition) -> Iterator[Finding]:
    old, new = _schemas(transition) or (None, None)
    if old is None or new is None or old.mode is new.mode:
        return
    column, name, columns = None, None, None
    why = (
        "the protocol allows no such change"
        if transition.found_empty
        else "its data files were not written for that mode"
    )
    if new.mode is MappingMode.NONE:
        moved = [field for field in old.fields if field.path is not None and field.path != field.column.parts]
        moved = [] if transition.found_empty else moved
        left = [field for field in new.fields if field.is_mapped]
        if not moved and not left:
            return  # every file reads the same without the mapping
        column, columns = (moved or left)[0].column, len(moved) or None
        why = (
            "{columns:column has another name|columns have other names} in the data files, which it did not rewrite"
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
        if not moved or transition.found_empty:
            return
        column, name = moved[0].column, moved[0].name
        why = (
            "readers now look for {column} under the physical name {name!r}, but the files store it under its own name"
        )
    yield ILLEGAL_MODE_CHANGE.found(
        f"The commit changes {{property}} from {{old}} to {{new}}, and {why}.",
        column=column,
        property=COLUMN_MAPPING_MODE,
        old=old.mode.value,
        new=new.mode.value,
        name=name,
        columns=columns,
    )


MAX_COLUMN_ID_LOWERED = _pair.error(
    10,
    "maxColumnId lowered",
    name="max-column-id-lowered",
    effect="The next column that is added gets an id that another one has or had, and may get its values.",
    remedy=DO_NOT_ADD,
    repairs=(RepairMethod.GREATEST_COLUMN_ID, RepairMethod.EARLIER_VALUES),
)


@on_change(MAX_COLUMN_ID_LOWERED)
def _max_lowered(transition: Transition) -> Iterator[Finding]:
    old, new = _mapped(transition) or (None, None)
    if old is None or new is None or old.max_column_id is None or new.max_column_id is None:
        return
    if new.max_column_id < old.max_column_id:
        yield MAX_COLUMN_ID_LOWERED.found(
            "The commit lowers {property} from {old} to {new}.",
            property=MAX_COLUMN_ID,
            old=old.max_column_id,
            new=new.max_column_id,
        )


PHYSICAL_NAME_CHANGED = _pair.error(
    11,
    "physical name or place of a column changed",
    name="physical-name-changed",
    effect="Older files store the column under the old name or in the old place, so it reads NULL there.",
    about_older_files=True,
)


@on_change(PHYSICAL_NAME_CHANGED)
def _physical_name_changed(transition: Transition) -> Iterator[Finding]:
    old, new = _mapped(transition) or (None, None)
    if old is None or new is None:
        return
    for number, was in old.by_id.items():
        now = new.by_id.get(number)
        if now is None or now.name is None or was.name is None or now.path not in new.by_path:
            continue
        if was.name == now.name:
            if was.path is not None and was.path != now.path and old.place_of(was) != new.place_of(now):
                yield PHYSICAL_NAME_CHANGED.found(
                    "The commit moves {old} (id {id}) to {column}, but older files store it in the old place.",
                    column=now.column,
                    id=number,
                    old=was.column,
                )
            continue
        if now.column.parts != was.column.parts and _kept(old, now):
            continue  # the ids were changed, not the names
        yield PHYSICAL_NAME_CHANGED.found(
            "The commit changes the physical name of {column} (id {id}) from {old!r} to {new!r}.",
            column=now.column,
            id=number,
            old=was.name,
            new=now.name,
        )


ID_CHANGED = _pair.error(
    12,
    "id of a physical path changed",
    name="id-of-physical-path-changed",
    effect="Readers that find columns by id read NULL, or another column's values, from older files.",
    source=SPEC,
    about_older_files=True,
)


@on_change(ID_CHANGED)
def _id_changed(transition: Transition) -> Iterator[Finding]:
    old, new = _mapped(transition) or (None, None)
    if old is None or new is None:
        return
    for path, was in old.by_path.items():
        now = new.by_path.get(path)
        if now is None or now.id is None or was.id in (None, now.id) or now.id not in new.by_id:
            continue
        if now.column.parts != was.column.parts and (was.id in new.by_id or now.id in old.by_id):
            continue  # the names were changed, not the ids
        yield ID_CHANGED.found(
            "The commit changes the id of {column} (in data files {at}) from {old} to {new}.",
            column=now.column,
            at=".".join(path),
            old=was.id,
            new=now.id,
        )


REUSED_ID = _pair.error(
    13,
    "new column with an old id",
    name="new-column-reuses-id",
    effect="Readers that find columns by id mistake values of a dropped column in older files for the new column's.",
    remedy="Check whether files are older than the commit; an engine with column mapping takes the next free id.",
)


@on_change(REUSED_ID)
def _reused_id(transition: Transition) -> Iterator[Finding]:
    old, new = _mapped(transition) or (None, None)
    if old is None or new is None or old.max_column_id is None:
        return
    for number, field in new.by_id.items():
        if number > old.max_column_id or number in old.ids or field.path in old.by_path:
            continue
        yield REUSED_ID.found(
            "The commit adds {column} with the id {id}, although ids up to {max_column_id} were already assigned.",
            column=field.column,
            id=number,
            max_column_id=old.max_column_id,
        )


def _schemas(transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
    """Return the mappings before and after a commit.

    None if it changes no metadata, replaces every file or restores an earlier version: then no live file was written
    under another mapping. None also if a schema cannot be read.
    """
    before, after = transition.before.metadata, transition.after.metadata
    if before == after or transition.replaces_all or transition.restores:
        return None
    old, new = before.readable_mapped_schema, after.readable_mapped_schema
    return None if old is None or new is None else (old, new)


def _mapped(transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
    """Return the same for a table that is mapped before and after the commit; otherwise None."""
    schemas = _schemas(transition)
    return schemas if schemas is not None and all(schema.is_mapped for schema in schemas) else None


def _kept(old: MappedSchema, now: MappedField) -> bool:
    """Return True if the physical path of ``now`` belonged to a column of the same name before."""
    other = old.by_path.get(now.path) if now.path is not None else None
    return other is not None and other.column.parts == now.column.parts


CLUSTERING_NAMES = FAMILY.of(Scope.STATE).error(
    17,
    "clustering columns not by physical name",
    name="clustering-columns-not-by-physical-name",
    effect="The table still reads, but OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE … CLUSTER BY fail, or the table is no "
    "longer clustered.",
    remedy=Restore(instead="write the table again with CREATE OR REPLACE TABLE … CLUSTER BY"),
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
    shows="domainMetadata",
    repairs=(RepairMethod.CLUSTERING_NAMES, RepairMethod.EARLIER_VALUES),
)


@on_state(CLUSTERING_NAMES)
def _names(state: TableState) -> Iterator[Finding]:
    columns = clustering_columns(state.domains.get(CLUSTERING_DOMAIN))
    schema = state.metadata.readable_mapped_schema if columns else None
    if schema is None:
        return
    logical = fields_by_name(schema)
    in_files = fields_by_path(schema) if schema.is_mapped else logical
    was_mapped = not schema.is_mapped and state.protocol.supports(COLUMN_MAPPING)
    for parts in columns:
        if field_called(parts, in_files) is not None:
            continue
        field = field_called(parts, logical)
        if None in {of.path for of in ([field] if field else schema.fields if schema.is_mapped else ())}:
            continue  # the fault is the missing physical name
        name = ".".join(parts[0])
        if field is not None:
            what = "the physical name of that column is {physical}"
        else:
            what = f"the table has no column with this {'physical ' if schema.is_mapped else ''}name"
        yield CLUSTERING_NAMES.found(
            f"The table is clustered by {{name}}, but {what}.",
            # Delta Spark itself leaves the names like this when it disables column mapping.
            severity=Severity.WARNING if was_mapped else None,
            column=name if field is None else field.column,
            name=name,
            physical=None if field is None else ".".join(field.path or ()),
        )
