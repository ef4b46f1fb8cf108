"""The published facts about engines: their schema, and their agreement with the profiles."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator, ValidationError

from airflow_delta_provider.domain.engine.profile import PROFILES, Support
from scripts.engine_facts import render, render_schema

FACTS, SCHEMA = json.loads(render()), json.loads(render_schema())


def test_the_facts_have_the_form_of_their_schema():
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(FACTS)
    broken = json.loads(json.dumps(FACTS))
    broken["engines"][0]["releases"][0]["features"]["columnMapping"]["read"] = "perhaps"
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMA).validate(broken)


def test_a_cell_says_what_the_profile_says():
    engines = {engine["engine"]: engine for engine in FACTS["engines"]}
    assert list(engines) == list(PROFILES)
    (release,) = (each for each in engines["DuckDB"]["releases"] if each["version"] == "1.5.5")
    assert release["features"]["deletionVectors"]["read"] == "supports"
    assert release["features"]["deletionVectors"]["basis"] == "measured"
    assert PROFILES["DuckDB"].releases[-1].reading("deletionVectors") is Support.YES
    derived = engines["Amazon EMR"]["releases"][0]["features"]["deletionVectors"]
    assert (derived["read"], derived["basis"]) == ("supports", "derived")


def test_misreads_come_with_the_statements_that_make_the_table():
    misreads = [each for each in FACTS["misreads"] if each["engine"] == "DuckDB 1.5.5"]
    assert misreads
    assert all(each["statements"][0].startswith(("CREATE TABLE", "SET ", "write_deltalake(")) for each in misreads)
