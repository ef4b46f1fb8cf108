"""Differences between the columns of a table and its spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.changes.steps import (
    AddConstraint,
    Cast,
    ColumnName,
    ColumnText,
    ColumnType,
    CommentTable,
    DropConstraint,
    ForbidNulls,
    InOneCommit,
    NewColumn,
    Parts,
    Step,
    UnsetProperties,
    earlier_path,
)
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    all_columns,
    lowered,
    path_text,
    sql_name,
)
from airflow_delta_provider.domain.delta.expression import same_expression
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS, can_widen, legal_targets
from airflow_delta_provider.domain.delta.features.log import clustering_of
from airflow_delta_provider.domain.delta.features.registry import FEATURES, WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.metadata import COMMENT, CURRENT_DEFAULT, Metadata
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.spec.table_spec import (
    UNDECLARED,
    ColumnSpec,
    TableSpec,
    Undeclared,
    all_specs,
    fields_in,
    plain_type,
)


def forbidden_nulls(step: Step, before: Sequence[Step] = ()) -> Iterator[tuple[Parts, Parts | None]]:
    """Yield the columns that a step sets NOT NULL, each with its path before ``before``.

    That path is None if the column did not exist.

    :param before: steps that come before this one
    """
    if isinstance(step, ForbidNulls):
        yield from ((parts, earlier_path(parts, before)) for parts in step.columns)
    elif isinstance(step, InOneCommit):
        for index, each in enumerate(step.steps):
            yield from forbidden_nulls(each, (*before, *step.steps[:index]))


@dataclass(frozen=True)
class Place:
    """A column's path before the renames of the plan, and its path after them."""

    old: Parts
    new: Parts

    def child(self, old: str, new: str | None = None) -> Place:
        """Return the place of a child, by its name before the renames and after them.

        :param new: name after the renames; None if it stays
        """
        return Place((*self.old, old), (*self.new, old if new is None else new))


@dataclass(frozen=True)
class Addition:
    """A column to add.

    :param parent: struct that gets the column
    """

    parent: Place
    name: str
    type: str

    def column(self, *, renamed: bool) -> NewColumn:
        """Return the new column, by its path after the renames or before them."""
        return NewColumn((*(self.parent.new if renamed else self.parent.old), self.name), self.type)


@dataclass
class ColumnChanges:
    """The changes that the columns need. Unless noted, paths are those after the renames.

    :param renames: renames, by the paths before, deepest first
    :param rewritable: columns to widen that may also be rewritten
    :param casts: type changes that widening cannot do, for columns that may be rewritten
    :param orders: paths of structs, each with (name, is dropped) pairs of its columns in their new order
    :param required: columns that are to be NOT NULL
    :param renames_first: True if a column is added under a name that a rename frees
    :param drops_first: True if a column gets a name that a drop frees
    :param refusals: reasons why the table cannot reach the declared state
    """

    adds: list[Addition] = field(default_factory=list)
    renames: list[ColumnName] = field(default_factory=list)
    widenings: list[ColumnType] = field(default_factory=list)
    rewritable: list[Parts] = field(default_factory=list)
    casts: list[Cast] = field(default_factory=list)
    orders: list[tuple[Parts, tuple[tuple[str, bool], ...]]] = field(default_factory=list)
    nullable: list[Parts] = field(default_factory=list)
    required: list[Parts] = field(default_factory=list)
    comments: list[ColumnText] = field(default_factory=list)
    defaults: list[ColumnText] = field(default_factory=list)
    drops: list[Place] = field(default_factory=list)
    renames_first: bool = False
    drops_first: bool = False
    refusals: list[Finding] = field(default_factory=list)


@dataclass(eq=False)
class Member:
    """A column that is in the table, in the spec, or in both.

    :param old: column in the table; None if it is to be added
    :param spec: declaration; None if the spec does not name the column
    :param is_dropped: True if the migration drops the column
    """

    old: StructField | None
    spec: ColumnSpec | None = None
    is_dropped: bool = False

    @property
    def old_name(self) -> str:
        """The name before the renames."""
        return self.old.name if self.old is not None else self.name

    @property
    def name(self) -> str:
        """The name after the renames. A change of case only counts if the spec declares it as a rename."""
        if self.old is None or self.is_renamed:
            assert self.spec is not None
            return self.spec.name
        return self.old.name

    @property
    def is_renamed(self) -> bool:
        if self.old is None or self.spec is None or not isinstance(self.spec.renamed_from, str):
            return False
        return self.old.name.lower() == self.spec.renamed_from.lower() and self.old.name != self.spec.name


def members_of(struct: StructType, specs: Sequence[ColumnSpec]) -> list[Member]:
    """Return the columns of a struct in its order, then the columns to add.

    A column with its old name is still to be renamed if no column has the new name, or if no other declaration claims
    the old name.
    """
    members = {column.name.lower(): Member(column) for column in struct.fields}
    declared = {spec.name.lower() for spec in specs}
    for spec in specs:
        old = spec.renamed_from.lower() if isinstance(spec.renamed_from, str) else ""
        if old in members and (spec.name.lower() not in members or old not in declared):
            members[old].spec = spec
    taken = {id(member.spec) for member in members.values()}
    added = []
    for spec in specs:
        member = members.get(spec.name.lower())
        if id(spec) in taken:
            continue
        if member is None or member.spec is not None:
            added.append(Member(None, spec))
        else:
            member.spec = spec
    return [*members.values(), *added]


def column_changes(schema: StructType, spec: TableSpec) -> ColumnChanges:
    """Return the changes that bring the columns of ``schema`` to the spec."""
    return _Difference(spec).run(schema)


#: Types with types in them.
_NESTED = (StructType, ArrayType, MapType)


class _Difference:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._dropped = {lowered(path) for path in spec.drop}
        self._changes = ColumnChanges()

    def run(self, schema: StructType) -> ColumnChanges:
        self._struct(schema, self._spec.columns, Place((), ()), declared=bool(self._spec.columns))
        self._changes.renames.sort(key=lambda rename: -len(rename.parts))
        self._changes.adds.sort(key=lambda add: len(add.parent.new))
        return self._changes

    def _struct(self, struct: StructType, specs: Sequence[ColumnSpec], at: Place, *, declared: bool = True) -> None:
        """Compare a struct.

        :param declared: True if its columns are declared; otherwise ``exact`` does not apply to them
        """
        members = members_of(struct, specs)
        for member in members:
            if member.spec is None:
                member.is_dropped = (self._spec.exact and declared) or self._lists_as_dropped(at, member.old_name)
        self._check_names(members, at)
        for member in members:
            place = at.child(member.old_name, member.name)
            if member.old is None:
                self._add(member, at)
            elif member.is_dropped:
                self._changes.drops.append(place)
            elif member.spec is None:
                self._inside(member.old.data_type, place)
            else:
                self._column(member.old, member.spec, place)
        self._find_renames(members, at)
        self._order(members, specs, at)

    def _lists_as_dropped(self, at: Place, name: str) -> bool:
        return bool({lowered((*at.old, name)), lowered((*at.new, name))} & self._dropped)

    def _inside(self, data_type: DataType, at: Place) -> None:
        """Look for columns to drop within an undeclared column."""
        if not any(len(path) > len(at.old) for path in self._dropped):
            return
        if isinstance(data_type, StructType):
            self._struct(data_type, (), at, declared=False)
        elif isinstance(data_type, ArrayType):
            self._inside(data_type.element, at.child("element"))
        elif isinstance(data_type, MapType):
            self._inside(data_type.key, at.child("key"))
            self._inside(data_type.value, at.child("value"))

    def _check_names(self, members: Sequence[Member], at: Place) -> None:
        """Find the renames, and the names that must be freed first."""
        by_old_name = {member.old_name.lower(): member for member in members if member.old is not None}
        for member in members:
            before = by_old_name.get(member.name.lower())
            if member.is_renamed:
                if before is not None and before is not member and not (before.is_dropped or before.is_renamed):
                    self._refuse(
                        requests.COLUMN_EXISTS,
                        "{old} cannot be renamed to {column}: the table has both.",
                        (*at.new, member.name),
                        remedy="Drop one of them, or take renamed_from out of the spec.",
                        old=path_text((*at.new, member.old_name)),
                    )
                self._changes.renames.append(ColumnName((*at.old, member.old_name), member.name))
            if (member.is_renamed or member.old is None) and before is not None and before is not member:
                self._changes.drops_first |= before.is_dropped
                self._changes.renames_first |= member.old is None and before.is_renamed

    def _find_renames(self, members: Sequence[Member], at: Place) -> None:
        """Refuse to drop a column and add another one of its type: this may be a rename."""
        added = [(member.spec, member.spec.data_type) for member in members if member.old is None and member.spec]
        for old in (member.old for member in members if member.is_dropped and member.old is not None):
            for spec, new in added:
                if spec.renamed_from is UNDECLARED and new is not None and plain_type(new) == old.data_type:
                    self._refuse(
                        requests.DROP_OR_RENAME,
                        "{dropped} would be dropped and {column} added, both {type}: is it renamed?",
                        (*at.new, spec.name),
                        dropped=path_text((*at.new, old.name)),
                        type=sql_name(old.data_type),
                    )

    def _add(self, member: Member, at: Place) -> None:
        assert member.spec is not None
        spec, path = member.spec, (*at.new, member.name)
        untyped = [parts for parts, inner in all_specs((spec,), at.new) if inner.data_type is None]
        for parts in untyped:
            evidence = "{column} is not in the table, and the spec has no type for it."
            self._refuse(requests.UNKNOWN_COLUMN, evidence, parts, remedy="Declare its type, to have it added.")
        if spec.data_type is None or untyped:
            return
        new_type = plain_type(spec.data_type)
        if any(column.data_type == StructType(()) for column in all_columns(StructType((StructField("c", new_type),)))):
            evidence = "{column} cannot be added as {type}: a struct needs at least one field."
            remedy = "Declare the fields."
            self._refuse(requests.UNSUPPORTED_COLUMN, evidence, path, remedy=remedy, type=sql_name(new_type))
            return
        for parts, inner in all_specs((spec,), at.new):
            self._texts(inner, parts, {})
            if inner.generated is not None:
                self._generated(parts, None, inner.generated)
            if inner.nullable is False:
                self._changes.required.append(parts)
        sql = render_sql_type(new_type)
        self._changes.adds.append(Addition(at, member.name, sql))

    def _column(self, old: StructField, spec: ColumnSpec, at: Place) -> None:
        if spec.data_type is None:
            self._inside(old.data_type, at)
        else:
            self._type(old.data_type, spec.data_type, spec, at)
        if spec.nullable is True and not old.nullable:
            self._changes.nullable.append(at.new)
        elif spec.nullable is False and old.nullable:
            self._changes.required.append(at.new)
        if spec.generated is not None:
            self._generated(at.new, old.metadata.get(GENERATED_COLUMNS.field_key), spec.generated)
        self._texts(spec, at.new, old.metadata)

    def _texts(self, spec: ColumnSpec, path: Parts, current: Mapping[str, Any]) -> None:
        if not isinstance(spec.comment, Undeclared) and (spec.comment or None) != (current.get(COMMENT) or None):
            self._changes.comments.append(ColumnText(path, spec.comment or None))
        if isinstance(spec.default, Undeclared) or _is_same(spec.default, current.get(CURRENT_DEFAULT)):
            return
        self._changes.defaults.append(ColumnText(path, spec.default))
        if len(path) > 1:
            self._refuse(
                requests.ONLY_AT_CREATION,
                "{column} is a field of another column, and only columns of the table have defaults.",
                path,
                remedy="Take the default out of the spec.",
            )

    def _generated(self, path: Parts, current: Any, declared: str) -> None:
        if not _is_same(declared, current):
            generated = "is not generated" if current is None else "is generated by {known}"
            evidence = "{column} " + generated + ", and should be generated by {wanted}."
            self._refuse(requests.ONLY_AT_CREATION, evidence, path, known=current, wanted=declared)

    def _type(self, old: DataType, new: DataType, spec: ColumnSpec, at: Place) -> None:
        if isinstance(new, StructType) and isinstance(old, StructType):
            self._struct(old, fields_in(new), at)
        elif isinstance(new, ArrayType) and isinstance(old, ArrayType):
            self._type(old.element, new.element, spec, at.child("element"))
        elif isinstance(new, MapType) and isinstance(old, MapType):
            self._type(old.key, new.key, spec, at.child("key"))
            self._type(old.value, new.value, spec, at.child("value"))
        elif not isinstance(new, _NESTED) and not isinstance(old, _NESTED):
            self._leaf(old, new, spec, at)
        else:
            self._refuse(
                requests.ILLEGAL_TYPE_CHANGE,
                "{column} is {type} and cannot become {asked}.",
                at.new,
                remedy="Declare a column of another name, fill it, and drop this one later.",
                type=sql_name(old),
                asked=sql_name(plain_type(new)),
            )

    def _leaf(self, old: DataType, new: DataType, spec: ColumnSpec, at: Place) -> None:
        if old == new:
            return
        if can_widen(old, new):
            self._changes.widenings.append(ColumnType(at.new, sql_name(old), sql_name(new)))
            if spec.rewrite or self._spec.rewrite:
                self._changes.rewritable.append(at.new)
        elif spec.rewrite or self._spec.rewrite:
            null_on_loss = spec.null_on_loss or self._spec.null_on_loss
            self._changes.casts.append(Cast(at.new, sql_name(old), sql_name(new), null_on_loss))
        else:
            targets = legal_targets(old)
            self._refuse(
                requests.NEEDS_REWRITE,
                "{column} is {type} and cannot be widened to {asked}."
                + (" Allowed without rewriting: {targets}." if targets else ""),
                at.new,
                type=sql_name(old),
                asked=sql_name(new),
                targets=targets,
            )

    def _order(self, members: Sequence[Member], specs: Sequence[ColumnSpec], at: Place) -> None:
        """Put declared columns in the order of the spec; others stay behind the column before them."""
        groups: dict[int, list[Member]] = {}
        last = 0
        for member in members:
            last = id(member.spec) if member.spec is not None else last
            groups.setdefault(last, []).append(member)
        ordered = [member for key in (0, *map(id, specs)) for member in groups.get(key, ())]
        staying = [member for member in ordered if not member.is_dropped]
        if staying != [member for member in members if not member.is_dropped]:
            self._changes.orders.append((at.new, tuple((member.name, member.is_dropped) for member in ordered)))

    def _refuse(self, rule: Rule, evidence: str, column: Parts, **facts: Any) -> None:
        self._changes.refusals.append(rule.found(evidence, column=path_text(column), **facts))


def _is_same(declared: str | None, current: Any) -> bool:
    if declared is None or current is None:
        return declared is current
    return same_expression(declared, str(current))


def new_constraints(metadata: Metadata, spec: TableSpec) -> tuple[AddConstraint, ...]:
    """Return the CHECK constraints that are missing or have another expression."""
    current = {name.lower(): expression for name, expression in metadata.check_constraints.items()}
    return tuple(
        AddConstraint(name, expression)
        for name, expression in spec.constraints.items()
        if expression is not None
        and not (name.lower() in current and same_expression(expression, current[name.lower()]))
    )


def old_constraints(metadata: Metadata, spec: TableSpec) -> tuple[DropConstraint, ...]:
    """Return the CHECK constraints to drop, or to replace by another expression."""
    declared = {name.lower(): expression for name, expression in spec.constraints.items()}
    return tuple(
        DropConstraint(name)
        for name, expression in metadata.check_constraints.items()
        if _is_dropped(declared.get(name.lower()), expression, is_named=name.lower() in declared, exact=spec.exact)
    )


def _is_dropped(declared: str | None, expression: str, *, is_named: bool, exact: bool) -> bool:
    if not is_named:
        return exact
    return declared is None or not same_expression(declared, expression)


def new_properties(metadata: Metadata, spec: TableSpec) -> dict[str, str]:
    """Return the properties that are missing or have another value, in the table's own spelling."""
    spellings = {name.lower(): name for name in metadata.configuration}
    declared = {
        spellings.get(name.lower(), name): value for name, value in spec.properties.items() if value is not None
    }
    return {name: value for name, value in declared.items() if metadata.configuration.get(name) != value}


def old_properties(metadata: Metadata, spec: TableSpec) -> UnsetProperties | None:
    """Return the properties to remove; with ``exact``, all that the spec does not name.

    Properties that writers maintain stay. So do constraints, and properties that enable a table feature: a feature is
    declared by its name.
    """
    declared = {name.lower(): value for name, value in spec.properties.items()}
    kept = {name.lower() for name in WRITER_OWNED_PROPERTIES}
    kept |= {feature.enabling_property.lower() for feature in FEATURES.values() if feature.enabling_property}
    removed = [
        name
        for name in metadata.configuration
        if (name.lower() in declared and declared[name.lower()] is None)
        or (
            spec.exact
            and name.lower() not in declared
            and name.lower() not in kept
            and not name.lower().startswith((CONSTRAINT_PREFIX, *_KEPT))
        )
    ]
    return UnsetProperties(tuple(sorted(removed))) if removed else None


#: Prefixes of properties that a spec does not declare.
_KEPT = ("delta.columnmapping.", "delta.rowtracking", "delta.incommittimestamp", "delta.requirecheckpointprotection")


def new_comment(metadata: Metadata, spec: TableSpec) -> CommentTable | None:
    """Return the step that sets or removes the table's comment; None if it stays."""
    if isinstance(spec.comment, Undeclared) or (spec.comment or None) == (metadata.description or None):
        return None
    return CommentTable(spec.comment or None)


def is_partitioned_otherwise(metadata: Metadata, spec: TableSpec) -> bool:
    """Return True if the spec declares other partition columns than the table has."""
    return spec.partition_by is not None and lowered(spec.partition_by) != lowered(metadata.partition_columns)


def is_clustered_otherwise(state: TableState, spec: TableSpec) -> bool:
    """Return True if the spec declares other clustering columns than the table has."""
    if spec.cluster_by is None:
        return False
    return [lowered(path) for path in spec.cluster_by] != [lowered(path) for path in clustered_by(state)]


def clustered_by(state: TableState) -> list[Parts]:
    """Return the clustering columns; the metadata domain has them by their names in data files."""
    return clustering_of(state.metadata, state.domains)
