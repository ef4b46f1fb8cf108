"""Columns and nested fields of a schema: their paths, and finding one by its path.

A path names a nested field as ``lines.element.price``: names of fields, ``element`` of an array, ``key`` and ``value``
of a map. A name that contains dots or backticks is quoted as in SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructField, StructType
from airflow_delta_provider.domain.engine.sql_identifier import SqlNameError, quote, split_name
from airflow_delta_provider.domain.suggestion import did_you_mean


@dataclass(frozen=True)
class Column:
    """A place in a schema.

    :param parts: names from the top-level column down, in the schema's own spelling
    :param data_type: type at that place
    :param field: nearest struct field, which holds the metadata
    :param field_path: steps from ``field`` down to the place, empty if it is the field itself; the ``fieldPath`` of
        ``delta.typeChanges``
    :param kinds: ``field``, ``element``, ``key`` or ``value`` for each part
    """

    parts: tuple[str, ...]
    data_type: DataType
    field: StructField
    field_path: tuple[str, ...]
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        return path_text(self.parts)


class UnknownColumnError(LookupError):
    """A path that matches no column, or more than one."""


def path_text(parts: Iterable[str]) -> str:
    """Return a path as a string, with backticks around the parts that need them."""
    return ".".join(part if _is_plain(part) else quote(part) for part in parts)


def parse_path(text: str) -> tuple[str, ...]:
    """Split a dotted path; parts in backticks are taken literally.

    :raises UnknownColumnError: if a part is empty or a backtick is misplaced
    """
    try:
        return split_name(text)
    except SqlNameError:
        raise UnknownColumnError(
            f"{text!r} is not a column path. Separate nested names by dots, and put a name that itself "
            "holds a dot or a backtick between backticks, a backtick in it doubled."
        ) from None


def lowered(parts: Iterable[str]) -> tuple[str, ...]:
    """Return a form of the path that is equal for two paths to the same column.

    Use it to find a column. It follows Spark's name resolution: ``ß`` and ``ss`` differ, and one struct may have both.
    """
    return tuple(part.lower() for part in parts)


def folded(parts: Iterable[str]) -> tuple[str, ...]:
    """Return a form of the path that is equal if any engine might confuse two paths.

    Use it to choose a name that nothing else has or refers to. Unicode's case folding makes ``ß`` and ``ss`` equal.
    More names are equal than necessary, so a name is avoided rather than shared.
    """
    return tuple(part.casefold() for part in parts)


def all_columns(schema: StructType) -> Iterator[Column]:
    """Yield every place of the schema, parents before children, in the schema's order."""
    for field in schema.fields:
        yield from _descend(Column((field.name,), field.data_type, field, (), ("field",)))


def column_texts(schema: StructType, key: str) -> Iterator[tuple[Column, str]]:
    """Yield the columns and fields with a string, such as an expression, under a metadata key; and the string."""
    for column in all_columns(schema):
        text = None if column.field_path else column.field.metadata.get(key)
        if isinstance(text, str) and text:
            yield column, text


def _descend(column: Column) -> Iterator[Column]:
    yield column
    for child in children(column):
        yield from _descend(child)


def children(column: Column) -> Iterator[Column]:
    """Yield the places directly below ``column``."""
    data_type = column.data_type
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield Column((*column.parts, field.name), field.data_type, field, (), (*column.kinds, "field"))
        return
    steps: dict[str, DataType] = {}
    if isinstance(data_type, ArrayType):
        steps = {"element": data_type.element}
    elif isinstance(data_type, MapType):
        steps = {"key": data_type.key, "value": data_type.value}
    for step, step_type in steps.items():
        yield Column((*column.parts, step), step_type, column.field, (*column.field_path, step), (*column.kinds, step))


def find_column(schema: StructType, path: str) -> Column:
    """Return the column that ``path`` names, ignoring case, as Spark does by default.

    A top-level name that equals the whole string needs no quotes, unless the string also names a nested field. A path
    with backticks is never read that way, so ``str(column)`` finds its column.

    :raises UnknownColumnError: if no column matches (the message suggests similar names), or more than one
    """
    columns = list(all_columns(schema))
    unquoted = [column for column in columns if column.parts == (path,)]
    try:
        parts = parse_path(path)
    except UnknownColumnError:
        if not unquoted:
            raise
        return unquoted[0]
    exact = [column for column in columns if column.parts == parts]
    found = exact or [column for column in columns if lowered(column.parts) == lowered(parts)]
    if "`" not in path:
        found += [column for column in unquoted if column not in found]
    if len(found) == 1:
        return found[0]
    if found:
        both = " or ".join(".".join(quote(part) for part in column.parts) for column in found)
        raise UnknownColumnError(f"{path!r} is ambiguous: write {both}.")
    known = [str(column) for column in columns]
    listed = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    raise UnknownColumnError(f"There is no column {path!r}.{did_you_mean(path, known)} The table has {listed}.")


def _is_plain(name: str) -> bool:
    return bool(name) and "." not in name and "`" not in name
