"""Paths that arguments name besides tables, and where tables were found."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.table_name import TableName, check_found, check_outside_data, check_path

ALLOWED = ("s3://lake/team/", "/data", "main.sales")


@pytest.mark.parametrize("path", ["s3a://lake/team", "s3://lake/team/audits", "/data/x", "file:///data/state.json"])
def test_path_below_an_allowed_location_passes(path):
    assert check_path("state_path", path, ALLOWED) is None
    assert check_path("state_path", path, ()) is None


@pytest.mark.parametrize(
    "path", ["s3://lake/teammate", "/data/../etc", "/database", "audits", "main.sales", "hdfs://data/x", "/"]
)
def test_path_elsewhere_is_refused_by_the_name_of_its_argument(path):
    refusal = check_path("state_path", path, ALLOWED)
    assert refusal is not None
    assert refusal.code == "RQ16"
    assert refusal.message.startswith(f"state_path is {path!r}, outside the allowed locations")
    assert check_path("state_path", path, ()) is None


def test_catalog_prefixes_allow_no_path():
    assert check_path("state_path", "/data/main.sales", ("main.sales",)) is not None


@pytest.mark.parametrize(
    "path",
    ["/data/t/_delta_log", "/data/t/_delta_log/x", "s3://lake/team/t/_DELTA_LOG/", "/data/t/_change_data/x.json"],
)
@pytest.mark.parametrize("allowed", [ALLOWED, ()])
def test_metadata_of_a_table_is_never_a_place_for_anything_else(path, allowed):
    refusal = check_path("report_path", path, allowed)
    assert refusal is not None
    assert "inside _" in refusal.message


@pytest.mark.parametrize(
    ("path", "passes"),
    [
        ("/data/t", False),
        ("/data/t/state", False),
        ("file:///data/t/day=1/state", False),
        ("/data/t/_audit", True),
        ("/data/t/.audit/x", True),
        ("/data/t2", True),
        ("/data", True),
    ],
)
def test_folder_of_a_table_takes_state_only_where_vacuum_does_not_look(path, passes):
    assert (check_outside_data("state_path", path, "/data/t/") is None) is passes


def test_table_that_was_found_elsewhere_is_refused_with_where_that_is():
    table = TableName.parse("main.sales.orders")
    assert check_found(table, "s3a://lake/team/orders", ("s3://lake/team",)) is None
    assert check_found(table, "s3://anywhere", ()) is None
    refusal = check_found(table, "s3://hr/people", ("s3://lake/team",))
    assert refusal is not None
    assert "'main.sales.orders' resolves to s3://hr/people" in refusal.message
