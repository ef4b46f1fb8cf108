"""Differences between a table and its spec, and the commits since which they exist.

A difference is anything that a plan would change, or refuse to change. Without differences, a plan is empty.
No migration can reach declared freshness and numbers of rows, so they are checked here, and are not part of a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.changes.steps.columns import renamed_path
from airflow_delta_provider.domain.checks import drift as rules
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.drift import (
    EXPECTATION_UNDECIDED,
    NOT_FRESH,
    OTHER_ROW_COUNT,
    Difference,
    Origin,
)
from airflow_delta_provider.domain.checks.rule import Prose, Rule
from airflow_delta_provider.domain.delta.commit import Action, commit_info, provenance_of, time_of
from airflow_delta_provider.domain.delta.data_type import StructType, all_columns, lowered, path_text, sql_name
from airflow_delta_provider.domain.delta.features.log import IN_COMMIT_TIMESTAMP
from airflow_delta_provider.domain.delta.features.registry import feature_named
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import COMMENT, CURRENT_DEFAULT, Metadata
from airflow_delta_provider.domain.delta.table_features import FeatureState, feature_state
from airflow_delta_provider.domain.delta.table_properties import duration_text
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.difference import (
    ColumnChanges,
    clustered_by,
    column_changes,
    is_clustered_otherwise,
    is_partitioned_otherwise,
    new_comment,
    new_constraints,
    new_properties,
    old_constraints,
    old_properties,
)
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.spec.table_spec import Path, Rows, TableSpec


def differences(spec: TableSpec, state: TableState) -> tuple[Difference, ...]:
    """Return the differences between a table and its spec.

    If the table has another id, that is the only difference.

    :param spec: spec, with the columns of the table that it is ``like``
    :raises BrokenLogError: if the schema cannot be read
    """
    found = state.metadata.id
    if spec.table_id is not None and spec.table_id != found:
        return (Difference(rules.ANOTHER_TABLE, spec.table_id, found),)
    return (
        *_Columns(spec, state.metadata).differences(),
        *_properties(spec, state.metadata),
        *_features(spec, state),
        *_constraints(spec, state.metadata),
        *_layout(spec, state),
    )


class _Columns:
    """Finds differences of columns. A rewrite counts as allowed, so no change of a type is refused."""

    def __init__(self, spec: TableSpec, metadata: Metadata) -> None:
        self._changes = column_changes(metadata.schema, replace(spec, rewrite=True))
        self._renames = {rename.parts: rename.new for rename in self._changes.renames}
        self._columns = {
            lowered(renamed_path(column.parts, self._renames)): column for column in all_columns(metadata.schema)
        }
        self._schema = metadata.schema
        self._added = [(*add.parent.new, add.name) for add in self._changes.adds]

    def differences(self) -> Iterator[Difference]:
        changes = self._changes
        for path, add in zip(self._added, changes.adds):
            yield Difference(rules.COLUMN_MISSING, add.type, None, path_text(path))
        for parts in self._renames:
            new = path_text(renamed_path(parts, self._renames))
            yield Difference(rules.OTHER_NAME, new, path_text(parts), new)
        for place in changes.drops:
            column = self._columns[lowered(place.new)]
            yield Difference(rules.COLUMN_UNDECLARED, None, sql_name(column.data_type), path_text(place.old))
        for widening in changes.widenings:
            yield Difference(rules.OTHER_TYPE, widening.new, widening.old, path_text(widening.parts))
        for cast in changes.casts:
            yield Difference(rules.OTHER_TYPE, cast.new, cast.old, path_text(cast.parts))
        for path in changes.nullable:
            yield Difference(rules.OTHER_NULLABILITY, "nullable", "NOT NULL", path_text(path))
        for path in filter(self._is_there, changes.required):
            yield Difference(rules.OTHER_NULLABILITY, "NOT NULL", "nullable", path_text(path))
        yield from self._orders(changes)
        yield from self._texts(rules.OTHER_COMMENT, changes.comments, COMMENT)
        yield from self._texts(rules.OTHER_DEFAULT, changes.defaults, CURRENT_DEFAULT)
        yield from self._refused(changes)

    def _is_there(self, path: Path) -> bool:
        """Return True if a column is neither missing nor part of a missing one."""
        return not any(lowered(path[: len(added)]) == lowered(added) for added in self._added)

    def _orders(self, changes: ColumnChanges) -> Iterator[Difference]:
        for parent, members in changes.orders:
            wanted = tuple(name for name, goes in members if not goes and self._is_there((*parent, name)))
            kept = {name.lower() for name in wanted}
            names = (self._renames.get(path, path[-1]) for path in self._fields_of(parent))
            actual = tuple(name for name in names if name.lower() in kept)
            if actual != wanted:
                yield Difference(rules.OTHER_ORDER, wanted, actual, path_text(parent) if parent else None)

    def _fields_of(self, parent: Path) -> Iterator[Path]:
        """Yield the paths of a struct's fields, in the table's spelling."""
        if not parent:
            yield from ((field.name,) for field in self._schema.fields)
            return
        column = self._columns[lowered(parent)]
        assert isinstance(column.data_type, StructType)
        yield from ((*column.parts, field.name) for field in column.data_type.fields)

    def _texts(self, rule: Rule, changes: Iterable[Any], key: str) -> Iterator[Difference]:
        for change in changes:
            if self._is_there(change.parts):
                known = self._columns[lowered(change.parts)].field.metadata.get(key)
                yield Difference(
                    rule, change.text, None if known in (None, "") else str(known), path_text(change.parts)
                )

    def _refused(self, changes: ColumnChanges) -> Iterator[Difference]:
        """Yield differences that only a new table could resolve.

        Other refusals concern differences that are already reported.
        """
        missing = {path_text(added) for added in self._added}
        for refusal in changes.refusals:
            facts = refusal.facts or {}
            if refusal.code in (requests.UNKNOWN_COLUMN.code, requests.UNSUPPORTED_COLUMN.code):
                yield Difference(rules.COLUMN_MISSING, facts.get("type", "of any type"), None, refusal.column)
            elif refusal.code == requests.ILLEGAL_TYPE_CHANGE.code:
                yield Difference(rules.OTHER_TYPE, facts["asked"], facts["type"], refusal.column)
            elif refusal.code == requests.ONLY_AT_CREATION.code and "wanted" in facts and refusal.column not in missing:
                yield Difference(rules.OTHER_GENERATION, facts["wanted"], facts["known"], refusal.column)


def _properties(spec: TableSpec, metadata: Metadata) -> Iterator[Difference]:
    known = metadata.configuration
    for name, value in new_properties(metadata, spec).items():
        yield Difference(rules.OTHER_PROPERTY, value, known.get(name), subject=name)
    unset = old_properties(metadata, spec)
    for name in unset.names if unset is not None else ():
        yield Difference(rules.OTHER_PROPERTY, None, known[name], subject=name)


def _features(spec: TableSpec, state: TableState) -> Iterator[Difference]:
    for feature in map(feature_named, spec.features):
        actual = feature_state(feature, state.protocol, state.metadata)
        if actual is not FeatureState.ENABLED:
            there = None if actual is FeatureState.ABSENT else actual.value
            yield Difference(rules.FEATURE_MISSING, FeatureState.ENABLED.value, there, subject=feature.name)
    for feature in map(feature_named, spec.drop_features):
        if feature.name in state.protocol.features:
            yield Difference(rules.FEATURE_UNWANTED, None, "supported", subject=feature.name)


def _constraints(spec: TableSpec, metadata: Metadata) -> Iterator[Difference]:
    known = {name.lower(): expression for name, expression in metadata.check_constraints.items()}
    wanted = {constraint.name.lower(): constraint for constraint in new_constraints(metadata, spec)}
    for name, constraint in wanted.items():
        yield Difference(rules.OTHER_CONSTRAINT, constraint.expression, known.get(name), subject=constraint.name)
    for old in old_constraints(metadata, spec):
        if old.name.lower() not in wanted:
            yield Difference(rules.OTHER_CONSTRAINT, None, known[old.name.lower()], subject=old.name)


def _layout(spec: TableSpec, state: TableState) -> Iterator[Difference]:
    metadata = state.metadata
    if is_partitioned_otherwise(metadata, spec):
        yield Difference(rules.OTHER_PARTITIONING, tuple(spec.partition_by or ()), metadata.partition_columns)
    if is_clustered_otherwise(state, spec):
        wanted = tuple(map(path_text, spec.cluster_by or ()))
        yield Difference(rules.OTHER_CLUSTERING, wanted, tuple(map(path_text, clustered_by(state))))
    comment = new_comment(metadata, spec)
    if comment is not None:
        yield Difference(rules.OTHER_TABLE_COMMENT, comment.text, metadata.description or None)


class DriftHistory:
    """Finds the commit since which each difference exists, from the states of a table in order.

    :param present: differences of the newest state
    :param base: state before the first commit; None if that created the table
    """

    def __init__(self, spec: TableSpec, present: Iterable[Difference], base: TableState | None) -> None:
        self._spec = spec
        self._present = tuple(present)
        self.origins: dict[Difference, Origin] = {}
        """The known commits since which differences exist."""
        if base is not None:
            self._compare(base, Origin(base.version, at_or_before=True))

    def take(self, state: TableState, provenance: Mapping[str, Any]) -> None:
        """Compare the state after a commit that changed protocol, metadata or clustering.

        :param provenance: fields of a finding that identify the commit
        """
        self._compare(state, Origin(state.version, provenance))

    @property
    def is_complete(self) -> bool:
        """True if the commit behind each difference is known."""
        found = [self.origins.get(difference) for difference in self._present]
        return all(origin is not None and not origin.at_or_before for origin in found)

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each difference."""
        return tuple(rules.drift(difference, self.origins.get(difference)) for difference in self._present)

    def _compare(self, state: TableState, origin: Origin) -> None:
        try:
            here = frozenset(differences(self._spec, state))
        except BrokenLogError:  # an earlier version is damaged: the next one decides
            return
        for difference in self._present:
            if difference not in here:
                self.origins.pop(difference, None)
            else:
                self.origins.setdefault(difference, origin)


#: Maximum difference between the clocks of writers and this one. A later time is not the time of the commit.
_FUTURE = timedelta(days=1)


class TimeSource(str, Enum):
    """The place in a commit that states its time."""

    IN_COMMIT = "inCommitTimestamp"
    STATED = "commitInfo.timestamp"


@dataclass(frozen=True)
class DataCommit:
    """A commit that bounds the age of a table's data.

    :param version: its version
    :param time: its time; None if it states none
    :param source: place of the time
    :param changes_data: True if it changed data; otherwise it is the oldest known commit, and no later one did
    :param provenance: fields of a finding that describe who made it
    """

    version: int
    time: datetime | None
    source: TimeSource
    changes_data: bool
    provenance: Mapping[str, Any]

    @classmethod
    def of(cls, version: int, actions: Iterable[Action], state: TableState) -> DataCommit:
        """Read a commit.

        :param state: newest state; it decides which time readers use
        """
        actions = list(actions)
        info = commit_info(actions)
        own = state.metadata.properties.in_commit_timestamps and state.protocol.supports(IN_COMMIT_TIMESTAMP)
        source = TimeSource.IN_COMMIT if own and "inCommitTimestamp" in info else TimeSource.STATED
        text = time_of(info.get("inCommitTimestamp" if source is TimeSource.IN_COMMIT else "timestamp"))
        time = None if text is None else datetime.fromisoformat(text)
        return cls(version, time, source, any(map(_changes_data, actions)), provenance_of(info))


def _changes_data(action: Action) -> bool:
    bodies = (action.get(kind) for kind in ("add", "remove"))
    return any(isinstance(body, Mapping) and body.get("dataChange", True) is True for body in bodies)


@on_demand(NOT_FRESH, EXPECTATION_UNDECIDED)
def check_freshness(limit: timedelta, commit: DataCommit | None, now: datetime) -> Iterator[Finding]:
    """Yield a finding if the data is too old, or if its age cannot be decided.

    :param commit: newest commit that changed data, or else the oldest commit in the log; None if a commit in between
        cannot be read
    """
    wanted = duration_text(limit)
    if commit is None or commit.time is None or commit.time - now > _FUTURE:
        why = "the commits were cleaned up, or one cannot be read"
        if commit is not None:
            why = f"version {commit.version} states no time"
            if commit.time is not None:
                why = f"the time of version {commit.version}, {_shown(commit.time)}, lies in the future"
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares freshness {wanted}, but the age of the data is unknown: {why}.",
            wanted=wanted,
            why=Prose(why),
        )
        return
    age = now - commit.time
    if age > limit:
        what = "Data last changed at {time} ({source}), {age} ago"
        if not commit.changes_data:
            what = "No commit since {time} ({source}), {age} ago, changed data"
        yield NOT_FRESH.found(
            what + ", but freshness {wanted} is declared.",
            version=commit.version,
            made_by=commit.provenance,
            wanted=wanted,
            time=_shown(commit.time),
            source=commit.source.value,
            age=Prose(_age(age)),
        )
    elif not commit.changes_data and commit.version > 0:
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares freshness {wanted}, but the log begins with version {first}, and no commit since then "
            "changed data.",
            wanted=wanted,
            first=Prose(commit.version),
        )


@on_demand(OTHER_ROW_COUNT, EXPECTATION_UNDECIDED)
def check_rows(wanted: Rows, files: Iterable[LiveFile]) -> Iterator[Finding]:
    """Yield a finding if the number of rows is outside the bounds, or if that cannot be decided.

    :param files: live files
    """
    rows = unknown = total = 0
    for file in files:
        total += 1
        if file.live_rows is None:
            unknown += 1
        else:
            rows += file.live_rows
    too_many = wanted.most is not None and rows > wanted.most
    too_few = wanted.least is not None and rows < wanted.least
    if too_many or (too_few and not unknown):
        at_least = Prose("at least " if unknown else "")
        yield OTHER_ROW_COUNT.found(
            "The table has {at_least}{rows:row}, but {wanted} are declared.",
            at_least=at_least,
            rows=Prose(f"{rows:,}") if unknown else rows,
            wanted=str(wanted),
        )
    elif unknown and (too_few or wanted.most is not None):
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares {wanted} rows, but {unknown} of {files:live file} have no row count in the log. The "
            "others have {rows:row}.",
            wanted=str(wanted),
            unknown=unknown,
            files=total,
            rows=rows,
        )


def _shown(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def _age(age: timedelta) -> str:
    hours = age.total_seconds() / 3600
    if hours >= 48:
        return f"{hours / 24:.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{hours * 60:.0f} minutes"
