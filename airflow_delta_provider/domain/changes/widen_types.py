"""Planning to widen column types, and verifying the result in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.changes.plan import Draft, Planned, check_needed, check_table, check_upgrade
from airflow_delta_provider.domain.changes.steps import ColumnType, SetProperties, WidenColumns
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.checks.type_widening.changes import (
    LOST_TYPE_CHANGES,
    TYPE_NOT_CHANGED,
    UNRECORDED_TYPE_CHANGE,
)
from airflow_delta_provider.domain.delta.data_type import (
    TIMESTAMP_NTZ,
    Column,
    DataType,
    UnknownColumnError,
    UnknownTypeError,
    all_columns,
    find_column,
    parse_type,
    sql_name,
)
from airflow_delta_provider.domain.delta.expression import refers_to
from airflow_delta_provider.domain.delta.features.columns import (
    GENERATED_COLUMNS,
    TIMESTAMP_NTZ_FEATURE,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    TypeChange,
    can_widen,
    legal_targets,
    recorded_changes,
)
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import ENABLE_TYPE_WIDENING
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import WIDENING_SINCE, Engine
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.domain.table_name import TableName


@dataclass(frozen=True)
class Widening:
    column: Column
    new: DataType


def plan_widening(table: TableName, options: WidenTypesOptions, state: TableState, engine: Engine) -> Planned:
    """Plan to widen the columns, in one commit if the engine can.

    Columns that already have their type are left out, so a second run plans nothing.
    """
    draft = Draft(table, state, engine)
    draft.refusals += check_table(table.text, state.protocol, engine)
    if draft.refusals:
        return draft.planned()
    widenings, refusals = resolve_widenings(options, state.metadata)
    pending = [w for w in widenings if w.column.data_type != w.new]
    draft.refusals += refusals
    preparation, needed = widening_preparation([w.new for w in pending], state, engine)
    draft.take(*preparation)
    draft.support(needed)
    widen(draft, pending)
    if draft.refusals:
        return draft.planned()
    if len(pending) > 1 and not engine.alters_many_columns:
        draft.notes.append(
            f"{engine} changes one column per commit: {len(pending)} commits. If one fails, a rerun resumes there."
        )
    plan = draft.plan()
    if preparation and not options.enable_type_widening and not state.metadata.properties.type_widening:
        off = requests.WIDENING_DISABLED.found(
            "Type widening is not enabled on {table} ({property} is not true).",
            table=table.text,
            property=ENABLE_TYPE_WIDENING,
        )
        return Planned(plan, (off,))
    return Planned(plan, tuple(check_upgrade(plan, allowed=options.allow_protocol_upgrade)))


def widen(draft: Draft, pending: Sequence[Widening], otherwise: str = "") -> None:
    """Add the steps that widen columns, in one commit if the engine can; or refuse.

    :param otherwise: sentence with an alternative in case the engine is too old
    """
    draft.refusals += [refusal for w in pending for refusal in check_widening(w, draft.state)]
    if pending and not draft.refusals:
        too_old = [
            _engine_too_old(w, draft.engine, otherwise)
            for w in pending
            if not draft.engine.widens(str(w.column.data_type), str(w.new))
        ]
        draft.refusals += too_old or check_needed(draft.state.protocol.features, draft.engine)
    if not draft.refusals:
        draft.take(*_alterations(pending, draft.engine))


def resolve_widenings(options: WidenTypesOptions, metadata: Metadata) -> tuple[list[Widening], list[Finding]]:
    """Find the columns in the schema and parse their types; unknown names give refusals."""
    widenings: list[Widening] = []
    refusals: list[Finding] = []
    seen: dict[tuple[str, ...], str] = {}
    for path, type_name in options.columns.items():
        try:
            column = find_column(metadata.schema, path)
            new = parse_type(type_name)
        except UnknownColumnError as error:
            refusals.append(requests.UNKNOWN_COLUMN.found("{error}", column=path, error=Prose(error)))
            continue
        except UnknownTypeError as error:
            refusals.append(requests.ILLEGAL_TYPE_CHANGE.found("{column}: {error}", column=path, error=Prose(error)))
            continue
        if column.parts in seen:
            refusals.append(
                requests.COLUMN_TWICE.found(
                    "{other!r} and {name!r} are the same column.", column=column, other=seen[column.parts], name=path
                )
            )
            continue
        seen[column.parts] = path
        widenings.append(Widening(column, new))
    return widenings, refusals


def verify_widened(widenings: list[Widening], before: Metadata, after: Metadata, version: int) -> tuple[Finding, ...]:
    """Return differences from the planned schema after columns were widened.

    Each column must have its new type, and the nearest struct field must record the change after all earlier ones. No
    record of any other change may be lost.

    :param before: metadata that the plan was made on
    :param after: metadata of ``version``
    """
    old_columns = {column.parts: column for column in all_columns(before.schema)}
    new_columns = {column.parts: column for column in all_columns(after.schema)}
    expected: dict[tuple[str, ...], list[TypeChange]] = {}
    findings = []
    for widening in widenings:
        column = new_columns.get(widening.column.parts)
        if column is None or column.data_type != widening.new:
            actual = "gone" if column is None else sql_name(column.data_type)
            findings.append(
                TYPE_NOT_CHANGED.found(
                    "{column} is {actual} at version {version}, not {type}: another writer changed the table.",
                    version=version,
                    column=widening.column,
                    actual=actual,
                    type=sql_name(widening.new),
                )
            )
        elif widening.column.data_type != widening.new:
            holder = widening.column.parts[: len(widening.column.parts) - len(widening.column.field_path)]
            expected.setdefault(holder, []).append(TypeChange.of(widening.column, widening.new))
    for parts, old in old_columns.items():
        if not old.field_path and parts in new_columns:
            findings += _verify_record(old, new_columns[parts], expected.get(parts, []), version)
    return tuple(findings)


def _verify_record(old: Column, new: Column, expected: list[TypeChange], version: int) -> Iterator[Finding]:
    try:
        earlier, recorded = recorded_changes(old.field.metadata), recorded_changes(new.field.metadata)
    except ValueError as error:
        yield LOST_TYPE_CHANGES.found("{column}: {error}.", version=version, column=new, error=Prose(error))
        return
    if recorded[: len(earlier)] != earlier:
        yield LOST_TYPE_CHANGES.found(
            "{column} has lost earlier type changes from its record at version {version}, or they were rewritten.",
            version=version,
            column=new,
        )
    added = recorded[len(earlier) :]
    for change in expected:
        if change not in added:
            yield UNRECORDED_TYPE_CHANGE.found(
                "The change of {column} from {old} to {new}"
                + (" at {at}" if change.field_path else "")
                + " is not in delta.typeChanges at version {version}.",
                version=version,
                column=new,
                old=change.from_type,
                new=change.to_type,
                at=change.field_path,
            )


def _engine_too_old(widening: Widening, engine: Engine, otherwise: str) -> Finding:
    since = ".".join(map(str, WIDENING_SINCE))
    return requests.UNSUPPORTED_BY_ENGINE.found(
        "{engine} cannot widen {column} from {type} to {asked}: before Delta {since}, byte and short are widened, up "
        "to int, and a table with any other type change is not read.",
        remedy=f"Use Delta {since} or later. {otherwise}".strip(),
        since=since,
        engine=engine,
        column=widening.column,
        type=sql_name(widening.column.data_type),
        asked=sql_name(widening.new),
    )


def check_widening(widening: Widening, state: TableState) -> Iterator[Finding]:
    """Yield reasons why a column cannot be widened."""
    column, new = widening.column, widening.new
    if not can_widen(column.data_type, new):
        targets = legal_targets(column.data_type)
        yield requests.ILLEGAL_TYPE_CHANGE.found(
            "{column} is {type} and cannot be widened to {asked}. "
            + ("Allowed from {type}: {targets}." if targets else "No type is wider."),
            remedy=None if targets else "Keep the type, or copy the table to a new one with the other type.",
            column=column,
            type=sql_name(column.data_type),
            asked=sql_name(new),
            targets=targets,
        )
        return
    for compat in (feature for feature in FEATURES.values() if feature.widening):
        enabled = state.is_active(compat)
        if enabled and compat.widening and not compat.widening(column.data_type, new):
            yield requests.ICEBERG_COMPATIBILITY.found(
                "{column} cannot go from {type} to {asked} while {feature} is enabled: Iceberg has no such promotion.",
                column=column,
                type=sql_name(column.data_type),
                asked=sql_name(new),
                feature=compat,
            )
    yield from check_dependents(column, state.metadata)


def check_dependents(column: Column, metadata: Metadata) -> Iterator[Finding]:
    """Yield a refusal for each expression that prevents a type change of the column."""
    for name, expression in metadata.check_constraints.items():
        if refers_to(expression, column.parts):
            yield requests.COLUMN_IN_USE.found(
                "{column} is used by the CHECK constraint {constraint!r} ({expression}).",
                remedy="Drop the constraint, widen the column, then add the constraint again.",
                column=column,
                constraint=name,
                expression=expression,
            )
    for other, expression in metadata.column_texts(GENERATED_COLUMNS.field_key):
        if refers_to(expression, column.parts):
            yield requests.COLUMN_IN_USE.found(
                "{column} is used by the generated column {other} ({expression}).",
                remedy="Widen the column in a new table.",
                column=column,
                other=other,
                expression=expression,
            )


def widening_preparation(
    new_types: Sequence[DataType], state: TableState, engine: Engine
) -> tuple[tuple[SetProperties, ...], list[str]]:
    """Return the step that enables widening, if one is needed, and the features that it adds."""
    if not new_types:
        return (), []
    properties: dict[str, str] = {}
    needed: list[str] = []
    if not (state.protocol.supports(TYPE_WIDENING) or state.protocol.supports(TYPE_WIDENING_PREVIEW)):
        needed.append(TYPE_WIDENING.name)
        if engine.prefers_preview:
            properties[TYPE_WIDENING.support_property] = "supported"
    if not state.metadata.properties.type_widening:
        properties[ENABLE_TYPE_WIDENING] = "true"
    if TIMESTAMP_NTZ in new_types and not state.protocol.supports(TIMESTAMP_NTZ_FEATURE):
        needed.append(TIMESTAMP_NTZ_FEATURE.name)
        properties[TIMESTAMP_NTZ_FEATURE.support_property] = "supported"
    if not properties:
        return (), needed
    return (SetProperties(tuple(sorted(properties.items())), tuple(sorted(needed))),), needed


def _alterations(pending: Sequence[Widening], engine: Engine) -> tuple[WidenColumns, ...]:
    columns = tuple(ColumnType(w.column.parts, sql_name(w.column.data_type), sql_name(w.new)) for w in pending)
    if engine.alters_many_columns:
        return (WidenColumns(columns),) if columns else ()
    return tuple(WidenColumns((column,)) for column in columns)
