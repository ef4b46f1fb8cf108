"""What is refused before Spark starts, and what is left to the engine."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    CreateTableOptions,
    DropFeatureOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.table_name import check_tables


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            EnableFeatureOptions(features=("typeWidenig",)),
            "no table feature 'typeWidenig'. Did you mean 'typeWidening'?",
        ),
        (EnableFeatureOptions(features=("deletionVector",)), "Did you mean 'deletionVectors'?"),
        (EnableFeatureOptions(features=("inCommitTimestamps",)), "Did you mean 'inCommitTimestamp'?"),
        (EnableFeatureOptions(features=("delta.feature.rowTraking",)), "Did you mean 'rowTracking'?"),
        (EnableFeatureOptions(features=("row tracking",)), "is not the name of a table feature"),
        (DropFeatureOptions(features=("colummMapping",)), "Did you mean 'columnMapping'?"),
        (
            WidenTypesOptions(columns={"q": "bignt"}),
            "columns has 'q': 'bignt' is not a primitive SQL type. Did you mean 'bigint'?",
        ),
        (WidenTypesOptions(columns={"q": "decimal(99,2)"}), "is not a decimal"),
        (AlterColumnsOptions(add={"n": "strng"}), "add has 'n': 'strng' is not a primitive SQL type"),
        (AlterColumnsOptions(add={"n": "array<int"}), "'>' is missing"),
        (CreateTableOptions(columns={"a": "int", "b": "struct<x:nit>"}), "columns has 'b': 'nit'"),
    ],
)
def test_name_that_no_engine_knows_is_refused_with_the_one_that_was_meant(options, says):
    with pytest.raises(RequestError) as caught:
        options.check_names()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "name", ["icebergCompatV4", "typeWideningV2", "variantType2", "geospatial-preview", "rowLineage", "foo"]
)
def test_feature_that_an_engine_may_know_is_left_to_it_and_named(name):
    for options in (EnableFeatureOptions(features=(name, "rowTracking")), DropFeatureOptions(features=(name,))):
        options.check_names()
        assert tuple(options.features_to_come()) == (name,)


def test_every_known_feature_and_type_passes_in_any_case():
    for name in FEATURES:
        for spelled in (name, name.upper()):
            EnableFeatureOptions(features=(spelled,)).check_names()
            assert tuple(DropFeatureOptions(features=(spelled,)).features_to_come()) == ()
    WidenTypesOptions(columns={"a": "BIGINT", "b": "decimal(12, 2)"}).check_names()
    AlterColumnsOptions(add={"n": "map<string,struct<`a b`:timestamp_ntz>>"}).check_names()
    AuditOptions().check_names()


def refusal(*tables, patterns=False, relative=False):
    try:
        check_tables(tables, patterns=patterns, relative=relative)
    except RequestError as error:
        return str(error)
    return None


@pytest.mark.parametrize("table", ["/lake/*", "/lake/sales_?/t", "s3a://lake/*/t", "sales.*", "main.sales.*"])
def test_pattern_is_refused_where_none_is_taken(table):
    assert f"{table!r} is a pattern" in refusal(table)
    assert refusal(table, patterns=True) is None


@pytest.mark.parametrize("table", ["/lake/t [1]", "/lake/{a}", "delta.`/lake/a*b`", "s3a://lake/x=1%3F/t", "`*`"])
def test_name_that_may_well_be_meant_as_it_is_written_is_none(table):
    assert refusal(table) is None


def test_path_with_a_star_can_be_written_so_that_it_is_taken_for_its_name():
    assert refusal("/lake/a*`b").endswith("write delta.`/lake/a*``b`.")
    assert refusal("delta.`/lake/a*``b`") is None


@pytest.mark.parametrize("table", ["./t", "lake/t", "~/t", "file:lake/t", "delta.`lake/t`", "../t"])
def test_relative_path_is_refused_unless_it_is_resolved_here(table):
    assert "is relative to the folder" in refusal(table)
    assert refusal(table, relative=True) is None


@pytest.mark.parametrize("table", ["/t", "file:/t", "file:///t", "s3a://b/t", "dbfs:/t", "t", "main.sales.t"])
def test_table_that_is_the_same_anywhere_passes(table):
    assert refusal(table) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/lake/t", "/lake/t/"),
        ("/lake/t", "file:///lake/t"),
        ("/lake/t", "/lake//t"),
        ("/lake/t", "/lake/./t/."),
        ("/lake/t", "delta.`/lake/t`"),
        ("s3a://lake/t", "S3://lake/t/"),
        ("abfs://c@a.dfs.core.windows.net/t", "abfss://c@a.dfs.core.windows.net/t"),
        ("main.Sales.t", "MAIN.sales.`T`"),
    ],
)
def test_table_that_is_named_twice_is_refused_with_both_spellings(one, other):
    assert refusal("/else", one, other) == f"{one!r} and {other!r} are one table in two spellings. Name it once."


def test_different_tables_pass_and_so_does_one_that_is_written_twice_alike():
    assert refusal("/a", "/A", "/a/../b", "s3a://a/t", "s3a://b/t", "a.t", "b.t", "`a.t`", "/a") is None
    assert "'./x/t' and 'x/t/'" in refusal("./x/t", "x/t/", relative=True)
