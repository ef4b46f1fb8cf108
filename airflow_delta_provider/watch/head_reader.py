"""Repeated reads of a table's head: each reads only new commits, mostly without listing the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, BinaryIO

from airflow_delta_provider.domain.delta.commit import Action, actions_of_head, commit_info, parse_commit
from airflow_delta_provider.domain.delta.derived_files import (
    BrokenChecksumError,
    Checksum,
    checksum_name,
    disagreement,
    parse_checksum,
)
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    LogSegment,
    NoLogError,
    UnreadCheckpointError,
    commit_name,
    select_segment,
)
from airflow_delta_provider.domain.delta.table_head import NewestFirst, TableHead
from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.budget import TooLargeError
from airflow_delta_provider.domain.formats.parquet.schema import Struct
from airflow_delta_provider.domain.formats.parquet.thrift import MissingCodecError, ParquetError, UnsupportedError
from airflow_delta_provider.watch.metadata_folder import MetadataFolder, StorageSetupError, newest_after


class ObjectStorageLog(MetadataFolder):
    """Lists and reads the files of a log.

    :param table: path or URI of the table
    :param storage_conn_id: Airflow connection of the store; with None, credentials come from the environment
    """

    def __init__(self, table: str, storage_conn_id: str | None = None) -> None:
        super().__init__(table, storage_conn_id, "_delta_log")

    def read_commit(self, name: str) -> list[Action]:
        """Return the actions of a commit file.

        :raises BrokenLogError: if it is damaged
        """
        return parse_commit(name, self.read(name))

    def read_checkpoint(self, name: str) -> Iterator[Action]:
        """Yield the protocol and metaData actions of one file of a checkpoint, JSON or Parquet.

        :raises BrokenLogError: if it is damaged
        :raises StorageSetupError: if it is Parquet and pyarrow is not installed
        """
        if name.endswith(".json"):
            yield from self.read_commit(name)
            return
        with self.open(name) as stream:
            yield from head_actions(name, stream)


_COLUMNS = ("protocol", "metaData")
#: Rows of a batch. A checkpoint has a row per file, so the two columns are null in nearly all of them.
_ROWS = 65_536


def head_actions(name: str, stream: BinaryIO) -> Iterator[Action]:
    """Yield the protocol and metaData actions of a checkpoint file.

    If PyArrow fails, the file is read with Python alone: the error may be a limit of PyArrow.

    :param name: name of the file, for messages
    :param stream: the file, opened for reading; PyArrow reads only the ranges of the two columns
    :raises BrokenLogError: if it is not a Parquet file, or damaged
    :raises UnreadCheckpointError: if neither can read it
    :raises StorageSetupError: if pyarrow is not installed
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise StorageSetupError(
            f"checkpoint {name} is a Parquet file, and pyarrow is not installed where this runs (worker and "
            "triggerer). Install airflow-delta-provider[sensor]."
        ) from error
    try:
        found = list(_by_pyarrow(ParquetFile(stream)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if shortage(error):
            raise
        stream.seek(0)
        found = list(_by_python(name, stream.read(), f"PyArrow {pyarrow.__version__}: {error}"))
    yield from found


def _by_pyarrow(checkpoint: Any) -> Iterator[Action]:
    columns = [column for column in _COLUMNS if column in checkpoint.schema_arrow.names]
    for batch in checkpoint.iter_batches(batch_size=_ROWS, columns=columns):
        for column in columns:
            for body in batch.column(column).drop_null().to_pylist():
                yield {column: body}


def _by_python(name: str, content: bytes, refused: str) -> Iterator[Action]:
    """Yield the actions of a file that PyArrow could not read.

    :param refused: the error of PyArrow
    """
    from airflow_delta_provider.domain.formats.parquet.rows import ParquetFile  # late: few checkpoints need it

    try:
        checkpoint = ParquetFile(content)
        columns = [field for field in checkpoint.fields if field.name in _COLUMNS and isinstance(field, Struct)]
        for group in checkpoint.row_groups():
            for column in columns:
                count, values = group.fields(column)
                fields = [repeat(None, count) if found is None else found for found in values.values()]
                yield from ({column.name: dict(zip(values, row))} for row in zip(*fields))
    except (UnsupportedError, MissingCodecError, TooLargeError) as error:
        refusals = f"{refused}; the reader of this package: {error}"
        raise UnreadCheckpointError(f"no reader here can read checkpoint {name} ({refusals})", "Use Spark.") from error
    except ParquetError as error:
        raise BrokenLogError(f"checkpoint {name} cannot be read as Parquet: {error}") from error


log = logging.getLogger(__name__)

#: A writer's clock counts as slow if a commit's file is this many milliseconds younger than the commit states.
_SLOW = 60_000
#: Number of earlier commits whose times are considered if the clock is slow.
_BEFORE = 10


@dataclass(frozen=True)
class _Seen:
    """The head that was read last."""

    head: TableHead
    stamp: str
    """State of that version's commit file: a table that was created again has other ones under the same names."""


class HeadReader:
    """Reads a table's newest protocol and metadata.

    A poll of an unchanged table requests two files, however long the log is.

    Commits are numbered without gaps, so a file for the next version means news. If the known version's file is
    unchanged, the table was not created again. The log is still listed now and then, because only a listing shows some
    problems, such as a gap.

    The reader goes backwards from the newest commit until it has both protocol and metadata. It takes them from
    commits, from the first ``.crc`` that agrees with its own commit, from an earlier call, or from the checkpoint.

    :param table_log: the table's ``_delta_log``
    :param listing_interval: seconds after which the log is listed again
    """

    def __init__(self, table_log: ObjectStorageLog, listing_interval: float = 600.0) -> None:
        self._log = table_log
        self._listing_interval = listing_interval
        self._seen: _Seen | None = None
        self._listed = 0.0
        self._written: dict[int, float | None] = {}

    def read(self) -> TableHead | None:
        """Return the newest head, or None while there is no table.

        :raises BrokenLogError: if the log has a gap or is damaged
        :raises DeltaProviderError: if the store cannot be reached because a package or connection is missing
        :raises Exception: errors of the filesystem
        """
        if time.monotonic() - self._listed < self._listing_interval and (seen := self._still_valid()):
            try:
                return self._read_on(seen)
            except FileNotFoundError:
                log.info("A commit was deleted while it was read; the log is listed again.")
        return self._read_listed()

    def read_version(self, version: int, names: Collection[str]) -> TableHead:
        """Return the head of a version.

        :param names: names of the files in the log
        :raises BrokenLogError: if the version cannot be reconstructed from the log
        :raises Exception: errors of the filesystem
        """
        segment = select_segment(names, version)
        found = NewestFirst()
        self._collect(found, version, segment.checkpoint_version or 0, names, segment.checkpoint_version)
        self._complete(found, segment)
        return found.head(version)

    def _complete(self, found: NewestFirst, segment: LogSegment) -> None:
        for name in segment.checkpoint_files:
            if not found.complete:
                found.take(self._log.read_checkpoint(name))

    def _still_valid(self) -> _Seen | None:
        if self._seen is None or self._stamp(self._seen.head.version) != self._seen.stamp:
            self._seen = None
        return self._seen

    def _read_on(self, seen: _Seen) -> TableHead:
        """Read the commits after the known version."""
        version, stamp = newest_after(seen.head.version, self._stamp)
        if stamp is None:
            return seen.head
        found = NewestFirst()
        self._collect(found, version, seen.head.version + 1)
        found.settle(seen.head.protocol, seen.head.metadata)
        head = self._dated(found.head(version))
        self._seen = _Seen(head, stamp)
        return head

    def _read_listed(self) -> TableHead | None:
        try:
            names = set(self._log.names())
            segment = select_segment(names)
        except (FileNotFoundError, NoLogError):
            self._seen = None
            return None
        seen = self._still_valid()
        stamp = self._stamp(segment.version)
        found = NewestFirst()
        if seen is not None:
            self._collect(found, segment.version, seen.head.version + 1, names)
            found.settle(seen.head.protocol, seen.head.metadata)
        else:
            self._collect(found, segment.version, segment.checkpoint_version or 0, names, segment.checkpoint_version)
        self._complete(found, segment)
        head = self._dated(found.head(segment.version))
        self._seen = None if stamp is None else _Seen(head, stamp)
        self._listed = time.monotonic()
        return head

    def _dated(self, head: TableHead) -> TableHead:
        """Return the head with the time of its file.

        If its own time is earlier, add the latest time of earlier commits.
        """
        if head.version not in self._written:
            self._stamp(head.version)
        head = replace(head, written=self._written.get(head.version))
        self._written = {}
        stated = head.stated_at(head.info)
        if stated is None or head.written is None or stated > head.written * 1000 - _SLOW:
            return head
        now = time.time() * 1000
        earlier = map(self._info, range(max(head.version - _BEFORE, 0), head.version))
        times = (at for at in map(head.stated_at, earlier) if at is not None and at <= now)
        return replace(head, before=max(times, default=None))

    def _info(self, version: int) -> Mapping[str, Any]:
        try:
            return commit_info(actions_of_head(self._log.read(commit_name(version))))
        except (FileNotFoundError, ValueError):  # cleaned up or damaged, so it is ignored
            return {}

    def _stamp(self, version: int) -> str | None:
        state = self._log.state(commit_name(version))
        if state is None:
            return None
        self._written[version] = state.written
        return state.stamp

    def _collect(
        self,
        found: NewestFirst,
        newest: int,
        oldest: int,
        names: Collection[str] | None = None,
        checkpoint: int | None = None,
    ) -> None:
        """Read commits, newest first, until the head is complete.

        :param names: names of the files in the log; None if unknown
        :param checkpoint: version of the checkpoint. Its own commit is read only if it has a checksum or is the newest
        """
        versions = range(newest, oldest - 1, -1)
        if names is not None and checkpoint is not None and checkpoint in versions:
            helps = commit_name(checkpoint) in names and (checksum_name(checkpoint) in names or checkpoint == newest)
            versions = versions if helps else range(newest, checkpoint, -1)
        for version, content in self._contents(versions, names or ()):
            # Delta Spark writes a checksum soon after each commit, others never. The last commit is read anyway.
            has_checksum = newest - 2 < version and version > oldest
            if names is not None:
                has_checksum = checksum_name(version) in names
            actions = parse_commit(commit_name(version), content)
            found.take(actions)
            if found.complete:
                break
            if has_checksum and (checksum := self._checksum(version, actions)):
                found.settle(checksum.protocol, checksum.metadata)
                break

    def _contents(self, versions: Iterable[int], names: Collection[str]) -> Iterator[tuple[int, bytes]]:
        """Yield versions with the contents of their commits. Reads ahead, but not beyond the next checksum."""
        run: list[int] = []
        for version in versions:
            run.append(version)
            if checksum_name(version) in names:
                yield from zip(run, self._log.read_ahead(map(commit_name, run)))
                run = []
        yield from zip(run, self._log.read_ahead(map(commit_name, run)))

    def _checksum(self, version: int, actions: Sequence[Action]) -> Checksum | None:
        name = checksum_name(version)
        try:
            checksum = parse_checksum(self._log.read(name))
            reason = disagreement(checksum, actions)
        except FileNotFoundError:
            return None
        except BrokenChecksumError as error:
            reason = str(error)
        if reason is None:
            return checksum
        log.warning("Checksum file %s is ignored: %s.", name, reason)
        return None
