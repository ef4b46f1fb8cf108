"""Settings and columns that a table with Iceberg compatibility must not have: TF25 to TF27.

PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2. TW13 checks type changes, and TF08 checks that column
mapping is supported.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state, on_transition
from airflow_delta_provider.domain.checks.protocol import FAMILY
from airflow_delta_provider.domain.checks.rule import Need, Prose, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructField
from airflow_delta_provider.domain.delta.expression import is_literal
from airflow_delta_provider.domain.delta.features.columns import COLUMN_MAPPING
from airflow_delta_provider.domain.delta.features.feature import Feature
from airflow_delta_provider.domain.delta.features.log import DELETION_VECTORS, ROW_TRACKING
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1, ICEBERG_COMPAT_V3, ICEBERG_COMPATS
from airflow_delta_provider.domain.delta.metadata import CURRENT_DEFAULT, ID, NESTED_IDS, Metadata
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

SOURCE = "PROTOCOL.md, Iceberg Compatibility V1 and V2, and RFC iceberg-compat-v3.md"
#: Types that Iceberg does not have in the form that these versions write.
_FOREIGN_TYPES = ("void", "null", "variant", "geometry", "geography")
#: Beginnings of the types that version 3 does not allow; unknown types are reported by MD13.
_FOREIGN_TO_V3 = ("void", "null", "interval")

NOT_ICEBERG_COMPATIBLE = FAMILY.of(Scope.STATE, SOURCE).error(
    25,
    "table incompatible with Iceberg, though it has to be",
    name="table-incompatible-with-iceberg",
    effect="The table cannot be converted for Iceberg readers, which see an old version of it or wrong rows, and Delta "
    "writers refuse to write.",
    remedy="Remove the incompatible parts, or set the property delta.enableIcebergCompat… to false.",
    shows="metaData",
)
_KEEP_V3 = "Remove the incompatible parts. Delta Spark does not disable icebergCompatV3, except by RESTORE."


@on_state(NOT_ICEBERG_COMPATIBLE)
def _incompatible(state: TableState) -> Iterator[Finding]:
    for compat in ICEBERG_COMPATS:
        wrong = dict(_incompatible_with(compat, state)) if state.is_active(compat) else {}
        if wrong:
            yield NOT_ICEBERG_COMPATIBLE.found(
                "{subject} is enabled, but {what}.",
                remedy=_KEEP_V3 if compat == ICEBERG_COMPAT_V3 else None,
                subject=compat.name,
                what=Prose(", ".join(wrong.values())),
                incompatible=list(wrong),
            )


def refused_by_engine(before: TableState, after: TableState) -> Iterator[tuple[Feature, str]]:
    """Yield the reasons why Delta Spark refuses Iceberg compatibility: the feature, and a clause.

    See ``IcebergCompat.scala``. Deletion vectors must be disabled in an earlier version. Version 3 cannot be disabled,
    and ALTER TABLE does not enable it if row tracking is enabled before.

    :param before: state before the change
    :param after: state after the change, without ids that the engine assigns
    """
    had_v3, has_v3 = (state.is_active(ICEBERG_COMPAT_V3) for state in (before, after))
    if had_v3 and not has_v3:
        yield ICEBERG_COMPAT_V3, "it is enabled and cannot be disabled"
    if has_v3 and not had_v3 and before.is_active(ROW_TRACKING):
        yield ICEBERG_COMPAT_V3, "row tracking is enabled before it"
    for compat in ICEBERG_COMPATS:
        if not after.is_active(compat):
            continue
        if compat != ICEBERG_COMPAT_V3 and any(map(_writes_vectors, (before, after))):
            yield compat, "deletion vectors are enabled"
        for _, why in (*_settings(compat, after), *_foreign_type(compat, after), *_default(compat, after.metadata)):
            yield compat, why


def _writes_vectors(state: TableState) -> bool:
    return state.protocol.supports(DELETION_VECTORS) and state.metadata.properties.deletion_vectors


def _settings(compat: Feature, state: TableState) -> Iterator[tuple[str, str]]:
    if not state.metadata.properties.is_mapped:
        yield COLUMN_MAPPING.name, "the column mapping mode is none"
    if compat == ICEBERG_COMPAT_V3 and not state.is_active(ROW_TRACKING):
        yield ROW_TRACKING.name, "row tracking is not enabled"
    for other in ICEBERG_COMPATS[: ICEBERG_COMPATS.index(compat)]:
        if state.is_active(other):
            yield other.name, f"{other} is also enabled"


def _foreign_type(compat: Feature, state: TableState) -> Iterator[tuple[str, str]]:
    for column in state.metadata.readable_columns or ():
        nested = compat == ICEBERG_COMPAT_V1 and isinstance(column.data_type, (ArrayType, MapType))
        foreign = _FOREIGN_TO_V3 if compat == ICEBERG_COMPAT_V3 else _FOREIGN_TYPES
        if nested or str(column.data_type).startswith(foreign):
            yield f"{column}: {column.data_type}", f"the column {column} is of the type {column.data_type}"
            return


def _default(compat: Feature, metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield columns whose default is no literal, which version 3 requires."""
    for column in metadata.readable_columns or () if compat == ICEBERG_COMPAT_V3 else ():
        text = column.field.metadata.get(CURRENT_DEFAULT) if column.kinds[-1] == "field" else None
        if isinstance(text, str) and not is_literal(text):
            yield f"{column}: {text}", f"the default of the column {column} is no literal: {text}"


def _incompatible_with(compat: Feature, state: TableState) -> Iterator[tuple[str, str]]:
    """Yield incompatible features and columns, each with a clause about it."""
    yield from _settings(compat, state)
    if (
        compat != ICEBERG_COMPAT_V3
        and state.protocol.supports(DELETION_VECTORS)
        and (compat == ICEBERG_COMPAT_V1 or state.metadata.properties.deletion_vectors)
    ):
        enabled = "the protocol has deletionVectors" if compat == ICEBERG_COMPAT_V1 else "deletion vectors are enabled"
        yield DELETION_VECTORS.name, enabled
    if compat != ICEBERG_COMPAT_V1:
        yield from _nested_ids(state.metadata)
    yield from _foreign_type(compat, state)
    yield from _default(compat, state.metadata)


def _nested_ids(metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Yield elements, keys and values without an id. CM02 and CM04 report wrong ids."""
    if metadata.readable_columns is None or not metadata.properties.is_mapped:
        return
    for field in metadata.mapped_schema.fields:
        if field.name is None or not isinstance(field.column.data_type, (ArrayType, MapType)):
            continue
        missing = [key for key in _keys(field.column.data_type, field.name) if key not in field.nested_ids]
        if missing:
            yield f"{field.column}: {missing[0]}", f"{field.column} has no id for {', '.join(missing)} in {NESTED_IDS}"


def _keys(data_type: DataType, prefix: str) -> Iterator[str]:
    """Yield the keys in the nearest field's metadata for the ids of an array's or map's contents."""
    inner: dict[str, DataType] = {}
    if isinstance(data_type, ArrayType):
        inner = {"element": data_type.element}
    elif isinstance(data_type, MapType):
        inner = {"key": data_type.key, "value": data_type.value}
    for step, of in inner.items():
        yield f"{prefix}.{step}"
        yield from _keys(of, f"{prefix}.{step}")


NO_ROW_COUNT = FAMILY.of(Scope.COMMIT, SOURCE).error(
    26,
    "file without numRecords, though the table has to be compatible with Iceberg",
    name="row-count-missing-despite-iceberg",
    effect="The table cannot be converted for Iceberg readers, which see an old version of it.",
    remedy="Write the file again with statistics, for example with OPTIMIZE, and update the engine that wrote it.",
    shows="add",
    repairs=(RepairMethod.STATISTICS,),
)


@on_transition(NO_ROW_COUNT, reads=("add.path", "add.stats", "metaData", "protocol"))
def _no_row_count(transition: Transition) -> Iterator[Finding]:
    without = [file for file in transition.commit.adds if file.num_records is None]
    compat = _active(transition.after) if without else []
    if compat:
        yield NO_ROW_COUNT.found(
            "{subject} is enabled, but the commit adds {files:file} without numRecords, for example {path}.",
            path=without[0].path,
            subject=compat[0].name,
            files=len(without),
        )


PARTITIONS_REPLACED = FAMILY.of(Scope.PAIR, SOURCE).error(
    27,
    "partition columns replaced, though the table has to be compatible with Iceberg",
    name="partition-columns-replaced-despite-iceberg",
    effect="The table cannot be converted for Iceberg readers, which see an old version of it.",
    remedy=Restore(", and write to a new table instead"),
    needs=(Need.STATE, Need.VERSIONS),
    survives_replacement=True,
    shows="metaData",
)


@on_change(PARTITIONS_REPLACED)
def _partitions_replaced(transition: Transition) -> Iterator[Finding]:
    if transition.restores or not transition.commit.metadata:
        return
    before, after = transition.before.metadata, transition.after.metadata
    if not before.partition_columns or not (set(_active(transition.before)) & set(_active(transition.after))):
        return
    renamed = {was.name: now.name for was, now in _same_columns(before, after)}
    if [renamed.get(name, name) for name in before.partition_columns] != list(after.partition_columns):
        yield PARTITIONS_REPLACED.found(
            "{subject} is enabled, but the commit changes the partition columns from {before} to {after}.",
            subject=_active(transition.after)[0].name,
            before=list(before.partition_columns),
            after=list(after.partition_columns) or "none",
        )


def _same_columns(before: Metadata, after: Metadata) -> Iterator[tuple[StructField, StructField]]:
    """Yield the top-level columns that have the same id before and after."""
    if before.readable_columns is None or after.readable_columns is None:
        return
    now = {field.metadata.get(ID): field for field in after.schema.fields}
    for field in before.schema.fields:
        number = field.metadata.get(ID)
        if number is not None and number in now:
            yield field, now[number]


def _active(state: TableState) -> list[Feature]:
    return [compat for compat in ICEBERG_COMPATS if state.is_active(compat)]
