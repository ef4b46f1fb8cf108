"""Parquet files of checkpoints, read into actions by PyArrow if it is installed and able, else without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError, is_uuid_named
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT, PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.partial_files import UnlistedFiles
from airflow_delta_provider.domain.delta.snapshot import ActionBatch, CheckpointPart
from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.budget import Budget, TooLargeError
from airflow_delta_provider.domain.formats.parquet.footer import Content, read_footer
from airflow_delta_provider.jobs.delta import arrow_checkpoint
from airflow_delta_provider.jobs.storage.storage import BlockFile
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

_STATE_KINDS = ("protocol", "metaData", "domainMetadata", "sidecar")
_FILE_FIELDS = ("path", "size", "baseRowId", "defaultRowCommitVersion", "deletionVector")
#: Fields that make up a state, by kind of action. Other kinds are read with all fields.
_STATE_FIELDS: Mapping[str, Sequence[str]] = {"add": (*_FILE_FIELDS, "stats", PARSED_COUNT)}
#: Fields by which checkpoints are compared. All of them are fields that a checkpoint must not leave out.
_COMPARED_FIELDS: Mapping[str, Sequence[str]] = {
    "add": (*_FILE_FIELDS, "partitionValues", "modificationTime", "tags", "clusteringProvider", "stats"),
    "remove": ("path", "deletionTimestamp", "deletionVector"),
}
#: Parsed fields of a checkpoint, and the file size in bytes up to which they are compared.
PARSED_FIELDS, MOST_PARSED_BYTES = (PARTITION_VALUES, STATISTICS), 16 * 1024 * 1024


#: Fields of actions that are parsed as JSON, and the maximum number of characters of one.
_TEXTS, MOST_TEXT = {"add": "stats", "metaData": "schemaString"}, 1 << 24
#: Setting of a session: number of files of a table above which Spark's tasks read its checkpoints for an audit.
FILES_ON_DRIVER = "spark.airflow_delta_provider.filesOnDriver"
#: Minimum number of bytes that a file of a table takes in a checkpoint.
LEAST_BYTES = 4
#: Bytes of a file up to which it is read as a whole.
_MOST_WHOLE = 16 * 1024 * 1024
#: Maximum number of characters shown of a library's error.
_MAX_MESSAGE = 300
_TOO_LARGE = (
    "Let an engine write a new checkpoint. If that one is not read either, and other engines read it, report this as a "
    "bug in the provider."
)


class _NotForArrowError(Exception):
    """A file whose values PyArrow must not read."""


class CheckpointColumns(NamedTuple):
    """The actions and fields to read from a checkpoint file.

    :param fields: fields to read, by kind of action, for kinds that are not read completely; an empty entry skips the
        kind
    :param kinds: kinds of action to read; None for all kinds in the file
    :param parsed: True to keep the parsed values of the first files apart; see :func:`arrow_checkpoint.batches`
    """

    fields: Mapping[str, Sequence[str]]
    kinds: Sequence[str] | None
    parsed: bool = False


def compared_fields(*, parsed: bool) -> Mapping[str, Sequence[str]]:
    """Return the fields by which checkpoints are compared, by kind of action.

    :param parsed: True to include parsed fields
    """
    add = (*_COMPARED_FIELDS["add"], PARSED_COUNT, *(PARSED_FIELDS if parsed else ()))
    return {**_COMPARED_FIELDS, "add": add}


class Needs(NamedTuple):
    """The files of a checkpoint that an audit needs one by one.

    :param paths: paths that later commits name
    :param version: version of the checkpoint
    :param tracked: True if rules about row ids apply
    :param relied_upon: True if every file must have row ids
    :param mark: lowest high water mark of row ids; None if there is none
    :param ranges: row ids that later commits assign: pairs of the first id and the number of rows
    """

    paths: frozenset[str]
    version: int
    tracked: bool = False
    relied_upon: bool = False
    mark: int | None = None
    ranges: Sequence[tuple[int, int]] = ()


class ReducedCheckpoint(NamedTuple):
    """A checkpoint without the files that an audit does not need one by one.

    :param parts: files of the checkpoint, as :meth:`TableLog.checkpoint_parts` yields them
    :param paths: paths of the files that are known one by one
    :param selected: actions of these files with their places in the checkpoint, in their order
    :param live: the other live files
    :param removed: the other removed files
    """

    parts: Sequence[CheckpointPart]
    paths: Set[str]
    selected: Sequence[tuple[object, Action]]
    live: UnlistedFiles
    removed: UnlistedFiles


class LargeCheckpoint(Protocol):
    """A checkpoint that an engine reads in its tasks.

    Its methods may raise any error of the engine.
    """

    @property
    def head(self) -> Sequence[Action]:
        """The actions that describe no file."""

    def reduced(self, needs: Needs) -> ReducedCheckpoint:
        """Read the checkpoint.

        :raises AllFilesNeededError: if too many files are needed one by one
        """

    def compared(
        self, files: Sequence[str], paths: Set[str], retained_since: Callable[[Mapping[str, Any]], float]
    ) -> tuple[ReducedCheckpoint, Sequence[tuple[object, Action]]]:
        """Return another checkpoint with all files that differ, and the actions of these files in this one.

        The actions have their places. Only files without a path in ``paths`` differ: commits explain the others.

        :param files: names of the other checkpoint's files in the log
        :param paths: paths of the files that are known one by one
        :param retained_since: returns the time, in milliseconds since 1970, after which tombstones must be kept,
            from the table's properties
        :raises AllFilesNeededError: if they are too many
        """


class LargeReader(Protocol):
    """Opens checkpoints that are too large for this process."""

    def __call__(
        self, files: CheckpointFiles, storage: TableStorage, directory: str, names: Sequence[str]
    ) -> LargeCheckpoint | None:
        """See :meth:`CheckpointFiles.large`."""


class CheckpointFiles:
    """Reads Parquet files of checkpoints.

    If one reader cannot read a file, the next one is tried. Only a reader of this package, or Spark, reports a file
    as damaged: an error of another library may be a limit of that library.

    :param large: opens large checkpoints; None if no engine can
    """

    def __init__(self, storage: TableStorage, large: LargeReader | None = None) -> None:
        self._storage = storage
        self._large = large

    def batches(self, path: str, with_files: bool, budget: Budget | None = None) -> Iterator[ActionBatch]:
        """Yield the actions of a Parquet file of a checkpoint that make up a state.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        wanted = CheckpointColumns(_STATE_FIELDS if with_files else {"add": ()}, (*_STATE_KINDS, "add"))
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def all_batches(self, path: str, budget: Budget | None = None) -> Iterator[ActionBatch]:
        """Yield all actions of a Parquet file of a checkpoint, with all fields that are compared.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        fields = compared_fields(parsed=self._storage.size(path) <= MOST_PARSED_BYTES)
        wanted = CheckpointColumns(fields, None, parsed=True)
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def large(self, directory: str, names: Sequence[str]) -> LargeCheckpoint | None:
        """Return a checkpoint that is too large for this process; None if it is not, or no engine can read it.

        :param directory: location of the log
        :param names: names of the checkpoint's files
        """
        return None if self._large is None else self._large(self, self._storage, directory, names)

    def actions_in(self, directory: str, names: Sequence[str], most: int) -> int:
        """Return the number of rows in the files of a checkpoint, from their footers.

        :param directory: location of the log
        :param names: names of the files
        :param most: number up to which it is not exact: few bytes cannot hold more rows
        :raises Exception: error of the storage or of a file
        """
        paths = [f"{directory}/{name}" for name in names]
        for path in [path for path in paths if is_uuid_named(path.rsplit("/", 1)[-1])]:
            actions: Iterable[Action]
            if path.endswith(".json"):
                actions = parse_commit(path, self._storage.read(path))
            else:
                actions = (action for batch in self.batches(path, with_files=False) for action in batch.actions())
            found = [action["sidecar"]["path"] for action in actions if action.get("sidecar")]
            paths += [f"{directory}/_sidecars/{sidecar}" for sidecar in found]
        sizes = {path: self._storage.size(path) for path in paths if path.endswith(".parquet")}
        if sum(sizes.values()) < most * LEAST_BYTES:
            return 0
        return sum(read_footer(self._opened(path, size)).num_rows for path, size in sizes.items())

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if it is missing
        """
        return self._storage.size(path)

    def _read(self, path: str, wanted: CheckpointColumns, budget: Budget) -> Iterator[ActionBatch]:
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        size = self._storage.size(path)
        budget.add_file(size)
        before, yielded, refused = budget.left, Counter[str](), list[str]()
        try:
            if arrow_checkpoint.is_available():
                content = self._opened(path, size)
                charges = python_checkpoint.charges(content, wanted.fields, wanted.kinds, budget)

                def charge() -> None:
                    # PyArrow holds a value as often as it is used, and again as a Python object.
                    if not next(charges, False) or before - budget.left > budget.left:
                        raise _NotForArrowError

                try:
                    charge()
                    for batch in arrow_checkpoint.batches(
                        content, wanted.fields, wanted.kinds, parsed=wanted.parsed, begin_group=charge
                    ):
                        yield batch
                        yielded[batch.kind] += batch.count
                    return
                except TooLargeError:
                    raise
                except _NotForArrowError:
                    pass
                except Exception as error:  # error of PyArrow; its class says little
                    if shortage(error):
                        raise
                    if isinstance(content, BlockFile) and content.failure is not None:
                        raise content.failure from error
                    refused.append(f"PyArrow {arrow_checkpoint.version()}: {_short(error)}")
                budget.give_back_to(before)
            if yielded:
                yield from _without_first(self._read_with_python(path, wanted, budget, refused), yielded)
            else:
                yield from self._read_otherwise(path, wanted, budget, refused)
        except TooLargeError as error:
            raise UnreadCheckpointError(f"checkpoint file {name} is too large: {error}", _TOO_LARGE) from error

    def _opened(self, path: str, size: int) -> Content:
        """Return a file: as a whole if it is small, otherwise its parts are read when they are needed."""
        return self._storage.read(path) if size <= _MOST_WHOLE else BlockFile(self._storage, path, size)

    def _read_otherwise(
        self, path: str, wanted: CheckpointColumns, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        """Yield the actions of a file that PyArrow did not read.

        :param refused: messages of the readers that failed
        """
        return self._read_with_python(path, wanted, budget, refused)

    def _read_with_python(
        self, path: str, wanted: CheckpointColumns, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        """Yield the actions of a file, read by this package alone."""
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        content = self._opened(path, self._storage.size(path))
        try:
            yield from python_checkpoint.batches(
                content, wanted.fields, wanted.kinds, parsed=wanted.parsed, budget=budget
            )
        except BrokenLogError as error:
            raise BrokenLogError(f"checkpoint file {name} is damaged: {error}") from error
        except python_checkpoint.UnreadFileError as error:
            refusals = "; ".join([*refused, f"the reader of this package: {error}"])
            remedy = f"Use the engine spark, or install {error.package} where the job runs."
            if any(text.startswith("PyArrow") for text in refused):
                remedy = "Read the table with another engine; if that can, report this as a bug in the provider."
            raise UnreadCheckpointError(
                f"no reader here can read checkpoint file {name} ({refusals})", remedy
            ) from error


def _without_first(batches: Iterator[ActionBatch], counts: Mapping[str, int]) -> Iterator[ActionBatch]:
    """Yield batches without the first actions of each kind.

    :param counts: number of actions to leave out, by kind
    """
    left = Counter(counts)
    for batch in batches:
        skipped = min(left[batch.kind], batch.count)
        left[batch.kind] -= skipped
        if skipped < batch.count:
            yield batch.after(skipped) if skipped else batch


def _with_short_texts(path: str, batches: Iterator[ActionBatch]) -> Iterator[ActionBatch]:
    """Yield actions, unless a JSON string in one is too long: parsed, it takes up to 25 times its size.

    :raises UnreadCheckpointError: if there is such a string
    """
    for batch in batches:
        field = _TEXTS.get(batch.kind)
        longest = 0 if field is None else batch.longest(field)
        if longest > MOST_TEXT:
            name = path.rsplit("/", 1)[-1]
            long = f"a {field} of its {batch.kind} actions has {longest:,} characters, and the limit is {MOST_TEXT:,}"
            raise UnreadCheckpointError(f"checkpoint file {name} is too large: {long}", _TOO_LARGE)
        yield batch


def _short(error: Exception) -> str:
    """Return the message of a library, in one line."""
    return " ".join(str(error).split())[:_MAX_MESSAGE].rstrip(".") or type(error).__name__
