"""Parquet files of checkpoints, read into actions by PyArrow if it is installed and able, else without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, UnreadCheckpointError
from airflow_delta_provider.domain.delta.parsed_fields import PARTITION_VALUES, STATISTICS
from airflow_delta_provider.domain.errors import shortage
from airflow_delta_provider.domain.formats.budget import Budget, TooLargeError
from airflow_delta_provider.jobs.delta import arrow_checkpoint
from airflow_delta_provider.jobs.delta.arrow_checkpoint import PARSED_COUNT
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
    :param parsed: True to include the parsed values of the first files
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

    def actions(self, path: str, with_files: bool, budget: Budget | None = None) -> Iterator[Action]:
        """Yield the actions of a Parquet file of a checkpoint that make up a state.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        wanted = Wanted(_STATE_FIELDS if with_files else {"add": ()}, (*_STATE_KINDS, "add"))
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def all_actions(self, path: str, budget: Budget | None = None) -> Iterator[Action]:
        """Yield all actions of a Parquet file of a checkpoint, with all fields that are compared.

        :param budget: memory that the files of the checkpoint share; by default, this file has a budget of its own
        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        :raises UnreadCheckpointError: if no reader can read it, or it exceeds the budget
        """
        small = self._storage.size(path) <= _MOST_PARSED_BYTES
        parsed = {"add": (*_COMPARED_FIELDS["add"], *PARSED_FIELDS)} if small else {}
        wanted = Wanted({**_COMPARED_FIELDS, **parsed}, None, parsed=small)
        return _with_short_texts(path, self._read(path, wanted, budget or Budget()))

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if it is missing
        """
        return self._storage.size(path)

    def _read(self, path: str, wanted: Wanted, budget: Budget) -> Iterator[Action]:
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        size = self._storage.size(path)
        budget.add_file(size)
        before, yielded, refused = budget.left, 0, list[str]()
        try:
            if arrow_checkpoint.is_available() and size <= self._most_bytes:
                content = self._storage.read(path)
                try:
                    known = python_checkpoint.charged(content, wanted.fields, wanted.kinds, budget)
                    # PyArrow holds a value as often as it is used, and again as a Python object.
                    if known and before - budget.left <= budget.left:
                        found = arrow_checkpoint.actions(content, wanted.fields, wanted.kinds, parsed=wanted.parsed)
                        for action in found:
                            yield action
                            yielded += 1
                        return
                except TooLargeError:
                    raise
                except Exception as error:  # error of PyArrow; its class says little
                    if shortage(error):
                        raise
                    refused.append(f"PyArrow {arrow_checkpoint.version()}: {_short(error)}")
                budget.give_back_to(before)
            if yielded:
                yield from islice(self._read_with_python(path, wanted, budget, refused), yielded, None)
            else:
                yield from self._read_otherwise(path, wanted, budget, refused)
        except TooLargeError as error:
            raise UnreadCheckpointError(f"checkpoint file {name} is too large: {error}", _TOO_LARGE) from error

    def _read_otherwise(self, path: str, wanted: Wanted, budget: Budget, refused: Sequence[str]) -> Iterator[Action]:
        """Yield the actions of a file that PyArrow did not read.

        :param refused: messages of the readers that failed
        """
        return self._read_with_python(path, wanted, budget, refused)

    def _read_with_python(self, path: str, wanted: Wanted, budget: Budget, refused: Sequence[str]) -> Iterator[Action]:
        """Yield the actions of a file, read by this package alone."""
        from airflow_delta_provider.jobs.delta import python_checkpoint  # imported late: few logs have one

        name = path.rsplit("/", 1)[-1]
        content = self._storage.read(path)
        try:
            yield from python_checkpoint.actions(
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


def _with_short_texts(path: str, actions: Iterator[Action]) -> Iterator[Action]:
    """Yield actions, unless a JSON string in one is too long: parsed, it takes up to 25 times its size.

    :raises UnreadCheckpointError: if there is such a string
    """
    for action in actions:
        for kind, field in _TEXTS.items():
            text = (action.get(kind) or {}).get(field)
            if type(text) is str and len(text) > _MOST_TEXT:
                name = path.rsplit("/", 1)[-1]
                long = f"a {field} of its {kind} actions has {len(text):,} characters, and the limit is {_MOST_TEXT:,}"
                raise UnreadCheckpointError(f"checkpoint file {name} is too large: {long}", _TOO_LARGE)
        yield action


def _short(error: Exception) -> str:
    """Return the message of a library, in one line."""
    return " ".join(str(error).split())[:_MOST_SAID].rstrip(".") or type(error).__name__
