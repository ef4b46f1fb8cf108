"""The Parquet files of checkpoints, read into actions by PyArrow where it is installed, else with Python alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.parsed_fields import PARTITION_VALUES, STATISTICS
from airflow_delta_provider.jobs.delta.log import arrow_checkpoint
from airflow_delta_provider.jobs.delta.log.arrow_checkpoint import PARSED_COUNT
from airflow_delta_provider.jobs.storage.storage import Storage

_STATE_KINDS = ("protocol", "metaData", "domainMetadata", "sidecar")
_FILE_FIELDS = ("path", "size", "baseRowId", "defaultRowCommitVersion", "deletionVector")
#: What a state is made of, by kinds of actions: of others all fields.
_STATE_FIELDS: Mapping[str, Sequence[str]] = {"add": (*_FILE_FIELDS, "stats", PARSED_COUNT)}
#: What a checkpoint is compared by: nothing that it may leave out.
_COMPARED_FIELDS: Mapping[str, Sequence[str]] = {
    "add": (*_FILE_FIELDS, "partitionValues", "modificationTime", "tags", "clusteringProvider", "stats"),
    "remove": ("path", "deletionTimestamp", "deletionVector"),
}
#: What it has parsed, and up to which size of a file that is compared, in bytes.
PARSED_FIELDS, _MOST_PARSED_BYTES = (PARTITION_VALUES, STATISTICS), 16 * 1024 * 1024


class CheckpointFiles:
    """Reads them."""

    #: Bytes up to which PyArrow reads a file.
    _most_bytes: float = float("inf")

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def actions(self, path: str, with_files: bool) -> Iterator[Action]:
        """Yield the actions of a Parquet file of a checkpoint that make up a state.

        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        """
        return self._read(path, _STATE_FIELDS if with_files else {"add": ()}, (*_STATE_KINDS, "add"))

    def all_actions(self, path: str) -> Iterator[Action]:
        """Yield all actions of a Parquet file of a checkpoint, with what it has to say of them.

        :raises MissingFileError: if it is missing
        :raises BrokenLogError: if it is damaged
        """
        small = self._storage.size(path) <= _MOST_PARSED_BYTES
        parsed = {"add": (*_COMPARED_FIELDS["add"], *PARSED_FIELDS)} if small else {}
        return self._read(path, {**_COMPARED_FIELDS, **parsed}, None)

    def size(self, path: str) -> int:
        """Return the size of a file, in bytes.

        :raises MissingFileError: if it is missing
        """
        return self._storage.size(path)

    def _read(self, path: str, fields: Mapping[str, Sequence[str]], kinds: Sequence[str] | None) -> Iterator[Action]:
        name = path.rsplit("/", 1)[-1]
        refusal: BrokenLogError | None = None
        if arrow_checkpoint.is_available() and self._storage.size(path) <= self._most_bytes:
            try:
                table = arrow_checkpoint.read_table(self._storage.read(path), fields, kinds)
            except BrokenLogError as error:
                refusal = error
            else:
                yield from _named(name, arrow_checkpoint.actions(table, parsed=_has_parsed(fields)))
                return
        yield from self._read_otherwise(path, fields, kinds, refusal)

    def _read_otherwise(
        self,
        path: str,
        fields: Mapping[str, Sequence[str]],
        kinds: Sequence[str] | None,
        refusal: BrokenLogError | None,
    ) -> Iterator[Action]:
        """Yield the actions of a file that PyArrow did not read.

        :param refusal: why it cannot; None where it was not asked
        """
        from airflow_delta_provider.jobs.delta.log import python_checkpoint  # late: few need it

        name = path.rsplit("/", 1)[-1]
        if refusal is not None:
            raise BrokenLogError(f"checkpoint file {name} is damaged: {refusal}")
        content, parsed = self._storage.read(path), _has_parsed(fields)
        yield from _named(name, python_checkpoint.actions(content, fields, kinds, parsed=parsed))


def _has_parsed(fields: Mapping[str, Sequence[str]]) -> bool:
    return PARSED_FIELDS[0] in fields.get("add", ())


def _named(name: str, actions: Iterator[Action]) -> Iterator[Action]:
    try:
        yield from actions
    except BrokenLogError as error:
        raise BrokenLogError(f"checkpoint file {name} is damaged: {error}") from error
