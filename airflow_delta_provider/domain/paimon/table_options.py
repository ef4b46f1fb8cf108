"""The options of a table that matter here, with their defaults.

Apache Paimon, Configurations, CoreOptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError

_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class TableOptions:
    """Options of a table.

    :param row_tracking: True if rows have ids
    :param data_evolution: True if several files may have columns of the same row
    :param bucket: number of buckets; -1 if rows are not put into buckets
    :param bucket_key: columns that determine the bucket
    :param bitmap64: True if deletion vectors are written with 64 bits; each vector records its own kind
    :param data_directory: directory of data files below the table; None for the table itself
    :param null_partition: directory name for a null or blank value
    :param legacy_partition_names: True if directories have dates as days since 1970, and times in Java's form
    :param index_in_data_directory: True if index files are stored with the data files of their bucket
    """

    row_tracking: bool
    data_evolution: bool
    bucket: int
    bucket_key: tuple[str, ...]
    deletion_vectors: bool
    bitmap64: bool
    data_directory: str | None
    null_partition: str
    legacy_partition_names: bool
    index_in_data_directory: bool

    @classmethod
    def from_mapping(cls, options: Mapping[str, str], schema_version: int) -> TableOptions:
        """Read the options of a schema.

        :param schema_version: version of the schema file: older ones have other defaults
        :raises PaimonFormatError: if a value is invalid for its option
        """
        return cls(
            row_tracking=_boolean(options, "row-tracking.enabled", False),
            data_evolution=_boolean(options, "data-evolution.enabled", False),
            bucket=_integer(options, "bucket", 1 if schema_version < 2 else -1),
            bucket_key=_list(options, "bucket-key"),
            deletion_vectors=_boolean(options, "deletion-vectors.enabled", False),
            bitmap64=_boolean(options, "deletion-vectors.bitmap64", False),
            data_directory=options.get("data-file.path-directory", "").strip("/") or None,
            null_partition=options.get("partition.default-name", "__DEFAULT_PARTITION__"),
            legacy_partition_names=_boolean(options, "partition.legacy-name", True),
            index_in_data_directory=_boolean(options, "index-file-in-data-file-dir", False),
        )


def _boolean(options: Mapping[str, str], key: str, default: bool) -> bool:
    value = options.get(key)
    if value is None:
        return default
    if value.lower() not in _BOOLEANS:
        raise PaimonFormatError(f"its option {key} is {value!r:.60}, neither true nor false")
    return _BOOLEANS[value.lower()]


def _integer(options: Mapping[str, str], key: str, default: int) -> int:
    value = options.get(key)
    try:
        return default if value is None else int(value)
    except ValueError:
        raise PaimonFormatError(f"its option {key} is {value!r:.60}, not an integer") from None


def _list(options: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in options.get(key, "").split(",") if part.strip())
