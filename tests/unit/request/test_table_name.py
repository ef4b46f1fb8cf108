from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import parse_path
from airflow_delta_provider.domain.table_name import TableName, TableNameError, check_location, normal_location
from airflow_delta_provider.domain.text import quote

HOSTILE = "a`; DROP TABLE x; --"
awkward = st.sampled_from(["a", "a b", "a.b", "`", "a`b", HOSTILE, "'", '"', "列", "\\", "ß\n"]) | st.text(min_size=1)
_IDENTIFIER = re.compile(r"`(?:[^`]|``)*`(?:\.`(?:[^`]|``)*`)*", re.DOTALL)


@pytest.mark.parametrize(
    ("text", "location", "identifier"),
    [
        ("orders", None, ("orders",)),
        ("main.sales.orders", None, ("main", "sales", "orders")),
        ("`my db`.`a.b`", None, ("my db", "a.b")),
        ("`with/slash`", None, ("with/slash",)),
        ("s.`it``s`", None, ("s", "it`s")),
        ("/lake/t", "/lake/t", None),
        ("s3a://bucket/t", "s3a://bucket/t", None),
        ("file:///lake/a b", "file:///lake/a b", None),
        ("./t", "./t", None),
        (f"/lake/{HOSTILE}", f"/lake/{HOSTILE}", None),
        ("delta.`/lake/t`", "/lake/t", None),
        ("DELTA.`/lake/it``s`", "/lake/it`s", None),
    ],
)
def test_name_is_a_location_with_a_slash_and_else_an_identifier(text, location, identifier):
    assert TableName.parse(text) == TableName(text, location, identifier)


@pytest.mark.parametrize("text", ["`delta`.`/etc/x`", "`spark_catalog`.`Delta`.`/etc/x`"])
def test_identifier_that_spark_takes_for_a_path_is_a_location(text):
    assert TableName.parse(text).location == "/etc/x"


@pytest.mark.parametrize("text", ["", "  ", "a..b", ".", "a`b", HOSTILE, "`", "`a`; DROP TABLE x", "t\x00", "`a`b"])
def test_text_that_names_no_table_is_refused(text):
    with pytest.raises(TableNameError):
        TableName.parse(text)


@pytest.mark.parametrize("text", ["s3://key:pw@lake/t", "delta.`s3a://key:p%2Fw@lake/t`", "`delta`.`s3://key:@lake/t`"])
def test_location_with_a_password_is_refused_without_repeating_it(text):
    with pytest.raises(TableNameError, match="holds a password") as caught:
        TableName.parse(text)
    assert "key" not in str(caught.value)


@pytest.mark.parametrize("text", ["abfss://lake@account.dfs.core.windows.net/t", "s3://lake:9000/t@1", "/lake/a:b@c/t"])
def test_location_with_an_at_sign_and_no_password_is_a_location(text):
    assert TableName.parse(text).location == text


@given(st.lists(awkward.filter(lambda part: "\x00" not in part), min_size=1, max_size=3))
def test_identifier_of_any_parts_is_quoted_so_that_nothing_ends_the_quotes(parts):
    name = TableName.parse(".".join(map(quote, parts)))
    assert _IDENTIFIER.fullmatch(name.sql)
    if name.identifier is not None:
        assert parse_path(name.sql) == tuple(parts)


@given(awkward.filter(lambda part: "\x00" not in part))
def test_location_of_any_text_is_quoted_so_that_nothing_ends_the_quotes(part):
    name = TableName.parse(f"/lake/{part}")
    prefix, _, rest = name.sql.partition(".")
    assert prefix == "delta"
    assert parse_path(rest) == (f"/lake/{part}",)


@pytest.mark.parametrize(
    "alike",
    [
        ("/t", "/t/", "//t", "file:/t", "file:///t", "FILE:///t//"),
        ("s3://b/x/t", "s3a://b/x/t/", "s3n://b/x//t", "S3A://b/x/t"),
        ("abfs://c@a.dfs.core.windows.net/t", "abfss://c@a.dfs.core.windows.net/t/"),
        ("/", "file:///"),
        ("s3://b/", "s3a://b//"),
    ],
)
def test_spellings_of_one_place_are_one(alike):
    assert len({normal_location(location) for location in alike}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/t", "/T"),
        ("s3://b/t", "s3://c/t"),
        ("s3://b/t", "gs://b/t"),
        ("/a/../t", "/t"),
        ("s3://b/a%20b", "s3://b/a b"),
    ],
)
def test_different_places_stay_different(one, other):
    assert normal_location(one) != normal_location(other)


@given(st.sampled_from(["", "file:", "file://", "s3://b", "hdfs://nn:8020"]), st.text("ab/. %", min_size=1))
def test_normal_form_of_a_location_is_its_own_normal_form(scheme, path):
    once = normal_location(f"{scheme}/{path}")
    assert normal_location(once) == once


# -- allowed locations ----------------------------------------------------------------------------

ALLOWED = ("s3://lake/team/", "/data", "main.sales", "`odd.name`")


@pytest.mark.parametrize(
    "table",
    [
        "s3a://lake/team/t",
        "s3://lake/team",
        "/data/x/y",
        "file:/data/x",
        "delta.`/data/x`",
        "main.sales.orders",
        "MAIN.Sales.orders",
        "`odd.name`.t",
    ],
)
def test_table_below_an_allowed_location_passes(table):
    assert check_location(TableName.parse(table), ALLOWED) is None


@pytest.mark.parametrize(
    "table",
    [
        "s3://lake/teammate/t",
        "s3://other/team/t",
        "gs://lake/team/t",
        "/database/x",
        "/data/../etc",
        "s3://lake/team/../other",
        "data/x",
        "main.salesforce.t",
        "sales.t",
        "odd.name.t",
        "`main.sales`.t",
        "`spark_catalog`.`delta`.`/etc/x`",
        "delta.`/etc/x`",
        "file:data/x",
    ],
)
def test_table_elsewhere_is_refused_and_the_allowed_ones_named(table):
    finding = check_location(TableName.parse(table), ALLOWED)
    assert finding is not None
    assert finding.code == "RQ16"
    assert table in finding.message
    assert "s3://lake/team/" in finding.message


def test_catalog_entry_allows_no_path_even_where_spark_would_read_it_as_one():
    assert check_location(TableName.parse("`spark_catalog`.`delta`.`/etc/x`"), ("spark_catalog",)) is not None


def test_no_entry_allows_everything():
    assert check_location(TableName.parse("/anywhere"), ()) is None
    assert check_location(TableName.parse("/anywhere"), ("/",)) is None
