"""Random tables become random others: what is declared, with the rows that they had, or nothing happens."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, MapType, StructType
from airflow_delta_provider.domain.delta.sql_type import render_sql_type
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions, PlanMigrationOptions
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.text import quote
from tests.tables import log
from tests.unit.migrations.test_random_pairs import KNOWN, declarations, tables

pytestmark = pytest.mark.nightly

PHYSICAL = "delta.columnMapping.physicalName"
#: Values of each type, by its name in a schema's JSON, exact in all wider types.
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "byte": st.integers(-128, 127),
    "short": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "decimal(10,2)": st.integers(-(10**9), 10**9).map(lambda cents: Decimal(cents).scaleb(-2)),
    "string": st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
    "boolean": st.booleans(),
    "date": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
}


def values(data_type: DataType) -> st.SearchStrategy[Any]:
    if isinstance(data_type, StructType):
        found: st.SearchStrategy[Any] = st.tuples(*(values(field.data_type) for field in data_type.fields))
    elif isinstance(data_type, ArrayType):
        found = st.lists(values(data_type.element), max_size=2)
    elif isinstance(data_type, MapType):
        found = st.dictionaries(VALUES[str(data_type.key)], values(data_type.value), max_size=2)
    else:
        found = VALUES[str(data_type)]
    return st.none() | found


@st.composite
def stories(draw: Any) -> tuple[StructType, list[Any], TableSpec]:
    """A table, its rows, and what it is to become."""
    schema = draw(tables)
    rows = draw(st.lists(st.tuples(*(values(field.data_type) for field in schema.fields)), max_size=3))
    return schema, rows, draw(declarations())


def schema_of(path: Path) -> Any:
    return json.loads(log.last(path, "metaData")["schemaString"])


def read(path: Path, key: Any) -> list[Any]:
    """Read the rows from the data files, without an engine, each field by ``key`` of its JSON."""
    schema, live = schema_of(path), {}
    for version, actions in log.commits(path).items():
        for action in actions:
            if add := action.get("add"):
                live[add["path"]] = version
            if remove := action.get("remove"):
                live.pop(remove["path"], None)
    files = [path / unquote(name) for name in sorted(live, key=lambda name: (live[name], name))]
    return [logical(row, schema, key) for file in files for row in pq.read_table(file).to_pylist()]


def logical(value: Any, wire: Any, key: Any) -> Any:
    if value is None or isinstance(wire, str):
        return (
            datetime.combine(value, datetime.min.time()) if wire == "timestamp_ntz" and type(value) is date else value
        )
    if wire["type"] == "struct":
        return {key(f): logical(value.get(f["metadata"][PHYSICAL]), f["type"], key) for f in wire["fields"]}
    if wire["type"] == "array":
        return [logical(each, wire["elementType"], key) for each in value]
    return {k: logical(each, wire["valueType"], key) for k, each in dict(value).items()}


def by_id(field: Any) -> int:
    return int(field["metadata"]["delta.columnMapping.id"])


def by_name(field: Any) -> str:
    return str(field["name"])


def kept(after: Any, before: Any) -> bool:
    """Whether each column that was there has its value; new ones are NULL. Columns are told apart by their ids."""
    if isinstance(after, dict) and isinstance(before, dict):
        return all(kept(value, before.get(name)) for name, value in after.items())
    if isinstance(after, list) and isinstance(before, list):
        return len(after) == len(before) and all(map(kept, after, before))
    return bool(after == before)


def of_spark(value: Any) -> Any:
    if isinstance(value, Row):
        return {name: of_spark(value[index]) for index, name in enumerate(value.__fields__)}
    if isinstance(value, (list, tuple)):
        return [of_spark(each) for each in value]
    if isinstance(value, dict):
        return {key: of_spark(each) for key, each in value.items()}
    return value


def migrates(session: Any, run_job: Any, path: Path, story: tuple[StructType, list[Any], TableSpec]) -> None:
    schema, rows, spec = story
    spark = session.spark
    columns = ", ".join(f"{quote(field.name)} {render_sql_type(field.data_type)}" for field in schema.fields)
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({columns}) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"
    )
    if rows:
        frame = spark.createDataFrame(rows, spark.table(f"delta.`{path}`").schema)
        frame.coalesce(1).write.format("delta").mode("append").save(str(path))
    before, version = read(path, by_id), log.newest(path)
    declared = {"spec": (spec.to_json(),)}
    (report,) = run_job([path], ApplyMigrationOptions(**declared, allow_protocol_upgrade=True)).tables
    if report.verdict is Verdict.REFUSED:
        assert {finding.code for finding in report.findings} <= KNOWN
        assert log.newest(path) == version
        return
    assert (report.verdict, report.findings) == (Verdict.PASS, ())
    (again,) = run_job([path], PlanMigrationOptions(**declared)).tables
    assert again.plan["steps"] == []
    assert len(read(path, by_id)) == len(before)
    assert all(map(kept, read(path, by_id), before))
    seen = [of_spark(row) for row in spark.read.format("delta").load(str(path)).collect()]
    assert seen == read(path, by_name)


#: A table is made for each example, and Spark is slow; finding a smaller one for a failure would take hours.
_SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=5, deadline=None, derandomize=True, suppress_health_check=_SLOW)
@given(stories())
def test_random_tables_become_others(session, run_job, tmp_path, story):
    migrates(session, run_job, tmp_path / str(uuid.uuid4()), story)


@pytest.mark.soak
@settings(max_examples=300, deadline=None, suppress_health_check=_SLOW, phases=[Phase.generate])
@given(stories())
def test_hundreds_of_random_tables_become_others(session, run_job, tmp_path, story):
    migrates(session, run_job, tmp_path / str(uuid.uuid4()), story)
