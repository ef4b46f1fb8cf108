"""Types of columns, from the JSON of a schema file.

Apache Paimon, Specification, Schema. Types that this module does not know are kept by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.formats.json_values import (
    integer_of,
    integer_or_none,
    map_of,
    parse_json,
    text_of,
    texts_of,
)


class PaimonFormatError(Exception):
    """A file of a table that cannot be read as expected.

    The message gives the reason, but not the file's name.
    """


class LargeFileError(PaimonFormatError):
    """A file that needs more memory than allowed for its size. It may be undamaged."""


#: A type without parts: its name, its arguments, the rest of its name, its nullability.
_SIMPLE = re.compile(
    r"([A-Z_]+(?: PRECISION)?)\s*(?:\(([^)]*)\))?((?: WITH(?:OUT)?(?: LOCAL)? TIME ZONE)?)( NOT NULL| NULL)?"
)
#: Alternative names of types.
_SYNONYMS = {
    "INTEGER": "INT",
    "NUMERIC": "DECIMAL",
    "DEC": "DECIMAL",
    "DOUBLE PRECISION": "DOUBLE",
    "STRING": "VARCHAR",
    "BYTES": "VARBINARY",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
    "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ",
    "TIME WITHOUT TIME ZONE": "TIME",
}
#: Default arguments, as far as they affect the storage of values.
_DEFAULTS = {"DECIMAL": (10, 0), "TIMESTAMP": (6,), "TIMESTAMP_LTZ": (6,), "TIME": (0,)}
#: The parts of a nested type.
_PARTS = {"ARRAY": ("element",), "MULTISET": ("element",), "VECTOR": ("element",), "MAP": ("key", "value")}


@dataclass(frozen=True)
class DataType:
    """A type.

    :param root: canonical name without arguments: ``INT``, ``VARCHAR``, ``ROW``...
    :param arguments: precision and scale, or length
    :param nullable: True if it allows null
    :param parts: fields of a ROW; for other nested types, the parts by name: ``element``, ``key``, ``value``
    """

    root: str
    arguments: tuple[int, ...] = ()
    nullable: bool = True
    parts: tuple[DataField, ...] = ()

    @classmethod
    def from_json(cls, wire: Any) -> DataType:
        """Read a type.

        :raises ValueError: if it is not a type
        """
        if isinstance(wire, str):
            return _simple(wire)
        if not isinstance(wire, Mapping):
            raise ValueError(f"its type is {wire!r:.60}")
        root, *rest = text_of(wire, "type").split()
        nullable = rest != ["NOT", "NULL"]
        if root == "ROW":
            return cls(root, (), nullable, fields_of(wire))
        if root not in _PARTS:
            raise ValueError(f"its type {root!r:.60} has parts that are not known")
        parts = tuple(DataField(None, name, cls.from_json(wire[name])) for name in _PARTS[root])
        return cls(root, (integer_of(wire, "length"),) if root == "VECTOR" else (), nullable, parts)


@dataclass(frozen=True)
class DataField:
    """A column, or a part of one.

    :param id: identifier that stays when a column is renamed; None for elements, keys and values
    """

    id: int | None
    name: str
    type: DataType


def fields_of(wire: Mapping[str, Any]) -> tuple[DataField, ...]:
    """Read the fields of a schema or of a ROW.

    :raises KeyError: if something is missing
    :raises ValueError: if something is of another type
    """
    fields = wire["fields"]
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise ValueError("its fields are not a list of objects")
    return tuple(
        DataField(integer_of(field, "id", 32), text_of(field, "name"), DataType.from_json(field["type"]))
        for field in fields
    )


def _simple(text: str) -> DataType:
    match = _SIMPLE.fullmatch(text.strip())
    if match is None:
        return DataType(text.removesuffix(" NOT NULL"), nullable=not text.endswith(" NOT NULL"))
    words, arguments, zone, nullability = match.groups()
    root = words + zone
    root = _SYNONYMS.get(root, root)
    numbers = tuple(int(number) for number in re.findall(r"\d{1,9}", arguments or ""))
    defaults = _DEFAULTS.get(root, ())
    return DataType(root, numbers + defaults[len(numbers) :], nullability != " NOT NULL")


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


#: Known versions of the format.
KNOWN_VERSIONS = range(1, 4)


@dataclass(frozen=True)
class TableSchema:
    """A schema of a table.

    :param version: version of the file's format
    :param options: options as in the file
    :param time_millis: time of its creation, in milliseconds since 1970; None from older writers
    """

    version: int
    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None
    time_millis: int | None

    @classmethod
    def from_json(cls, text: str | bytes) -> TableSchema:
        """Read the file of a schema.

        :raises PaimonFormatError: if it is not one
        """
        try:
            body = parse_json(text)
            if not isinstance(body, Mapping):
                raise ValueError("it is not a JSON object")
            schema = cls(
                version=1 if body.get("version") is None else integer_of(body, "version", 32),
                id=integer_of(body, "id"),
                fields=fields_of(body),
                highest_field_id=integer_of(body, "highestFieldId", 32),
                partition_keys=texts_of(body, "partitionKeys") or (),
                primary_keys=texts_of(body, "primaryKeys") or (),
                options={key: str(value) for key, value in map_of(body, "options").items()},
                comment=None if body.get("comment") is None else text_of(body, "comment"),
                time_millis=integer_or_none(body, "timeMillis"),
            )
        except KeyError as error:
            raise PaimonFormatError(f"it is not a schema: it lacks {error}") from error
        except ValueError as error:
            raise PaimonFormatError(f"it is not a schema: {error}") from error
        names = {field.name for field in schema.fields}
        for key in (*schema.partition_keys, *schema.primary_keys):
            if key not in names:
                raise PaimonFormatError(f"it is not a schema: it has the key {key!r:.60} and no such column")
        return schema

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        """The columns of :attr:`partition_keys`, in their order."""
        by_name = {field.name: field for field in self.fields}
        return tuple(by_name[key] for key in self.partition_keys)

    def table_options(self) -> TableOptions:
        """Parse the options.

        :raises PaimonFormatError: if one has an invalid value
        """
        return TableOptions.from_mapping(self.options, self.version)
