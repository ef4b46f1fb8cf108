"""Parquet checkpoints, read with Python alone, if no other reader is installed or able."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from airflow_delta_provider.domain.delta.checkpoint_comparison import MOST_PARSED
from airflow_delta_provider.domain.delta.commit import KINDS
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT, PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.snapshot import ActionBatch
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.domain.formats.parquet.footer import Content
from airflow_delta_provider.domain.formats.parquet.pages import STANDARD_CODECS
from airflow_delta_provider.domain.formats.parquet.rows import ParquetFile, RowGroup, fields_of
from airflow_delta_provider.domain.formats.parquet.schema import Field, Struct
from airflow_delta_provider.domain.formats.parquet.thrift import (
    BrokenValueError,
    MissingCodecError,
    ParquetError,
    UnsupportedError,
)
from airflow_delta_provider.jobs.delta.arrow_checkpoint import with_counts
from airflow_delta_provider.jobs.tables.codecs import PACKAGES, page_codecs_of_packages

_COUNT = "numRecords"
_PARSED = (PARTITION_VALUES, STATISTICS)


class UnreadFileError(Exception):
    """A checkpoint file that Python alone cannot read, although it may be intact. The message has the reason.

    :param package: package that can read it
    """

    def __init__(self, message: str, package: str) -> None:
        super().__init__(message)
        self.package = package


def batches(
    content: Content,
    fields: Mapping[str, Collection[str]],
    kinds: Collection[str] | None,
    *,
    parsed: bool = False,
    budget: Budget | None = None,
) -> Iterator[ActionBatch]:
    """Yield the actions of a checkpoint file: row group by row group, and in each of them column by column.

    The actions of a kind have the order of :mod:`arrow_checkpoint`.

    :param fields: fields to read, by kind of action, for kinds that are not read completely; an empty entry skips the
        kind
    :param kinds: kinds of action to read; None for all kinds in the file
    :param parsed: True to include the parsed values of the first files of a row group, and the number of rows as a
        field of its own; if False, the number of rows in ``stats_parsed`` is returned as ``stats``
    :param budget: memory limit for the values; by default, as much as the file's size allows
    :raises BrokenLogError: if the file is damaged
    :raises UnreadFileError: if it needs a package to read it
    :raises TooLargeError: if it exceeds the budget
    """
    with _understood():
        file, columns = _opened(content, fields, kinds, budget)
        for group in file.row_groups():
            for column in columns:
                batch = _batch(group, column, fields.get(column.name, ()), parsed)
                if batch is not None:
                    yield batch


def charges(
    content: Content, fields: Mapping[str, Collection[str]], kinds: Collection[str] | None, budget: Budget
) -> Iterator[bool]:
    """Open a file, then charge the budget for the actions of each row group, whichever reader reads them.

    :return: True for each step; False at the end if the further cost is unknown: the file is damaged, or cannot be
        read with Python alone
    :raises TooLargeError: if it exceeds the budget
    """
    try:
        file, columns = _opened(content, fields, kinds, budget)
        yield True
        for group in file.row_groups():
            for column in columns:
                group.charge(column)
            yield True
    except ParquetError:
        yield False


def _opened(
    content: Content, fields: Mapping[str, Collection[str]], kinds: Collection[str] | None, budget: Budget | None
) -> tuple[ParquetFile, list[Field]]:
    """Return a file, and the wanted parts of its columns."""
    file = ParquetFile(content, {**STANDARD_CODECS, **page_codecs_of_packages()}, budget)
    return file, [_wanted(column, fields) for column in file.fields if kinds is None or column.name in kinds]


@contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except MissingCodecError as error:
        raise UnreadFileError(f"it is compressed with {error.codec}", PACKAGES.get(error.codec, "pyarrow")) from error
    except UnsupportedError as error:
        raise UnreadFileError(str(error), "pyarrow") from error
    except ParquetError as error:
        raise BrokenLogError(str(error)) from error


def _wanted(column: Field, fields: Mapping[str, Collection[str]]) -> Field:
    if column.name not in fields or not isinstance(column, Struct):
        return column
    wanted = fields[column.name]
    of_counts = {f"{field.name}.{_COUNT}": (field.name, _COUNT) for field in column.fields}
    return column.only([of_counts.get(name, (name,)) for name in wanted])


def _batch(group: RowGroup, column: Field, wanted: Collection[str], parsed: bool) -> ActionBatch | None:
    kind = column.name
    if not isinstance(column, Struct):
        if kind in KINDS:
            raise BrokenLogError(f"its {kind} is not a struct")
        return None
    apart = [field.name for field in column.fields if parsed and field.name in _PARSED]
    others = column.only([(field.name,) for field in column.fields if field.name not in apart])
    if not others.fields:
        return None
    count, found = group.fields(others)
    if not count:
        return None
    known = {name: values for name, values in found.items() if values is not None}
    for name in apart:
        known.update(_parsed(group, column.only([(name,)]), name, count, wanted))
    if kind == "add" and not parsed and STATISTICS in known:
        known["stats"] = with_counts(known.get("stats"), known.pop(STATISTICS))
    return ActionBatch(kind, count, known)


def _parsed(
    group: RowGroup, column: Struct, name: str, count: int, wanted: Collection[str]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the values of a parsed field for the first files, and the numbers of rows; nothing if they are unreadable.

    :param count: number of files
    :param wanted: fields that were asked for; empty for all
    """
    try:
        columns = group.columns(column)
        counted = column.only([(STATISTICS, _COUNT)])
        if PARSED_COUNT in wanted and counted.fields:
            _, found = fields_of(counted, columns)
            counts = [None if struct is None else struct.get(_COUNT) for struct in found[STATISTICS] or ()]
            if counts and set(counts) != {None}:
                yield PARSED_COUNT, counts
        if not wanted or name in wanted:
            _, found = fields_of(column, columns, MOST_PARSED)
            if (values := found[name]) is not None:
                yield name, [*values, *repeat(None, count - len(values))]
    except BrokenValueError:
        return
