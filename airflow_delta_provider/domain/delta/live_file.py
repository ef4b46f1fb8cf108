"""Data files of a table, as described by ``add`` and ``remove`` actions.

PROTOCOL.md, Add File and Remove File.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector, vector_id
from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, map_of, parse_json, text_of

#: A logical file: its path and the id of its deletion vector, empty without one.
FileKey = tuple[str, str]

#: The base row id and the default row commit version of a file.
RowIds = tuple[int | None, int | None]

_LEADING_NUM_RECORDS = re.compile(r'\s*\{\s*"numRecords"\s*:\s*(\d{1,18})\s*[,}]')


class LiveFile(NamedTuple):
    """A data file of the table: the parts of its ``add`` action that jobs need.

    A tuple, as logs have millions of them.

    :param path: path as in the log: relative to the table or absolute, URI-encoded
    :param size: size in bytes
    :param base_row_id: fresh id of its first row
    :param default_row_commit_version: version of rows that do not carry their own
    :param num_records: ``numRecords`` of its statistics: physical rows, including deleted ones
    :param deletion_vector: descriptor of its deleted rows
    :param data_change: True if the commit that added it changed data; meaningless in a checkpoint
    """

    path: str
    size: int
    base_row_id: int | None
    default_row_commit_version: int | None
    num_records: int | None = None
    deletion_vector: DeletionVector | None = None
    data_change: bool = True

    @property
    def key(self) -> FileKey:
        """The identity of a logical file."""
        vector = self.deletion_vector
        return self.path, "" if vector is None else vector_id(*vector[:3])

    @property
    def deleted_rows(self) -> int:
        """The number of rows that its deletion vector deletes."""
        return 0 if self.deletion_vector is None else self.deletion_vector.cardinality

    @property
    def live_rows(self) -> int | None:
        """The number of its rows that are not deleted; None if the log does not record it."""
        return None if self.num_records is None else self.num_records - self.deleted_rows

    @classmethod
    def from_add(cls, body: Mapping[str, Any]) -> LiveFile:
        """Read an ``add`` action.

        :raises BrokenDeletionVectorError: if its deletion vector is malformed
        """
        map_of(body, "partitionValues")
        return cls(
            text_of(body, "path"),
            integer_of(body, "size"),
            integer_or_none(body, "baseRowId"),
            integer_or_none(body, "defaultRowCommitVersion"),
            num_records(body.get("stats")),
            _deletion_vector(body),
            bool(body.get("dataChange", True)),
        )

    @property
    def row_ids(self) -> RowIds:
        """The base row id and row commit version of its rows, unless they are materialized."""
        return self.base_row_id, self.default_row_commit_version

    def same_as(self, other: LiveFile) -> bool:
        """Return True if the log's entries for this logical file agree, ignoring statistics.

        :param other: a file with the same key
        """
        return self[1:4] == other[1:4]  # size, baseRowId, defaultRowCommitVersion


class RemovedFile(NamedTuple):
    """A logical file that a ``remove`` action removes."""

    path: str
    base_row_id: int | None
    default_row_commit_version: int | None
    deletion_vector: DeletionVector | None = None
    data_change: bool = True

    @property
    def key(self) -> FileKey:
        """The identity of a logical file."""
        vector = self.deletion_vector
        return self.path, "" if vector is None else vector_id(*vector[:3])

    @classmethod
    def from_remove(cls, body: Mapping[str, Any]) -> RemovedFile:
        """Read a ``remove`` action.

        :raises BrokenDeletionVectorError: if its deletion vector is malformed
        """
        return cls(
            text_of(body, "path"),
            integer_or_none(body, "baseRowId"),
            integer_or_none(body, "defaultRowCommitVersion"),
            _deletion_vector(body),
            bool(body.get("dataChange", True)),
        )


def count_live_rows(files: Iterable[LiveFile]) -> int | None:
    """Return the number of rows of files that are not deleted; None if the log does not record it."""
    rows = 0
    for file in files:
        if file.live_rows is None:
            return None
        rows += file.live_rows
    return rows


def num_records(stats: Any) -> int | None:
    """Return ``numRecords`` of a file's statistics, or None if they lack it.

    :param stats: JSON string of an ``add`` action, or the number itself as a checkpoint may contain it
    :raises ValueError: if it is neither
    """
    if stats is None or type(stats) is int:
        return stats
    if not isinstance(stats, str):
        raise ValueError("its stats are not a string")
    # Engines write it first. The rest, with bounds for every column, then need not be read.
    if match := _LEADING_NUM_RECORDS.match(stats):
        return int(match[1])
    try:
        counted = parse_json(stats).get("numRecords")
    except (ValueError, AttributeError):
        return None
    return counted if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0 else None


def nums_records(stats: Sequence[Any]) -> list[int | None]:
    """Return :func:`num_records` of the statistics of many files.

    :raises ValueError: if statistics are no string
    """
    if set(map(type, stats)) == {str}:
        found = list(map(_LEADING_NUM_RECORDS.match, stats))
        if None not in found:
            return [int(match[1]) for match in found if match is not None]
    return list(map(num_records, stats))


def _deletion_vector(body: Mapping[str, Any]) -> DeletionVector | None:
    vector = body.get("deletionVector")
    return None if vector in (None, {}) else DeletionVector.from_json(vector)
