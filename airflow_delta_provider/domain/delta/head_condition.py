"""A condition on protocol, features, properties and schema of a table, as data.

A mapping from each subject to ``"changed"``, or to one verb with the expected value::

    {
        "protocol": {"equals": {"minWriterVersion": 7}},
        "features": {"contains": ["rowTracking"]},
        "properties": {"contains": {"delta.appendOnly": "true", "owner": None}},
        "schema": {"contains": {"price": "decimal(12,2)", "lines.element.sku": None}},
    }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.delta.data_type import (
    AmbiguousColumnError,
    DataType,
    UnknownColumnError,
    UnknownTypeError,
    find_column,
    lowered,
    parse_type,
    sql_name,
)
from airflow_delta_provider.domain.delta.features.columns import can_widen, legal_targets
from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_features import FeatureState, feature_state
from airflow_delta_provider.domain.delta.table_head import SUBJECTS, TABLE, HeadMark, TableHead
from airflow_delta_provider.domain.text import did_you_mean


class FeatureConditionError(ValueError):
    """A condition that is invalid or could never come true; the message has the remedy."""


class WantedState(str, Enum):
    """The state that every feature of a condition has to reach."""

    SUPPORTED = "supported"
    """The protocol lists it, or its versions imply it."""
    ENABLED = "enabled"
    """Supported, and the property that puts it in force is set."""
    ABSENT = "absent"
    """The protocol does not list it."""


@dataclass(frozen=True)
class FeatureCondition:
    """Features, and the state that all of them must reach.

    :param features: names in the protocol's own spelling, each once
    """

    features: tuple[str, ...]
    state: WantedState

    @classmethod
    def parse(cls, features: str | Sequence[str], state: str | WantedState) -> FeatureCondition:
        """Read a condition: one name or several, in any case.

        :raises FeatureConditionError: for no name, a duplicate name, an unknown name or an unknown state
        """
        names = tuple(map(watchable_feature, _as_sequence(features)))
        if not names:
            raise FeatureConditionError("features is empty. Name at least one table feature.")
        for name in names:
            if names.count(name) > 1:
                raise FeatureConditionError(f"features names {name!r} more than once.")
        return cls(names, wanted_state(state))

    def states(self, head: TableHead) -> dict[str, FeatureState]:
        """Return the state of each of the condition's features in a table."""
        return {name: feature_state(feature_named(name), head.protocol, head.metadata) for name in self.features}

    def holds(self, states: Mapping[str, FeatureState]) -> bool:
        """Return True if all features are in the wanted state."""
        return all(state in _ACCEPTED[self.state] for state in states.values())


_ACCEPTED = {
    WantedState.SUPPORTED: frozenset(FeatureState) - {FeatureState.ABSENT},
    WantedState.ENABLED: frozenset({FeatureState.ENABLED}),
    WantedState.ABSENT: frozenset({FeatureState.ABSENT}),
}


def wanted_state(state: object) -> WantedState:
    """Return the state with that name.

    :raises FeatureConditionError: if there is none
    """
    try:
        return WantedState(state)
    except ValueError:
        names = ", ".join(repr(member.value) for member in WantedState)
        hint = did_you_mean(state, (member.value for member in WantedState)) if isinstance(state, str) else ""
        raise FeatureConditionError(f"state is {state!r}; it is one of {names}.{hint}") from None


def watchable_feature(name: object) -> str:
    """Return a feature's name in the protocol's spelling, if a table's own log shows its state.

    An unknown name is refused: otherwise a typo would make a task wait for its whole timeout.

    :raises FeatureConditionError: if it is not a name, is unknown, or is decided by the catalog
    """
    if not isinstance(name, str) or not name.strip():
        raise FeatureConditionError(f"features holds {name!r}, which is not the name of a table feature.")
    feature = feature_named(name.strip())
    if feature.kind is FeatureKind.UNKNOWN:
        raise FeatureConditionError(f"{name!r} is not a table feature known here.{did_you_mean(name, FEATURES)}")
    if feature.catalog_managed:
        raise FeatureConditionError(
            f"{feature.name} cannot be waited for: its tables are defined by a catalog, not by their directories. Ask "
            "the catalog."
        )
    return feature.name


class TypeConditionError(ValueError):
    """Types that are not types, or that a table can no longer reach; the message has the remedy."""


@dataclass(frozen=True)
class TypeCondition:
    """Columns, and the type that each must have at least: the same one, or one that it can be widened to.

    :param columns: types by the paths of columns
    """

    columns: Mapping[str, DataType]

    @classmethod
    def parse(cls, columns: object) -> TypeCondition:
        """Read a condition: SQL types of primitive columns by path.

        :raises TypeConditionError: for no column, or a type that is not primitive
        """
        if not isinstance(columns, Mapping) or not columns:
            raise TypeConditionError(
                f"columns is {columns!r:.200}; give the types of columns by path, such as {{'quantity': 'bigint'}}."
            )
        types: dict[str, DataType] = {}
        for path, text in columns.items():
            if not isinstance(path, str) or not path:
                raise TypeConditionError(f"columns names {path!r}, which is not the path of a column.")
            try:
                types[path] = parse_type(str(text))
            except UnknownTypeError as error:
                raise TypeConditionError(
                    f"columns has {path!r}: {error} For a column with parts, name the parts, as in lines.element.price."
                ) from error
        return cls(types)

    def states(self, head: TableHead) -> dict[str, tuple[str | None, str | None]]:
        """Return for each column its type, and a phrase about a missing type; both None if not applicable.

        :raises TypeConditionError: if widening cannot lead to a wanted type, or a path names several columns
        """
        return {path: self._state(head, path, wanted) for path, wanted in self.columns.items()}

    def _state(self, head: TableHead, path: str, wanted: DataType) -> tuple[str | None, str | None]:
        try:
            found = find_column(head.metadata.schema, path).data_type
        except AmbiguousColumnError as error:
            raise TypeConditionError(str(error)) from error
        except UnknownColumnError as error:
            return None, str(error)
        name = sql_name(found)
        if found == wanted or can_widen(wanted, found):
            return name, None
        if can_widen(found, wanted):
            return name, f"{path} is {name}; wanted: {sql_name(wanted)} or wider."
        targets = legal_targets(found)
        raise TypeConditionError(
            f"{path} is {name}, and no widening leads from there to {sql_name(wanted)}"
            + (f" (possible are {targets})." if targets else ".")
            + " Correct the type in columns, or replace the column."
        )


def _as_sequence(features: object) -> Sequence[object]:
    if isinstance(features, str):
        return (features,)
    if isinstance(features, Sequence):
        return features
    raise FeatureConditionError(f"features is {features!r}; give one name or a list of names.")


CHANGED, EQUALS, CONTAINS = "changed", "equals", "contains"
_PROTOCOL_FIELDS = ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")


class HeadConditionError(ValueError):
    """A condition that is invalid or could never come true; the message has the remedy."""


@dataclass(frozen=True)
class Clause:
    """The expected state of one subject.

    :param expected: checked value for the comparison; None for ``changed``
    """

    subject: str
    verb: str
    expected: Any = None

    def holds(self, head: TableHead, changed: Sequence[str]) -> bool:
        """Return True if the clause holds.

        :param changed: subjects that changed, see :meth:`HeadMark.changed_since`
        """
        if self.verb == CHANGED:
            return self.subject in changed or TABLE in changed
        return _VERBS[self.subject, self.verb].holds(head, self.expected)

    def __str__(self) -> str:
        return f"{self.subject} {self.verb}" + ("" if self.verb == CHANGED else f" {self.expected!r:.200}")


@dataclass(frozen=True)
class HeadCondition:
    """Clauses that must all hold."""

    clauses: tuple[Clause, ...]

    @classmethod
    def parse(cls, condition: Any) -> HeadCondition:
        """Read a condition.

        :raises HeadConditionError: if it is invalid; the message has the remedy
        """
        if not isinstance(condition, Mapping) or not condition:
            raise HeadConditionError(
                f"condition is {condition!r:.200}; give a mapping of {_listed(SUBJECTS)} to 'changed', "
                "{'equals': …} or {'contains': …}."
            )
        return cls(tuple(_clause(subject, wanted) for subject, wanted in condition.items()))

    @property
    def compares(self) -> bool:
        """Return True if an earlier version is needed for comparison."""
        return any(clause.verb == CHANGED for clause in self.clauses)

    def open_clauses(self, head: TableHead, mark: HeadMark, since: HeadMark | None) -> list[str]:
        """Return the clauses that do not hold yet, for people.

        :param mark: mark of ``head``
        :param since: mark to compare with; None if there is none, then everything counts as changed
        """
        changed = list(SUBJECTS) if since is None else mark.changed_since(since)
        return [str(clause) for clause in self.clauses if not clause.holds(head, changed)]

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


@dataclass(frozen=True)
class _Verb:
    """The functions of one subject's verb: they read the expected value and compare it."""

    parse: Callable[[str, Any], Any]
    holds: Callable[[TableHead, Any], bool]


def _clause(subject: Any, wanted: Any) -> Clause:
    if subject not in SUBJECTS:
        hint = did_you_mean(subject, SUBJECTS) if isinstance(subject, str) else ""
        raise HeadConditionError(f"condition names {subject!r}; it may name {_listed(SUBJECTS)}.{hint}")
    if wanted == CHANGED:
        return Clause(subject, CHANGED)
    verbs = [verb for of, verb in _VERBS if of == subject]
    if not isinstance(wanted, Mapping) or len(wanted) != 1 or (verb := next(iter(wanted))) not in verbs:
        given = next(iter(wanted), None) if isinstance(wanted, Mapping) else wanted
        hint = did_you_mean(given, [CHANGED, *verbs]) if isinstance(given, str) else ""
        raise HeadConditionError(
            f"condition has {wanted!r:.200} for {subject}; it is 'changed' or a mapping with one of {_listed(verbs)}."
            + hint
        )
    return Clause(subject, verb, _VERBS[subject, verb].parse(f"{subject} {verb}", wanted[verb]))


def _protocol(where: str, value: Any) -> Mapping[str, Any]:
    expected = _mapping(where, value)
    for field in expected:
        if field not in _PROTOCOL_FIELDS:
            raise HeadConditionError(
                f"{where} names {field!r}; the fields of a protocol are {_listed(_PROTOCOL_FIELDS)}."
                f"{did_you_mean(field, _PROTOCOL_FIELDS)}"
            )
    return {field: sorted(item) if isinstance(item, list | tuple) else item for field, item in expected.items()}


def _features(where: str, value: Any) -> frozenset[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple | set | frozenset):
        raise HeadConditionError(f"{where} {value!r:.200}: give the name of a table feature, or a list of names.")
    try:
        return frozenset(map(watchable_feature, names))
    except FeatureConditionError as error:
        raise HeadConditionError(f"{where}: {error}") from error


def _properties(where: str, value: Any) -> Mapping[str, str | None]:
    return {key: _text(item) for key, item in _mapping(where, value).items()}


def _all_properties(where: str, value: Any) -> Mapping[str, str | None]:
    expected = _properties(where, value)
    for key, item in expected.items():
        if item is None:
            raise HeadConditionError(f"{where}: {key!r} has no value. Give one, or use contains.")
    return expected


def _text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


def _columns(where: str, value: Any) -> Mapping[str, DataType | None]:
    if isinstance(value, str):
        value = [value]
    expected = dict.fromkeys(value) if isinstance(value, list | tuple) else _mapping(where, value)
    found: dict[str, DataType | None] = {}
    for column, data_type in expected.items():
        if not isinstance(column, str) or not column:
            raise HeadConditionError(f"{where} names {column!r}, which is not the path of a column.")
        try:
            found[column] = None if data_type is None else parse_sql_type(str(data_type))
        except UnknownTypeError as error:
            raise HeadConditionError(f"{where}, column {column!r}: {error}") from error
    return found


def _all_columns(where: str, value: Any) -> Mapping[str, DataType | None]:
    expected = _columns(where, value)
    for column, data_type in expected.items():
        if data_type is None:
            raise HeadConditionError(f"{where}: {column!r} has no type. Give one, or use contains.")
    return expected


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise HeadConditionError(f"{where} {value!r:.200}: give a mapping.")
    return value


def _has_columns(head: TableHead, expected: Mapping[str, DataType | None]) -> bool:
    for path, data_type in expected.items():
        try:
            column = find_column(head.metadata.schema, path)
        except UnknownColumnError:
            return False
        if data_type is not None and not _is_type(column.data_type, data_type):
            return False
    return True


def _has_just_columns(head: TableHead, expected: Mapping[str, DataType | None]) -> bool:
    names = [lowered([field.name]) for field in head.metadata.schema.fields]
    return sorted(names) == sorted(lowered([name]) for name in expected) and _has_columns(
        head, {f"`{name.replace('`', '``')}`": data_type for name, data_type in expected.items()}
    )


def _is_type(found: DataType, expected: DataType) -> bool:
    """Return True if two types are the same apart from nullability, which SQL cannot express."""
    return str(found).lower() == str(expected).lower()


def _has_properties(head: TableHead, expected: Mapping[str, str | None]) -> bool:
    found = head.metadata.configuration
    return all(key in found and value in (None, found[key]) for key, value in expected.items())


_VERBS: Mapping[tuple[str, str], _Verb] = {
    ("protocol", EQUALS): _Verb(_protocol, lambda head, expected: expected.items() <= head.protocol.to_json().items()),
    ("features", EQUALS): _Verb(_features, lambda head, expected: bool(head.protocol.features == expected)),
    ("features", CONTAINS): _Verb(_features, lambda head, expected: bool(head.protocol.features >= expected)),
    ("properties", EQUALS): _Verb(
        _all_properties, lambda head, expected: dict(head.metadata.configuration) == expected
    ),
    ("properties", CONTAINS): _Verb(_properties, _has_properties),
    ("schema", EQUALS): _Verb(_all_columns, _has_just_columns),
    ("schema", CONTAINS): _Verb(_columns, _has_columns),
}


def _listed(names: Any) -> str:
    *rest, last = map(repr, names)
    return f"{', '.join(rest)} or {last}" if rest else last
