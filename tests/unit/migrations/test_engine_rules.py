"""Plans that Delta Spark would refuse, or commit and could not use, are refused before anything is done."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.delta.column_statistics import indexed_columns, listed_columns
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import why_not_set
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.text import SqlNameError
from tests.unit.migrations.declared import col, refused, steps
from tests.unit.states import LEGACY, field, state_of, struct

MANY = [f"c{number}" for number in range(1, 37)]
CLUSTERED = LEGACY.supporting(["clustering", "domainMetadata"])


def table(*fields: Any, clustered: str = "", partitioned: str = "", **known: Any) -> TableState:
    state = state_of(struct(*(fields or (field("id", "integer"), field("name", "string")))), **known)
    domains = {"delta.clustering": json.dumps({"clusteringColumns": [[clustered]]})} if clustered else {}
    metadata = replace(state.metadata, partition_columns=(partitioned,) if partitioned else ())
    return replace(state, domains=domains, metadata=metadata)


def wide(by: str = "c1") -> TableState:
    return table(*(field(name, "integer") for name in MANY), protocol=CLUSTERED, clustered=by)


REFUSED_VALUES = [
    ("delta.isolationLevel", "WriteSerializable"),
    ("delta.logRetentionDuration", "interval 1 month"),
    ("delta.deletedFileRetentionDuration", "1 year"),
    ("delta.setTransactionRetentionDuration", "-3 days"),
    ("delta.logRetentionDuration", "3"),
    ("delta.logRetentionDuration", "1.5 days"),
    ("delta.checkpointPolicy", "V2"),
    ("delta.checkpointInterval", "0"),
    ("delta.checkpointInterval", "3000000000"),
    ("delta.dataSkippingNumIndexedCols", "-2"),
    ("delta.dataSkippingStringPrefixLength", "-1"),
    ("delta.autoOptimize.autoCompact", "auto"),
    ("delta.autoOptimize.optimizeWrite", "yes"),
    ("delta.universalFormat.enabledFormats", "iceberg,iceberg"),
    ("delta.randomPrefixLength", "0"),
]
ACCEPTED_VALUES = [
    ("delta.isolationLevel", "serializable"),
    ("delta.logRetentionDuration", "interval 2 weeks 3 hours"),
    ("DELTA.LOGRETENTIONDURATION", "30 days"),
    ("delta.deletedFileRetentionDuration", "INTERVAL 1 day -2 hours"),
    ("delta.logRetentionDuration", "interval 0.5 seconds"),
    ("delta.checkpointPolicy", "v2"),
    ("delta.checkpointInterval", "+10"),
    ("delta.dataSkippingNumIndexedCols", "-1"),
    ("delta.universalFormat.enabledFormats", "iceberg,hudi"),
    ("delta.appendOnly", "TRUE"),
    ("a property of my own", "anything"),
]


@pytest.mark.parametrize(("name", "value"), REFUSED_VALUES)
def test_value_that_delta_spark_does_not_set_is_refused(name: str, value: str):
    assert why_not_set(name, value)
    assert refused(table(), properties={name: value}) == [("RQ76", None)]


@pytest.mark.parametrize(("name", "value"), ACCEPTED_VALUES)
def test_value_that_delta_spark_sets_is_planned(name: str, value: str):
    assert why_not_set(name, value) is None


def test_value_that_the_table_has_already_is_no_reason_against_a_plan():
    state = table(configuration={"delta.isolationLevel": "WriteSerializable"})
    assert steps(state, properties={"delta.isolationLevel": "WriteSerializable", "mine": "1"})


@pytest.mark.parametrize("listed", ["nosuch", "id, id", "tags", "id;name", "part"])
def test_list_of_columns_with_statistics_that_does_not_fit_is_refused(listed: str):
    fields = (field("id", "integer"), field("name", "string"), field("tags", "binary"), field("part", "integer"))
    state = table(*fields, partitioned="part")
    assert refused(state, properties={"delta.dataSkippingStatsColumns": listed}) == [("RQ76", None)]


def test_list_of_columns_with_statistics_may_name_structs_and_fields():
    state = table(field("ID", "integer"), field("s", struct(field("a.b", "string"), field("raw", "binary"))))
    for listed in ("id", "s", "S.`a.b`, Id", "s.raw"):
        assert steps(state, properties={"delta.dataSkippingStatsColumns": listed})


def test_columns_of_a_list_are_read_as_delta_spark_reads_them():
    assert listed_columns(" a , b.c,`d,e`.`f``g` ") == [("a",), ("b", "c"), ("d,e", "f`g")]
    for text in ("", "a,,b", "a,", "`a"):
        with pytest.raises(SqlNameError):
            listed_columns(text)


def indexed(*fields: Any, **configuration: str) -> list[str]:
    metadata: Metadata = table(*fields, configuration={f"delta.{k}": v for k, v in configuration.items()}).metadata
    return [".".join(path) for path in indexed_columns(metadata)]


def test_indexed_columns_are_the_first_leaves_or_those_of_the_list():
    fields = (
        field("A", "integer"),
        field("b", "binary"),
        field("s", struct(field("x", "date"), field("y", "boolean"), field("z", "string"))),
        field("c", "double"),
    )
    assert indexed(*fields) == ["a", "s.x", "s.z", "c"]
    assert indexed(*fields, dataSkippingNumIndexedCols="3") == ["a", "s.x"]
    assert indexed(*fields, dataSkippingNumIndexedCols="0") == []
    assert indexed(*fields, dataSkippingNumIndexedCols="-1") == ["a", "s.x", "s.z", "c"]
    assert indexed(*fields, dataSkippingStatsColumns="c, s", dataSkippingNumIndexedCols="0") == ["s.x", "s.z", "c"]


def test_clustering_column_beyond_those_with_statistics_is_refused():
    state = table(*(field(name, "integer") for name in MANY))
    assert refused(state, cluster_by=(("c36",),)) == [("RQ77", "c36")]
    assert steps(state, cluster_by=(("c32",),))
    assert steps(state, cluster_by=(("c36",),), properties={"delta.dataSkippingNumIndexedCols": "36"})
    assert refused(state, cluster_by=tuple((name,) for name in MANY[:5])) == [("RQ77", None)]
    assert refused(table(field("b", "binary"), field("i", "integer")), cluster_by=(("b",),)) == [("RQ77", "b")]


def test_clustering_column_that_would_lose_its_statistics_is_refused():
    moved = [col(name, "int") for name in (*MANY[1:], "c1")]
    assert refused(wide(), *moved) == [("RQ77", "c1")]
    assert refused(wide(), properties={"delta.dataSkippingStatsColumns": "c2"}) == [("RQ77", "c1")]
    assert refused(wide(), properties={"delta.dataSkippingNumIndexedCols": "0"}) == [("RQ77", "c1")]
    assert steps(wide(), properties={"delta.dataSkippingStatsColumns": "c2,c1"})
    assert steps(wide(by="c5"), *moved)


def test_clustering_column_without_statistics_is_no_reason_against_other_changes():
    assert steps(wide(by="c36"), properties={"mine": "1"})


@pytest.mark.parametrize(
    ("sql", "default", "fits"),
    [
        ("int", "'abc'", False),
        ("int", "'5'", False),
        ("int", "5", True),
        ("int", "TRUE", False),
        ("int", "cast('5' AS int)", True),
        ("date", "'2026-01-01'", False),
        ("date", "DATE'2026-01-01'", True),
        ("date", "20260101", False),
        ("string", "5", True),
        ("string", "'it''s'", True),
        ("boolean", "1", False),
        ("decimal(9,2)", '"1"', False),
    ],
)
def test_default_of_another_type_is_refused(sql: str, default: str, fits: bool):
    name = {"int": "integer", "decimal(9,2)": "decimal(9,2)"}.get(sql, sql)
    state = table(field("c", name) if "(" not in name else field("c", "double"), field("d", "string"))
    if "(" in name:
        sql = "double"
    declared = (col("c", sql, default=default),)
    if fits:
        assert steps(state, *declared)
    else:
        assert refused(state, *declared) == [("RQ65", "c")]


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("(SELECT count(*) FROM other) = 0", False),
        ("sum(id) > 0", False),
        ("row_number() OVER (ORDER BY id) > 0", False),
        ("rand() < 2", False),
        ("input_file_name() <> ''", False),
        ("java_method('java.lang.System', 'gc') IS NULL", False),
        ("id > 0", True),
        ("current_user() <> 'root'", True),
    ],
)
def test_expression_that_cannot_be_evaluated_for_a_row_is_refused(expression: str, fits: bool):
    known = {"constraints": {"mine": expression}}
    default = (col("id", "int", default=expression.partition(" ")[0]),) if "(" in expression else ()
    if fits:
        assert steps(table(), **known)
    else:
        assert refused(table(), **known) == [("RQ65", None)]
        if expression.startswith(("rand", "input_file")):
            assert refused(table(), *default) == [("RQ65", "id")]


VECTORS = LEGACY.supporting(["deletionVectors"])
ICEBERG = {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"}


def test_compatibility_with_iceberg_over_deletion_vectors_is_refused():
    on = {"delta.enableDeletionVectors": "true"}
    features = ("icebergCompatV2", "columnMapping")
    state = table(protocol=VECTORS, configuration=on)
    assert refused(state, features=features, properties=ICEBERG) == [("RQ42", None)]
    both = {**ICEBERG, "delta.enableDeletionVectors": "false"}
    assert refused(state, features=features, properties=both) == [("RQ42", None)]
    assert steps(table(protocol=VECTORS), features=features, properties=ICEBERG)


def test_deletion_vectors_over_compatibility_with_iceberg_are_refused():
    protocol = LEGACY.supporting(["icebergCompatV2", "columnMapping"])
    mapped = field("id", "integer", delta__columnMapping__id=1, delta__columnMapping__physicalName="id")
    state = table(mapped, protocol=protocol, configuration={**ICEBERG, "delta.columnMapping.maxColumnId": "1"})
    assert refused(state, features=("deletionVectors",), properties={"delta.enableDeletionVectors": "true"}) == [
        ("RQ42", None)
    ]


LOG, FILES = "delta.logRetentionDuration", "delta.deletedFileRetentionDuration"


@pytest.mark.parametrize(
    ("properties", "fits"),
    [
        ({LOG: "1 day"}, False),
        ({LOG: "7 days"}, True),
        ({FILES: "31 days"}, False),
        ({FILES: "0 days"}, True),
        ({LOG: "1 day", FILES: "1 hour"}, True),
        ({LOG: "1 hour", FILES: "1 day"}, False),
    ],
)
def test_log_that_is_kept_shorter_than_its_files_is_refused(properties: dict[str, str], fits: bool):
    if fits:
        assert steps(table(), properties=properties)
    else:
        assert refused(table(), properties=properties) == [("RQ76", None)]
