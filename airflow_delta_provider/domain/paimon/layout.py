"""Where the files of a table lie.

Apache Paimon, Specification, Directory; ``PartitionPathUtils`` for the directories of partitions. Paths are below
the table unless a file says a whole path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from airflow_delta_provider.domain.paimon.binary_row import read_partition
from airflow_delta_provider.domain.paimon.data_type import DataField
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.partition_text import partition_text
from airflow_delta_provider.domain.paimon.table_options import TableOptions
from airflow_delta_provider.domain.paimon.table_schema import TableSchema

SNAPSHOT_DIRECTORY, SCHEMA_DIRECTORY, TAG_DIRECTORY = "snapshot", "schema", "tag"
#: Manifests, manifest lists and index manifests.
MANIFEST_DIRECTORY, INDEX_DIRECTORY, BRANCH_DIRECTORY = "manifest", "index", "branch"
#: Hints of the snapshots there are; they may be old, or missing.
LATEST, EARLIEST = f"{SNAPSHOT_DIRECTORY}/LATEST", f"{SNAPSHOT_DIRECTORY}/EARLIEST"

_SNAPSHOT = re.compile(r"snapshot-(\d{1,19})")
_SCHEMA = re.compile(r"schema-(\d{1,19})")
_TAG_PREFIX = "tag-"
_BRANCH_PREFIX = "branch-"
#: The bucket of rows whose bucket is not yet chosen.
_POSTPONED = -2
#: Characters of a partition's name or value that a directory has as ``%`` and two hexadecimal digits.
_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")
#: What a value is made of that counts as none: what Java calls white space.
_BLANKS = frozenset(
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


def snapshot_path(snapshot_id: int) -> str:
    """Return where a snapshot is."""
    return f"{SNAPSHOT_DIRECTORY}/snapshot-{snapshot_id}"


def snapshot_id_of(path: str) -> int:
    """Return the snapshot that :func:`snapshot_path` gives the path of."""
    return int(path.rpartition("-")[2])


def schema_path(schema_id: int) -> str:
    """Return where a schema is."""
    return f"{SCHEMA_DIRECTORY}/schema-{schema_id}"


def manifest_path(name: str) -> str:
    """Return where a manifest, a manifest list or an index manifest is."""
    return f"{MANIFEST_DIRECTORY}/{name}"


def branch_directory(name: str) -> str:
    """Return where the snapshots, schemas and tags of a branch are; its manifests are where those of main are."""
    return f"{BRANCH_DIRECTORY}/{_BRANCH_PREFIX}{name}"


def snapshot_ids(names: Iterable[str]) -> list[int]:
    """Return the ids of the snapshots in a listing of their directory, in order; what is none is left out."""
    return _numbers(names, _SNAPSHOT)


def schema_ids(names: Iterable[str]) -> list[int]:
    """Return the ids of the schemas in a listing of their directory, in order; what is none is left out."""
    return _numbers(names, _SCHEMA)


def tag_names(names: Iterable[str]) -> list[str]:
    """Return the tags in a listing of their directory, in order."""
    return _after(names, _TAG_PREFIX)


def branch_names(names: Iterable[str]) -> list[str]:
    """Return the branches in a listing of their directory, in order; main is not among them."""
    return _after(names, _BRANCH_PREFIX)


@dataclass(frozen=True)
class DataLayout:
    """Where data files and index files lie.

    :param fields: the partition columns
    :param options: of the schema in force
    """

    fields: tuple[DataField, ...]
    options: TableOptions
    _directories: dict[bytes, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, schema: TableSchema) -> DataLayout:
        """Return the layout of a table by its newest schema.

        :raises PaimonFormatError: if an option has a value that it cannot have
        """
        return cls(schema.partition_fields, schema.table_options())

    def data_file_path(self, file: DataFile) -> str:
        """Return where a data file is: below the table, or a whole path.

        :raises PaimonFormatError: if its partition's directory cannot be determined
        """
        return file.external_path or f"{self.bucket_directory(file.partition, file.bucket)}/{file.name}"

    def index_file_path(self, file: IndexFile) -> str:
        """Return where an index file is: below the table, or a whole path.

        :raises PaimonFormatError: if its partition's directory cannot be determined
        """
        if file.external_path:
            return file.external_path
        if self.options.index_in_data_directory:
            return f"{self.bucket_directory(file.partition, file.bucket)}/{file.name}"
        return f"{INDEX_DIRECTORY}/{file.name}"

    def bucket_directory(self, partition: bytes, bucket: int) -> str:
        """Return the directory of a bucket.

        :raises PaimonFormatError: if the partition's directory cannot be determined
        """
        directory = self._directories.get(partition)
        if directory is None:
            directory = self._directories[partition] = self._partition_directory(partition)
        return f"{directory}bucket-{'postpone' if bucket == _POSTPONED else bucket}"

    def _partition_directory(self, partition: bytes) -> str:
        levels = [self.options.data_directory] if self.options.data_directory else []
        for column, value in zip(self.fields, read_partition(partition, self.fields)):
            text = "" if value is None else partition_text(column, value, legacy=self.options.legacy_partition_names)
            if all(character in _BLANKS for character in text):
                text = self.options.null_partition
            levels.append(f"{escape_path_name(column.name)}={escape_path_name(text)}")
        return "".join(f"{level}/" for level in levels)


def escape_path_name(text: str) -> str:
    """Return the name or the value of a partition as a directory has it."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _numbers(names: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    return sorted(int(match[1]) for match in map(pattern.fullmatch, names) if match)


def _after(names: Iterable[str], prefix: str) -> list[str]:
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))
