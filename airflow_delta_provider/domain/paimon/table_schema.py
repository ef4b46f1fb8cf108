"""Schemas: columns, keys and options of a table.

Apache Paimon, Specification, Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.formats.json_values import (
    integer_of,
    integer_or_none,
    map_of,
    parse_json,
    text_of,
    texts_of,
)
from airflow_delta_provider.domain.paimon.data_type import DataField, fields_of
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.table_options import TableOptions

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
