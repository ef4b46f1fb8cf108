from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import (
    AlterColumnsOptions,
    DisableColumnMappingOptions,
    EnableFeatureOptions,
    WidenTypesOptions,
)
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import KINDS, kind_named, load
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions, Options
from tests.every_kind import CHANGES, REQUESTS

texts = st.text(min_size=1, max_size=20)


def options_from_json(kind: str, wire: Any) -> Options:
    return load(kind_named(kind).options).from_json(wire)


enabling = st.builds(
    EnableFeatureOptions,
    features=st.lists(texts, min_size=1, max_size=4).map(tuple),
    properties=st.dictionaries(texts, texts, max_size=3),
    allow_protocol_upgrade=st.booleans(),
    allow_special=st.booleans(),
)
widening = st.builds(
    WidenTypesOptions,
    columns=st.dictionaries(texts, texts, min_size=1, max_size=4),
    enable_type_widening=st.booleans(),
    allow_protocol_upgrade=st.booleans(),
    verify=st.sampled_from(["data", "log"]),
)
checking = st.builds(CheckRowTrackingOptions, level=st.sampled_from(["log", "footers", "data"])) | st.builds(
    CheckRowTrackingOptions,
    level=st.just("data"),
    compare_to_version=st.integers(0, 2**63),
    key_columns=st.lists(texts, max_size=3, unique=True).map(tuple),
)
leaving = st.just(ColumnMappingUsageOptions()) | st.builds(
    DisableColumnMappingOptions,
    strategy=st.sampled_from(["auto", "rewrite"]),
    allow_rewrite=st.booleans(),
    verify=st.sampled_from(["footers", "full"]),
)
requests = st.builds(
    JobRequest,
    st.lists(texts, min_size=1, max_size=5).map(tuple),
    enabling | widening | checking | leaving,
    dry_run=st.booleans(),
    labels=st.dictionaries(texts, st.none() | texts | st.integers(), max_size=3),
)


@given(requests)
def test_request_survives_its_file(request):
    again = JobRequest.from_json(json.loads(json.dumps(request.to_json())))
    assert again == request
    assert again.kind == request.options.kind


def test_columns_stay_in_their_order():
    columns = {"z": "int", "a": "int", "m": "int"}
    request = JobRequest(("t",), WidenTypesOptions(columns=columns))
    assert list(JobRequest.from_json(request.to_json()).options.columns) == ["z", "a", "m"]


def test_table_and_feature_named_twice_are_taken_once():
    request = JobRequest(("a", "b", "a"), EnableFeatureOptions(features=("x", "x")))
    assert request.tables == ("a", "b")
    assert request.options.features == ("x",)


@pytest.mark.parametrize("tables", [(), ("",), (None,), ("a", 3)])
def test_request_without_a_table_is_refused(tables):
    with pytest.raises(RequestError, match=r"does not name a table|tables is empty"):
        JobRequest(tables, EnableFeatureOptions(features=("x",)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 2}, "schema version 2"),
        ({"kind": "widen-type"}, "Did you mean 'widen-types'"),
        ({"kind": None}, "'kind'"),
        ({"tables": "abc"}, "'tables'"),
        ({"options": {"features": ["x"], "propertys": {}}}, "no option 'propertys'. Did you mean 'properties'"),
        ({"options": None}, "'options'"),
    ],
)
def test_request_file_that_is_wrong_is_refused_with_what_is_wrong(change, message):
    wire = {**JobRequest(("t",), EnableFeatureOptions(features=("x",))).to_json(), **change}
    with pytest.raises(RequestError, match=message):
        JobRequest.from_json(wire)


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"features": []}, "features is empty"),
        ({"features": "typeWidening"}, "list of names"),
        ({"features": None}, "list of names"),
        ({"features": [None]}, "list of names"),
        ({"features": [""]}, "list of names"),
        ({"features": ["x"], "properties": ["a"]}, "properties"),
        ({"features": ["x"], "properties": {"a": None}}, r"properties\['a'\] is None; it has to be a string, a number"),
        ({"features": ["x"], "properties": {"": "1"}}, "properties names '', which is not a name"),
        ({"features": ["x"], "allow_protocol_upgrade": "yes"}, "True or False"),
        ({"features": ["x"], "allow_special": 1}, "True or False"),
    ],
)
def test_enable_feature_options_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("enable-feature", given_options)


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"columns": {}}, "columns is empty"),
        ({"columns": [["a", "int"]]}, "has to map"),
        ({"columns": {"a": None}}, r"columns\['a'\] is None; it has to be a type such as"),
        ({"columns": {"": "int"}}, "columns names ''"),
        ({"columns": {"a": "int"}, "verify": "none"}, "one of data, log"),
        ({"columns": {"a": "int"}, "enable_type_widening": "false"}, "True or False"),
    ],
)
def test_widen_types_options_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("widen-types", given_options)


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"level": "full"}, "level is 'full'; it has to be one of log, footers, data"),
        ({"level": "footer"}, "Did you mean 'footers'"),
        ({"level": "DATA"}, "Did you mean 'data'"),
        ({"level": None}, "level is None"),
        ({"level": ["log"]}, r"level is \['log'\]"),
        ({"compare_to_version": -1}, "compare_to_version has to be a table version .* not -1"),
        ({"compare_to_version": "3"}, "compare_to_version has to be .* not '3'"),
        ({"compare_to_version": 3.0}, "compare_to_version has to be .* not 3.0"),
        ({"compare_to_version": True}, "compare_to_version has to be .* not True"),
        ({"compare_to_version": 3, "level": "log"}, "level 'log', which reads no row ids. Use level 'data'"),
        ({"compare_to_version": 0, "level": "footers"}, "level 'footers', which reads no row ids"),
        ({"key_columns": ["id"]}, r"key_columns is \['id'\] without compare_to_version"),
        ({"compare_to_version": 3, "key_columns": "id"}, "key_columns has to be a list of names"),
        ({"compare_to_version": 3, "key_columns": None}, "key_columns has to be a list of names"),
        ({"compare_to_version": 3, "key_columns": [""]}, "key_columns has to be a list of names"),
        ({"compare_to_version": 3, "key_columns": ["a", "b", "b"]}, "key_columns names 'b' more than once"),
        ({"dry_run": True}, "check-row-tracking has no option 'dry_run'"),
    ],
)
def test_check_row_tracking_options_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("check-row-tracking", given_options)


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({}, "Pass at least one of add, rename and drop"),
        ({"add": ["a"]}, "add has to map column paths to types"),
        ({"rename": "a"}, "rename has to map column paths to new names"),
        ({"rename": {"a": ""}}, r"rename\['a'\] is ''; it has to be a new name"),
        ({"drop": "a"}, "drop has to be a list of names"),
        ({"drop": ["a", "a"]}, "drop names 'a' more than once"),
        ({"drop": ["a"], "rename": {"a": "b"}}, "'a' is both dropped and renamed"),
        ({"columns": {}}, "alter-columns has no option 'columns'"),
    ],
)
def test_alter_columns_options_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("alter-columns", given_options)


WAIVER = {"code": "TF17", "owner": "ann", "reason": "a pilot", "expires": "2030-01-31"}


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"level": "footer"}, "level is 'footer'; it has to be one of log, footers, data. Did you mean 'footers'"),
        ({"fail_on": "warn"}, "fail_on is 'warn'; it has to be one of error, warning. Did you mean 'warning'"),
        ({"since_version": -1}, "since_version has to be a table version .* not -1"),
        ({"version": "7"}, "version has to be a table version .* not '7'"),
        ({"since_version": 8, "version": 7}, "since_version is 8, which is after version 7"),
        ({"version": 7, "timestamp": "2026-01-01"}, "version is 7 and timestamp '2026-01-01'. Give only one"),
        ({"timestamp": "yesterday"}, "timestamp is 'yesterday'; it has to be a time such as"),
        ({"rules": ["CM99"]}, r"rules names 'CM99'.*Did you mean 'CM19'.*delta-provider rules"),
        ({"rules": "CM01"}, "rules has to be a list of names"),
        ({"state_path": ""}, "state_path is ''; it has to be a directory"),
        ({"state_path": "/s", "since_version": 1}, "Leave out since_version"),
        ({"state_path": "/s", "rules": ["TF17"]}, "with all rules. Leave out rules"),
        ({"waivers": [{**WAIVER, "owner": ""}]}, "waivers: entry 1 has no owner"),
        ({"waivers": [WAIVER, {**WAIVER, "expires": "soon"}]}, "entry 2 expires 'soon'; it has to be a day"),
        (
            {"waivers": [{**WAIVER, "code": "TF71"}]},
            r"entry 1 waives 'TF71', which is not a rule\. Did you mean '\w+'\?$",
        ),
        ({"waivers": [{**WAIVER, "code": "QQ"}]}, r"entry 1 waives 'QQ', which is not a rule\.$"),
        ({"waivers": [{**WAIVER, "tabel": "x"}]}, "entry 1 has 'tabel'. Did you mean 'table'"),
        ({"waivers": ["TF17"]}, "entry 1 is 'TF17'; it has to be a mapping with code, owner, reason, expires"),
        ({"key_columns": ["id"]}, "audit has no option 'key_columns'"),
    ],
)
def test_audit_options_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("audit", given_options)


@pytest.mark.parametrize(
    ("given_options", "message"),
    [
        ({"level": "log"}, "level is 'log'; it has to be one of metadata, data"),
        ({"source": "catalogue"}, "source is 'catalogue'; it has to be one of.*Did you mean 'catalog'"),
        ({"since_snapshot": "7"}, "since_snapshot has to be .* not '7'"),
        ({"key_columns": ["id"]}, "key_columns is .*reads no rows. Use level 'data'"),
        ({"key_columns": "id", "level": "data"}, "key_columns has to be a list of names"),
        ({"state_path": ""}, "state_path is ''; it has to be a directory"),
        ({"state_path": "/s", "since_snapshot": 1}, "Leave out since_snapshot"),
        ({"fail_on_reassigned": "yes"}, "fail_on_reassigned has to be True or False, not 'yes'"),
    ],
)
def test_options_of_the_check_of_paimon_tables_that_make_no_sense_are_refused(given_options, message):
    with pytest.raises(RequestError, match=message):
        options_from_json("check-paimon-row-tracking", given_options)


def test_options_of_the_check_of_paimon_tables_survive_the_wire():
    given_options = {"level": "data", "since_snapshot": 3, "key_columns": ["id"], "source": "native"}
    options = options_from_json("check-paimon-row-tracking", given_options)
    assert options_from_json(options.kind, json.loads(json.dumps(options.to_json()))) == options


def test_audit_options_survive_the_wire():
    given_options = {"level": "data", "since_version": 3, "version": 9, "rules": ["TF17"], "waivers": [WAIVER]}
    options = options_from_json("audit", given_options)
    assert options_from_json("audit", json.loads(json.dumps(options.to_json()))) == options


def test_check_of_row_tracking_reads_the_ids_unless_told_otherwise():
    options = options_from_json("check-row-tracking", {})
    assert options == CheckRowTrackingOptions(level="data", compare_to_version=None, key_columns=())


@pytest.mark.parametrize("level", ["log", "footers", "data"])
def test_every_level_is_one_to_ask_for(level):
    assert options_from_json("check-row-tracking", {"level": level}).level == level


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_has_its_parts(kind):
    options = load(kind.options)
    assert (options.kind, issubclass(options, Options)) == (kind.name, True)
    assert callable(load(kind.job))
    request = JobRequest(("t",), REQUESTS[kind.name])
    assert JobRequest.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_unknown_support_is_accepted_of_engines_of_the_fleet_only():
    fleet = {"engines": [{"engine": "Trino", "name": "bi"}], "must_stay_readable_by": ["bi", "Delta Spark 4.4.0"]}
    for name in ("bi", "trino", "Delta Spark 4.4.0"):
        assert WidenTypesOptions(columns={"a": "bigint"}, fleet=fleet, accept_unknown=[name]).accept_unknown
    with pytest.raises(RequestError, match="accept_unknown names 'bii', which is not an engine of fleet"):
        WidenTypesOptions(columns={"a": "bigint"}, fleet=fleet, accept_unknown=["bii"])
    altering = AlterColumnsOptions(add={"a": "int"}, fleet=fleet, accept_unknown=["bi"])
    assert altering.to_json()["accept_unknown"] == ("bi",)
    with pytest.raises(RequestError, match="Pass fleet, which declares it"):
        AlterColumnsOptions(add={"a": "int"}, accept_unknown=["bi"])


@pytest.mark.parametrize("options", CHANGES, ids=lambda options: options.kind)
def test_every_change_can_be_allowed_where_the_log_store_does_not_keep_writers_apart(options):
    assert replace(options, allow_unsafe_log_store=True).allow_unsafe_log_store is True


@pytest.mark.parametrize("options", REQUESTS.values(), ids=REQUESTS)
def test_names_in_messages_are_those_of_options(options):
    """A message that names an option which the kind does not have would raise where it is shown."""
    for name, declared in options.declared().items():
        assert declared.help
        for wrong in (object(), -1, "{x}", ["{"], {"{": 1}):
            with suppress(RequestError):
                replace(options, **{name: wrong}).check_names()


def test_values_of_properties_become_the_texts_that_delta_stores():
    options = EnableFeatureOptions(features=("x",), properties={"a": True, "b": 5, "c": "Yes", "d": False})
    assert options.properties == {"a": "true", "b": "5", "c": "Yes", "d": "false"}


@pytest.mark.parametrize(
    ("tables", "options", "labels", "what"),
    [
        (("/t\udc80",), WidenTypesOptions(columns={"a": "int"}), {}, "a table"),
        (("/t",), WidenTypesOptions(columns={"a\ud800": "int"}), {}, "columns"),
        (("/t",), EnableFeatureOptions(features=("appendOnly",), properties={"team": "\udfff"}), {}, "properties"),
        (("/t",), EnableFeatureOptions(features=("append\ud800",)), {}, "features"),
        (("/t",), WidenTypesOptions(columns={"a": "int"}), {"run_id": "\ud800"}, "a label"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_with_its_place(tables, options, labels, what):
    with pytest.raises(RequestError, match=f"^{what} is .*not valid Unicode.*at position") as refused:
        JobRequest(tables, options, labels=labels)
    str(refused.value).encode()
