"""Fleet files: who reads and writes which tables, what has to stay so, and what is wrong with a file."""

from __future__ import annotations

import json

import pytest

from airflow_delta_provider.domain.engine.fleet import Fleet
from airflow_delta_provider.domain.engine.profile import FleetError
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import parse_yaml
from airflow_delta_provider.domain.request.check_options import CheckCompatibilityOptions, fleet_of
from airflow_delta_provider.domain.table_name import TableName

FILE = """
engines:
  - {engine: Delta Spark, versions: ["4.4.0", 3.3.2], writes: ["s3://lake/*"]}
  - {engine: deltalake, version: 1.4, name: exports, reads: "s3://lake/sales/*"}
  - {engine: Snowflake, version: 2026-03-02}
policy:
  - tables: s3://lake/sales/*
    must_stay_readable_by: [exports, Snowflake]
    must_stay_writable_by: [Delta Spark 4.4.0, "Trino 470"]
"""


def content(text):
    return CheckCompatibilityOptions(fleet=parse_yaml(text)).fleet


def on(text, table):
    return [
        (m.name, m.version, m.reads, m.writes, m.must_read, m.must_write)
        for m in fleet_of(content(text), TableName.parse(table), table).members
    ]


def test_engines_and_policies_are_about_the_tables_whose_patterns_fit():
    assert on(FILE, "s3a://lake/sales/orders") == [
        ("Delta Spark 4.4.0", "4.4.0", False, True, False, True),
        ("Delta Spark 3.3.2", "3.3.2", False, True, False, False),
        ("exports", "1.4", True, False, True, False),
        ("Snowflake 2026-03-02", "2026-03-02", True, False, True, False),
        ("Trino 470", "470", False, True, False, True),
    ]
    assert on(FILE, "s3://lake/hr") == [
        ("Delta Spark 4.4.0", "4.4.0", False, True, False, True),
        ("Delta Spark 3.3.2", "3.3.2", False, True, False, True),
        ("Snowflake 2026-03-02", "2026-03-02", True, False, True, False),
    ]
    assert on(FILE, "main.sales.t") == [("Snowflake 2026-03-02", "2026-03-02", True, False, True, False)]


def test_a_fleet_travels_as_json_and_versions_are_as_they_were_written():
    wire = json.loads(json.dumps(content(FILE)))
    assert wire["engines"][1]["version"] == "1.4"
    assert CheckCompatibilityOptions(fleet=wire).fleet == wire


def test_policies_at_the_top_are_about_all_tables():
    text = "must_stay_writable_by: [delta spark]\nengines: [{engine: Delta Spark, version: 4.4.0}]"
    assert on(text, "/lake/t") == [("Delta Spark 4.4.0", "4.4.0", True, True, False, True)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- x", "has to be a mapping with any of engines"),
        ("engine: []", "line 1, column 1: it has the unknown key 'engine'. Did you mean 'engines'?"),
        (
            "engines: [{engine: deltalak}]",
            "line 1, column 20: engines[0].engine: there is no engine 'deltalak'. Did",
        ),
        ("engines: [{engine: Oracle}]", "The known engines are Delta Spark, "),
        ("engines: [{version: 1.0.0}]", "engines[0]: it has no engine"),
        (
            "engines:\n- engine: Polars\n  vesion: 2.1.0",
            "line 3, column 3: engines[0]: it has the unknown key",
        ),
        ("engines: [{engine: Polars, version: newest}]", "'newest' is not a version such as '2.1.0'"),
        ("engines: [{engine: Polars, version: true}]", "True is not a version"),
        ("engines: [{engine: Snowflake, version: '7.1'}]", "'7.1' is not a day such as '2026-03-02'"),
        ("engines: [{engine: Polars, version: 1.0.0, versions: [1.0.0]}]", "both version and versions"),
        ("engines: [{engine: BigQuery, writes: true}]", "BigQuery (BigLake) never writes Delta tables"),
        ("engines: [{engine: Polars, reads: 7}]", "true, false, or patterns of tables"),
        ("engines: 7", "engines: it is 7; it has to be a list"),
        ("must_stay_readable_by: [Polrs 2.1.0]", "there is no engine 'Polrs'. Did you mean 'Polars'?"),
        ("must_stay_readable_by: [7]", "has to be the name of an engine"),
        ("must_stay_writable_by: [Athena]", "never writes"),
        ("policy: [{table: x}]", "unknown key 'table'. Did you mean 'tables'?"),
        ("profiles: [{releases: []}]", "it has no engine"),
        ("profiles: [{engine: x}]", "profiles[0].releases: it is None"),
        ("profiles: [{engine: x, releases: [{reads: rowTrackin}]}]", "Did you mean 'rowTracking'?"),
        ("profiles: [{engine: x, releases: [{version: x}]}]", "'x' is not a version"),
        ("profiles: [{engine: x, releases: [{}, {version: '1'}]}]", "each needs a version"),
        ("profiles: [{engine: x, releases: [{type_changes: [x]}]}]", "'x' is not a type change"),
        ("profiles: [{engine: x, read_only: 1, releases: [{}]}]", "true or false"),
    ],
)
def test_what_is_wrong_with_a_fleet_file_is_said_with_its_place_and_the_nearest_name(text, says):
    with pytest.raises(RequestError) as raised:
        content(text)
    assert says in str(raised.value)
    assert str(raised.value).startswith("fleet: ")


def test_numbers_that_lost_their_zeros_are_no_versions():
    with pytest.raises(FleetError, match=r"1\.1 is a number\. Write the version between quotes"):
        Fleet.parse({"engines": [{"engine": "Polars", "version": 1.1}]})


def test_a_profile_of_the_fleet_replaces_one_of_the_package():
    wire = {
        "profiles": [
            {"engine": "Trino", "releases": [{"version": "480", "both": ["columnMapping"], "lists_all": True}]}
        ]
    }
    assert Fleet.parse(wire).profiles["Trino"].releases[0].version == "480"
