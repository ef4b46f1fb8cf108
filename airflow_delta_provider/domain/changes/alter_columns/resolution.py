"""Resolution of the names in a request to a change of a table's columns.

A request can be repeated: changes that are already done are left out. A missing column counts as dropped, and a new
name as renamed, only if the table's log shows that the column existed. Otherwise the name is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
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
        self._fields = {field.column.parts: field for field in metadata.mapped_schema.fields}
        self._now: dict[str, Any] = parse_json(metadata.schema_string)
        self.refusals: list[Finding] = []

    def alteration(self) -> Alteration:
        found = {path: self._column(path) for path in (*self._options.drop, *self._options.rename)}
        done = self._renamed_before(found)
        drops = [column for path in self._options.drop if (column := self._to_drop(path, found[path], done))]
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
        targets = {rename.renamed for rename in renames} | {field.column.parts for field in done.values()}
        adds = tuple(self._adds({lowered(parts) for parts in targets}))
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
        for path, text in self._options.rename.items():
            old = found[path]
            if old is not None and not _lies_in(lowered(old.parts), self._taken_again(path)):
                continue
            ids = {number for parts in _readings(path) for number in self._past.ids_at(parts)}
            for field in self._fields.values():
                if field.id in ids and field.column.parts[-1] == _last_part(text) and field.column != old:
                    done[path] = field
        return done

    def _taken_again(self, path: str) -> set[Parts]:
        """Return the paths that the rest of the request assigns to other columns."""
        added = {parts for other in self._options.add for parts in _readings(other)}
        renamed_to = {
            (*parts[:-1], _last_part(text))
            for other, text in self._options.rename.items()
            if other != path
            for parts in _readings(other)
        }
        return {lowered(parts) for parts in added | renamed_to}

    def _to_drop(self, path: str, column: Column | None, done: dict[str, MappedField]) -> Column | None:
        if column is not None:
            renamed_to_it = any(field.column.parts == column.parts for field in done.values())
            return None if renamed_to_it else column
        known = [ids[-1] for parts in _readings(path) if (ids := self._past.ids_at(parts))]
        if not known:
            self._unknown(path)
            return None
        for field in self._fields.values():
            if field.id in known:
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
        changed = [(column, column in drops) for column in (*drops, *renames)]
        for index, (column, is_dropped) in enumerate(changed):
            for other, other_is_dropped in changed[:index]:
                in_other = other_is_dropped and column.parts[: len(other.parts)] == other.parts
                around_other = is_dropped and other.parts[: len(column.parts)] == column.parts
                if column.parts == other.parts:
                    what = "{column} would be changed twice."
                elif in_other or around_other:
                    what = "{other} and {column} would both be changed, but dropping one also drops the other."
                else:
                    continue
                remedy = "Request one change per column."
                self._refuse(requests.COLUMN_TWICE, what, column, remedy=remedy, other=other)

    def _rename(self, columns: list[tuple[Column, str]]) -> Iterator[ColumnName]:
        """Yield renames, nested columns first, while their parents still have their old names."""
        for column, new in sorted(columns, key=lambda pair: -len(pair[0].parts)):
            present = self._sibling((*column.parts[:-1], new))
            if present is not None:
                self._exists("{asked} cannot be renamed to {name!r}", present, asked=column, name=new)
                continue
            rename = ColumnName(column.parts, new)
            self._now = rename_columns(self._now, [rename])
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
            present = self._sibling(parts)
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
        schema = self._schema_now()
        try:
            parent = find_column(schema, above)
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

    def _sibling(self, parts: Parts) -> Column | None:
        """Return the column at ``parts``, in any case of its name; None if there is none."""
        return _find(self._schema_now(), ".".join(quote(part) for part in parts))

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


def _lies_in(parts: Parts, paths: set[Parts]) -> bool:
    """Return True if ``parts`` is one of ``paths`` or nested in one."""
    return any(parts[:length] in paths for length in range(1, len(parts) + 1))


def _find(schema: StructType, path: str) -> Column | None:
    try:
        return find_column(schema, path)
    except UnknownColumnError:
        return None


def _readings(path: str) -> list[Parts]:
    """Return the paths that a string can mean."""
    try:
        return list(dict.fromkeys([parse_path(path), (path,)]))
    except UnknownColumnError:
        return [(path,)]


def _last_part(text: str) -> str:
    return _readings(text)[0][-1]
