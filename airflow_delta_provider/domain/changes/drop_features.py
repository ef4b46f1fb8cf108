"""Planning to drop table features."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from airflow_delta_provider.domain.changes.plan import Plan, Planned, check_table, unknown_feature
from airflow_delta_provider.domain.changes.step import files_and_size, size_text
from airflow_delta_provider.domain.changes.steps import DropFeature
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files.schema_walk import SchemaWalk
from airflow_delta_provider.domain.checks.data_files.stored_types import FileNode, file_tree, is_checked, may_be
from airflow_delta_provider.domain.checks.protocol.changes import DROP_WAITS, FEATURE_NOT_DROPPED
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.data_type import Column, DataType, PrimitiveType
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS, in_order, is_in_use, why_not_removable
from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.log import CHECKPOINT_PROTECTION
from airflow_delta_provider.domain.delta.features.registry import dependents, feature_named
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol, has_feature, weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import MappingMode
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import who_is_locked_out
from airflow_delta_provider.domain.engine.spark_library import Engine, version_of
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, PhysicalType, SchemaElement
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from airflow_delta_provider.domain.table_name import TableName

#: Bit widths of integers that are stored as 32 bits. The width distinguishes them in a file.
_BITS = {"byte": 8, "short": 16, "integer": 32}


@dataclass(frozen=True)
class FileDifference:
    """The differences between the schemas of a file and its table.

    :param types: True if a column has another type
    :param columns: True if the file has columns that the table no longer has
    """

    types: bool
    columns: bool


class FileDifferences:
    """Compares the schemas of files with the table's own.

    :param metadata: metadata of the table
    """

    def __init__(self, metadata: Metadata) -> None:
        self._schema = metadata.mapped_schema
        partitions = {name.lower() for name in metadata.partition_columns}
        columns = metadata.readable_columns or ()
        self._columns = [c for c in columns if len(c.parts) == 1 and c.parts[0].lower() not in partitions]
        self._partitions = [c for c in columns if len(c.parts) == 1 and c.parts[0].lower() in partitions]
        self._materialized = frozenset(metadata.properties.materialized_columns)
        self._known: dict[tuple[SchemaElement, ...], FileDifference] = {}

    def of(self, elements: tuple[SchemaElement, ...]) -> FileDifference:
        """Return the differences of a file.

        :param elements: elements of its schema, from the footer
        """
        if elements not in self._known:
            walk = _Differences(self._schema.mode)
            walk.struct([*self._columns, *self._partitions], file_tree(elements))
            extra = [name for name in walk.extra if name not in self._materialized]
            self._known[elements] = FileDifference(walk.differs, bool(extra))
        return self._known[elements]


class _Differences(SchemaWalk):
    """Notes each difference, even harmless ones."""

    def __init__(self, mode: MappingMode) -> None:
        super().__init__(mode)
        self.differs = False
        self.extra: list[str] = []

    def _leaf(self, column: Column, node: FileNode) -> None:
        data_type = column.data_type
        if is_checked(data_type) and (not may_be(node.element, data_type) or _other_width(node.element, data_type)):
            self.differs = True

    def _wrong_type(self, column: Column, node: FileNode, types: Sequence[DataType]) -> None:
        del column, node, types
        self.differs = True

    def _others(self, nodes: Sequence[FileNode]) -> None:
        self.extra += [node.element.name for node in nodes]


def _other_width(element: SchemaElement, data_type: DataType) -> bool:
    """Return True if an integer of the file has another width than the column.

    An integer without a declared width has 32 bits.
    """
    if not isinstance(data_type, PrimitiveType) or data_type.name not in _BITS:
        return False
    logical = element.logical_type
    bit_width = logical.bit_width if logical is not None and logical.kind is LogicalKind.INTEGER else None
    return element.physical_type is PhysicalType.INT32 and (bit_width or 32) != _BITS[data_type.name]


def features_of(options: DropFeatureOptions, protocol: Protocol) -> tuple[str, ...]:
    """Return the requested features that a table has, in the required order of dropping them."""
    return in_order(tuple(n for n in (feature_named(f).name for f in options.features) if n in protocol.features))


@on_demand(FEATURE_NOT_DROPPED)
def verify_dropped(
    options: DropFeatureOptions, state: TableState, earliest: Mapping[str, datetime], *, promised: Protocol | None
) -> Iterator[Finding]:
    """Yield problems of a table whose features should be dropped, or wait for their history.

    :param state: state of the table, with its files
    :param earliest: time when history with traces may be truncated, by feature that is no longer in use
    :param promised: protocol that the plan leads to; None if nothing was done
    """
    present = features_of(options, state.protocol)
    for name in present:
        if options.truncate_history and REMOVALS[name].truncates and not _is_used(name, state):
            yield waiting(name, state.version, earliest.get(name))
        else:
            yield FEATURE_NOT_DROPPED.found(
                "{subject} is still in the protocol at version {version}.", version=state.version, subject=name
            )
    for name in (feature_named(text).name for text in options.features) if promised else ():
        if name not in present and name in REMOVALS and _left_over(name, state):
            yield FEATURE_NOT_DROPPED.found(
                "{subject} is no longer in the protocol, but the table still has traces of it at version {version}.",
                effect="Engines that do not know the feature misread them.",
                remedy="RESTORE the table to the previous version, and run the job again.",
                version=state.version,
                subject=name,
            )
    unexpected = state.protocol.features - promised.features if promised and not present else frozenset()
    if CHECKPOINT_PROTECTION.name in unexpected:
        yield FEATURE_NOT_DROPPED.found(
            "{subject} was added, which this plan does not do.",
            effect=who_is_locked_out(CHECKPOINT_PROTECTION.name, ()),
            remedy="Check the table's history for another writer; to drop the feature, truncate the history.",
            version=state.version,
            subject=CHECKPOINT_PROTECTION.name,
        )


def _left_over(name: str, state: TableState) -> bool:
    """Return True if a table has traces of a feature that it no longer has.

    A preview and its stable feature count as the same feature.
    """
    return not has_feature(state.protocol.features, name) and is_in_use(name, state)


def _is_used(name: str, state: TableState) -> bool:
    """Return True if a table still uses a feature.

    A feature that only protects history does not count: it is in use as long as that history exists.
    """
    return not REMOVALS[name].only_truncating and is_in_use(name, state)


@on_demand(DROP_WAITS)
def waiting(name: str, version: int, earliest: datetime | None) -> Finding:
    """Return the finding for a feature that waits for its history.

    :param earliest: time when the history may be truncated; None if unknown
    """
    waits = "The table's history has traces of {subject}, which may be truncated "
    if earliest is None:
        return DROP_WAITS.found(f"{waits}when the retention period is over.", version=version, subject=name)
    found = DROP_WAITS.found(f"{waits}from {{since}} on.", version=version, subject=name, since=_shown(earliest))
    return replace(found, earliest=earliest.isoformat(timespec="milliseconds"))


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC" if time.second == 0 else f"{time:%Y-%m-%d %H:%M:%S} UTC"


#: Number of empty commits whose checkpoints keep readers from history with traces of a feature.
_BARRIERS = 3


@dataclass(frozen=True)
class RewriteCost:
    """The data files that a drop rewrites.

    :param size: total size in bytes
    :param unread: number of files files_and_size only because their footers could not be read
    """

    files: int = 0
    size: int = 0
    unread: int = 0


@dataclass(frozen=True)
class DropSurvey:
    """Facts about a table before its features are dropped.

    :param rewritten: files to rewrite, by feature
    :param earliest: time when history with traces may be truncated, by feature that is no longer in use
    """

    rewritten: Mapping[str, RewriteCost] = field(default_factory=dict)
    earliest: Mapping[str, datetime] = field(default_factory=dict)


def plan_drop(
    table: TableName, options: DropFeatureOptions, state: TableState, engine: Engine, survey: DropSurvey, now: datetime
) -> Planned:
    """Plan to drop the features, one statement each.

    A feature whose history is too recent is left for later.

    :param state: state of the table, with its files
    :param now: current time in UTC
    """
    asked = [feature_named(name).name for name in options.features]
    present = features_of(options, state.protocol)
    without_sql = [name for name in present if name in REMOVALS and REMOVALS[name].without_sql]
    if blocked := check_table(table.text, _without(state.protocol, without_sql), engine):
        return Planned(None, blocked)
    refusals = [
        *(unknown_feature(name, engine, subject=name) for name in asked if _is_unknown(name, engine)),
        *(refusal for name in present for refusal in _check_removal(name, present, options, state, engine)),
    ]
    if refusals:
        return Planned(None, tuple(refusals))
    steps = tuple(_step(name, options, state, survey) for name in present if not _waits(name, options, survey, now))
    after = protocol_after(state.protocol, steps)
    plan = Plan(table, steps, state.protocol, after, tuple(_notes(options, present, steps, state, after, survey, now)))
    return Planned(plan, tuple(_check_permissions(plan, options)))


def protocol_after(protocol: Protocol, steps: Collection[DropFeature]) -> Protocol:
    if not steps:
        return protocol
    protecting = {
        CHECKPOINT_PROTECTION.name for step in steps if REMOVALS[step.feature].protects and not step.truncate_history
    }
    return weakest_protocol(protocol.features - {step.feature for step in steps} | protecting)


def _waits(name: str, options: DropFeatureOptions, survey: DropSurvey, now: datetime) -> bool:
    earliest = survey.earliest.get(name)
    return options.truncate_history and REMOVALS[name].truncates and earliest is not None and now < earliest


def _without(protocol: Protocol, features: Collection[str]) -> Protocol:
    """Return the protocol without features that are about to be dropped."""
    writer = None if protocol.writer_features is None else protocol.writer_features.difference(features)
    return replace(protocol, writer_features=writer)


def _is_unknown(name: str, engine: Engine) -> bool:
    return feature_named(name).kind is FeatureKind.UNKNOWN and not engine.knows(name)


def _check_removal(
    name: str, present: tuple[str, ...], options: DropFeatureOptions, state: TableState, engine: Engine
) -> Iterator[Finding]:
    removal = REMOVALS.get(name)
    if removal is None:
        yield requests.NOT_REMOVABLE.found(
            "{subject} cannot be dropped.", remedy=why_not_removable(feature_named(name)), subject=name
        )
        return
    if not removal.without_sql and version_of(engine.delta) < removal.since:
        since = ".".join(map(str, removal.since))
        yield requests.UNSUPPORTED_BY_ENGINE.found(
            "{engine} cannot drop {subject}, or not in one step.",
            remedy=f"Use Delta {since} or later.",
            engine=engine,
            subject=name,
        )
    needing = [other for other in dependents(name, state.protocol.features) if other not in present]
    if needing:
        yield requests.FEATURE_IN_USE.found(
            "{dependents} of this table " + ("need" if len(needing) > 1 else "needs") + " {subject}.",
            remedy=f"Drop {'them' if len(needing) > 1 else 'it'} first, or in the same request.",
            dependents=needing,
            subject=name,
        )
    if problem := removal.obstacle and removal.obstacle(state.metadata, state.domains):
        yield requests.FEATURE_IN_USE.found("{subject} cannot be dropped: {why}", subject=name, why=Prose(problem))
    if removal.only_truncating and not options.truncate_history:
        yield requests.NOT_REMOVABLE.found(
            "{subject} can only be dropped together with the history that it protects.",
            remedy="Repeat the request with truncate_history=True (--truncate-history).",
            subject=name,
        )


def _step(name: str, options: DropFeatureOptions, state: TableState, survey: DropSurvey) -> DropFeature:
    removal = REMOVALS[name]
    rewritten = survey.rewritten.get(name, RewriteCost())
    truncates = options.truncate_history and removal.truncates
    commits = 1 + (removal.commits if is_in_use(name, state) else 0)
    if removal.protects:
        commits += 1 if truncates else _BARRIERS
    return DropFeature(
        name,
        truncate_history=truncates,
        without_sql=removal.without_sql,
        files=rewritten.files,
        size=rewritten.size,
        commits=commits,
    )


def _notes(
    options: DropFeatureOptions,
    present: tuple[str, ...],
    steps: tuple[DropFeature, ...],
    state: TableState,
    after: Protocol,
    survey: DropSurvey,
    now: datetime,
) -> Iterator[str]:
    """Yield notes for users: files to rewrite, traces that remain, features that wait."""
    for step in steps:
        removal = REMOVALS[step.feature]
        unread = survey.rewritten.get(step.feature, RewriteCost()).unread
        what = files_and_size(step.files, step.size) if step.files else "no data file"
        doubt = f", {unread} of them because their footers could not be read" if unread else ""
        yield f"Dropping {step.feature} rewrites {what}{doubt}."
        if removal.leaves:
            yield removal.leaves
        if step.truncate_history and (step.feature not in survey.earliest or is_in_use(step.feature, state)):
            yield (
                f"{step.feature}: history with traces of it is truncated once it is old enough; until then, a later "
                "run has to finish the drop."
            )
    for name in present:
        if _waits(name, options, survey, now):
            yield f"{name} is not dropped yet: {waiting(name, state.version, survey.earliest[name]).evidence}"
    if CHECKPOINT_PROTECTION.name in after.features - state.protocol.features:
        yield who_is_locked_out(CHECKPOINT_PROTECTION.name, ())


def _check_permissions(plan: Plan, options: DropFeatureOptions) -> Iterator[Finding]:
    steps = [step for step in plan.steps if isinstance(step, DropFeature)]
    if CHECKPOINT_PROTECTION.name in plan.protocol_after.features - plan.protocol_before.features:
        protected = [step.feature for step in steps if REMOVALS[step.feature].protects and not step.truncate_history]
        if not options.allow_protocol_upgrade:
            yield requests.PROTOCOL_UPGRADE.found(
                "Dropping {features} adds {subject} to the protocol of {table}, because its history keeps traces.",
                effect=who_is_locked_out(CHECKPOINT_PROTECTION.name, ()),
                remedy="If every writer can follow, repeat the request with allow_protocol_upgrade=True "
                "(--allow-protocol-upgrade); or truncate the history with truncate_history=True (--truncate-history).",
                features=protected,
                subject=CHECKPOINT_PROTECTION.name,
                table=plan.table.text,
            )
    for step in steps:
        if step.files and not options.allow_rewrite:
            yield requests.REWRITE_NOT_ALLOWED.found(
                "Dropping {subject} rewrites {files:data file} ({size}): {which}.",
                subject=step.feature,
                files=step.files,
                size=size_text(step.size),
                which=REMOVALS[step.feature].rewrites.value,
            )
    truncated = [step.feature for step in steps if step.truncate_history]
    if truncated and not options.acknowledge_history_loss:
        yield requests.HISTORY_LOSS.found("To drop {features}, history with traces is deleted.", features=truncated)
    for step in steps:
        if REMOVALS[step.feature].loses_row_ids and not options.acknowledge_row_id_loss:
            yield requests.ROW_ID_LOSS.found("{what}", subject=step.feature, what=Prose(REMOVALS[step.feature].leaves))
