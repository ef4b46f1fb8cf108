"""What is wrong with how a request names its tables: found before Spark starts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable

from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, is_relative, normal_location


def check_tables(tables: Iterable[str], *, patterns: bool, relative: bool) -> None:
    """Check how tables are named.

    :param patterns: whether one may be a pattern
    :param relative: whether a path may be relative
    :raises RequestError: for a pattern or a relative path where none is taken, and for a table that is named twice
    :raises TableNameError: for what does not name a table
    """
    spelled: dict[Hashable, str] = {}
    for text in tables:
        name = TableName.parse(text)
        if not patterns and _is_pattern(name):
            raise _pattern_refused(name)
        if not relative and name.location is not None and is_relative(name.location):
            raise RequestError(
                "{text!r} is relative to the folder of the process that reads it. Give an absolute path or a URI.",
                text=text,
            )
        before = spelled.setdefault(place_of(name), text)
        if before != text:
            raise RequestError(
                "{before!r} and {text!r} are one table in two spellings. Name it once.", before=before, text=text
            )


def _is_pattern(name: TableName) -> bool:
    """Whether a name cannot well be meant as it is written: brackets are in names of folders, too."""
    if name.location is None:
        return name.may_be_pattern
    return name.location == name.text and any(mark in name.location for mark in "*?")


def _pattern_refused(name: TableName) -> RequestError:
    return RequestError(
        "{text!r} is a pattern, which this kind of job does not take. Name each table.{literal}",
        text=name.text,
        literal="" if name.location is None else f" If that is the table's name, write {name.sql}.",
    )


def place_of(name: TableName) -> Hashable:
    """Return the same for all spellings of a table."""
    if name.location is None:
        return tuple(part.casefold() for part in name.identifier or ())
    folded = re.sub(r"/(?:\./)+|/\.$", "/", name.location.removeprefix("./"))
    return folded.rstrip("/") if is_relative(folded) else normal_location(folded)


def named_place(table: str | None) -> Hashable:
    """Return the same for all texts that name one table."""
    try:
        return place_of(TableName.parse(table or ""))
    except TableNameError:
        return table
