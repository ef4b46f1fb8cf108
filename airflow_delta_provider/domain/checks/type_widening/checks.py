"""What must hold of the type widening of a table: TW01 to TW07, TW10, TW13 and TW14.

Commits are judged in :mod:`.type_changes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.type_widening import rules
from airflow_delta_provider.domain.checks.type_widening.type_changes import check_transition
from airflow_delta_provider.domain.checks.type_widening.type_record import (
    VOID,
    TypeRecord,
    between_texts,
    is_enabled,
    is_supported,
    named_type,
    records_of,
    stored_alike,
)
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import TIMESTAMP_NTZ, ArrayType, DataType, MapType, StructType
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.features.types import (
    TIMESTAMP_NTZ_FEATURE,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
)
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.table_properties import ENABLE_TYPE_WIDENING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.type_widening import TYPE_CHANGES_KEY, TypeChange, can_widen
from airflow_delta_provider.domain.report.finding import Finding

__all__ = ["check_state", "check_transition"]

_RESTORE = "RESTORE the table to the version before"


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with type widening in ``state``: TW01 to TW07, TW10, TW13 and TW14.

    They depend on protocol and metadata alone. Silent where the schema cannot be read.
    """
    yield from _enabled_without_feature(state)
    if TYPE_CHANGES_KEY not in state.metadata.schema_string:
        return
    try:
        records = records_of(state.metadata)
    except BrokenLogError:
        return
    for rule in _STATE_RULES:
        yield from rule(state, records)


def _enabled_without_feature(state: TableState) -> Iterator[Finding]:
    if is_enabled(state.metadata) and not is_supported(state.protocol):
        yield rules.ENABLED_WITHOUT_FEATURE.finding(
            f"{ENABLE_TYPE_WIDENING} is true, but the protocol ({state.protocol}) does not list {TYPE_WIDENING}: "
            "writers may widen types, and readers that do not know the feature then fail on older files or read them "
            f"wrongly. Enable the feature: DeltaEnableFeatureOperator(features=['{TYPE_WIDENING}']), or unset the "
            "property.",
            version=state.version,
        )


def _record_without_feature(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if records and not is_supported(state.protocol):
        more = f" and {len(records) - 1} more columns" if len(records) > 1 else ""
        yield rules.RECORD_WITHOUT_FEATURE.finding(
            f"{records[0].column}{more} has {TYPE_CHANGES_KEY}, but the protocol ({state.protocol}) does not list "
            f"{TYPE_WIDENING}: readers that do not know the feature fail on files older than the change, or read them "
            f"wrongly. Enable the feature: DeltaEnableFeatureOperator(features=['{TYPE_WIDENING}']).",
            version=state.version,
            column=str(records[0].column),
        )


def _malformed(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        if record.changes is None:
            yield rules.MALFORMED_RECORD.finding(
                f"{TYPE_CHANGES_KEY} of {record.column} is {str(record.raw)[:200]}, not a list of objects with texts "
                f"fromType, toType and perhaps fieldPath: engines fail to read the table. {_RESTORE}.",
                version=state.version,
                column=str(record.column),
            )


def _unsupported_record(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for change in _unsupported(record):
            yield rules.UNSUPPORTED_RECORD.finding(
                f"{record.column} records a change from {change.from_type} to {change.to_type}{_at(change)}, which is "
                f"no supported widening: engines refuse to read the table, or convert old values wrongly. {_RESTORE}.",
                version=state.version,
                column=str(record.column),
            )


def _field_paths(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for path in record.chains:
            if _simple_type_at(record.column, path) is None:
                what = f"fieldPath {path!r}" if path is not None else "no fieldPath"
                yield rules.UNRESOLVED_FIELD_PATH.finding(
                    f"{record.column} records a type change with {what}, but there is no simple type at that place of "
                    f"{record.column.data_type}: readers cannot tell which values changed their type, and may fail. "
                    f"{_RESTORE}.",
                    version=state.version,
                    column=str(record.column),
                )


def _chains(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for record in records:
        for path, chain in record.chains.items():
            now = _simple_type_at(record.column, path)
            if now is None or any(change in chain for change in _unsupported(record)):
                continue
            for one, other in pairwise(chain):
                if not _follows(named_type(one.to_type), named_type(other.from_type)):
                    yield rules.BROKEN_CHAIN.finding(
                        f"{record.column} records a change to {one.to_type} and next one from "
                        f"{other.from_type}{_at(one)}: a change between them is not recorded, so readers may not "
                        f"expect the types of all files. {_RESTORE}, or rewrite the older files.",
                        version=state.version,
                        column=str(record.column),
                    )
            if not _follows(named_type(chain[-1].to_type), now):
                yield rules.OTHER_LAST_TYPE.finding(
                    f"{record.column} records a last change to {chain[-1].to_type}{_at(chain[-1])}, but the type "
                    f"is {now}: readers may not expect the types of all files. {_RESTORE}, or rewrite the older files.",
                    version=state.version,
                    column=str(record.column),
                )


def _preview_leftover(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if not state.protocol.supports(TYPE_WIDENING) or state.protocol.supports(TYPE_WIDENING_PREVIEW):
        return
    left = [r for r in records if r.changes is not None and any("tableVersion" in entry for entry in r.raw)]
    if left:
        more = f" and {len(left) - 1} more columns" if len(left) > 1 else ""
        yield rules.PREVIEW_LEFTOVER.finding(
            f"{TYPE_CHANGES_KEY} of {left[0].column}{more} has tableVersion, which only the preview of the feature "
            "knows: readers ignore it. Nothing needs to be done, unless an engine stumbles over it.",
            version=state.version,
            column=str(left[0].column),
        )


def _iceberg(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    for compat in FEATURES.values():
        if compat.widening is None or not is_active(compat, state.protocol, state.metadata):
            continue
        for record in records:
            for change in record.changes or ():
                old, new = named_type(change.from_type), named_type(change.to_type)
                if can_widen(old, new) and not compat.widening(old, new):
                    yield rules.ICEBERG_COMPATIBILITY.finding(
                        f"{record.column} was widened from {change.from_type} to {change.to_type}{_at(change)}, which "
                        f"Iceberg cannot read, while {compat} is enabled: Iceberg readers fail or read wrong values. "
                        "Disable the compatibility, or rewrite the data into a table with the new type.",
                        version=state.version,
                        column=str(record.column),
                    )


def _timestamps(state: TableState, records: Sequence[TypeRecord]) -> Iterator[Finding]:
    if state.protocol.supports(TIMESTAMP_NTZ_FEATURE):
        return
    for record in records:
        if any(named_type(change.to_type) == TIMESTAMP_NTZ for change in record.changes or ()):
            yield rules.TIMESTAMP_WITHOUT_FEATURE.finding(
                f"{record.column} was widened to timestamp_ntz, but the protocol ({state.protocol}) does not list "
                "timestampNtz: readers that do not know the type try to read the table and fail. Enable the feature: "
                "DeltaEnableFeatureOperator(features=['timestampNtz']).",
                version=state.version,
                column=str(record.column),
            )


_STATE_RULES: tuple[Callable[[TableState, Sequence[TypeRecord]], Iterator[Finding]], ...] = (
    _record_without_feature,
    _malformed,
    _unsupported_record,
    _field_paths,
    _chains,
    _preview_leftover,
    _iceberg,
    _timestamps,
)


def _unsupported(record: TypeRecord) -> list[TypeChange]:
    found = []
    for change in record.changes or ():
        old, new = named_type(change.from_type), named_type(change.to_type)
        if old != new and old not in VOID and not between_texts(old, new) and not can_widen(old, new):
            found.append(change)
    return found


def _simple_type_at(column: Column, path: str | None) -> DataType | None:
    """Return the type at a ``fieldPath`` of a field, None where it leads nowhere, or to no simple type."""
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
    return f" at {change.field_path}" if change.field_path is not None else ""
