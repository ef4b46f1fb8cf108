"""Checks of manifests: row counts (PM11), listed manifests, and statistics of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.formats.avro.file import Codec
from airflow_delta_provider.domain.formats.avro.schema import Column, Row
from airflow_delta_provider.domain.paimon.binary_row import read_partition
from airflow_delta_provider.domain.paimon.layout import manifest_path
from airflow_delta_provider.domain.paimon.live_files import LiveFiles
from airflow_delta_provider.domain.paimon.manifest import ENTRY_VERSION, DataFile, ManifestEntry, read_entries
from airflow_delta_provider.domain.paimon.schema import DataField, PaimonFormatError, TableSchema, fields_of
from airflow_delta_provider.domain.paimon.snapshot import Commit, Snapshot
from airflow_delta_provider.domain.paimon.violations import OpenViolation, OpenViolations, Violation
from airflow_delta_provider.domain.report.report import Finding


class RecordCounts:
    """Checks the row counts of consecutive snapshots.

    A wrong one is a violation of the commit that introduced it.
    """

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._open: list[OpenViolation] = []
        self._excess = 0

    def start_from(self, snapshot: Snapshot, live: LiveFiles) -> None:
        """Accept the count of a snapshot without a check."""
        self._excess = _excess(snapshot, live)

    def check(self, snapshot: Snapshot, live: LiveFiles, **known: Any) -> None:
        """Check the count of a snapshot.

        :param live: its live files
        :param known: fields of the finding
        """
        excess = _excess(snapshot, live)
        if excess == self._excess:
            return
        self._excess = excess
        if not excess:
            for opened in self._open:
                opened.heal(snapshot)
            self._open = []
            return
        finding = rules.RECORD_COUNT.found(
            "totalRecordCount is {recorded}; the live files have {rows:row}.",
            recorded=snapshot.total_record_count,
            rows=(snapshot.total_record_count or 0) - excess,
        )
        self._open.append(self._open_violations.add(Violation(finding), snapshot, **known))


def _excess(snapshot: Snapshot, live: LiveFiles) -> int:
    """Return the difference between totalRecordCount and the rows of live files."""
    total, counts = snapshot.total_record_count, live.row_counts
    return 0 if total is None or total in counts else total - counts[0]


class ListedManifests:
    """Checks the manifests of consecutive commits.

    Each manifest is read once, so the records of it in later lists are checked here.
    """

    def __init__(self, violations: OpenViolations) -> None:
        self._open_violations = violations
        self._sizes: dict[str, int] = {}
        self._row_ids: dict[str, tuple[int, int] | None] = {}
        self._open: dict[tuple[str, str], OpenViolation] = {}

    def apply_commit(self, commit: Commit) -> None:
        """Check the lists of a commit."""
        violations = map(Violation, self._findings(commit))
        broken = {(one.finding.code, one.finding.path or ""): one for one in violations}
        for key in self._open.keys() - broken.keys():
            self._open.pop(key).heal(commit.snapshot)
        for key in broken.keys() - self._open.keys():
            self._open[key] = self._open_violations.add(broken[key], commit.snapshot)

    def _findings(self, commit: Commit) -> Iterator[Finding]:
        base = commit.base or ()
        self._row_ids |= {name: _row_ids(entries) for name, entries in commit.manifests.items()}
        for manifest in (*base, *(commit.delta or ())):
            recorded = manifest.min_row_id, manifest.max_row_id
            known = self._row_ids.get(manifest.name, recorded)
            if None not in recorded and known != recorded:
                yield rules.CONTRADICTING_MANIFESTS.found(
                    "By a list of manifests, {path} has files with the row ids {recorded}, but it has {entries}.",
                    effect="Queries by _ROW_ID skip manifests by these numbers, and miss rows.",
                    path=manifest_path(manifest.name),
                    recorded=" to ".join(map(str, recorded)),
                    entries="files without known ids" if known is None else " to ".join(map(str, known)),
                )
            if (size := self._sizes.setdefault(manifest.name, manifest.size)) != manifest.size:
                yield rules.RECORDED_SIZES.found(
                    "{path} has {size} bytes in one list of manifests and {other} in another.",
                    path=manifest_path(manifest.name),
                    size=manifest.size,
                    other=size,
                )
        for name, times in Counter(manifest.name for manifest in base).items():
            if times > 1:
                yield rules.CONTRADICTING_MANIFESTS.found(
                    "The base of the commit lists {path} {times} times.", path=manifest_path(name), times=times
                )


def _row_ids(entries: Iterable[ManifestEntry]) -> tuple[int, int] | None:
    """Return the first and the last row id of files, blob and vector files included; None if a file has no known ids.

    A manifest without entries has none either.
    """
    ids = [(entry.file.first_row_id, entry.file.row_count) for entry in entries]
    known = [(first, first + rows - 1) for first, rows in ids if first is not None]
    if not known or len(known) != len(ids):
        return None
    return min(first for first, _ in known), max(last for _, last in known)


_STATS = "_FILE._VALUE_STATS"
_COLUMNS = (
    Column("_VERSION", "long"),
    Column("_FILE._FILE_NAME", "string"),
    Column(f"{_STATS}._MIN_VALUES", "bytes", optional=True),
    Column(f"{_STATS}._MAX_VALUES", "bytes", optional=True),
    Column(f"{_STATS}._NULL_COUNTS", "array", optional=True),
    Column(f"{_STATS}_COLS", "array", optional=True),
)
#: Columns of files with assigned values of their rows.
_RESERVED = fields_of(
    {"fields": [{"id": -1, "name": name, "type": "BIGINT"} for name in ("_ROW_ID", "_SEQUENCE_NUMBER")]}
)


class ValueBounds(NamedTuple):
    """Statistics of a data file.

    :param name: name of the file
    :param least: lowest value of each column, as a row
    :param most: greatest value of each column, as a row
    :param nulls: number of NULL values of each column; None if it is unknown
    :param columns: names of the columns; None for all of the file's
    """

    name: str
    least: bytes | None
    most: bytes | None
    nulls: tuple[int | None, ...]
    columns: tuple[str, ...] | None


def read_value_bounds(
    files: Sequence[bytes], codecs: Mapping[str, Codec]
) -> list[tuple[ValueBounds, ...] | PaimonFormatError]:
    """Read the statistics in manifests.

    :param files: contents of the manifests
    :param codecs: codecs by Avro's names
    :returns: statistics of each manifest's entries, or the error if it cannot be read
    """
    return read_entries(files, _COLUMNS, ENTRY_VERSION, codecs, _bounds)


class Similarity(Enum):
    """A comparison of rows by statistics: the same rows, rows of equal statistics, other rows, or nothing is known."""

    SAME = auto()
    ALIKE = auto()
    OTHER = auto()
    UNKNOWN = auto()


def compared_rows(
    before: Collection[DataFile],
    after: Collection[DataFile],
    bounds: Mapping[str, ValueBounds],
    schemas: Mapping[int, TableSchema | PaimonFormatError],
) -> Similarity:
    """Compare the rows of files with the rows of replaced files.

    Equal statistics prove that rows are the same only if each column has a single value.

    :param bounds: statistics by the name of the file
    """
    files = (*before, *after)
    schema = schemas.get(files[0].schema_id) if len({file.schema_id for file in files}) == 1 else None
    if not isinstance(schema, TableSchema):
        return Similarity.UNKNOWN
    columns = [_columns_of(file, bounds.get(file.name), schema.fields) for file in files]
    known = set.intersection(*(set(each) for each in columns)) - {field.name for field in _RESERVED}
    proven = len(known) == len(schema.fields)
    for name in known:
        old, new = (_joined([each[name] for each in part]) for part in (columns[: len(before)], columns[len(before) :]))
        if old != new:
            return Similarity.OTHER
        proven &= old is not None and old.is_single
    return Similarity.SAME if proven else Similarity.ALIKE if known else Similarity.UNKNOWN


class _Values(NamedTuple):
    least: Any
    most: Any
    nulls: int | None

    @property
    def is_single(self) -> bool:
        """Return True if all rows have the same value. Statistics may have only the beginning of a string."""
        return self.least == self.most and self.nulls == 0 and not isinstance(self.least, (str, bytes))


def _columns_of(file: DataFile, bounds: ValueBounds | None, fields: Sequence[DataField]) -> dict[str, _Values]:
    """Return the statistics of a file by column; empty if they cannot be read."""
    if bounds is None or bounds.least is None or bounds.most is None:
        return {}
    named = bounds.columns if bounds.columns is not None else file.write_cols
    by_name = {field.name: field for field in (*fields, *_RESERVED)}
    if named is not None and not by_name.keys() >= set(named):
        return {}
    present = tuple(fields) if named is None else tuple(by_name[name] for name in named)
    try:
        rows = [read_partition(data, present) for data in (bounds.least, bounds.most)]
    except PaimonFormatError:
        return {}
    nulls = bounds.nulls if len(bounds.nulls) == len(present) else (None,) * len(present)
    return {field.name: _Values(*values) for field, *values in zip(present, *rows, nulls)}


def _joined(values: Sequence[_Values]) -> _Values | None:
    """Return the combined statistics of several files; None if they cannot be compared."""
    try:
        least = min((each.least for each in values if each.least is not None), default=None)
        most = max((each.most for each in values if each.most is not None), default=None)
    except TypeError:
        return None
    counts = [each.nulls for each in values]
    return _Values(least, most, None if None in counts else sum(filter(None, counts)))


def _bounds(row: Row) -> ValueBounds:
    _, name, least, most, nulls, columns = row
    return ValueBounds(name, least, most, tuple(nulls or ()), None if columns is None else tuple(columns))
