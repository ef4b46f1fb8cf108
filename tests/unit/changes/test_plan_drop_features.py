"""Dropping features: what a plan says, refuses and leaves for later, and what is wrong afterwards; no Spark."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from airflow_delta_provider.domain.changes.drop_features import DropSurvey, RewriteCost, plan_drop, verify_dropped
from airflow_delta_provider.domain.delta.data_type import PrimitiveType
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS, in_order
from airflow_delta_provider.domain.delta.features.log import CHECKPOINT_PROTECTION
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED, FEATURES
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.engine.access import who_is_locked_out
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import DropFeatureOptions
from tests.unit.mapped_tables import mapped
from tests.unit.mapped_tables import table as mapped_table
from tests.unit.states import ENGINE, LEGACY, TABLE, field, state_of, struct

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
SCHEMA = struct(field("a", "integer"))
ALL = ("allow_protocol_upgrade", "allow_rewrite", "acknowledge_history_loss", "acknowledge_row_id_loss")
EVERYTHING = dict.fromkeys(ALL, True)


def table(*features, configuration=None, schema=SCHEMA, files=()):
    return state_of(schema, protocol=LEGACY.supporting(features), configuration=configuration, files=files)


CLUSTERED = replace(
    mapped_table(mapped(SCHEMA), protocol=LEGACY.supporting(["columnMapping", "clustering"])),
    domains={"delta.clustering": '{"clusteringColumns": [["col-1"]]}'},
)


def plan(state, *features, survey=None, engine=ENGINE, **options):
    request = DropFeatureOptions(features=features, **options)
    return plan_drop(TABLE, request, state, engine, survey or DropSurvey(), NOW)


def codes(planned):
    return [finding.code for finding in planned.refusals]


def test_features_are_dropped_one_statement_each_those_that_need_others_first():
    planned = plan(table("rowTracking", "typeWidening"), "domainMetadata", "typewidening", "rowTracking", **EVERYTHING)
    assert [step.sql(TABLE) for step in planned.plan.steps] == [
        "ALTER TABLE delta.`/lake/t` DROP FEATURE `typeWidening`",
        "ALTER TABLE delta.`/lake/t` DROP FEATURE `rowTracking`",
        "ALTER TABLE delta.`/lake/t` DROP FEATURE `domainMetadata`",
    ]
    assert planned.refusals == ()
    assert planned.plan.protocol_after.to_json() == {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": ["appendOnly", "checkpointProtection", "invariants"],
    }


def test_feature_that_is_not_there_leaves_nothing_to_do():
    planned = plan(table("rowTracking"), "typeWidening", "deletionVectors")
    assert (planned.refusals, planned.plan.steps) == ((), ())
    assert planned.plan.protocol_after == planned.plan.protocol_before


def test_feature_of_a_legacy_protocol_is_dropped_to_the_features_that_are_left():
    after = plan(state_of(SCHEMA, protocol=Protocol(1, 3), files=()), "checkConstraints").plan.protocol_after
    assert after == Protocol(1, 2)


@pytest.mark.parametrize(
    ("name", "survey", "options", "code"),
    [
        ("vacuumProtocolCheck", {}, {"allow_protocol_upgrade"}, "RQ09"),
        ("columnMapping", {"rewritten": {"columnMapping": RewriteCost(2, 5000)}}, {"allow_rewrite"}, "RQ32"),
        ("rowTracking", {}, {"acknowledge_row_id_loss"}, "RQ34"),
        ("typeWidening", {}, {"acknowledge_history_loss"}, "RQ33"),
        ("checkpointProtection", {}, {"acknowledge_history_loss"}, "RQ33"),
    ],
)
def test_each_cost_has_to_be_allowed_by_its_own_argument(name, survey, options, code):
    truncate = {"truncate_history": True} if code == "RQ33" else {}
    others = {option: True for option in ALL if option not in options}
    state, found = table(name), DropSurvey(**survey)
    refused = plan(state, name, survey=found, **others, **truncate)
    assert codes(refused) == [code]
    assert all(option in refused.refusals[0].message for option in options)
    assert refused.plan.steps
    assert codes(plan(state, name, survey=found, **EVERYTHING, **truncate)) == []


def test_protection_of_history_goes_with_that_history_only():
    refused = plan(table("checkpointProtection"), "checkpointProtection", **EVERYTHING)
    assert (refused.plan, codes(refused)) == (None, ["RQ30"])
    assert "truncate_history=True" in refused.refusals[0].message


@pytest.mark.parametrize("name", sorted(name for name, removal in REMOVALS.items() if not removal.without_sql))
def test_plan_adds_the_protection_of_history_exactly_where_the_engine_does(name):
    removal = REMOVALS[name]
    truncating = {"truncate_history": removal.only_truncating}
    planned = plan(table(name), name, **EVERYTHING, **truncating)
    assert codes(planned) == []
    added = planned.plan.protocol_after.features - planned.plan.protocol_before.features
    assert added == ({"checkpointProtection"} if removal.protects else set())
    assert name not in planned.plan.protocol_after.features
    truncated = plan(table(name), name, truncate_history=True, **EVERYTHING)
    assert truncated.plan.protocol_after == weakest_protocol(table(name).protocol.features - {name})
    assert ("TRUNCATE HISTORY" in truncated.plan.steps[0].sql(TABLE)) == removal.truncates


@pytest.mark.parametrize("name", sorted(FEATURES.keys() - REMOVALS.keys() - {*CATALOG_MANAGED}))
def test_feature_that_no_engine_can_drop_is_refused_with_the_reason(name):
    # A catalog-managed table is refused as such, and so is one with what requires that.
    expected = "RQ04" if name == "adaptiveMetadata-preview" else "RQ30"
    refused = plan(table(name), name, **EVERYTHING)
    assert codes(refused) == [expected]
    assert "cannot be dropped" in refused.refusals[0].message or expected == "RQ04"


@pytest.mark.parametrize(
    ("state", "asked", "code", "says"),
    [
        (table("typeWidening"), "typeWidning", "RQ06", "Did you mean 'typeWidening'"),
        (table("rowTracking"), "domainMetadata", "RQ31", "rowTracking of this table needs domainMetadata"),
        (table("icebergCompatV2"), "columnMapping", "RQ31", "icebergCompatV2"),
        (
            table("checkConstraints", configuration={"delta.constraints.positive": "a > 0"}),
            "checkConstraints",
            "RQ31",
            "CHECK constraints: positive",
        ),
        (table("geospatial", schema=struct(field("g", "geometry(4326)"))), "geospatial", "RQ31", "columns: g"),
        (table("columnMapping", schema=struct(field("x y", "integer"))), "columnMapping", "RQ31", "'x y'"),
        (CLUSTERED, "columnMapping", "RQ31", "CLUSTER BY NONE"),
        (table("catalogManaged"), "inCommitTimestamp", "RQ04", "managed by its catalog"),
    ],
)
def test_what_cannot_be_done_is_refused_and_what_stands_against_it_is_named(state, asked, code, says):
    refused = plan(state, asked, **EVERYTHING)
    assert codes(refused) == [code]
    assert says in refused.refusals[0].message
    assert refused.plan is None


@pytest.mark.parametrize(("delta", "codes_"), [("4.0.1", ["RQ05"]), ("4.1.0", [])])
def test_older_engine_is_refused_what_it_cannot_drop(delta, codes_):
    assert codes(
        plan(table("rowTracking"), "rowTracking", engine=Engine("4", delta, ENGINE.features), **EVERYTHING)
    ) == (codes_)


def test_mapping_that_is_off_is_dropped_whatever_the_table_is_clustered_by():
    off = replace(CLUSTERED, metadata=table("columnMapping").metadata)
    assert codes(plan(off, "columnMapping", **EVERYTHING)) == []


def test_feature_that_no_sql_can_drop_is_a_step_without_one():
    state = table("columnMappingUsageTracking")
    planned = plan(state, "columnMappingUsageTracking", **EVERYTHING)
    assert planned.refusals == ()
    (step,) = planned.plan.steps
    assert step.sql(TABLE) is None
    assert step.explanation == "drop columnMappingUsageTracking (1 commit)"
    assert planned.plan.protocol_after.features == state.protocol.features - {"columnMappingUsageTracking"}


def test_feature_that_no_engine_knows_is_dropped_before_the_others():
    both = ("inCommitTimestamp", "columnMappingUsageTracking")
    planned = plan(table(*both), *both, **EVERYTHING)
    assert [step.feature for step in planned.plan.steps] == ["columnMappingUsageTracking", "inCommitTimestamp"]


def test_plan_says_what_is_rewritten_and_what_stays_behind():
    rewritten = {"typeWidening": RewriteCost(1200, 5_000_000, 3)}
    survey = DropSurvey(rewritten)
    planned = plan(table("typeWidening", "rowTracking"), "typeWidening", "rowTracking", survey=survey, **EVERYTHING)
    assert planned.plan.notes == (
        "Dropping typeWidening rewrites 1,200 data files (5.0 MB), 3 of them because their footers could not be read.",
        "Dropping rowTracking rewrites no data file.",
        REMOVALS["rowTracking"].leaves,
        who_is_locked_out(CHECKPOINT_PROTECTION.name, ()),
    )
    assert "domainMetadata stays" in planned.plan.notes[2]
    assert planned.plan.notes[3].startswith("Writers that do not know")
    assert planned.plan.steps[0].explanation == (
        "drop typeWidening, which rewrites 1,200 data files (5.0 MB) (about 4 commits)"
    )


def test_history_that_is_too_young_leaves_the_drop_for_later_and_the_rest_is_done():
    later = NOW + timedelta(hours=1)
    state = table("typeWidening", "rowTracking")
    options = {**EVERYTHING, "truncate_history": True}
    survey = DropSurvey(earliest={"typeWidening": later})
    planned = plan(state, "typeWidening", "rowTracking", survey=survey, **options)
    assert [step.feature for step in planned.plan.steps] == ["rowTracking"]
    assert "2026-01-02 04:04:05 UTC" in planned.plan.notes[-1]
    due = DropSurvey(earliest={"typeWidening": NOW})
    assert [step.feature for step in plan(state, "typeWidening", survey=due, **options).plan.steps] == ["typeWidening"]


def verify(state, *features, earliest=None, promised=None, **options):
    return list(
        verify_dropped(DropFeatureOptions(features=features, **options), state, earliest or {}, promised=promised)
    )


def test_feature_that_waits_for_its_history_is_undecided_and_says_since_when_it_can_be_dropped():
    later = NOW.replace(second=0) + timedelta(hours=1)
    (found,) = verify(table("typeWidening"), "typeWidening", earliest={"typeWidening": later}, truncate_history=True)
    assert (found.code, found.severity.value, found.subject) == ("TF24", "UNDECIDED", "typeWidening")
    assert found.earliest == "2026-01-02T04:04:00.000+00:00"
    assert "from 2026-01-02 04:04 UTC on" in found.message


@pytest.mark.parametrize(
    ("state", "options"),
    [
        (table("typeWidening"), {}),
        (table("typeWidening", configuration={"delta.enableTypeWidening": "true"}), {"truncate_history": True}),
    ],
)
def test_feature_that_is_still_there_is_an_error(state, options):
    assert [(f.code, f.subject) for f in verify(state, "typeWidening", **options)] == [("TF23", "typeWidening")]


VECTOR = DeletionVector.from_json(
    {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 4, "cardinality": 1, "offset": 1}
)
LEFT = {
    "columnMapping": mapped_table(mapped(SCHEMA), {}, protocol=LEGACY),
    "deletionVectors": table(files=[LiveFile("f", 1, None, None, deletion_vector=VECTOR)]),
    "rowTracking": table(files=[LiveFile("f", 1, 0, None)]),
    "typeWidening": table(schema=struct(field("a", "long", delta__typeChanges=[]))),
    "checkpointProtection": table(configuration={"delta.requireCheckpointProtectionBeforeVersion": "3"}),
}


@pytest.mark.parametrize("name", sorted(LEFT))
def test_traces_that_a_drop_left_are_an_error_and_those_of_nobodys_drop_are_not(name):
    state = LEFT[name]
    found = verify(state, name, promised=state.protocol)
    assert [(f.code, f.subject) for f in found] == [("TF23", name)]
    assert verify(state, name) == []
    assert verify(table(), name, promised=LEGACY) == []


def test_protection_that_nobody_asked_for_is_an_error():
    found = verify(table("checkpointProtection"), "rowTracking", promised=LEGACY)
    assert [(f.code, f.subject) for f in found] == [("TF23", "checkpointProtection")]


def test_features_are_ordered_whatever_order_they_are_named_in():
    assert in_order(("checkpointProtection", "domainMetadata", "icebergCompatV3", "columnMapping", "rowTracking")) == (
        "icebergCompatV3",
        "columnMapping",
        "rowTracking",
        "domainMetadata",
        "checkpointProtection",
    )


@pytest.mark.parametrize(
    "wrong", [{"features": ()}, {"features": "typeWidening"}, {"features": ("x",), "truncate_history": "yes"}]
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(RequestError):
        DropFeatureOptions(**wrong)


def test_geospatial_columns_are_found_at_any_depth():
    inner = struct(field("g", PrimitiveType("geography")))
    assert codes(plan(table("geospatial", schema=struct(field("s", inner))), "geospatial", **EVERYTHING)) == ["RQ31"]
