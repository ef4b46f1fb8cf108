from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.changes.enable_features import plan_enabling, reads_files, verify_enabled
from airflow_delta_provider.domain.delta.features.registry import WRITER_OWNED_PROPERTIES
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import RESERVED_PROPERTIES
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import literal
from tests.unit.states import ENGINE, LEGACY, TABLE, field, state_of, struct

SCHEMA = struct(field("a", "integer"))
TRACKING = LEGACY.supporting(["rowTracking"])
UNIDENTIFIED = LiveFile("a.parquet", 1, None, None)


def plan(*features, state=None, allow=True, **options):
    request = EnableFeatureOptions(features=features, allow_protocol_upgrade=allow, **options)
    return plan_enabling(TABLE, request, state or state_of(SCHEMA, files=()), ENGINE)


def codes(planned):
    return [finding.code for finding in planned.refusals]


def statements(planned):
    assert planned.refusals == ()
    return [step.sql(TABLE) for step in planned.plan.steps]


def test_several_features_are_one_statement_with_sorted_properties():
    planned = plan("typeWidening", "timestampNtz", "changeDataFeed", properties={"team": "it's"})
    assert statements(planned) == [
        "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', "
        "'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported', 'team' = 'it\\'s')"
    ]
    (step,) = planned.plan.steps
    assert step.enables == ("changeDataFeed", "timestampNtz", "typeWidening")
    assert planned.plan.commits == 1


def test_feature_in_any_case_is_the_feature():
    assert plan("TYPEwidening").plan.steps == plan("typeWidening").plan.steps


def test_refused_upgrade_names_the_engines_that_it_newly_locks_out():
    (refusal,) = plan("rowTracking", allow=False).refusals
    assert "known not to read" not in refusal.effect
    assert "known not to write it then: Delta Spark before 3.2, delta-rs (deltalake), Polars," in refusal.effect


def test_refused_upgrade_names_the_engines_that_would_misread_the_table_before_those_locked_out():
    (refusal,) = plan("variantShredding", allow=False).refusals
    assert refusal.effect.index("misread the table then, without an error: delta-rs") < refusal.effect.index(
        "not to read"
    )
    (refusal,) = plan("deletionVectors", allow=False).refusals
    misreaders = refusal.effect.partition("misread the table then, without an error: ")[2].partition(". ")[0]
    assert {"Sail 0.5.0", "Daft 0.6.0"} <= set(misreaders.split(", "))
    (refusal,) = plan("timestampNtz", allow=False).refusals
    assert "misread" not in refusal.effect


def test_upgrade_that_was_not_allowed_is_refused_with_the_plan_and_the_remedy():
    planned = plan("rowTracking", allow=False)
    assert codes(planned) == ["RQ09"]
    message = planned.refusals[0].message
    assert (
        "from reader 1, writer 2 to reader 1, writer 7 [appendOnly, domainMetadata, invariants, rowTracking]" in message
    )
    assert "adding domainMetadata, rowTracking" in message
    assert (
        "The plan: set delta.enableRowTracking=true, which enables domainMetadata, rowTracking (about 2 commits)"
        in message
    )
    assert "allow_protocol_upgrade=True (--allow-protocol-upgrade)" in message
    assert planned.plan is not None


def test_property_that_changes_no_protocol_needs_no_permission():
    supported = state_of(SCHEMA, protocol=LEGACY.supporting(["typeWidening"]))
    planned = plan("typeWidening", state=supported, allow=False)
    assert statements(planned) == [
        "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    ]


def test_features_that_are_enabled_already_need_no_step():
    state = state_of(
        SCHEMA,
        protocol=LEGACY.supporting(["typeWidening", "domainMetadata"]),
        configuration={"delta.enableTypeWidening": "true", "team": "me"},
    )
    planned = plan("typeWidening", "domainMetadata", "appendOnly", state=state, allow=False, properties={"team": "me"})
    assert [step.properties for step in planned.plan.steps] == [(("delta.appendOnly", "true"),)]
    again = plan("typeWidening", "domainMetadata", state=state, allow=False, properties={"team": "me"})
    assert again.plan.steps == ()


def test_property_of_delta_in_another_case_is_the_same_property():
    state = state_of(SCHEMA, configuration={"delta.logRetentionDuration": "interval 3 days"})
    planned = plan(
        "domainMetadata",
        state=state,
        properties={"DELTA.logretentionduration": "interval 3 days", "Delta.EnableChangeDataFeed": "true"},
    )
    assert planned.plan.steps[0].properties == (
        ("delta.enableChangeDataFeed", "true"),
        ("delta.feature.domainMetadata", "supported"),
    )
    assert "changeDataFeed" in planned.plan.protocol_after.features


def test_property_that_brings_a_feature_is_part_of_the_upgrade():
    planned = plan("domainMetadata", allow=False, properties={"delta.enableDeletionVectors": "true"})
    assert "adding deletionVectors, domainMetadata" in planned.refusals[0].message


@pytest.mark.parametrize(
    ("files", "protocol", "commits"),
    [(0, LEGACY, 2), (1, LEGACY, 3), (22_000, LEGACY, 3), (22_001, LEGACY, 4), (22_001, TRACKING, 3), (0, TRACKING, 1)],
)
def test_row_tracking_counts_upgrade_backfills_and_property(files, protocol, commits):
    listed = (LiveFile(str(n), 1, None, None) for n in range(files))
    assert plan("rowTracking", state=state_of(SCHEMA, protocol=protocol, files=listed)).plan.commits == commits


def test_files_that_have_their_ids_need_no_backfill():
    files = [LiveFile("a", 1, 0, 1), LiveFile("b", 1, 10, 1)]
    assert plan("rowTracking", state=state_of(SCHEMA, protocol=TRACKING, files=files)).plan.commits == 1


def test_suspended_row_tracking_is_resumed_in_a_step_of_its_own():
    state = state_of(SCHEMA, protocol=TRACKING, configuration={"delta.rowTrackingSuspended": "true"}, files=())
    assert [step.properties for step in plan("rowTracking", state=state, allow=False).plan.steps] == [
        (("delta.rowTrackingSuspended", "false"),),
        (("delta.enableRowTracking", "true"),),
    ]


# -- refusals -------------------------------------------------------------------------------------


def test_unknown_feature_is_refused_with_the_nearest_name():
    (finding,) = plan("typeWidning").refusals
    assert finding.code == "RQ06"
    assert "no table feature 'typeWidning'. Did you mean 'typeWidening'?" in finding.message


def test_clustering_is_refused_with_what_to_do_instead_even_where_special_is_allowed():
    for allow_special in (False, True):
        (finding,) = plan("clustering", allow_special=allow_special).refusals
        assert finding.code == "RQ07"
        assert "CLUSTER BY" in finding.message


@pytest.mark.parametrize(
    "name",
    ["typeWidening-preview", "variantType-preview", "catalogManaged", "checkpointProtection", "icebergCompatV2"],
)
def test_special_feature_needs_allow_special(name):
    (finding,) = plan(name).refusals
    assert finding.code == "RQ07"
    assert "allow_special=True (--allow-special)" in finding.message
    mapping = {"delta.columnMapping.mode": "name"}
    assert codes(plan(name, allow_special=True, state=state_of(SCHEMA, files=(), configuration=mapping))) == []


def test_compatibility_with_iceberg_needs_a_table_that_is_mapped_already():
    (finding,) = plan("icebergCompatV2", allow_special=True).refusals
    assert finding.code == "RQ42"
    assert "the column mapping mode is none" in finding.message
    assert "Enable the feature columnMapping" in finding.message


V3 = {"delta.enableIcebergCompatV3": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
COMPATIBLE = LEGACY.supporting(["columnMapping", "rowTracking", "icebergCompatV3"])


@pytest.mark.parametrize(
    ("features", "before", "properties", "message", "remedy"),
    [
        (("icebergCompatV3",), MAPPED, {}, "row tracking is not enabled", "List rowTracking too"),
        (
            ("icebergCompatV3",),
            MAPPED | {"delta.enableRowTracking": "true"},
            {},
            "row tracking is enabled before it",
            "Set delta.enableRowTracking to false",
        ),
        (
            ("changeDataFeed",),
            MAPPED | V3 | {"delta.enableRowTracking": "true"},
            {"delta.enableIcebergCompatV3": "false"},
            "it is enabled and cannot be disabled",
            "new table",
        ),
    ],
    ids=["without row tracking", "after row tracking", "off"],
)
def test_third_version_of_iceberg_compatibility_comes_with_row_tracking_and_stays(
    features, before, properties, message, remedy
):
    state = state_of(SCHEMA, protocol=COMPATIBLE, configuration=before, files=())
    (finding,) = plan(*features, state=state, allow_special=True, properties=properties).refusals
    assert finding.code == "RQ42"
    assert message in finding.message
    assert remedy in finding.remedy


def test_third_version_of_iceberg_compatibility_is_enabled_together_with_row_tracking():
    state = state_of(SCHEMA, configuration=MAPPED, files=())
    assert codes(plan("icebergCompatV3", "rowTracking", state=state, allow_special=True)) == []
    state = state_of(SCHEMA, protocol=COMPATIBLE, configuration=MAPPED | V3 | {"delta.enableRowTracking": "true"})
    assert codes(plan("icebergCompatV3", state=state, allow_special=True)) == []


def test_special_feature_cannot_come_in_through_its_property():
    (finding,) = plan("columnMapping", properties={"delta.EnableIcebergCompatV2": "true"}).refusals
    assert finding.code == "RQ08"
    assert "icebergCompatV2, which needs allow_special=True" in finding.message
    allowed = plan("columnMapping", allow_special=True, properties={"delta.enableIcebergCompatV2": "true"})
    assert "icebergCompatV2" in allowed.plan.protocol_after.features
    assert codes(plan("columnMapping", properties={"delta.enableIcebergCompatV2": "false"})) == []


def test_property_that_brings_a_preview_is_set_together_with_the_stable_features_name():
    planned = plan("variantShredding")
    assert planned.plan.steps[0].properties == (
        ("delta.enableVariantShredding", "true"),
        ("delta.feature.variantShredding", "supported"),
    )
    assert planned.plan.protocol_after == LEGACY.supporting(["variantShredding", "variantType"])
    assert codes(plan("appendOnly", properties={"delta.enableVariantShredding": "true"})) == ["RQ08"]
    assert codes(plan("variantShredding", properties={"delta.enableVariantShredding": "true"})) == []


def test_preview_asked_for_by_name_does_not_bring_the_stable_feature():
    after = plan("typeWidening-preview", allow_special=True).plan.protocol_after
    assert after == LEGACY.supporting(["typeWidening-preview"])


def test_feature_that_the_engine_does_not_know_is_refused():
    (finding,) = plan("columnMappingUsageTracking").refusals
    assert finding.code == "RQ05"
    assert "Delta 4.4.0 on Spark 4.2.0 does not support" in finding.message


@pytest.mark.parametrize("name", [*WRITER_OWNED_PROPERTIES, "DELTA.columnmapping.MAXcolumnid"])
def test_property_that_writers_own_is_refused(name):
    (finding,) = plan("domainMetadata", properties={name: "1"}).refusals
    assert finding.code == "RQ08"
    assert repr(name) in finding.message


@pytest.mark.parametrize(
    ("features", "properties", "message"),
    [
        ("domainMetadata", {"delta.feature.rowTracking": "supported"}, "under features instead: 'rowTracking'"),
        ("domainMetadata", {"delta.minReaderVersion": "3"}, "versions follow from the features"),
        ("domainMetadata", {"delta.constraints.c": "a > 0"}, "ADD CONSTRAINT"),
        ("columnMapping", {"delta.columnMapping.mode": "id"}, "mode 'id' cannot be reached from 'none'"),
        ("domainMetadata", {"delta.columnMapping.mode": "ID"}, "mode 'ID' cannot be reached from 'none'"),
        ("typeWidening", {"delta.enableTypeWidening": "false"}, "contradicts features"),
    ],
)
def test_property_that_has_another_way_is_refused_with_that_way(features, properties, message):
    (finding,) = plan(features, properties=properties).refusals
    assert finding.code == "RQ08"
    assert message in finding.message


def test_mode_id_is_kept_where_the_table_already_has_it():
    state = state_of(SCHEMA, protocol=Protocol(2, 5), configuration={"delta.columnMapping.mode": "id"})
    assert plan("columnMapping", state=state).plan.steps == ()
    assert plan("columnMapping", state=state, properties={"delta.columnMapping.mode": "id"}).plan.steps == ()


def test_all_refusals_of_a_request_come_together():
    assert codes(plan("clustering", "nonsense", properties={"delta.minReaderVersion": "3"})) == ["RQ07", "RQ06", "RQ08"]


@pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview"])
def test_catalog_managed_table_is_refused(name):
    state = state_of(SCHEMA, protocol=Protocol(3, 7, frozenset({name}), frozenset({name})))
    planned = plan("typeWidening", state=state)
    assert codes(planned) == ["RQ04"]
    assert planned.plan is None


def test_table_with_a_feature_that_the_engine_does_not_know_is_refused():
    state = state_of(SCHEMA, protocol=Protocol(1, 7, None, frozenset({"hologram"})))
    (finding,) = plan("typeWidening", state=state).refusals
    assert finding.code == "RQ05"
    assert "hologram" in finding.message


# -- verifying ------------------------------------------------------------------------------------


def verified(*features, state, **options):
    return verify_enabled(EnableFeatureOptions(features=features, **options), state)


def test_feature_that_is_not_enabled_afterwards_is_a_finding():
    (finding,) = verified("typeWidening", state=state_of(SCHEMA, protocol=LEGACY.supporting(["typeWidening"])))
    assert (finding.code, finding.version) == ("TF18", 3)
    assert "typeWidening is supported, not enabled" in finding.message


def test_requirement_that_is_missing_is_a_finding():
    protocol = Protocol(1, 7, None, frozenset({"rowTracking"}))
    state = state_of(SCHEMA, protocol=protocol, configuration={"delta.enableRowTracking": "true"}, files=())
    assert [finding.code for finding in verified("rowTracking", state=state)] == ["TF08"]


@pytest.mark.parametrize("file", [UNIDENTIFIED, LiveFile("a.parquet", 1, 0, None), LiveFile("a.parquet", 1, None, 3)])
def test_live_file_without_its_ids_is_a_finding(file):
    state = state_of(
        SCHEMA,
        protocol=TRACKING,
        configuration={"delta.enableRowTracking": "true"},
        files=[file, LiveFile("b.parquet", 1, 0, 1)],
    )
    (finding,) = verified("rowTracking", state=state)
    assert (finding.code, finding.path) == ("RT05", "a.parquet")
    assert "1 of 2 live files lack baseRowId or defaultRowCommitVersion, the first is a.parquet" in finding.message


def test_property_that_is_not_as_it_was_set_is_a_finding():
    state = state_of(SCHEMA, configuration={"team": "you"})
    (finding,) = verified("appendOnly", state=state, properties={"team": "me"})[1:]
    assert finding.code == "TF19"


def test_files_are_read_where_row_tracking_is_asked_for_by_feature_or_property():
    assert reads_files(EnableFeatureOptions(features=("ROWTRACKING",)))
    assert reads_files(EnableFeatureOptions(features=("appendOnly",), properties={"Delta.enableRowTracking": "true"}))
    assert not reads_files(EnableFeatureOptions(features=("appendOnly",)))


# -- plans ----------------------------------------------------------------------------------------


def test_digest_is_the_same_for_the_same_plan_and_another_for_any_difference():
    digests = [
        plan("typeWidening").plan.digest,
        plan("typeWidening", state=state_of(SCHEMA, files=(), version=9)).plan.digest,
        plan("timestampNtz").plan.digest,
        plan("typeWidening", properties={"a": "b"}).plan.digest,
        plan_enabling(
            TableName.parse("/lake/u"),
            EnableFeatureOptions(features=("typeWidening",), allow_protocol_upgrade=True),
            state_of(SCHEMA),
            ENGINE,
        ).plan.digest,
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
    assert re.fullmatch("[0-9a-f]{64}", digests[0])


@given(st.text() | st.text("a'\\"))
def test_literal_of_any_text_ends_only_at_its_end(text):
    quoted = literal(text)
    body = quoted[1:-1]
    assert quoted[0] == quoted[-1] == "'"
    assert re.fullmatch(r"(?:[^'\\]|\\.)*", body, re.DOTALL)
    assert re.sub(r"\\(.)", r"\1", body, flags=re.DOTALL) == text


def test_feature_whose_property_brings_another_one_is_asked_for_by_name_too():
    request = EnableFeatureOptions(features=("typeWidening",), allow_protocol_upgrade=True)
    planned = plan_enabling(TABLE, request, state_of(SCHEMA), ENGINE, {"typeWidening"})
    assert statements(planned) == [
        "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES "
        "('delta.enableTypeWidening' = 'true', 'delta.feature.typeWidening' = 'supported')"
    ]


@pytest.mark.parametrize("name", RESERVED_PROPERTIES)
def test_property_that_sql_takes_for_something_else_is_refused(name):
    planned = plan("appendOnly", properties={name: "x"})
    assert codes(planned) == ["RQ08"]
    assert codes(plan("appendOnly", properties={name.capitalize(): "x"})) == []
