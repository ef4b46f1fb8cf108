"""Type widening and its record in one version of a table: TW01 to TW07, TW10, TW13 and TW14."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.rule import OR_BY_COMMIT, RepairMethod, Scope
from airflow_delta_provider.domain.checks.type_widening import (
    FAMILY,
    READERS,
    RESTORE,
    RESTORE_OR_REWRITE,
    SPEC,
    UNEXPECTED_TYPES,
    UNKNOWING,
    WRITERS,
)
from airflow_delta_provider.domain.checks.type_widening.changes import (
    VOID,
    TypeRecord,
    between_texts,
    is_enabled,
    is_required_of_readers,
    is_supported,
    named_type,
    records_of,
    stored_alike,
)
from airflow_delta_provider.domain.delta.data_type import (
    TIMESTAMP_NTZ,
    ArrayType,
    Column,
    DataType,
    MapType,
    StructType,
)
from airflow_delta_provider.domain.delta.features.columns import (
    TIMESTAMP_NTZ_FEATURE,
    TYPE_CHANGES_KEY,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    TypeChange,
    can_widen,
)
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_properties import ENABLE_TYPE_WIDENING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity

_state = FAMILY.of(Scope.STATE)

ENABLED_WITHOUT_FEATURE = _state.error(
    1,
    "type widening enabled without the feature",
    name="type-widening-without-feature",
    effect="Writers may widen types, and readers that do not know the feature then fail on older files or read them "
    "wrongly.",
    remedy="Enable the feature with enable-feature --feature typeWidening (DeltaEnableFeatureOperator), or unset the "
    "property. "
    f"{OR_BY_COMMIT}",
    source=SPEC,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES, RepairMethod.UNSET_PROPERTY),
)
RECORD_WITHOUT_FEATURE = _state.warning(
    2,
    "delta.typeChanges without the feature",
    name="type-changes-without-feature",
    effect=UNKNOWING,
    remedy="Enable the feature: enable-feature --feature typeWidening (DeltaEnableFeatureOperator).",
    source=SPEC,
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES, RepairMethod.UNSET_PROPERTY),
)
MALFORMED_RECORD = _state.error(
    3,
    "delta.typeChanges malformed",
    name="type-changes-malformed",
    effect="Engines fail to read the table.",
    remedy=RESTORE,
)
UNSUPPORTED_RECORD = _state.error(
    4,
    "unsupported change in delta.typeChanges",
    name="recorded-type-change-unsupported",
    effect="Engines refuse to read the table, or convert old values wrongly.",
    remedy=RESTORE,
    source=READERS,
    threads=("delta-io/delta#3744",),
)
UNRESOLVED_FIELD_PATH = _state.error(
    5,
    "fieldPath that leads nowhere",
    name="type-change-path-leads-nowhere",
    effect="Readers cannot tell which values changed their type, and may fail.",
    remedy=RESTORE,
)
_chain = FAMILY.of(Scope.STATE, effect=UNEXPECTED_TYPES, remedy=RESTORE_OR_REWRITE)
BROKEN_CHAIN = _chain.warning(
    6,
    "recorded type changes do not form a chain",
    name="type-changes-not-a-chain",
)
OTHER_LAST_TYPE = _chain.warning(
    7,
    "last recorded type is not the column's type",
    name="last-recorded-type-not-current",
)
PREVIEW_LEFTOVER = _state.warning(
    10,
    "tableVersion left from the preview feature",
    name="preview-table-version-left-over",
    effect="Readers ignore it.",
    remedy="Nothing, unless an engine fails on it.",
)
ICEBERG_COMPATIBILITY = _state.error(
    13,
    "type change that Iceberg compatibility forbids",
    name="iceberg-forbids-recorded-type-change",
    effect="Iceberg readers fail, or read wrong values.",
    remedy="Disable the compatibility, which leaves a warning, or rewrite the data into a table with the new type.",
    source=WRITERS,
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.LISTED_FEATURES),
)
TIMESTAMP_WITHOUT_FEATURE = _state.error(
    14,
    "widened to timestamp_ntz without timestampNtz",
    name="widened-to-timestamp-ntz-without-feature",
    effect="Readers that do not know the type try to read the table, and fail.",
    remedy=f"Enable the feature: enable-feature --feature timestampNtz (DeltaEnableFeatureOperator). {OR_BY_COMMIT}",
    source="PROTOCOL.md, Timestamp without timezone",
    repairs=(RepairMethod.EARLIER_VALUES, RepairMethod.LISTED_FEATURES),
)


@on_state(ENABLED_WITHOUT_FEATURE)
def _enabled_without_feature(state: TableState) -> Iterator[Finding]:
    if not is_enabled(state.metadata) or is_required_of_readers(state.protocol):
        return
    listed = is_supported(state.protocol)
    yield ENABLED_WITHOUT_FEATURE.found(
        "{property} is true, but the protocol ({protocol}) "
        + ("requires {feature} of writers only." if listed else "does not list {feature}."),
        property=ENABLE_TYPE_WIDENING,
        protocol=str(state.protocol),
        feature=TYPE_WIDENING,
    )


@on_state(
    RECORD_WITHOUT_FEATURE,
    MALFORMED_RECORD,
    UNSUPPORTED_RECORD,
    UNRESOLVED_FIELD_PATH,
    BROKEN_CHAIN,
    OTHER_LAST_TYPE,
    PREVIEW_LEFTOVER,
    ICEBERG_COMPATIBILITY,
    TIMESTAMP_WITHOUT_FEATURE,
)
def _records(state: TableState) -> Iterator[Finding]:
    if TYPE_CHANGES_KEY not in state.metadata.schema_string:
        return
    try:
        records = records_of(state.metadata)
    except BrokenLogError:
        return
    yield from _record_without_feature(state, records)
    yield from _malformed(records)
    yield from _unsupported_record(records)
    yield from _field_paths(records)
    yield from _chains(records)
    yield from _preview_leftover(state, records)
    yield from _iceberg(state, records)
    yield from _timestamps(state, records)


def _record_without_feature(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if records and not is_supported(state.protocol):
        yield RECORD_WITHOUT_FEATURE.found(
            "{columns:column has|columns have} {key}, for example {column}, but the protocol ({protocol}) does not "
            "list {feature}.",
            column=records[0].column,
            columns=len(records),
            key=TYPE_CHANGES_KEY,
            protocol=str(state.protocol),
            feature=TYPE_WIDENING,
        )


def _malformed(records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        if record.changes is None:
            yield MALFORMED_RECORD.found(
                "{key} of {column} is {value}, not a list of objects with the strings fromType, toType and optionally "
                "fieldPath.",
                column=record.column,
                key=TYPE_CHANGES_KEY,
                value=str(record.raw)[:200],
            )


def _unsupported_record(records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for change in _unsupported(record):
            yield UNSUPPORTED_RECORD.found(
                f"{{column}} records a change from {{old}} to {{new}}{_at(change)}, which is not a supported widening.",
                column=record.column,
                **_facts(change),
            )


def _field_paths(records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for path in record.chains:
            if _simple_type_at(record.column, path) is None:
                what = "fieldPath {at!r}" if path is not None else "no fieldPath"
                yield UNRESOLVED_FIELD_PATH.found(
                    f"{{column}} records a type change with {what}, but {{type}} has no simple type there.",
                    column=record.column,
                    at=path,
                    type=str(record.column.data_type),
                )


def _chains(records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for path, chain in record.chains.items():
            now = _simple_type_at(record.column, path)
            if now is None or any(change in chain for change in _unsupported(record)):
                continue
            for one, other in pairwise(chain):
                if not _follows(named_type(one.to_type), named_type(other.from_type)):
                    yield BROKEN_CHAIN.found(
                        f"{{column}} records a change to {{new}} and then one from {{next}}{_at(one)}: a change in "
                        "between is not recorded.",
                        column=record.column,
                        **_facts(one),
                        next=other.from_type,
                    )
            if not _follows(named_type(chain[-1].to_type), now):
                yield OTHER_LAST_TYPE.found(
                    f"The last change that {{column}} records is to {{new}}{_at(chain[-1])}, but the type is {{type}}.",
                    column=record.column,
                    **_facts(chain[-1]),
                    type=str(now),
                )


def _preview_leftover(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if not state.protocol.supports(TYPE_WIDENING) or state.protocol.supports(TYPE_WIDENING_PREVIEW):
        return
    left = [r for r in records if r.changes is not None and any("tableVersion" in entry for entry in r.raw)]
    if left:
        yield PREVIEW_LEFTOVER.found(
            "{key} of {columns:column}, for example {column}, has tableVersion, which only the preview of the feature "
            "uses.",
            column=left[0].column,
            key=TYPE_CHANGES_KEY,
            columns=len(left),
        )


def _iceberg(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for compat in FEATURES.values():
        if compat.widening is None or not state.protocol.supports(compat):
            continue
        active = state.is_active(compat)
        for record in records:
            for change in record.changes or ():
                old, new = named_type(change.from_type), named_type(change.to_type)
                if can_widen(old, new) and not compat.widening(old, new):
                    yield ICEBERG_COMPATIBILITY.found(
                        f"{{column}} was widened from {{old}} to {{new}}{_at(change)}, which Iceberg "
                        f"cannot read, while {{compatibility}} is {'enabled' if active else 'supported'}.",
                        # Delta Spark allows it while the property is not set.
                        severity=None if active else Severity.WARNING,
                        column=record.column,
                        **_facts(change),
                        compatibility=str(compat),
                    )


def _timestamps(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if state.protocol.supports(TIMESTAMP_NTZ_FEATURE):
        return
    for record in records:
        if any(named_type(change.to_type) == TIMESTAMP_NTZ for change in record.changes or ()):
            yield TIMESTAMP_WITHOUT_FEATURE.found(
                "{column} was widened to timestamp_ntz, but the protocol ({protocol}) does not list timestampNtz.",
                column=record.column,
                protocol=str(state.protocol),
            )


def _unsupported(record: TypeRecord) -> list[TypeChange]:
    found = []
    for change in record.changes or ():
        old, new = named_type(change.from_type), named_type(change.to_type)
        if old != new and old not in VOID and not between_texts(old, new) and not can_widen(old, new):
            found.append(change)
    return found


def _simple_type_at(column: Column, path: str | None) -> DataType | None:
    """Return the type at a ``fieldPath`` of a field; None if the path is invalid or the type there is not simple."""
    here = column.data_type
    for step in path.split(".") if path is not None else ():
        if isinstance(here, ArrayType) and step == "element":
            here = here.element
        elif isinstance(here, MapType) and step in ("key", "value"):
            here = here.key if step == "key" else here.value
        else:
            return None
    return None if isinstance(here, (StructType, ArrayType, MapType)) else here


def _follows(old: DataType, new: DataType) -> bool:
    return old == new or stored_alike(old, new) or between_texts(old, new)


def _at(change: TypeChange) -> str:
    return "" if change.field_path is None else " at {at}"


def _facts(change: TypeChange) -> dict[str, Any]:
    return {"old": change.from_type, "new": change.to_type, "at": change.field_path}
