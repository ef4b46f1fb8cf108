"""Patterns of actions without findings: matching lines need not be parsed and checked.

A pattern fixes all fields and values of an action except those that are left open here. Open values are compared if a
rule is about them: ``open_fields.py`` names these rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import repeat
from operator import ge, gt
from typing import Any, TypeVar

from airflow_delta_provider.domain.audit.fast_path.json_pattern import Choose, JsonPattern, Keys, NoPatternError, Open
from airflow_delta_provider.domain.checks.actions.partition_values import overwrites_by_predicate
from airflow_delta_provider.domain.checks.check import Fields
from airflow_delta_provider.domain.delta.column_statistics import (
    BOUNDS,
    COUNTS,
    ColumnKind,
    Columns,
    is_sound,
    read_statistics,
)
from airflow_delta_provider.domain.delta.commit import DomainMetadata, parse_line
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.features.log import DOMAIN
from airflow_delta_provider.domain.delta.live_file import LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.log_files import SHORT_URI
from airflow_delta_provider.domain.delta.row_tracking import HIGH_WATER_MARK

_CONFIGURATION = ("domainMetadata", "configuration")
_MARK = re.compile(rf'"{HIGH_WATER_MARK}"\s*:\s*([0-9]+)').search
_NUMBERS_OF_METADATA = frozenset({"version", "lastUpdated"})


class OpenPattern:
    """A pattern of lines; every line that matches it is correct."""

    pattern: JsonPattern
    """Pattern of its lines, with the values that :meth:`read` needs."""

    def lacks(self, line: str) -> bool:
        """Return False: these patterns have no values that have to be known."""
        del line
        return False

    def take(self, line: str) -> bool:
        """Return True if another action fits."""
        return self.pattern.fits(line) is not None


class MarkPattern(OpenPattern):
    """The pattern of a ``domainMetadata`` action of row tracking.

    :param line: line of a commit, with an action without findings
    :param domain: parsed action
    :param fields: fields that may be left open
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    kind = "domainMetadata"

    def __init__(self, line: str, domain: DomainMetadata, fields: Fields) -> None:
        self.pattern = JsonPattern(line, _within(fields, _mark))
        found = self.pattern.fits(line) if len(self.pattern.keys) == 1 else None
        mark = _MARK(domain.configuration)
        if found is None or mark is None or domain.domain != DOMAIN:
            raise NoPatternError("it is unusual")
        self._around = mark.string[: mark.start(1)], mark.string[mark.end(1) :]
        if self.read([found]) != [domain]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[DomainMetadata]:
        """Return the actions of lines.

        :param rows: the values of lines that fit
        """
        before, after = self._around
        return [DomainMetadata(DOMAIN, f"{before}{row[0]}{after}") for row in rows]


class TransactionPattern(OpenPattern):
    """The pattern of a ``txn`` action: others of the same application differ in version and time.

    :param line: line of a commit, with an action without findings
    :param body: parsed action
    :param fields: fields that may be left open
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    kind = "txn"

    def __init__(self, line: str, body: Mapping[str, Any], fields: Fields) -> None:
        self.pattern = JsonPattern(line, _within(fields, _number_of_transaction))
        self._body = body
        self._names = [name for _, name in self.pattern.keys]
        found = self.pattern.fits(line) if self._names else None
        if found is None or self.read([found]) != [body]:
            raise NoPatternError("it is unusual")

    def read(self, rows: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
        """Return the actions of lines.

        :param rows: the values of lines that fit
        """
        return [{**self._body, **dict(zip(self._names, map(int, row)))} for row in rows]


def _within(fields: Fields, choose: Choose) -> Choose:
    """Return ``choose`` for the given fields only; others are fixed."""
    return lambda keys, value: choose(keys, value) if ".".join(keys[:2]) in fields else None


def _mark(keys: Keys, value: Any) -> Open | None:
    if keys == _CONFIGURATION and isinstance(value, str):
        return Open.DOCUMENT
    return Open.NATURAL if keys == (*_CONFIGURATION, HIGH_WATER_MARK) and type(value) is int else None


def _number_of_transaction(keys: Keys, value: Any) -> Open | None:
    is_number = len(keys) == 2 and keys[1] in _NUMBERS_OF_METADATA and type(value) is int and value >= 0
    return Open.NATURAL if is_number else None


_KIND = "commitInfo"
_TIMESTAMP = "inCommitTimestamp"
_NUMBERS_OF_INFO = frozenset({"timestamp", _TIMESTAMP, "readVersion"})
#: Maps of strings that differ from commit to commit.
_MAPS = frozenset({"operationParameters", "operationMetrics"})
#: The parameter by which a commit overwrites rows or not.
_MODE = "mode"
#: A string that is not empty, as rules require for transaction ids.
_SOME_TEXT = r"[^\"\\\x00-\x1f]+"


class InfoPattern:
    """The pattern of a ``commitInfo`` action: others differ in their times, metrics, parameters and ids.

    :param line: line of a commit without findings
    :param fields: fields that may be left open
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    def __init__(self, line: str, fields: Fields) -> None:
        if overwrites_by_predicate(parse_line(line)[_KIND]):
            raise NoPatternError("the predicate of its overwrite decides which partitions it may write")
        self._pattern = JsonPattern(line, _within(fields, _choose), lambda keys: keys == (_KIND, _TIMESTAMP))
        if not line.startswith(f'{{"{_KIND}":') or not self.fits(line):
            raise NoPatternError("it is unusual")

    def fits(self, line: str) -> bool:
        return self._pattern.fits(line) is not None

    def timestamp(self, line: str) -> int | None:
        """Return the in-commit timestamp of a line that fits, in milliseconds since 1970; None if it has none."""
        values = self._pattern.fits(line)
        return int(values[0]) if values else None


def _choose(keys: Keys, value: Any) -> Open | str | None:
    *above, name = keys or ("",)
    if above == [_KIND]:
        if name in _NUMBERS_OF_INFO and type(value) is int and value >= 0:
            return Open.NATURAL
        if name == "txnId" and value and isinstance(value, str):
            return _SOME_TEXT
        if name == "userMetadata" and isinstance(value, str):
            return Open.TEXT
    if len(above) == 2 and above[1] in _MAPS and name != _MODE and isinstance(value, str):
        return Open.TEXT
    return None


N = TypeVar("N")

_IS_PLAIN = re.compile(Open.PLAIN_TEXT.value).fullmatch

_NUMBERS = frozenset(
    {"size", "modificationTime", "deletionTimestamp", "baseRowId", "defaultRowCommitVersion"}
    | {"offset", "sizeInBytes", "cardinality"}
)
_ROWS = "numRecords"
_VECTOR = ("pathOrInlineDv", "offset", "sizeInBytes", "cardinality")
#: Open values from which a file is built or that are checked, in addition to the statistics of an ``add``.
_READ = frozenset(
    {("path",), ("partitionValues",), ("size",), ("baseRowId",), ("defaultRowCommitVersion",)}
    | {("deletionVector", name) for name in _VECTOR}
)
#: Build files from tuples of their fields; faster than calling the classes.
_LIVE: Callable[[Iterable[Any]], LiveFile] = partial(tuple.__new__, LiveFile)
_REMOVED: Callable[[Iterable[Any]], RemovedFile] = partial(tuple.__new__, RemovedFile)
#: Usual Python types of a column's bounds, with their form in JSON and the function that parses them.
_BOUND_FORMS: dict[tuple[type, ...], tuple[Open, Callable[[str], Any] | None]] = {
    (int,): (Open.INTEGER, int),
    (float, int, Decimal): (Open.NUMBER, float),
    (Decimal, int): (Open.NUMBER, Decimal),
    (str,): (Open.PLAIN_TEXT, None),
    (bool,): (Open.BOOLEAN, "true".__eq__),
}
_BOUNDS = [(part,) for part in BOUNDS]
#: Forms in JSON of values by Python type.
_OF_ANY = {int: Open.INTEGER, float: Open.NUMBER, str: Open.PLAIN_TEXT, bool: Open.BOOLEAN}
#: Maximum number of partition values per pattern. Beyond that, it starts again: later files are in later partitions.
_MOST = 2_000


class FilePattern:
    """The pattern of an ``add`` or ``remove`` action.

    :param line: line of a commit, with an action without findings
    :param kind: kind of the action
    :param file: parsed action
    :param stats: its statistics; None if it has none, and for a ``remove``
    :param columns: columns by their names in statistics
    :param fields: fields that may be left open
    :raises NoPatternError: if it cannot serve as a pattern for others
    """

    def __init__(
        self,
        line: str,
        kind: str,
        file: LiveFile | RemovedFile,
        stats: str | None,
        columns: Columns,
        fields: Fields,
    ) -> None:
        self.kind = kind
        self._columns = columns
        if stats and not _are_open(stats, columns):
            raise NoPatternError("its statistics are unusual")
        if ":" in file.path:
            raise NoPatternError("it may be of another table, and is judged less strictly")
        self.pattern = JsonPattern(line, _within(fields, self._choose), self._needs)
        """Pattern of its lines, with the values that :meth:`read` needs."""
        places = {keys[1:]: place for place, keys in enumerate(self.pattern.keys)}
        self._path = places.pop(("path",), -1)
        numbers = (("size",), ("baseRowId",), ("defaultRowCommitVersion",), ("stats", _ROWS))
        self._size, self._base, self._version, self._rows = (places.get(keys) for keys in numbers)
        vector = (("deletionVector", name) for name in _VECTOR)
        self._vector = [places.get(keys) for keys in vector]
        self._file = file
        self._partition = places.get(("partitionValues",))
        self._partitions: set[str] = set()
        self._counts: list[tuple[int, Callable[[Any, Any], bool]]] = []
        self._bounds: list[tuple[int, int, Callable[[str], Any] | None, Callable[[Any, Any], bool] | None]] = []
        if kind == "add":
            self._check_statistics(places)
        found = self.pattern.fits(line)
        if self._path < 0 or found is None or not self.take(line) or [*self.read([found])] != [file]:
            raise NoPatternError("it is unusual")

    def _check_statistics(self, places: Mapping[Keys, int]) -> None:
        """Choose the statistics that are checked in each line, by the places of their open values."""
        for keys, place in places.items():
            if keys[:2] == ("stats", COUNTS):
                has_bounds = ("stats", BOUNDS[0], *keys[2:]) in places
                self._counts.append((place, ge if has_bounds else gt))
            elif keys[:2] == ("stats", BOUNDS[0]):
                column, upper = self._column(keys[2:]), places[("stats", BOUNDS[1], *keys[2:])]
                self._bounds.append((place, upper, _BOUND_FORMS[column.usual][1], column.plain))

    def lacks(self, line: str) -> bool:
        """Return True if a line fits except for its partition values, which are unknown."""
        found = self.pattern.fits(line)
        return found is not None and self._partition is not None and found[self._partition] not in self._partitions

    def take(self, line: str) -> bool:
        """Record the partition values of another action without findings. Return True if it fits otherwise."""
        found = self.pattern.fits(line)
        if found is not None and self._partition is not None:
            if len(self._partitions) >= _MOST:
                self._partitions.clear()
            self._partitions.add(found[self._partition])
        return found is not None

    def read(self, rows: Sequence[tuple[str, ...]]) -> Sequence[LiveFile | RemovedFile | None]:
        """Return the files of lines; None for a file that may be wrong.

        :param rows: the values of lines that fit
        """
        columns = list(zip(*rows))
        if self._are_right(columns):
            return self._files(columns)
        if len(rows) == 1:
            return [None]
        return [self.read([row])[0] for row in rows]

    def _are_right(self, columns: Sequence[Sequence[str]]) -> bool:
        """Return True if the open values satisfy the rules about them.

        :param columns: for each place, the values of all lines
        """
        if self._partition is not None and not self._partitions.issuperset(columns[self._partition]):
            return False
        if self._rows is not None:
            rows = list(map(int, columns[self._rows]))
            for place, exceeds in self._counts:
                counts = columns[place]
                if counts.count("0") < len(counts) and any(map(exceeds, map(int, counts), rows)):
                    return False
            for low, high, read, plain in self._bounds:
                least: Sequence[Any] = columns[low]
                most: Sequence[Any] = columns[high]
                if read is not None:
                    least, most = list(map(read, least)), list(map(read, most))
                if any(map(gt, least, most)) or not (plain is None or all(map(plain, least, most))):
                    return False
        return True

    def _files(self, columns: Sequence[Sequence[str]]) -> list[LiveFile] | list[RemovedFile]:
        """Return the files that the values describe."""
        known = self._file

        def numbers(place: int | None, otherwise: N) -> Iterable[N | int]:
            return repeat(otherwise) if place is None else map(int, columns[place])

        paths = columns[self._path]
        bases = numbers(self._base, known.base_row_id)
        versions = numbers(self._version, known.default_row_commit_version)
        vectors: Iterable[DeletionVector | None] = repeat(None)
        if (vector := known.deletion_vector) is not None:
            path, offset, size, cardinality = self._vector
            vectors = map(
                DeletionVector,
                repeat(vector.storage_type),
                repeat(vector.path_or_inline) if path is None else columns[path],
                numbers(offset, vector.offset),
                numbers(size, vector.size_in_bytes),
                numbers(cardinality, vector.cardinality),
            )
        changes = repeat(known.data_change)
        if type(known) is RemovedFile:
            return list(map(_REMOVED, zip(paths, bases, versions, vectors, changes)))
        assert type(known) is LiveFile
        sizes = numbers(self._size, known.size)
        rows = numbers(self._rows, known.num_records)
        return list(map(_LIVE, zip(paths, sizes, bases, versions, rows, vectors, changes)))

    def _needs(self, keys: Keys) -> bool:
        """Return True if :meth:`read` needs an open value itself, not only its form."""
        return keys[1:] in _READ or (self.kind == "add" and keys[1] == "stats")

    def _choose(self, keys: Keys, value: Any) -> Open | str | None:
        """Return the form of a value that differs from file to file, if rules can check it; otherwise None."""
        name = keys[-1] if keys else ""
        above = keys[1:-1]
        if above in ((), ("deletionVector",)):
            if name in _NUMBERS and type(value) is int and value >= 0:
                return Open.NATURAL
            if name == "path":
                return SHORT_URI
            if name == "pathOrInlineDv":
                return Open.PLAIN_TEXT
            if name == "partitionValues" and isinstance(value, dict):
                return Open.OBJECT
            if name == "stats" and value and isinstance(value, str):
                return Open.DOCUMENT if self.kind == "add" or _is_plain(value) else Open.TEXT
        if above == ("tags",) and isinstance(value, str):
            return Open.PLAIN_TEXT if _IS_PLAIN(value) else None
        if self.kind == "remove":
            return _OF_ANY.get(type(value)) if above and above[0] == "stats" else None
        if (above == ("stats",) and name == _ROWS) or (above[:2] == ("stats", COUNTS) and type(value) is int):
            return Open.NATURAL
        if above[:1] == ("stats",) and above[1:2] in _BOUNDS and not isinstance(value, dict):
            return _BOUND_FORMS[self._column(keys[3:]).usual][0]
        return None

    def _column(self, path: Keys) -> ColumnKind:
        """Return a column by its path in statistics.

        :raises NoPatternError: if the correct form of its bounds is unknown
        """
        found: ColumnKind | None = None
        columns: Mapping[str, ColumnKind] = self._columns
        for name in path:
            found = columns.get(name)
            columns = (found.below if found else None) or {}
        if found is None or found.usual not in _BOUND_FORMS:
            raise NoPatternError("it has bounds of an unusual type")
        return found


def _is_plain(text: str) -> bool:
    """Return True if statistics are JSON without escapes, so that others can be recognized by their form."""
    try:
        return isinstance(read_statistics(text), dict) and "\\" not in text
    except ValueError:
        return False


def _are_open(text: str, columns: Columns) -> bool:
    """Return True if the open values of statistics suffice to check other statistics of this form."""
    try:
        stats = read_statistics(text, exact=columns.need_exact)
    except ValueError:
        return False
    if not isinstance(stats, dict) or not stats.get(_ROWS):
        return False  # rules treat files without rows differently
    if stats.keys() == {_ROWS}:
        return type(stats[_ROWS]) is int and stats[_ROWS] > 0
    return is_sound(stats, columns)
