"""Typed table properties: what counts as on, and what a value that means nothing is read as."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_delta_provider.domain.delta.data_type import folded, lowered
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import (
    APPEND_ONLY,
    COLUMN_MAPPING_MODE,
    MAX_COLUMN_ID,
    PROTECTED_BEFORE,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    TRUNCATION_RETENTION,
    MappingMode,
    TableProperties,
)


def read(name: str, value: str | None) -> TableProperties:
    return TableProperties.parse({} if value is None else {name: value})


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("TRUE", True), ("True", True), ("false", False), (" true", False), ("1", False), ("", False)],
)
def test_only_true_in_any_case_switches_a_property_on(value, expected):
    assert read(APPEND_ONLY, value).append_only is expected


def test_a_property_written_as_a_boolean_counts_as_its_text():
    metadata = Metadata.from_json({"id": "1", "schemaString": "", "configuration": {APPEND_ONLY: True}})
    assert metadata.properties.append_only


def test_properties_are_parsed_once_and_by_their_own_spelling():
    metadata = Metadata("id", "", configuration={"delta.appendonly": "true"})
    assert not metadata.properties.append_only
    assert metadata.properties is metadata.properties


@pytest.mark.parametrize(
    ("value", "mode", "unknown"),
    [
        (None, MappingMode.NONE, None),
        ("none", MappingMode.NONE, None),
        ("Name", MappingMode.NAME, None),
        ("ID", MappingMode.ID, None),
        ("nmae", MappingMode.NONE, "nmae"),
        ("", MappingMode.NONE, ""),
    ],
)
def test_an_unknown_mapping_mode_counts_as_none_and_is_kept(value, mode, unknown):
    properties = read(COLUMN_MAPPING_MODE, value)
    assert (properties.mapping_mode, properties.unknown_mapping_mode) == (mode, unknown)
    assert properties.is_mapped is (mode is not MappingMode.NONE)


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), ("3", 3), ("-1", -1), ("3.0", None), (" 3", None), ("9" * 20, None)]
)
def test_max_column_id_is_an_integer_or_none(value, expected):
    assert read(MAX_COLUMN_ID, value).max_column_id == expected


@pytest.mark.parametrize(("value", "expected"), [(None, None), ("7", 7), ("-1", None), ("soon", None)])
def test_protected_before_is_a_version_or_none(value, expected):
    assert read(PROTECTED_BEFORE, value).protected_before == expected


def test_materialized_columns_are_those_that_are_named():
    assert TableProperties.parse({ROW_ID_COLUMN: "_id", ROW_COMMIT_VERSION_COLUMN: ""}).materialized_columns == ("_id",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, timedelta(hours=24)),
        ("interval 0 hours", timedelta()),
        ("INTERVAL 1 day 2 hours", timedelta(hours=26)),
        ("2 weeks", timedelta(weeks=2)),
        ("interval 90 Minutes", timedelta(minutes=90)),
        ("interval 1.5 seconds", timedelta(seconds=1.5)),
        ("interval 1 month", None),
        ("tomorrow", None),
        ("", None),
    ],
)
def test_retention_is_read_as_delta_writes_intervals(text, expected):
    assert read(TRUNCATION_RETENTION, text).truncation_retention == expected


def test_sharp_s_and_two_s_are_two_columns_but_one_name_to_avoid():
    assert lowered(("Straße",)) != lowered(("STRASSE",))
    assert folded(("Straße",)) == folded(("STRASSE",))
    assert lowered(("A", "b")) == ("a", "b")
