"""Which files a drop rewrites, by their footers, as PyArrow writes them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.changes.drop_features import FileDifference, FileDifferences
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, PrimitiveType
from tests.unit.checks.test_file_schema import ARROW, footer, typed
from tests.unit.mapped_tables import mapped, table
from tests.unit.states import field, metadata_of, struct

SAME = FileDifference(types=False, columns=False)
#: The types that a column may be widened to.
WIDER = [
    ("byte", "short"), ("byte", "integer"), ("byte", "long"), ("short", "integer"), ("short", "long"),
    ("integer", "long"), ("integer", "double"), ("float", "double"), ("date", "timestamp_ntz"),
    ("integer", "decimal(38,10)"), ("decimal(9,2)", "decimal(38,10)"),
]  # fmt: skip
TEXT = PrimitiveType("string")


def difference(metadata, *columns):
    return FileDifferences(metadata).of(footer(*columns))


@pytest.mark.parametrize(("old", "new"), WIDER)
def test_file_of_a_type_before_widening_is_rewritten_and_one_of_the_type_itself_is_not(old, new):
    for made in (lambda t: t, lambda t: ArrayType(t), lambda t: MapType(TEXT, struct(field("x", t)))):
        metadata = metadata_of(struct(field("c", made(typed(new))), field("other", "string")))
        assert difference(metadata, ("c", arrow(made(typed(new)))), ("other", pa.string())) == SAME
        found = difference(metadata, ("c", arrow(made(typed(old)))), ("other", pa.string()))
        assert found == FileDifference(types=True, columns=False)


def arrow(data_type):
    if isinstance(data_type, ArrayType):
        return pa.list_(arrow(data_type.element))
    if isinstance(data_type, MapType):
        return pa.map_(arrow(data_type.key), arrow(data_type.value))
    if hasattr(data_type, "fields"):
        return pa.struct([(f.name, arrow(f.data_type)) for f in data_type.fields])
    return ARROW[str(data_type)]


@pytest.mark.parametrize("name", sorted(ARROW))
def test_file_of_every_type_that_an_engine_writes_stays(name):
    assert difference(metadata_of(struct(field("c", typed(name)))), ("c", ARROW[name])) == SAME


def test_columns_that_the_table_has_no_more_are_found_at_any_depth():
    metadata = metadata_of(struct(field("a", "integer"), field("s", struct(field("x", "integer")))))
    whole = [("A", pa.int32()), ("s", pa.struct([("x", pa.int32())]))]
    assert difference(metadata, *whole) == SAME
    assert difference(metadata, *whole[:1]) == SAME  # the file is older than the column
    assert difference(metadata, *whole, ("gone", pa.int32())).columns
    assert difference(metadata, whole[0], ("s", pa.struct([("x", pa.int32()), ("gone", pa.int32())]))).columns


def test_columns_are_found_by_physical_names_and_materialized_ids_are_no_lost_columns():
    metadata = table(mapped(struct(field("a", "integer")))).metadata
    tracked = {**metadata.configuration, "delta.rowTracking.materializedRowIdColumnName": "_row-id"}
    metadata = replace(metadata, configuration=tracked)
    assert difference(metadata, ("col-1", pa.int32()), ("_row-id", pa.int64())) == SAME
    assert difference(metadata, ("a_of_old", pa.int32())).columns


def test_partition_columns_in_a_file_are_no_lost_columns():
    metadata = replace(metadata_of(struct(field("a", "integer"), field("day", "date"))), partition_columns=("day",))
    assert difference(metadata, ("a", pa.int32()), ("day", pa.date32())) == SAME
