"""Reads a table's log into values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import unquote

from airflow_delta_provider.domain.delta.commit import (
    Action,
    Commit,
    CommitTime,
    actions_of_head,
    check_actions,
    commit_info,
    in_order,
    parse_commit,
    time_of,
)
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    BrokenCheckpointError,
    BrokenCommitError,
    BrokenLogError,
    LogSegment,
    UnreadCheckpointError,
    commit_name,
    commit_versions,
    earliest_version,
    select_segment,
    version_of,
)
from airflow_delta_provider.domain.delta.packed_files import NotPackedError, PackedFiles
from airflow_delta_provider.domain.delta.snapshot import FILE_KINDS, ActionBatch, CheckpointPart, batches_of, file_key
from airflow_delta_provider.domain.delta.table_state import CommitBase, Replay, TableState, Transition, advance
from airflow_delta_provider.domain.formats.budget import Budget
from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointFiles, LargeCheckpoint
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

#: Number of commits to read at once if the number needed is unknown.
_AT_ONCE = 100
_SIDECARS = "_sidecars"
#: Bytes of files of the log that are kept to be read again.
_MOST_KEPT = 1 << 25


class History(NamedTuple):
    """The newest state of a table, and the commits that led to it.

    :param state: newest state with its files, read from the newest checkpoint on, as readers see it
    :param transitions: commits that led to it, oldest first; empty if the log has no earlier state
    :param segment: segment that ``state`` was read from
    :param replayed: state that these commits add up to, if ``state`` begins at a checkpoint among them; else None
    """

    state: TableState
    transitions: tuple[Transition, ...]
    segment: LogSegment
    replayed: TableState | None = None


class TableLog:
    """The ``_delta_log`` of one table."""

    def __init__(self, storage: TableStorage, location: str, checkpoints: CheckpointFiles) -> None:
        self._storage = storage
        self.root = location
        """URI of the table."""
        self._directory = f"{location.rstrip('/')}/_delta_log"
        self._checkpoints = checkpoints
        self._kept: dict[str, bytes | None] = {}
        self._room = _MOST_KEPT

    def keep_commits(self, names: Iterable[str], version: int) -> None:
        """Keep the commits from the last checkpoint to ``version`` once they are read, unless they are too large.

        They are then requested once from a store. Local files are cheap to read again, and are not kept.

        :param names: names of the files in the log
        """
        if not self._storage.is_local(self._directory):
            with suppress(BrokenLogError):  # a gap, which others report
                self._kept = dict.fromkeys(select_segment(names, version).commits)

    def read_state(self, *, with_files: bool = False, version: int | None = None) -> TableState:
        """Replay the log up to ``version``, by default the newest.

        :param with_files: True to include the live files; if False, only file actions are skipped
        :raises MissingFileError: if there is no ``_delta_log``
        :raises BrokenLogError: if the log has a gap, is damaged or has no protocol or metadata
        """
        segment = select_segment(self.list_names(), version)
        return self._replay(segment, with_files=with_files).state(segment.version)

    def read_commit_base(self, version: int | None = None, *, with_files: bool = True) -> CommitBase:
        """Return ``version``, by default the newest, as the base of a new commit: with its files, and as logged.

        :param with_files: False to leave out the files
        :raises MissingFileError: if there is no ``_delta_log``
        :raises BrokenLogError: if the log has a gap, is damaged or has no protocol or metadata
        """
        names = self.list_names()
        segment = select_segment(names, version)
        head: dict[str, Any] = {}
        state = self._replay(segment, with_files=with_files, head=head).state(segment.version)
        name = commit_name(segment.version)
        previous = Commit.from_actions(segment.version, self.read_commit(name)) if name in names else None
        return CommitBase(state, head["protocol"], head["metaData"], previous)

    def read_history(self, since: int | None = None) -> History:
        """Replay the log up to the newest version, and keep the commits after ``since``.

        :param since: version; by default the one before the newest, if the log still has it
        :raises MissingFileError: if there is no ``_delta_log``
        :raises BrokenLogError: if the log has a gap, is damaged, or no longer has ``since``
        """
        names = self.list_names()
        newest = select_segment(names)
        checkpointed: TableState | None = None
        try:
            base = select_segment(names, newest.version - 1 if since is None else since)
            if base.checkpoint_version != newest.checkpoint_version:
                checkpointed = self._replay(newest, with_files=True).state(newest.version)
            replay = self._replay(base, with_files=True)
            transitions = [
                advance(replay, version, parse_commit(name, content))
                for version, name, content in self.commits(range(base.version + 1, newest.version + 1))
            ]
        except (BrokenLogError, MissingFileError):
            if since is not None:
                raise
            return History(checkpointed or self._replay(newest, with_files=True).state(newest.version), (), newest)
        replayed = replay.state(newest.version)
        if checkpointed is None:
            return History(replayed, tuple(transitions), newest)
        return History(checkpointed, tuple(transitions), newest, replayed)

    def earliest_version(self) -> int | None:
        """Return the oldest version whose state and later commits the log still has, judging by file names."""
        return earliest_version(self.list_names())

    def list_names(self) -> list[str]:
        """Return the names of the files in the log.

        :raises MissingFileError: if there is no ``_delta_log``
        """
        return self._storage.list_names(self._directory)

    def read_file(self, name: str) -> bytes:
        """Return the content of a file of the log.

        :raises MissingFileError: if there is no such file
        """
        kept = self._kept.get(name)
        return self._keep(name, self._storage.read(f"{self._directory}/{name}")) if kept is None else kept

    def written_at(self, name: str) -> datetime:
        """Return the storage's time of the last write to a file of the log, in UTC.

        :raises MissingFileError: if there is no such file
        """
        return self._storage.written_at(f"{self._directory}/{name}")

    def read_files(self, names: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of files of the log, in order. Many remote files are read at once.

        :raises MissingFileError: if a file is missing
        """
        names = list(names)
        kept = {name: content for name in names if (content := self._kept.get(name)) is not None}
        read = self._storage.read_ahead([f"{self._directory}/{name}" for name in names if name not in kept])
        return (kept[name] if name in kept else self._keep(name, next(read)) for name in names) if self._kept else read

    def _keep(self, name: str, content: bytes) -> bytes:
        """Return the content of a file, and keep it if the file is to be kept and fits."""
        if name in self._kept and self._kept[name] is None and len(content) <= self._room:
            self._kept[name] = content
            self._room -= len(content)
        return content

    def replay(self, segment: LogSegment) -> Replay:
        """Return a replay of a segment, with the files.

        :raises BrokenLogError: if a file of the segment is damaged
        """
        return self._replay(segment, with_files=True)

    def checkpoint_parts(self, segment: LogSegment) -> Iterator[CheckpointPart]:
        """Yield the files of a segment's checkpoint. Sidecar files follow the file that names them.

        The actions of a file must be read before the next file is requested.

        :raises BrokenLogError: if a file is damaged or missing
        """
        budget = Budget()
        for name in segment.checkpoint_files:
            path = f"{self._directory}/{name}"
            batches = self._json_batches(name) or self._checkpoints.all_batches(path, budget)
            sidecars: list[str] = []
            yield CheckpointPart(name, self._checkpoints.size(path), _noting_sidecars(batches, name, sidecars))
            for sidecar in dict.fromkeys(sidecars):
                below = f"{self._directory}/{_SIDECARS}/{sidecar}"
                with self._of_checkpoint(sidecar, path):
                    size = self._checkpoints.size(below)
                    yield CheckpointPart(sidecar, size, self._checkpoints.all_batches(below, budget), is_sidecar=True)

    def large_checkpoint(self, segment: LogSegment) -> LargeCheckpoint | None:
        """Return the checkpoint of a segment if it is too large for this process; None if it is not."""
        return self._checkpoints.large(self._directory, segment.checkpoint_files)

    def _json_batches(self, name: str) -> Iterator[ActionBatch] | None:
        """Return the actions of a checkpoint file that is JSON; None for other files."""
        return batches_of(self.read_commit(name)) if name.endswith(".json") else None

    def read_commit(self, name: str) -> list[Action]:
        """Return the actions of a commit file.

        :raises BrokenLogError: if it is damaged
        """
        return parse_commit(name, self.read_file(name))

    def commits_after(self, version: int) -> Iterator[tuple[int, list[Action]]]:
        """Yield the commits after ``version``, oldest first, with their versions."""
        for later, name, content in self.commits(v for v in commit_versions(self.list_names()) if v > version):
            yield later, parse_commit(name, content)

    def transitions(self, version: int, begin: Callable[[TableState], None]) -> Iterator[Transition]:
        """Yield the effects of the commits that led to ``version``, oldest first, as far back as the log reaches.

        :param begin: receives the state before the first of these commits, with its files
        :raises MissingFileError: if a file is missing
        :raises BrokenLogError: if the log is damaged, or does not lead to ``version``
        """
        names = [name for name in self.list_names() if name[:20].isdecimal() and int(name[:20]) <= version]
        earliest = earliest_version(names)
        base = select_segment(names, earliest)
        replay = self._replay(base, with_files=True)
        state = replay.state(base.version)
        begin(state)
        for later, name, content in self.commits(range(base.version + 1, version + 1)):
            yield advance(replay, later, parse_commit(name, content))

    def commits_from_start(self, version: int) -> tuple[TableState | None, Iterator[list[Action]]]:
        """Return the state before the first kept commit, and the commits up to ``version``, oldest first.

        The state includes its files. It is None if the first kept commit created the table.

        :raises MissingFileError: if a file is missing
        :raises BrokenLogError: if the log is damaged, or does not lead to ``version``
        """
        names = [name for name in self.list_names() if name[:20].isdecimal() and int(name[:20]) <= version]
        if commit_name(0) in names:
            first, base = 0, None
        else:
            segment = select_segment(names, earliest_version(names))
            base = self._replay(segment, with_files=True).state(segment.version)
            first = segment.version + 1
        versions = (later for later in commit_versions(names) if later >= first)
        return base, (parse_commit(name, content) for _, name, content in self.commits(versions))

    def live_adds(
        self, state: TableState, *, complete: bool = False, note_listed: Callable[[Action], None] | None = None
    ) -> Iterator[Action]:
        """Yield the bodies of the ``add`` actions of live files, oldest first. A file can have several.

        :param state: state with its files
        :param complete: True to include the fields of checkpoints that are not part of a state
        :param note_listed: receives all ``add`` actions of the checkpoint, also of files that were removed later
        :raises MissingFileError: if a file of the log is missing
        :raises BrokenLogError: if the log is damaged
        """
        files = state.files or {}
        segment = select_segment(self.list_names(), state.version)
        contents = zip(segment.commits, self.read_files(segment.commits))
        commits = (action for name, content in contents for action in parse_commit(name, content))
        for actions, note in ((self._checkpoint_actions(segment, complete=complete), note_listed), (commits, None)):
            for action in actions:
                if (add := action.get("add")) is None:
                    continue
                if note is not None:
                    note(add)
                if file_key(add) in files:
                    yield add

    def live_statistics(self, state: TableState) -> Iterator[tuple[LiveFile, object]]:
        """Yield the live files with their statistics as logged, newest first.

        They are None if a file has none, and False if its part of the log cannot be read.

        :param state: state with its files
        """
        left = dict(state.files or {})
        with suppress(BrokenLogError, MissingFileError, UnreadFileError):
            segment = select_segment(self.list_names(), state.version)
            names = segment.commits[::-1]
            commits = (parse_commit(name, content) for name, content in zip(names, self.read_files(names)))
            checkpoint = self._checkpoint_actions(segment)
            for action in chain(chain.from_iterable(commits), checkpoint):
                if not left:
                    break
                add = action.get("add")
                if add is not None and (file := left.pop(file_key(add), None)) is not None:
                    yield file, add.get("stats")
        yield from ((file, False) for file in left.values())

    def newest_commits(self) -> Iterator[tuple[int, list[Action]]]:
        """Yield the commits that are kept and intact, newest first, with their versions."""
        versions = commit_versions(self.list_names())[::-1]
        for start in range(0, len(versions), _AT_ONCE):
            for version, name, content in self.commits(versions[start : start + _AT_ONCE]):
                with suppress(BrokenLogError):
                    yield version, parse_commit(name, content)

    def commits(self, versions: Iterable[int]) -> Iterator[tuple[int, str, bytes]]:
        """Yield versions, each with the name and the content of its commit file.

        :raises MissingFileError: if a commit is missing
        """
        of_versions = [(version, commit_name(version)) for version in versions]
        contents = self.read_files(name for _, name in of_versions)
        for (version, name), content in zip(of_versions, contents):
            yield version, name, content

    def _replay(
        self,
        segment: LogSegment,
        *,
        with_files: bool,
        head: dict[str, Any] | None = None,
    ) -> Replay:
        """Return a replay of a segment.

        :param head: receives the last protocol and metaData actions, as logged
        """
        replay = Replay(with_files=with_files)
        try:
            try:
                self._take_checkpoint(replay, segment, head, pack=with_files)
            except NotPackedError:
                replay = Replay(with_files=with_files)
                self._take_checkpoint(replay, segment, head, pack=False)
            if segment.checkpoint_files:
                replay.state(segment.version)
        except UnreadCheckpointError:
            raise
        except BrokenLogError as error:
            raise BrokenCheckpointError(str(error)) from error
        self.take_commits(replay, segment, head)
        return replay

    def _take_checkpoint(self, replay: Replay, segment: LogSegment, head: dict[str, Any] | None, *, pack: bool) -> None:
        """Apply the checkpoint of a segment.

        :param pack: True to keep its files packed, if they are many
        :raises NotPackedError: if they cannot be packed
        """
        files = PackedFiles(live=True) if pack and segment.checkpoint_files else None
        for batch in self._checkpoint_batches(segment, replay.has_files):
            if files is not None and batch.kind in FILE_KINDS:
                if batch.kind == "remove":
                    check_actions(batch.actions())
                files.take(batch)
            else:
                replay.take(_noted(batch.actions(), head))
        if files is not None:
            replay.begin_with(files.live())

    def take_commits(self, replay: Replay, segment: LogSegment, head: dict[str, Any] | None = None) -> None:
        """Apply the commits of a segment, which follow its checkpoint.

        :param head: receives the last protocol and metaData actions, as logged
        :raises BrokenCommitError: if a commit is damaged
        """
        for name, content in zip(segment.commits, self.read_files(segment.commits)):
            try:
                replay.take(_noted(parse_commit(name, content), head))
            except BrokenLogError as error:
                raise BrokenCommitError(str(error), version_of(name)) from error

    def _checkpoint_actions(self, segment: LogSegment, *, complete: bool = False) -> Iterator[Action]:
        batches = self._checkpoint_batches(segment, with_files=True, complete=complete)
        return chain.from_iterable(batch.actions() for batch in batches)

    def _checkpoint_batches(
        self, segment: LogSegment, with_files: bool, *, complete: bool = False
    ) -> Iterator[ActionBatch]:
        budget = Budget()

        def read(file: str) -> Iterator[ActionBatch]:
            if complete:
                return self._checkpoints.all_batches(file, budget)
            return self._checkpoints.batches(file, with_files, budget)

        for name in segment.checkpoint_files:
            path = f"{self._directory}/{name}"
            sidecars: list[str] = []
            batches = self._json_batches(name) or read(path)
            yield from _noting_sidecars(batches, name, sidecars)
            for sidecar in sidecars if with_files else ():
                with self._of_checkpoint(sidecar, path):
                    yield from read(f"{self._directory}/{_SIDECARS}/{sidecar}")

    @contextmanager
    def _of_checkpoint(self, sidecar: str, path: str) -> Iterator[None]:
        """Report a missing sidecar file as damage, unless the log was cleaned up and the checkpoint is also missing."""
        try:
            yield
        except MissingFileError:
            self._storage.size(path)
            raise BrokenLogError(f"its sidecar file {sidecar} is missing") from None


def _noting_sidecars(batches: Iterable[ActionBatch], name: str, sidecars: list[str]) -> Iterator[ActionBatch]:
    """Yield the actions of a checkpoint file, and collect the sidecar files that they name."""
    for batch in batches:
        if batch.kind == "sidecar":
            sidecars += [_sidecar_path(sidecar, name) for sidecar in batch.bodies() if sidecar]
        yield batch


def _noted(actions: Iterable[Action], head: dict[str, Any] | None) -> Iterable[Action]:
    """Return actions; if ``head`` is given, it receives the protocol and metaData actions."""
    return actions if head is None else _noting(actions, head)


def _noting(actions: Iterable[Action], head: dict[str, Any]) -> Iterator[Action]:
    for action in actions:
        head.update((kind, action[kind]) for kind in ("protocol", "metaData") if action.get(kind) is not None)
        yield action


def _sidecar_path(sidecar: Any, name: str) -> str:
    path = sidecar.get("path") if isinstance(sidecar, dict) else None
    if not isinstance(path, str):
        raise BrokenLogError(f"a sidecar action of checkpoint file {name} has no path")
    return unquote(path).rsplit("/", 1)[-1]  # only the name counts: it lies in the table's own folder of sidecar files


_IN_COMMIT = "inCommitTimestamp"


def commit_times(log: TableLog, versions: Iterable[int]) -> Iterator[CommitTime]:
    """Yield the times of commits as readers interpret them, oldest first.

    :param versions: all versions in the log, ascending
    :raises MissingFileError: if a commit is missing
    """
    return in_order(_logged_times(log, versions))


def _logged_times(log: TableLog, versions: Iterable[int]) -> Iterator[CommitTime]:
    for version, _, content in log.commits(versions):
        try:
            info = commit_info(actions_of_head(content))
        except ValueError:
            info = {}
        yield time_of_commit(log, version, info)


def time_of_commit(log: TableLog, version: int, info: Mapping[str, Any]) -> CommitTime:
    """Return the time of a commit: the time that it states, or else the time at which its file was written.

    :raises MissingFileError: if its file is needed but missing
    """
    for key in (_IN_COMMIT, "timestamp"):
        text = time_of(info.get(key))
        if text is not None:
            return CommitTime(version, datetime.fromisoformat(text), key == _IN_COMMIT)
    return CommitTime(version, log.written_at(commit_name(version)), is_in_commit=False)
