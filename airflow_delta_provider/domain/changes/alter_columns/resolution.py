"""Resolution of the names in a request to a change of a table's columns.

A request can be repeated: changes that are already done are left out. A missing column counts as dropped, and a new
name as renamed, only if the table's log shows that the column existed. Otherwise the name is unknown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.changes.schema import PastColumns, drop_columns, rename_columns
from airflow_delta_provider.domain.changes.steps import Alteration, ColumnName, NewColumn, Parts
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.rule import Prose, Rule
from airflow_delta_provider.domain.delta.data_type import (
    Column,
    StructType,
    UnknownColumnError,
    UnknownTypeError,
    columns_named,
    find_column,
    lowered,
    parse_path,
    path_text,
    type_from_json,
)
from airflow_delta_provider.domain.delta.metadata import MappedField, Metadata
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type, render_sql_type
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from airflow_delta_provider.domain.text import quote


def resolve(
    options: AlterColumnsOptions, metadata: Metadata, past: PastColumns
) -> tuple[Alteration, tuple[Finding, ...]]:
    """Find the columns of a request in the schema; unknown or contradicting names are refusals.

    :param past: columns that the table has had
    """
    resolution = _Resolution(options, metadata, past)
    return resolution.alteration(), tuple(resolution.refusals)


def needs_past_columns(options: AlterColumnsOptions, metadata: Metadata) -> bool:
    """Return True if only the history shows which changes are done.

    That is so if a column is missing, or if its new name exists.
    """
    schema = metadata.schema
    for path, text in (*((path, None) for path in options.drop), *options.rename.items()):
        column = _find(schema, path)
        if column is None:
            return True
        if text is not None and _find(schema, path_text((*column.parts[:-1], _last_part(text)))) is not None:
            return True
    return False


class _Resolution:
    """Turns one request into an alteration, and collects refusals."""

    def __init__(self, options: AlterColumnsOptions, metadata: Metadata, past: PastColumns) -> None:
        self._options = options
        self._schema = metadata.schema
        self._past = past
        self._by_id: dict[int | None, list[MappedField]] = {}
        for field in metadata.mapped_schema.fields:
            self._by_id.setdefault(field.id, []).append(field)
        self._now: dict[str, Any] = parse_json(metadata.schema_string)
        self.refusals: list[Finding] = []

    def alteration(self) -> Alteration:
        found = {path: self._column(path) for path in (*self._options.drop, *self._options.rename)}
        done = self._renamed_before(found)
        kept = {field.column.parts for field in done.values()}
        drops = [column for path in self._options.drop if (column := self._to_drop(path, found[path], kept))]
        to_rename = [
            (column, new)
            for path, new in self._options.rename.items()
            if path not in done and (column := self._to_rename(path, found[path]))
            for new in self._new_name(column, new)
        ]
        self._check_once(drops, [column for column, _ in to_rename])
        if self.refusals:
            return Alteration()
        self._now = drop_columns(self._now, [column.parts for column in drops])
        renames = tuple(self._rename(to_rename))
        self._now = rename_columns(self._now, renames)
        adds = tuple(self._adds({lowered(parts) for parts in {rename.renamed for rename in renames} | kept}))
        return Alteration(tuple(column.parts for column in drops), renames, adds)

    def _column(self, path: str) -> Column | None:
        column = _find(self._schema, path)
        if column is not None and column.kinds[-1] != "field":
            self._refuse(
                requests.UNKNOWN_COLUMN,
                "{column!r} is the {kind} of a type, not a named column.",
                path,
                remedy="Name a column or a struct field.",
                kind=column.kinds[-1],
            )
        return column

    def _renamed_before(self, found: dict[str, Column | None]) -> dict[str, MappedField]:
        """Return the columns that already have their requested new name, by old path."""
        done: dict[str, MappedField] = {}
        taken = self._taken()
        for path, text in self._options.rename.items():
            old = found[path]
            if old is not None and not any(taken.get(above, set()) - {path} for above in _prefixes(lowered(old.parts))):
                continue
            ids = {number for parts in _readings(path) for number in self._past.ids_at(parts)}
            for field in (field for number in sorted(ids) for field in self._by_id.get(number, ())):
                if field.column.parts[-1] == _last_part(text) and field.column != old:
                    done[path] = field
        return done

    def _taken(self) -> dict[Parts, set[str]]:
        """Return the paths that the request assigns to columns, with the columns to rename; empty for new ones."""
        taken: dict[Parts, set[str]] = {}
        for path in self._options.add:
            for parts in _readings(path):
                taken.setdefault(lowered(parts), set()).add("")
        for path, text in self._options.rename.items():
            for parts in _readings(path):
                taken.setdefault(lowered((*parts[:-1], _last_part(text))), set()).add(path)
        return taken

    def _to_drop(self, path: str, column: Column | None, kept: set[Parts]) -> Column | None:
        """Return a column if it is to be dropped.

        :param kept: columns that already have the new name of a rename
        """
        if column is not None:
            return None if column.parts in kept else column
        known = [ids[-1] for parts in _readings(path) if (ids := self._past.ids_at(parts))]
        if not known:
            self._unknown(path)
            return None
        for field in (field for number in sorted(set(known)) for field in self._by_id.get(number, ())):
            self._refuse(
                requests.UNKNOWN_COLUMN,
                "Column {column!r} no longer exists: it was renamed to {name}.",
                path,
                remedy="To drop it, use that name.",
                name=field.column,
            )
        return None

    def _to_rename(self, path: str, column: Column | None) -> Column | None:
        if column is None:
            self._unknown(path)
        return column

    def _unknown(self, path: str) -> None:
        try:
            find_column(self._schema, path)
        except UnknownColumnError as error:
            self._refuse(requests.UNKNOWN_COLUMN, "{error}", path, error=Prose(error))

    def _new_name(self, column: Column, text: str) -> Iterator[str]:
        try:
            parts = parse_path(text)
        except UnknownColumnError as error:
            self._refuse(
                requests.ILLEGAL_NAME, "The new name of {column} is invalid: {error}", column, error=Prose(error)
            )
            return
        if len(parts) > 1 and lowered(parts[:-1]) != lowered(column.parts[:-1]):
            self._refuse(
                requests.ILLEGAL_NAME,
                "{column} cannot become {name!r}: a rename does not move a column.",
                column,
                remedy=f"Give only the new name, in backticks if it contains a dot: {quote(text)}.",
                name=text,
            )
            return
        yield parts[-1]

    def _check_once(self, drops: list[Column], renames: list[Column]) -> None:
        dropped = {column.parts for column in drops}
        changed = (*drops, *renames)
        at: dict[Parts, list[int]] = {}
        below: dict[Parts, list[int]] = {}
        for number, column in enumerate(changed):
            parts, above = column.parts, _prefixes(column.parts)[:-1]
            others = [other for path in above if path in dropped for other in at.get(path, ())]
            others += below.get(parts, ()) if parts in dropped else ()
            for index in sorted((*others, *at.get(parts, ()))):
                other = changed[index]
                if other.parts == parts:
                    what = "{column} would be changed twice."
                else:
                    what = "{other} and {column} would both be changed, but dropping one also drops the other."
                remedy = "Request one change per column."
                self._refuse(requests.COLUMN_TWICE, what, column, remedy=remedy, other=other)
            at.setdefault(parts, []).append(number)
            for path in above:
                below.setdefault(path, []).append(number)

    def _rename(self, columns: list[tuple[Column, str]]) -> Iterator[ColumnName]:
        """Yield renames, nested columns first, while their parents still have their old names."""
        places = {path: list(there) for path, there in self._schema_now().places.items()} if columns else {}
        for column, new in sorted(columns, key=lambda pair: -len(pair[0].parts)):
            rename = ColumnName(column.parts, new)
            present = _one(places.get(lowered(rename.renamed), ()), rename.renamed)
            if present is not None:
                self._exists("{asked} cannot be renamed to {name!r}", present, asked=column, name=new)
                continue
            places[lowered(column.parts)] = [c for c in places[lowered(column.parts)] if c.parts != column.parts]
            places.setdefault(lowered(rename.renamed), []).append(dataclasses.replace(column, parts=rename.renamed))
            yield rename

    def _adds(self, targets: set[Parts]) -> Iterator[NewColumn]:
        seen: dict[Parts, str] = {}
        for path, type_text in self._options.add.items():
            try:
                parts = self._place(path)
                data_type = parse_sql_type(type_text)
            except UnknownColumnError as error:
                self._refuse(requests.UNKNOWN_COLUMN, "{error}", path, error=Prose(error))
                continue
            except UnknownTypeError as error:
                self._refuse(requests.UNSUPPORTED_COLUMN, "{column}: {error}", path, error=Prose(error))
                continue
            if lowered(parts) in seen:
                self._refuse(
                    requests.COLUMN_TWICE,
                    "{other!r} and {column!r} are the same column.",
                    path,
                    other=seen[lowered(parts)],
                )
                continue
            seen[lowered(parts)] = path
            present = _one(self._renamed.places.get(lowered(parts), ()), parts)
            if present is None:
                yield NewColumn(parts, render_sql_type(data_type))
            elif lowered(parts) in targets:
                self._exists("{asked} cannot be added: the request renames another column to it", present, asked=path)
            elif (type_there := render_sql_type(present.data_type)) != (type_asked := render_sql_type(data_type)):
                self._exists(
                    "{asked} cannot be added as {type}: it already exists as {existing}",
                    present,
                    asked=path,
                    type=type_asked,
                    existing=type_there,
                )

    def _place(self, path: str) -> Parts:
        """Return the path of a column to add, with its parents spelled as in the schema.

        :raises UnknownColumnError: if its parent does not exist or is not a struct
        """
        parts = parse_path(path)
        if len(parts) == 1:
            return parts
        above = ".".join(quote(part) for part in parts[:-1])
        try:
            parent = find_column(self._renamed, above)
        except UnknownColumnError as error:
            raise UnknownColumnError(
                f"{path!r} cannot be added: {error} Put a name that contains a dot in backticks."
            ) from None
        if not isinstance(parent.data_type, StructType):
            raise UnknownColumnError(
                f"{path!r} cannot be added: {parent} is {render_sql_type(parent.data_type)}, not a struct. Write "
                "fields of structs in an array as lines.element.price, in a map as attrs.value.price."
            )
        return (*parent.parts, parts[-1])

    @cached_property
    def _renamed(self) -> StructType:
        """The schema after drops and renames."""
        return self._schema_now()

    def _schema_now(self) -> StructType:
        schema = type_from_json(self._now)
        assert isinstance(schema, StructType)
        return schema

    def _exists(self, what: str, present: Column, *, asked: Column | str, **facts: Any) -> None:
        evidence = f"{what}. The column {{present}} exists, and names must differ by more than case."
        remedy = "To change only the case, rename the column to another name first." if present == asked else None
        column = asked if isinstance(asked, Column) else present
        self._refuse(
            requests.COLUMN_EXISTS, evidence, column, remedy=remedy, asked=str(asked), present=present, **facts
        )

    def _refuse(self, rule: Rule, evidence: str, column: Column | str, **known: Any) -> None:
        self.refusals.append(rule.found(evidence, column=column, **known))


def _prefixes(parts: Parts) -> list[Parts]:
    """Return a path and the paths of its parents, the outermost first."""
    return [parts[:length] for length in range(1, len(parts) + 1)]


def _one(columns: Sequence[Column], parts: Parts) -> Column | None:
    """Return the column at ``parts``; without one, the only column whose path differs in case."""
    found = [column for column in columns if column.parts == parts] or columns
    return found[0] if len(found) == 1 else None


def _find(schema: StructType, path: str) -> Column | None:
    try:
        found = columns_named(schema, path)
    except UnknownColumnError:
        return None
    return found[0] if len(found) == 1 else None


def _readings(path: str) -> list[Parts]:
    """Return the paths that a string can mean."""
    try:
        return list(dict.fromkeys([parse_path(path), (path,)]))
    except UnknownColumnError:
        return [(path,)]


def _last_part(text: str) -> str:
    return _readings(text)[0][-1]
