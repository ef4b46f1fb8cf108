"""Data files of a table, as ``add`` and ``remove`` actions describe them. PROTOCOL.md, Add File and Remove File."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector, vector_id
from airflow_delta_provider.domain.formats.json_values import integer_of, integer_or_none, map_of, parse_json, text_of

#: A logical file: its path and the id of its deletion vector, empty without one.
FileKey = tuple[str, str]

#: The base row id and the default row commit version of a file.
RowIds = tuple[int | None, int | None]

_LEADING_NUM_RECORDS = re.compile(r'\s*\{\s*"numRecords"\s*:\s*(\d{1,18})\s*[,}]')


class LiveFile(NamedTuple):
    """A data file of the table: what jobs need to know of its ``add`` action. A tuple, as logs have millions of them.

    :param path: as in the log: relative to the table or absolute, URI-encoded
    :param size: bytes
    :param base_row_id: fresh id of its first row
    :param default_row_commit_version: the version of rows that do not carry their own
    :param num_records: ``numRecords`` of its statistics: physical rows, deleted ones included
    :param deletion_vector: which of its rows are deleted
    :param data_change: whether the commit that added it changed data; says nothing in a checkpoint
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
        """What distinguishes logical files."""
        vector = self.deletion_vector
        return self.path, "" if vector is None else vector_id(*vector[:3])

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
        """Which row ids and row commit version its rows have, unless they are materialized."""
        return self.base_row_id, self.default_row_commit_version

    def same_as(self, other: LiveFile) -> bool:
        """Whether the log says the same of this logical file, statistics left out."""
        return (self.key, self.size, self.base_row_id, self.default_row_commit_version) == (
            other.key,
            other.size,
            other.base_row_id,
            other.default_row_commit_version,
        )


class RemovedFile(NamedTuple):
    """A logical file that a ``remove`` action takes away."""

    path: str
    base_row_id: int | None
    default_row_commit_version: int | None
    deletion_vector: DeletionVector | None = None
    data_change: bool = True

    @property
    def key(self) -> FileKey:
        """What distinguishes logical files."""
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


def num_records(stats: Any) -> int | None:
    """Return ``numRecords`` of a file's statistics, or None where they do not say.

    :param stats: the JSON text of an ``add`` action, or the number itself as a checkpoint may hold it
    :raises ValueError: if it is neither
    """
    if stats is None or type(stats) is int:
        return stats
    if not isinstance(stats, str):
        raise ValueError("its stats are no text")
    # Engines write it first; the rest, with bounds for every column, is then left unread.
    if match := _LEADING_NUM_RECORDS.match(stats):
        return int(match[1])
    try:
        counted = parse_json(stats).get("numRecords")
    except (ValueError, AttributeError):
        return None
    return counted if isinstance(counted, int) and not isinstance(counted, bool) and counted >= 0 else None


def _deletion_vector(body: Mapping[str, Any]) -> DeletionVector | None:
    vector = body.get("deletionVector")
    return None if vector in (None, {}) else DeletionVector.from_json(vector)
