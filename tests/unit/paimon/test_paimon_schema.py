from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_delta_provider.domain.paimon.schema import (
    DataField,
    DataType,
    PaimonFormatError,
    TableOptions,
    TableSchema,
)

_SCHEMA: dict[str, Any] = {
    "version": 3,
    "id": 2,
    "fields": [
        {"id": 0, "name": "id", "type": "BIGINT NOT NULL", "description": "key"},
        {"id": 4, "name": "day", "type": "DATE"},
        {"id": 1, "name": "r", "type": {"type": "ROW NOT NULL", "fields": [{"id": 2, "name": "x", "type": "INT"}]}},
        {"id": 3, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": "DECIMAL(5, 2)"}},
        {"id": 5, "name": "a", "type": {"type": "ARRAY", "element": {"type": "ARRAY NOT NULL", "element": "INT"}}},
        {"id": 6, "name": "region", "type": "STRING"},
    ],
    "highestFieldId": 6,
    "partitionKeys": ["region", "day"],
    "primaryKeys": [],
    "options": {"row-tracking.enabled": "true"},
    "comment": "c",
    "timeMillis": 5,
}


def test_all_that_a_schema_says_is_read() -> None:
    schema = TableSchema.from_json(json.dumps(_SCHEMA))

    inner = DataType("ARRAY", (), False, (DataField(None, "element", DataType("INT")),))
    assert schema.fields == (
        DataField(0, "id", DataType("BIGINT", nullable=False)),
        DataField(4, "day", DataType("DATE")),
        DataField(1, "r", DataType("ROW", (), False, (DataField(2, "x", DataType("INT")),))),
        DataField(
            3,
            "m",
            DataType(
                "MAP",
                parts=(
                    DataField(None, "key", DataType("VARCHAR", nullable=False)),
                    DataField(None, "value", DataType("DECIMAL", (5, 2))),
                ),
            ),
        ),
        DataField(5, "a", DataType("ARRAY", parts=(DataField(None, "element", inner),))),
        DataField(6, "region", DataType("VARCHAR")),
    )
    assert [field.name for field in schema.partition_fields] == ["region", "day"]
    assert (schema.id, schema.highest_field_id, schema.comment, schema.time_millis) == (2, 6, "c", 5)


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("INT", DataType("INT")),
        ("INTEGER NOT NULL", DataType("INT", nullable=False)),
        ("INT NULL", DataType("INT")),
        ("DECIMAL", DataType("DECIMAL", (10, 0))),
        ("NUMERIC(20)", DataType("DECIMAL", (20, 0))),
        ("DECIMAL(38, 18) NOT NULL", DataType("DECIMAL", (38, 18), False)),
        ("DOUBLE PRECISION", DataType("DOUBLE")),
        ("STRING", DataType("VARCHAR")),
        ("VARCHAR(20)", DataType("VARCHAR", (20,))),
        ("BYTES NOT NULL", DataType("VARBINARY", (), False)),
        ("TIMESTAMP", DataType("TIMESTAMP", (6,))),
        ("TIMESTAMP(3)", DataType("TIMESTAMP", (3,))),
        ("TIMESTAMP(9) WITHOUT TIME ZONE", DataType("TIMESTAMP", (9,))),
        ("TIMESTAMP(6) WITH LOCAL TIME ZONE NOT NULL", DataType("TIMESTAMP_LTZ", (6,), False)),
        ("TIMESTAMP_LTZ(3)", DataType("TIMESTAMP_LTZ", (3,))),
        ("TIME(3)", DataType("TIME", (3,))),
        ("VARIANT", DataType("VARIANT")),
        ("GEOMETRY('OGC:CRS84') NOT NULL", DataType("GEOMETRY", (84,), False)),
        ("ARRAY<INT> NOT NULL", DataType("ARRAY<INT>", (), False)),
    ],
)
def test_a_type_is_read(text: str, data_type: DataType) -> None:
    assert DataType.from_json(text) == data_type


def test_options_that_are_not_set_have_the_defaults_of_their_version() -> None:
    new = TableOptions.from_mapping({}, 3)

    assert (new.row_tracking, new.data_evolution, new.deletion_vectors, new.bitmap64) == (False,) * 4
    assert (new.bucket, new.bucket_key) == (-1, ())
    assert (new.null_partition, new.legacy_partition_names) == ("__DEFAULT_PARTITION__", True)
    assert (new.data_directory, new.index_in_data_directory) == (None, False)
    assert (TableOptions.from_mapping({}, 2).bucket, TableOptions.from_mapping({}, 1).bucket) == (-1, 1)


def test_options_that_are_set_are_read() -> None:
    options = TableOptions.from_mapping(
        {
            "row-tracking.enabled": "TRUE",
            "data-evolution.enabled": "true",
            "deletion-vectors.enabled": "True",
            "deletion-vectors.bitmap64": "true",
            "bucket": "4",
            "bucket-key": "a, b",
            "data-file.path-directory": "data/",
            "partition.default-name": "none",
            "partition.legacy-name": "false",
            "index-file-in-data-file-dir": "true",
        },
        3,
    )

    assert options == TableOptions(
        row_tracking=True,
        data_evolution=True,
        bucket=4,
        bucket_key=("a", "b"),
        deletion_vectors=True,
        bitmap64=True,
        data_directory="data",
        null_partition="none",
        legacy_partition_names=False,
        index_in_data_directory=True,
    )


@pytest.mark.parametrize("options", [{"row-tracking.enabled": "yes"}, {"bucket": "many"}])
def test_an_option_that_has_no_such_value_says_so(options: dict[str, str]) -> None:
    with pytest.raises(PaimonFormatError, match="its option "):
        TableSchema.from_json(json.dumps({**_SCHEMA, "options": options})).table_options()


@pytest.mark.parametrize("key", ["id", "fields", "highestFieldId"])
def test_what_lacks_a_needed_key_is_no_schema(key: str) -> None:
    with pytest.raises(PaimonFormatError, match=f"lacks '{key}'"):
        TableSchema.from_json(json.dumps({name: value for name, value in _SCHEMA.items() if name != key}))


@pytest.mark.parametrize(
    "changes",
    [
        {"fields": {}},
        {"fields": [17]},
        {"fields": [{"id": 0, "name": "x", "type": 17}]},
        {"fields": [{"id": 0, "name": "x", "type": {"type": "UNION", "element": "INT"}}]},
        {"fields": [{"id": 0, "name": "x", "type": {"type": "ARRAY"}}]},
        {"fields": [{"id": 0, "name": "x", "type": {"type": ""}}]},
        {"fields": [{"id": "0", "name": "x", "type": "INT"}]},
        {"partitionKeys": "day"},
        {"partitionKeys": ["other"]},
        {"primaryKeys": ["other"]},
        {"options": 7},
        {"id": None},
    ],
)
def test_what_is_no_schema_says_why(changes: dict[str, Any]) -> None:
    with pytest.raises(PaimonFormatError, match="it is not a schema: "):
        TableSchema.from_json(json.dumps({**_SCHEMA, **changes}))
