"""Parquet files of checkpoints, read into actions by PyArrow if it is installed and able, else without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT, PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.delta.snapshot import ActionBatch
from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.budget import Budget, TooLargeError
from airflow_delta_provider.jobs.delta import arrow_checkpoint
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
PARSED_FIELDS, _MOST_PARSED_BYTES = (PARTITION_VALUES, STATISTICS), 16 * 1024 * 1024


#: Fields of actions that are parsed as JSON, and the maximum number of characters of one.
_TEXTS, _MOST_TEXT = {"add": "stats", "metaData": "schemaString"}, 1 << 24
#: Maximum number of characters shown of a library's error.
_MOST_SAID = 300
_TOO_LARGE = (
    "Let an engine write a new checkpoint. If that one is not read either, and other engines read it, report this as a "
    "bug in the provider."
)


@dataclass(frozen=True)
class Wanted:
    """The actions and fields to read from a checkpoint file.

    :param fields: fields to read, by kind of action, for kinds that are not read completely; an empty entry skips the
        kind
    :param kinds: kinds of action to read; None for all kinds in the file
    :param parsed: True to keep the parsed values of the first files apart; see :func:`arrow_checkpoint.batches`
    """

    fields: Mapping[str, Sequence[str]]
    kinds: Sequence[str] | None
    parsed: bool = False


class CheckpointFiles:
    """Reads Parquet files of checkpoints.

    If one reader cannot read a file, the next one is tried. Only a reader of this package, or Spark, reports a file
    as damaged: an error of another library may be a limit of that library.
    """

    #: Maximum size in bytes of a file that PyArrow reads.
    _most_bytes: float = float("inf")

    def __init__(self, storage: TableStorage) -> None:
        self._storage = storage

    def batches(self, path: str, with_files: bool, budget: Budget | None = None) -> Iterator[ActionBatch]:
        """Yield the actions of a Parquet file of a checkpoint that make up a state.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        wanted = Wanted(_STATE_FIELDS if with_files else {"add": ()}, (*_STATE_KINDS, "add"))
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def all_batches(self, path: str, budget: Budget | None = None) -> Iterator[ActionBatch]:
        """Yield all actions of a Parquet file of a checkpoint, with all fields that are compared.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        small = self._storage.size(path) <= _MOST_PARSED_BYTES
        add = (*_COMPARED_FIELDS["add"], PARSED_COUNT, *(PARSED_FIELDS if small else ()))
        wanted = Wanted({**_COMPARED_FIELDS, "add": add}, None, parsed=True)
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if it is missing
        """
        return self._storage.size(path)

    def _read(self, path: str, wanted: Wanted, budget: Budget) -> Iterator[ActionBatch]:
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        size = self._storage.size(path)
        budget.add_file(size)
        before, yielded, refused = budget.left, Counter[str](), list[str]()
        try:
            if arrow_checkpoint.is_available() and size <= self._most_bytes:
                content = self._storage.read(path)
                try:
                    known = python_checkpoint.charged(content, wanted.fields, wanted.kinds, budget)
                    # PyArrow holds a value as often as it is used, and again as a Python object.
                    if known and before - budget.left <= budget.left:
                        found = arrow_checkpoint.batches(content, wanted.fields, wanted.kinds, parsed=wanted.parsed)
                        for batch in found:
                            yield batch
                            yielded[batch.kind] += batch.count
                        return
                except TooLargeError:
                    raise
                except Exception as error:  # error of PyArrow; its class says little
                    if shortage(error):
                        raise
                    refused.append(f"PyArrow {arrow_checkpoint.version()}: {_short(error)}")
                budget.give_back_to(before)
            if yielded:
                yield from _without_first(self._read_with_python(path, wanted, budget, refused), yielded)
            else:
                yield from self._read_otherwise(path, wanted, budget, refused)
        except TooLargeError as error:
            raise UnreadCheckpointError(f"checkpoint file {name} is too large: {error}", _TOO_LARGE) from error

    def _read_otherwise(
        self, path: str, wanted: Wanted, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        """Yield the actions of a file that PyArrow did not read.

        :param refused: messages of the readers that failed
        """
        return self._read_with_python(path, wanted, budget, refused)

    def _read_with_python(
        self, path: str, wanted: Wanted, budget: Budget, refused: Sequence[str]
    ) -> Iterator[ActionBatch]:
        """Yield the actions of a file, read by this package alone."""
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        content = self._storage.read(path)
        try:
            yield from python_checkpoint.batches(
                content, wanted.fields, wanted.kinds, parsed=wanted.parsed, budget=budget
            )
        except BrokenLogError as error:
            raise BrokenLogError(f"checkpoint file {name} is damaged: {error}") from error
        except python_checkpoint.UnreadFileError as error:
            said = "; ".join([*refused, f"the reader of this package: {error}"])
            remedy = f"Use the engine spark, or install {error.package} where the job runs."
            if any(text.startswith("PyArrow") for text in refused):
                remedy = "Read the table with another engine; if that can, report this as a bug in the provider."
            raise UnreadCheckpointError(f"no reader here can read checkpoint file {name} ({said})", remedy) from error


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
        values = None if field is None else batch.column(field)
        longest = max((len(text) for text in values or () if type(text) is str), default=0)
        if longest > _MOST_TEXT:
            name = path.rsplit("/", 1)[-1]
            long = f"a {field} of its {batch.kind} actions has {longest:,} characters, and the limit is {_MOST_TEXT:,}"
            raise UnreadCheckpointError(f"checkpoint file {name} is too large: {long}", _TOO_LARGE)
        yield batch


def _short(error: Exception) -> str:
    """Return the message of a library, in one line."""
    return " ".join(str(error).split())[:_MOST_SAID].rstrip(".") or type(error).__name__
