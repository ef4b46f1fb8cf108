"""The location of a table's files.

Apache Paimon, Specification, Directory; ``PartitionPathUtils`` for the directories of partitions. Paths are relative to
the table unless a file has an absolute path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from typing import Any

from airflow_delta_provider.domain.paimon.binary_row import Timestamp, read_partition
from airflow_delta_provider.domain.paimon.index_manifest import IndexFile
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.schema import (
    DataField,
    DataType,
    PaimonFormatError,
    TableOptions,
    TableSchema,
)

_FIRST_DAY = date(1970, 1, 1)
_Show = Callable[[Any, DataType], str]


def partition_text(column: DataField, value: Any, *, legacy: bool) -> str:
    """Return a value as written in a directory's name, before escapes.

    :param value: value from :func:`binary_row.read_partition`, not None
    :param legacy: True if the table has ``partition.legacy-name``
    :raises PaimonFormatError: if the string depends on the writer's Java or time zone
    """
    show = (_LEGACY if legacy else _CAST).get(column.type.root)
    if show is None:
        raise PaimonFormatError(
            f"the directories of partitions by {column.name} of type {column.type.root} are named as the writer's "
            "Java or time zone has it, which is unknown here"
        )
    return show(value, column.type)


def _as_it_is(value: Any, _: DataType) -> str:
    return str(value)


def _boolean(value: bool, _: DataType) -> str:
    return "true" if value else "false"


def _decimal(value: Decimal, _: DataType) -> str:
    return format(value, "f")


def _days(value: date, _: DataType) -> str:
    return str((value - _FIRST_DAY).days)


def _milliseconds(value: time, _: DataType) -> str:
    return str(((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000)


def _time(value: time, data_type: DataType) -> str:
    """Format a time with as many fractional digits as it needs, at least one if its type has any."""
    fraction = f"{value.microsecond // 1000:03}"[: data_type.arguments[0]]
    return f"{value:%H:%M:%S}" + (f".{fraction[0]}{fraction[1:].rstrip('0')}" if fraction else "")


def _java_timestamp(value: Timestamp, _: DataType) -> str:
    """Format a timestamp as Java does.

    It has seconds only if they are not zero, and their fraction in groups of three digits.
    """
    text = value.seconds.isoformat(timespec="minutes")
    if value.seconds.second or value.nanoseconds:
        text += f":{value.seconds.second:02}"
    if value.nanoseconds:
        digits = f"{value.nanoseconds:09}"
        while digits.endswith("000"):
            digits = digits[:-3]
        text += f".{digits}"
    return text


def _timestamp(value: Timestamp, data_type: DataType) -> str:
    """Format a timestamp with as many fractional digits as the type has, and more if they are not zeros."""
    precision = data_type.arguments[0]
    digits = f"{value.nanoseconds:09}"
    digits = digits[:precision] + digits[precision:].rstrip("0")
    return value.seconds.isoformat(sep=" ") + (f".{digits}" if digits else "")


def _utf8(value: bytes, _: DataType) -> str:
    return value.decode(errors="replace")


_ALWAYS: Mapping[str, _Show] = {
    "BOOLEAN": _boolean,
    "TINYINT": _as_it_is,
    "SMALLINT": _as_it_is,
    "INT": _as_it_is,
    "BIGINT": _as_it_is,
    "CHAR": _as_it_is,
    "VARCHAR": _as_it_is,
    "DECIMAL": _decimal,
}
_LEGACY: Mapping[str, _Show] = {
    **_ALWAYS,
    "DATE": _days,
    "TIME": _milliseconds,
    "TIMESTAMP": _java_timestamp,
    "TIMESTAMP_LTZ": _java_timestamp,
}
_CAST: Mapping[str, _Show] = {
    **_ALWAYS,
    "DATE": _as_it_is,
    "TIME": _time,
    "TIMESTAMP": _timestamp,
    "BINARY": _utf8,
    "VARBINARY": _utf8,
}


SNAPSHOT_DIRECTORY, SCHEMA_DIRECTORY, TAG_DIRECTORY = "snapshot", "schema", "tag"
#: Directories of manifests, manifest lists and index manifests; of index files; and of branches.
MANIFEST_DIRECTORY, INDEX_DIRECTORY, BRANCH_DIRECTORY = "manifest", "index", "branch"
#: Hints about existing snapshots; they may be outdated, or missing.
LATEST, EARLIEST = f"{SNAPSHOT_DIRECTORY}/LATEST", f"{SNAPSHOT_DIRECTORY}/EARLIEST"

_SNAPSHOT = re.compile(r"snapshot-(\d{1,19})")
_SCHEMA = re.compile(r"schema-(\d{1,19})")
_TAG_PREFIX = "tag-"
_BRANCH_PREFIX = "branch-"
#: The bucket of rows that have not been assigned to a bucket yet.
_POSTPONED = -2
#: Characters of a partition's name or value that are written as ``%`` and two hexadecimal digits in directories.
_ESCAPED = re.compile(r"[\x00-\x1f\"#%'*/:=?\\\x7f{}\[\]^]")
#: White space in Java; a value with only such characters counts as missing.
_BLANKS = frozenset(
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


def snapshot_path(snapshot_id: int) -> str:
    """Return the path of a snapshot."""
    return f"{SNAPSHOT_DIRECTORY}/snapshot-{snapshot_id}"


def snapshot_id_of(path: str) -> int:
    """Return the snapshot id in a path from :func:`snapshot_path`."""
    return int(path.rpartition("-")[2])


def schema_path(schema_id: int) -> str:
    """Return the path of a schema."""
    return f"{SCHEMA_DIRECTORY}/schema-{schema_id}"


def manifest_path(name: str) -> str:
    """Return the path of a manifest, a manifest list or an index manifest."""
    return f"{MANIFEST_DIRECTORY}/{name}"


def branch_directory(name: str) -> str:
    """Return the directory of a branch's snapshots, schemas and tags.

    Its manifests are in the directory of main.
    """
    return f"{BRANCH_DIRECTORY}/{_BRANCH_PREFIX}{name}"


def snapshot_ids(names: Iterable[str]) -> list[int]:
    """Return the ids of the snapshots in a listing of their directory, in order; other files are skipped."""
    return _numbers(names, _SNAPSHOT)


def schema_ids(names: Iterable[str]) -> list[int]:
    """Return the ids of the schemas in a listing of their directory, in order; other files are skipped."""
    return _numbers(names, _SCHEMA)


def tag_names(names: Iterable[str]) -> list[str]:
    """Return the tags in a listing of their directory, in order."""
    return _after(names, _TAG_PREFIX)


def branch_names(names: Iterable[str]) -> list[str]:
    """Return the branches in a listing of their directory, in order, without main."""
    return _after(names, _BRANCH_PREFIX)


@dataclass(frozen=True)
class DataLayout:
    """The location of data files and index files.

    :param fields: partition columns
    :param options: options of the current schema
    """

    fields: tuple[DataField, ...]
    options: TableOptions
    _directories: dict[bytes, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, schema: TableSchema) -> DataLayout:
        """Create the layout of a table from its newest schema.

        :raises PaimonFormatError: if an option has an invalid value
        """
        return cls(schema.partition_fields, schema.table_options())

    def data_file_path(self, file: DataFile) -> str:
        """Return the path of a data file: relative to the table, or absolute.

        :raises PaimonFormatError: if its partition's directory cannot be determined
        """
        return file.external_path or f"{self.bucket_directory(file.partition, file.bucket)}/{file.name}"

    def index_file_path(self, file: IndexFile) -> str:
        """Return the path of an index file: relative to the table, or absolute.

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
    """Escape the name or the value of a partition for a directory's name."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def _numbers(names: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    return sorted(int(match[1]) for match in map(pattern.fullmatch, names) if match)


def _after(names: Iterable[str], prefix: str) -> list[str]:
    return sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))
