"""Whether the statistics of files show that these have other rows than those that they replace."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileSource
from airflow_delta_provider.domain.paimon.manifest_checks import Similarity, ValueBounds, compared_rows
from airflow_delta_provider.domain.paimon.schema import TableSchema

SCHEMA = TableSchema.from_json(
    '{"version": 3, "id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"},'
    ' {"id": 1, "name": "b", "type": "BIGINT"}],'
    ' "highestFieldId": 1, "partitionKeys": [], "primaryKeys": [], "options": {}, "timeMillis": 1}'
)


def data_file(name: str, **changes) -> DataFile:
    nothing = dict.fromkeys(("created_millis", "delete_row_count", "embedded_index", "external_path", "write_cols"))
    numbers = {"size": 1, "row_count": 1, "min_sequence": 1, "max_sequence": 1, "schema_id": 0, "level": 0, "bucket": 0}
    plain = {"partition": b"", "name": name, "extra_files": (), "source": FileSource.APPEND, "first_row_id": 0}
    return DataFile(**nothing | numbers | plain | changes)


def row(*values: int | None) -> bytes:
    nulls = sum(1 << 8 + index for index, value in enumerate(values) if value is None)
    fields = b"".join(struct.pack("<q", value or 0) for value in values)
    return len(values).to_bytes(4, "big") + nulls.to_bytes(8, "little") + fields


def bounds(name, least, most, nulls=(0, 0), columns=None):
    return {name: ValueBounds(name, row(*least), row(*most), nulls, columns)}


OLD = bounds("old", (1, 5), (9, 7))


@pytest.mark.parametrize(
    ("new", "same"),
    [
        (bounds("new", (1, 5), (9, 7)), Similarity.ALIKE),
        (bounds("new", (1, 5), (4, 7)) | bounds("other", (6, 5), (9, 6)), Similarity.ALIKE),
        (bounds("new", (1, 5), (8, 7)), Similarity.OTHER),
        (bounds("new", (2, 5), (9, 7)), Similarity.OTHER),
        (bounds("new", (1, 5), (9, 7), nulls=(0, 1)), Similarity.OTHER),
        (bounds("new", (1,), (8,), nulls=(0,), columns=("a",)), Similarity.OTHER),
        (bounds("new", (1,), (9,), nulls=(0,), columns=("a",)), Similarity.ALIKE),
        (bounds("new", (), (), nulls=(), columns=()), Similarity.UNKNOWN),
        (bounds("new", (1,), (9,)), Similarity.UNKNOWN),
        (bounds("new", (1, 5), (9, 7)) | bounds("other", (1, 5), (9, 7), columns=("gone", "b")), Similarity.UNKNOWN),
        ({}, Similarity.UNKNOWN),
    ],
)
def test_files_differ_from_those_that_they_replace_if_a_column_does(new, same):
    old, after = [data_file("old")], [data_file(name) for name in new or ("new",)]
    assert compared_rows(old, after, OLD | new, {0: SCHEMA}) is same


def test_only_columns_of_a_single_value_prove_the_same_rows():
    files = [data_file("old")], [data_file("new")]
    single = bounds("old", (1, 5), (1, 5)) | bounds("new", (1, 5), (1, 5))
    with_nulls = bounds("old", (1, 5), (1, 5), (0, 1)) | bounds("new", (1, 5), (1, 5), (0, 1))
    assert compared_rows(*files, single, {0: SCHEMA}) is Similarity.SAME
    assert compared_rows(*files, with_nulls, {0: SCHEMA}) is Similarity.ALIKE


def test_reserved_columns_in_files_are_passed_over():
    old = data_file("old", write_cols=("a", "b", "_ROW_ID", "_SEQUENCE_NUMBER"))
    known = bounds("old", (1, 5, 0, 1), (1, 5, 3, 1), (0, 0, 0, 0)) | bounds("new", (1, 5), (1, 5))
    assert compared_rows([old], [data_file("new")], known, {0: SCHEMA}) is Similarity.SAME


def test_files_of_several_schemas_are_not_compared():
    later = replace(SCHEMA, id=1)
    new = data_file("new", schema_id=1)
    known = OLD | bounds("new", (1, 5), (8, 7))
    assert compared_rows([data_file("old")], [new], known, {0: SCHEMA, 1: later}) is Similarity.UNKNOWN
