"""The preflight of a change: the protocol it leads to, and the recent writers and engines it locks out.

Only the engine knows which features its release adds for a property or a type.
"""

from __future__ import annotations

import json
import shlex
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from airflow_delta_provider.domain.changes.drop_features import protocol_after
from airflow_delta_provider.domain.changes.lockouts import kept_engines, lockouts, unreadable_demands
from airflow_delta_provider.domain.changes.plan import Plan, check_upgrade, use_release_with
from airflow_delta_provider.domain.changes.steps import (
    AddColumns,
    Alteration,
    ClusterBy,
    DropFeature,
    MapColumns,
    RenameColumn,
    RenameColumns,
    Step,
    WidenColumns,
    each_step,
)
from airflow_delta_provider.domain.changes.steps.table import OF_OTHERS
from airflow_delta_provider.domain.changes.widen_types import Widening
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import (
    READ_LOCKED,
    SILENT_WRONG_RESULTS,
    UNIDENTIFIED_WRITER,
    UNKNOWN_SUPPORT,
    WRITE_LOCKED,
)
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.data_type import (
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    all_columns,
    parse_type,
)
from airflow_delta_provider.domain.delta.features.columns import (
    GENERATED_COLUMNS,
    START,
    TIMESTAMP_NTZ_FEATURE,
    TYPE_WIDENING,
    TYPE_WIDENING_PREVIEW,
    TypeChange,
)
from airflow_delta_provider.domain.delta.features.feature import FeatureAccess
from airflow_delta_provider.domain.delta.features.log import CLUSTERING
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named, with_requirements
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import CURRENT_DEFAULT, Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type, render_sql_type
from airflow_delta_provider.domain.delta.table_features import demands_of, unlisted_features
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import Demands
from airflow_delta_provider.domain.engine.conditions import Clause, Decision
from airflow_delta_provider.domain.engine.fleet import Member, RecentWriters, TableFleet
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import literal, quote


def proposed_metadata(metadata: Mapping[str, Any], steps: Sequence[Step]) -> dict[str, Any] | None:
    """Return a metaData action with all properties and types that the steps introduce.

    None if the steps change neither. Each primitive type in an added or changed column gets a column of its own.

    :param metadata: current metaData action
    """
    each = list(each_step(steps))
    properties = _new_properties(each)
    types = sorted(data_type.name for data_type in written_types(each))
    if not (properties or types):
        return None
    proposed = {**metadata, "configuration": {**metadata.get("configuration", {}), **properties}}
    if types:
        schema = json.loads(metadata["schemaString"])
        schema["fields"] += [
            {"name": f"c{uuid.uuid4().hex}", "type": name, "nullable": True, "metadata": {}} for name in types
        ]
        proposed["schemaString"] = json.dumps(schema)
    return proposed


def _new_properties(each: Iterable[Step]) -> dict[str, str]:
    """Return all properties that steps set, with their last values."""
    return {name: value for step in each for name, value in step.new_properties.items()}


def one_at_a_time(metadata: Mapping[str, Any], proposed: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Split a proposed metaData action into the changes that an engine accepts one at a time.

    A change of the column mapping mode comes first, with the old schema; then the new schema, with the old mode.

    :param metadata: current metaData action
    """
    before, after = metadata.get("configuration", {}), proposed["configuration"]
    mode = before.get(COLUMN_MAPPING_MODE, "none")
    if after.get(COLUMN_MAPPING_MODE, mode) == mode or proposed["schemaString"] == metadata["schemaString"]:
        return (proposed,)
    return (
        {**proposed, "schemaString": metadata["schemaString"]},
        {**proposed, "configuration": {**after, COLUMN_MAPPING_MODE: mode}},
    )


def with_expected_protocol(
    plan: Plan, written: Protocol, engine: Engine, *, allow_upgrade: bool, allow_special: bool
) -> tuple[Plan, tuple[Finding, ...]]:
    """Return the plan with the protocol that the engine will write, and the resulting refusals.

    :param written: protocol that the engine gives the table for properties and types
    """
    table, expected = plan.table.text, plan.protocol_after.features
    written = _after_statements(written, plan.steps)
    real = replace(plan, protocol_after=written)
    unasked = sorted(written.features - expected)
    missing = sorted(expected - written.features)
    if missing:
        refused = requests.UNSUPPORTED_BY_ENGINE.found(
            "{engine} would not add {missing} to the protocol of {table}" + (", but {added}." if unasked else "."),
            remedy=use_release_with([name for name in missing if not engine.knows(name)])
            or "Use another release of Delta.",
            engine=engine,
            missing=missing,
            table=table,
            added=unasked,
        )
        return real, (refused,)
    special = [name for name in unasked if feature_named(name).access is FeatureAccess.SPECIAL]
    if special and not allow_special:
        return real, (_special(table, special, engine),)
    return real, tuple(check_upgrade(real, allowed=allow_upgrade)) if unasked else ()


def _after_statements(protocol: Protocol, steps: Sequence[Step]) -> Protocol:
    """Return the protocol after changes that come from neither properties nor types."""
    if any(isinstance(step, ClusterBy) and step.columns for step in steps):
        protocol = protocol.supporting([CLUSTERING.name])
    return protocol_after(protocol, [step for step in steps if isinstance(step, DropFeature)])


def _special(table: str, special: Sequence[str], engine: Engine) -> Finding:
    return requests.SPECIAL_FEATURE.found(
        "{engine} would add {features} to the protocol of {table}, which was not requested and which few engines "
        "support.",
        remedy=f"Use another release of Delta. {requests.SPECIAL_FEATURE.remedy}",
        engine=engine,
        features=special,
        table=table,
    )


def written_types(each: Iterable[Step]) -> frozenset[PrimitiveType]:
    """Return the primitive types, nested ones included, of columns that steps add or change."""
    new = StructType(tuple(StructField("c", parse_sql_type(name)) for step in each for name in step.new_types))
    return frozenset(c.data_type for c in all_columns(new) if isinstance(c.data_type, PrimitiveType))


#: Codes of findings about engines whose support for the table is unknown.
UNKNOWN_ENGINES = frozenset(rule.code for rule in (UNKNOWN_SUPPORT, UNIDENTIFIED_WRITER))


def demands_with(state: TableState, features: Iterable[str], widenings: Sequence[Widening]) -> Demands:
    """Return a table's demands once features are enabled and columns are widened.

    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    named = [feature_named(name).name for name in features]
    changed = [widening for widening in widenings if widening.column.data_type != widening.new]
    if changed and not (state.protocol.supports(TYPE_WIDENING) or state.protocol.supports(TYPE_WIDENING_PREVIEW)):
        named.append(TYPE_WIDENING.name)
    if any(widening.new == TIMESTAMP_NTZ for widening in changed):
        named.append(TIMESTAMP_NTZ_FEATURE.name)
    enabled = {
        feature.enabling_property: feature.enabled_values[0]
        for feature in map(feature_named, named)
        if feature.enabling_property is not None and not feature.is_enabled_by(state.metadata)
    }
    after = demands_of(
        state.protocol.supporting(named),
        _configured(state.metadata, enabled),
        [TypeChange.of(widening.column, widening.new) for widening in changed],
        with_requirements(frozenset(named)),
    )
    return following(demands_of(state.protocol, state.metadata), after)


def following(before: Demands, after: Demands) -> Demands:
    """Return demands after a change that keeps the values of a table."""
    if before.traits is None or after.traits is None:
        return after
    return replace(after, traits=after.traits.following(before.traits))


def with_files(demands: Demands, decisions: Mapping[Clause, Decision]) -> Demands:
    """Return demands with decisions about the table's files."""
    return demands if demands.traits is None else replace(demands, traits=demands.traits.with_files(decisions))


def demands_after(plan: Plan, state: TableState) -> Demands:
    """Return a table's demands once a plan is applied.

    :raises ValueError: if the record of type changes is malformed
    :raises BrokenLogError: if the schema is damaged
    """
    each = list(each_step(plan.steps))
    columns = [column for step in each if isinstance(step, WidenColumns) for column in step.columns]
    types = written_types(each)
    after = demands_of(
        plan.protocol_after,
        _with_properties(state.metadata, each),
        [TypeChange(str(parse_type(column.old)), str(parse_type(column.new))) for column in columns],
        {
            *(plan.protocol_after.features - state.protocol.features),
            *(feature.name for feature in FEATURES.values() if feature.column_type in types),
        },
        _renamed(each),
    )
    # The engine lists the features that a change needs, and stops using a feature before it drops it.
    still_unlisted = unlisted_features(state.protocol, state.metadata) - plan.protocol_after.features
    return following(demands_of(state.protocol, state.metadata), replace(after, unlisted=still_unlisted))


def _renamed(each: Iterable[Step]) -> list[tuple[str, ...]]:
    """Return the columns in data files that steps rename or add: with column mapping, files have other names."""
    parts: list[tuple[str, ...]] = []
    for step in each:
        if isinstance(step, Alteration):
            parts += [column.parts for column in step.renames]
            parts += [column.parts for column in step.adds]
        elif isinstance(step, AddColumns):
            parts += [column.parts for column in step.columns]
        elif isinstance(step, RenameColumn):
            parts.append(step.column.parts)
        elif isinstance(step, RenameColumns):
            parts += [column.parts for column in step.columns]
    return parts


def _with_properties(metadata: Metadata, each: Iterable[Step]) -> Metadata:
    """Return metadata with the properties that steps set: a property can put a feature in use."""
    each = list(each)
    properties = _new_properties(each)
    if any(isinstance(step, MapColumns) for step in each):
        properties[COLUMN_MAPPING_MODE] = MappingMode.NAME.value
    return _configured(metadata, properties)


def _configured(metadata: Metadata, properties: Mapping[str, str]) -> Metadata:
    if not properties:
        return metadata
    wire = metadata.to_json()
    return Metadata.from_json({**wire, "configuration": {**wire.get("configuration", {}), **properties}})


def affects_engines(plan: Plan, state: TableState) -> bool:
    """Return True if a plan may lock out an engine that can use the table now.

    :param state: state of the table when the plan was made
    """
    if plan.upgrades_protocol or any(isinstance(step, WidenColumns) for step in each_step(plan.steps)):
        return True
    try:
        return demands_of(state.protocol, state.metadata) != demands_after(plan, state)
    except (ValueError, BrokenLogError):
        return False


@dataclass(frozen=True)
class Preflight:
    """The engines that a plan locks out, or may lock out.

    :param found: findings about all engines that are known
    :param kept: findings about the engines that must keep their access because of a fleet file, each with its engine
    """

    found: tuple[Finding, ...] = ()
    kept: tuple[tuple[Member, Finding], ...] = ()

    @classmethod
    def of(
        cls,
        plan: Plan,
        state: TableState,
        fleet: TableFleet,
        writers: RecentWriters,
        files: Callable[[Demands, Demands], Mapping[Clause, Decision]] | None = None,
    ) -> Preflight:
        """Check a plan against the engines of a table.

        :param state: state of the table when the plan was made
        :param files: returns decisions about the table's files, given the demands before and after the plan
        """
        try:
            before, after = demands_of(state.protocol, state.metadata), demands_after(plan, state)
            if files is not None and (decisions := files(before, after)):
                before = with_files(before, decisions)
                after = following(before, after)
        except (ValueError, BrokenLogError) as error:
            kept = unreadable_demands(error, fleet)
            return cls(tuple(finding for _, finding in kept), kept)
        return cls(lockouts(before, after, fleet, writers), kept_engines(before, after, fleet, writers))

    def unknown(self) -> Iterator[tuple[Member, Finding]]:
        """Yield the engines that a fleet file keeps and whose support is unknown."""
        return ((member, finding) for member, finding in self.kept if finding.code == UNKNOWN_SUPPORT.code)


@dataclass(frozen=True)
class CheckedPlan:
    """A plan after its preflight.

    :param plan: the plan, with notes about engines that it locks out or may lock out
    :param refusals: reasons not to apply it; no permission allows a lock-out that a fleet file forbids
    :param undecided: findings about kept engines whose support is unknown; until the request accepts them, the plan
        must not be applied
    """

    plan: Plan
    refusals: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()


def with_lockouts(
    plan: Plan, refusals: Sequence[Finding], preflight: Preflight, accepted: Collection[str] = ()
) -> CheckedPlan:
    """Return the plan and its refusals, with the locked-out engines named in them.

    :param accepted: names of kept engines whose unknown support the request accepts
    """
    sentences = [str(finding.evidence) for finding in preflight.found]
    named = tuple(_naming(refusal, [*_headline(preflight.found), *sentences]) for refusal in refusals)
    undecided, notes = [], []
    for member, finding in preflight.unknown():
        if any(member.is_called(name) for name in accepted):
            notes.append(f"The request accepts that the support of {member.name} is unknown.")
        else:
            undecided.append(_to_accept(finding) if member.declared else finding)
    forbidden = tuple(finding for _, finding in preflight.kept if finding.code != UNKNOWN_SUPPORT.code)
    noted = replace(plan, notes=(*plan.notes, *sentences, *notes))
    return CheckedPlan(noted, (*named, *forbidden), tuple(undecided))


def _to_accept(finding: Finding) -> Finding:
    """Return a finding about unknown support whose remedy says how to accept it."""
    known = UNKNOWN_SUPPORT.remedy if finding.remedy is None else finding.remedy
    accept = (
        f"To change the table nevertheless, repeat the request with accept_unknown=[{finding.subject!r}] "
        f"(--accept-unknown {shlex.quote(str(finding.subject))})."
    )
    return UNKNOWN_SUPPORT.worded(replace(finding, remedy=f"{known} {accept}"))


def _headline(found: Collection[Finding]) -> Iterator[str]:
    """Yield sentences that name the engines that would misread the table, and the locked-out recent writers."""
    misreaders = [str(finding.subject) for finding in found if finding.code == SILENT_WRONG_RESULTS.code]
    if misreaders:
        yield f"Engines that would misread or damage the table without an error: {', '.join(sorted(misreaders))}."
    codes = {READ_LOCKED.code, WRITE_LOCKED.code}
    wrote = [str(finding.subject) for finding in found if finding.code in codes and "commits" in (finding.facts or {})]
    if wrote:
        yield f"Recent writers that would be locked out: {', '.join(sorted(wrote))}."


def _naming(refusal: Finding, sentences: Sequence[str]) -> Finding:
    rule = requests.PROTOCOL_UPGRADE
    if refusal.code != rule.code or not sentences:
        return refusal
    effect = " ".join([*sentences, rule.effect if refusal.effect is None else refusal.effect])
    return rule.worded(replace(refusal, effect=effect))


#: Note on a plan that was made without an engine to rehearse it.
NOT_REHEARSED = (
    "Not rehearsed: this plan was made without Spark. Before the plan is applied, the engine tries its steps on an "
    "empty table with the same schema."
)
#: Metadata keys of columns that the engine fills.
_FILLED = frozenset({GENERATED_COLUMNS.field_key, CURRENT_DEFAULT, START})


def steps_to_rehearse(planned: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps to try on an empty table; empty if a refused plan would leave nothing behind.

    A plan of one commit is refused as a whole, unless its expressions are stored first and evaluated later.
    """
    if sum(step.commits for step in planned) < 2 and not stores_expressions(planned):
        return ()
    return tuple(takewhile(lambda step: step.can_be_rehearsed, planned))


def stores_expressions(planned: Iterable[Step]) -> bool:
    """Return True if steps add expressions that writers will evaluate."""
    return any(step.stores_expressions for step in each_step(planned))


def empty_copy(protocol: Mapping[str, Any], metadata: Mapping[str, Any], domains: Mapping[str, str]) -> list[Action]:
    """Return the actions of the first commit of an empty table that is otherwise like another one.

    :param protocol: body of the other table's ``protocol`` action
    :param metadata: body of its ``metaData`` action
    :param domains: configuration of its metadata domains, by name
    """
    kept = {
        name: value
        for name, value in (metadata.get("configuration") or {}).items()
        if not name.lower().startswith(OF_OTHERS)
    }
    now = int(time.time() * 1000)
    info = {
        "inCommitTimestamp": now,
        "timestamp": now,
        "operation": "CREATE TABLE",
        "operationParameters": {},
        "isBlindAppend": True,
        "txnId": str(uuid.uuid4()),
    }
    return [
        {"commitInfo": info},
        {"protocol": dict(protocol)},
        {"metaData": {**metadata, "id": str(uuid.uuid4()), "configuration": kept}},
        *(
            {"domainMetadata": {"domain": name, "configuration": text, "removed": False}}
            for name, text in domains.items()
        ),
    ]


def insert_one_row(table: TableName, metadata: Metadata) -> str | None:
    """Return a statement that inserts one row; None if a required type has no literal here.

    The engine fills columns with defaults and generated columns; the others are NULL if they are nullable.
    """
    names, values = [], []
    for field in metadata.schema.fields:
        if _FILLED & field.metadata.keys():
            continue
        value = "NULL" if field.nullable else _value(field.data_type)
        if value is None:
            return None
        names.append(quote(field.name))
        values.append(value)
    return f"INSERT INTO {table.sql} ({', '.join(names)}) VALUES ({', '.join(values)})" if names else None


def _value(data_type: DataType) -> str | None:
    """Return an SQL literal of a type; None if there is none."""
    if isinstance(data_type, StructType):
        fields = list(_fields(data_type))
        return None if None in fields else f"named_struct({', '.join(map(str, fields))})"
    if isinstance(data_type, ArrayType):
        return f"CAST(array() AS {render_sql_type(data_type)})"
    if isinstance(data_type, MapType):
        return f"CAST(map() AS {render_sql_type(data_type)})"
    kind = "decimal" if isinstance(data_type, DecimalType) else str(data_type)
    plain = _LITERALS.get(kind.partition("(")[0])
    return None if plain is None else f"CAST({plain} AS {render_sql_type(data_type)})"


def _fields(struct: StructType) -> Iterator[str | None]:
    for field in struct.fields:
        value = _value(field.data_type) if not field.nullable else f"CAST(NULL AS {render_sql_type(field.data_type)})"
        yield None if value is None else f"{literal(field.name)}, {value}"


_LITERALS: Mapping[str, str] = {
    **dict.fromkeys(("byte", "short", "integer", "long", "float", "double", "decimal"), "0"),
    **dict.fromkeys(("string", "char", "varchar"), "''"),
    "boolean": "false",
    "binary": "X''",
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "'2000-01-01'"),
}
