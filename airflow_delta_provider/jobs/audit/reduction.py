"""A large checkpoint, reduced by an engine's tasks to the files that an audit needs one by one.

The driver passes on the paths that the later commits name, and gets the files with these paths, the files that a rule
may find anything about, and the numbers of the others. Another checkpoint is compared in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action, parse_commit, read_actions
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import LogSegment, commit_name, commit_versions, is_odd, plain_path
from airflow_delta_provider.domain.delta.packed_files import PackedFiles
from airflow_delta_provider.domain.delta.partial_files import AllFilesNeededError, PartialFiles, UnlistedFiles
from airflow_delta_provider.domain.delta.snapshot import FILE_KINDS, CheckpointPart, batches_of, file_key
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.jobs.delta.checkpoint_files import LargeCheckpoint, Needs, ReducedCheckpoint
from airflow_delta_provider.jobs.delta.table_log import TableLog

_HEAD = ("protocol", "metaData", "domainMetadata")


class Reduction:
    """The checkpoint that an audit starts from.

    :param large: its files, in the engine's tasks
    :param found: the part that the driver needs
    """

    def __init__(self, large: LargeCheckpoint, found: ReducedCheckpoint) -> None:
        self._large = large
        self._found = found
        self._files: PartialFiles[int] | None = None
        self._tombstones: PartialFiles[int | None] | None = None

    @classmethod
    def of(cls, log: TableLog, base: LogSegment, names: Sequence[str]) -> Reduction | None:
        """Return a large checkpoint; None if the driver reads it.

        :param names: names of the files in the log
        :raises AllFilesNeededError: if the driver has to read it, although it is large
        """
        with _doubtful():
            large = log.large_checkpoint(base)
            if large is None:
                return None
            return cls(large, large.reduced(needs_of(log, base, names, large.head)))

    @property
    def parts(self) -> Sequence[CheckpointPart]:
        """The files of the checkpoint, without the actions that were counted."""
        return self._found.parts

    def live(self, files: MutableMapping[FileKey, LiveFile]) -> PartialFiles[LiveFile]:
        """Return the live files.

        :param files: live files of the parts
        """
        return PartialFiles(files, self._found.paths, _places(self._found.selected), self._found.live)

    def begun(
        self, files: MutableMapping[FileKey, int], tombstones: MutableMapping[FileKey, int | None]
    ) -> tuple[PartialFiles[int], PartialFiles[int | None]]:
        """Return the digests of the live files, and the tombstones, to compare other checkpoints with.

        :param files: digests of the parts, like ``tombstones``
        """
        paths, places = self._found.paths, _places(self._found.selected)
        self._files = PartialFiles(files, paths, places, UnlistedFiles(self._found.live.number))
        self._tombstones = PartialFiles(tombstones, paths, places, self._found.removed)
        return self._files, self._tombstones

    def compared(
        self, names: Sequence[str], retained_since: Callable[[Mapping[str, Any]], float]
    ) -> Sequence[CheckpointPart]:
        """Return another checkpoint, and make all files known that it describes differently.

        :param names: names of its files in the log
        :param retained_since: see :meth:`LargeCheckpoint.compared`
        :raises AllFilesNeededError: if the driver has to read both
        """
        assert self._files is not None
        assert self._tombstones is not None
        with _doubtful():
            other, own = self._large.compared(names, self._files.paths, retained_since)
            files = PackedFiles(digests=True)
            for batch in batches_of(action for _, action in own):
                files.take(batch)
            places = _places(own)
            self._files.join(files.digests(), other.paths, places)
            self._tombstones.join(files.tombstones(), other.paths, places)
        return other.parts

    def part(self) -> None:
        """Note that a comparison is over."""
        for files in (self._files, self._tombstones):
            if files is not None:
                files.part()


@contextmanager
def _doubtful() -> Iterator[None]:
    """After any error, let the driver read everything: it finds the cause."""
    try:
        yield
    except AllFilesNeededError:
        raise
    except Exception as error:
        raise AllFilesNeededError(f"the engine's tasks failed ({type(error).__name__})") from error


def _places(selected: Iterable[tuple[object, Action]]) -> dict[FileKey, object]:
    places: dict[FileKey, object] = {}
    for place, action in selected:
        for kind, body in action.items():
            if kind in FILE_KINDS and isinstance(body.get("path"), str):
                places.setdefault(file_key(body), place)
    return places


def needs_of(log: TableLog, base: LogSegment, names: Sequence[str], head: Sequence[Action]) -> Needs:
    """Return the files of a checkpoint that the later commits need one by one.

    :param base: segment that begins with the checkpoint
    :param names: names of the files in the log
    :param head: actions of the checkpoint that describe no file
    :raises BrokenLogError: if a commit is damaged
    """
    version = base.checkpoint_version or 0
    replay = Replay(with_files=False)
    replay.take(head)
    states = [replay.state(version)]
    paths: set[str] = set()
    ranges: list[tuple[int, int]] = []
    later = [commit_name(number) for number in commit_versions(names) if number > version]
    for name, content in zip(later, log.read_files(later)):
        actions = parse_commit(name, content)
        for _, file in read_actions(actions, FILE_KINDS):
            paths.add(file.path)
            if is_odd(file.path):
                paths.add(plain_path(file.path, log.root))
            if isinstance(file, LiveFile) and file.base_row_id is not None:
                ranges.append((file.base_row_id, 1 if file.num_records is None else file.num_records))
        if any(action.get(kind) for action in actions for kind in _HEAD):
            replay.take(actions)
            states.append(replay.state(version))
    marks = [state.row_tracking.high_water_mark for state in states]
    return Needs(
        frozenset(paths),
        version,
        tracked=any(state.row_tracking.supported for state in states),
        relied_upon=any(state.row_tracking.relied_upon for state in states),
        mark=min((mark for mark in marks if mark is not None), default=None),
        ranges=ranges,
    )
