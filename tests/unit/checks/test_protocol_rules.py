"""The rules of the protocol action, one healthy value broken in one place at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.protocol import FAMILY
from airflow_delta_provider.domain.checks.protocol.lists import no_protocol
from airflow_delta_provider.domain.checks.protocol.missing_features import used_features
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import ArrayType
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED, FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import Past, TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit.check_families import check_change, check_first, check_state
from tests.unit.damages.protocol import CASES
from tests.unit.states import LEGACY, field, metadata_of, state_of, struct

ID = field("id", "long")
PLAIN = struct(ID)
NTZ = struct(field("at", "timestamp_ntz"))
WIDENED = struct(field("at", "timestamp_ntz", delta__typeChanges=[{"fromType": "date", "toType": "timestamp_ntz"}]))
IDENTITY = struct(field("n", "long", **{"delta.identity.start": 1, "delta.identity.step": 1}))
GENERATED = struct(field("day", "date", delta__generationExpression="CAST(at AS DATE)"))
NOT_NULL = struct(ID, field("s", struct(replace(field("a", "long"), nullable=False))))
NOT_NULL_IN_ARRAY = struct(field("a", ArrayType(struct(replace(field("x", "long"), nullable=False)))))
NESTED_VARIANT = struct(field("s", struct(field("v", "variant"))))
COLLATED = struct(replace(field("s", "string"), metadata={"__COLLATIONS": {"s": "spark.UTF8_LCASE"}}))
GEOMETRY = struct(field("g", "geometry(OGC:CRS84)"))
CDF = {"delta.enableChangeDataFeed": "true"}
PROTECTED = {"delta.requireCheckpointProtectionBeforeVersion": "5"}
CHECKED = {"delta.constraints.positive": "id > 0"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def listing(*writers: str, readers: tuple[str, ...] | None = None) -> Protocol:
    """Writer version 7; with ``readers``, reader version 3."""
    lists = None if readers is None else frozenset(readers)
    return Protocol(1 if readers is None else 3, 7, lists, frozenset(writers))


def supporting(*names: str) -> TableState:
    return state_of(PLAIN, protocol=LEGACY.supporting(names))


def table(protocol: Protocol, configuration: Mapping[str, str] | None = None, schema: Any = PLAIN) -> TableState:
    return state_of(schema, protocol=protocol, configuration=configuration)


def codes(findings: Any) -> list[str]:
    return [finding.code for finding in findings]


HEALTHY = {
    "the oldest protocol": table(Protocol(1, 1)),
    "legacy": table(Protocol(2, 6), CDF | CHECKED | {"delta.columnMapping.mode": "name"}),
    "column mapping for writers, by reader version 2": table(Protocol(2, 7, None, frozenset({"columnMapping"}))),
    "column mapping by name": table(listing("columnMapping", readers=("columnMapping",))),
    "iceberg over column mapping by reader version 2": table(Protocol(2, 7, None, frozenset({"icebergCompatV2"}))),
    "NOT NULL under versions that imply invariants": table(LEGACY, schema=NOT_NULL),
    "NOT NULL before versions had invariants": table(Protocol(1, 1), schema=NOT_NULL),
    "NOT NULL with invariants listed": table(listing("invariants"), schema=NOT_NULL),
    "NOT NULL within an array, which Delta Spark does not count": table(
        listing("appendOnly"), schema=NOT_NULL_IN_ARRAY
    ),
    "no feature at all": table(Protocol(3, 7, frozenset(), frozenset())),
    "a preview that has no stable name beside it": table(supporting("typeWidening-preview").protocol),
    "a preview that stands for what is required": table(
        listing("variantShredding", "variantType-preview", readers=("variantShredding", "variantType-preview"))
    ),
    "a property and its feature": table(LEGACY.supporting(["deletionVectors"]), VECTORS),
    "a property and the preview of its feature": table(
        LEGACY.supporting(["variantShredding-preview"]), {"delta.enableVariantShredding": "true"}
    ),
    "a property that is off": table(LEGACY, {"delta.enableDeletionVectors": "false"}),
    "properties that other families judge": table(
        LEGACY,
        {
            "delta.enableRowTracking": "true",
            "delta.enableTypeWidening": "true",
            "delta.columnMapping.mode": "name",
        },
    ),
    "a type and its feature": table(LEGACY.supporting(["timestampNtz"]), schema=NTZ),
    "a constraint that the version implies": table(Protocol(1, 3), CHECKED),
    "protected checkpoints": table(listing("checkpointProtection"), PROTECTED),
    "the protection of checkpoints without a version": table(listing("checkpointProtection")),
    "checkpoints protected before no version": table(LEGACY, {"delta.requireCheckpointProtectionBeforeVersion": "0"}),
    "a schema that MD02 judges": replace(table(LEGACY), metadata=replace(metadata_of(NTZ), schema_string="{")),
    "catalog-managed": supporting("catalogManaged"),
}


@pytest.mark.parametrize("state", HEALTHY.values(), ids=HEALTHY)
def test_healthy_protocol_has_no_finding(state: TableState) -> None:
    assert check_state(state, "TF") == []


BROKEN = {
    "TF01 no list for readers": (table(Protocol(3, 7, None, frozenset({"timestampNtz"}))), "TF01", "ERROR"),
    "TF01 nor a feature to go by": (table(Protocol(3, 7, None, frozenset()), VECTORS), "TF01", "ERROR"),
    "TF02 no list for writers": (table(Protocol(1, 7)), "TF02", "ERROR"),
    "TF02 but one for readers": (table(Protocol(3, 7, frozenset({"timestampNtz"}))), "TF02", "ERROR"),
    "TF02 no list at all": (table(Protocol(3, 7)), "TF02", "ERROR"),
    "TF03 an empty list": (table(Protocol(1, 2, frozenset())), "TF03", "ERROR"),
    "TF03 the version lowered": (
        table(Protocol(1, 7, frozenset({"deletionVectors"}), frozenset({"deletionVectors"}))),
        "TF03",
        "ERROR",
    ),
    "TF04 an empty list": (table(Protocol(1, 2, None, frozenset())), "TF04", "ERROR"),
    "TF05 without lists": (table(Protocol(3, 2)), "TF05", "ERROR"),
    "TF05 with lists": (
        table(Protocol(3, 6, frozenset({"timestampNtz"}), frozenset({"timestampNtz"}))),
        "TF05",
        "ERROR",
    ),
    "TF06 readers only": (table(listing("invariants", readers=("deletionVectors",))), "TF06", "ERROR"),
    "TF07 writers only": (table(listing("deletionVectors", readers=())), "TF07", "ERROR"),
    "TF07 without a list for readers": (table(listing("timestampNtz")), "TF07", "ERROR"),
    "TF07 column mapping at reader version 1": (table(listing("columnMapping")), "TF07", "ERROR"),
    "TF08 row tracking": (table(listing("rowTracking")), "TF08", "ERROR"),
    "TF08 clustering": (table(listing("clustering")), "TF08", "ERROR"),
    "TF08 iceberg": (table(listing("icebergCompatV1")), "TF08", "ERROR"),
    "TF08 variant": (table(listing("variantShredding", readers=("variantShredding",))), "TF08", "ERROR"),
    "TF08 catalog": (
        table(listing("catalogManaged", "vacuumProtocolCheck", readers=("catalogManaged", "vacuumProtocolCheck"))),
        "TF08",
        "ERROR",
    ),
    "TF08 Spark's own": (
        table(listing("catalogManaged", "inCommitTimestamp", readers=("catalogManaged",))),
        "TF08",
        "WARNING",
    ),
    "TF15 a writer's property": (table(LEGACY, CDF), "TF15", "WARNING"),
    "TF15 a reader's property": (table(Protocol(3, 7, frozenset(), frozenset()), VECTORS), "TF15", "ERROR"),
    "TF15 the checkpoint policy": (table(LEGACY, {"delta.checkpointPolicy": "v2"}), "TF15", "WARNING"),
    "TF15 two features, one property": (table(LEGACY, {"delta.enableVariantShredding": "true"}), "TF15", "ERROR"),
    "TF15 the protection of checkpoints": (table(LEGACY, PROTECTED), "TF15", "WARNING"),
    "TF16 both": (supporting("typeWidening", "typeWidening-preview"), "TF16", "WARNING"),
    "TF17 for readers": (table(listing("hologram", readers=("hologram",))), "TF17", "UNDECIDED"),
    "TF17 for writers": (table(listing("hologram")), "TF17", "UNDECIDED"),
    "TF17 in another case": (
        table(listing("DeletionVectors", readers=("DeletionVectors",))),
        "TF17",
        "UNDECIDED",
    ),
    "TF17 another name for timestampNtz": (
        table(listing("timestampWithoutTimezone", readers=("timestampWithoutTimezone",)), schema=NTZ),
        "TF17",
        "UNDECIDED",
    ),
    "TF17 a collated string and its feature": (
        table(listing("collations", "domainMetadata"), schema=COLLATED),
        "TF17",
        "UNDECIDED",
    ),
    "TF17 a collated string and the preview": (
        table(listing("collations-preview", "domainMetadata"), schema=COLLATED),
        "TF17",
        "UNDECIDED",
    ),
    "TF20 a later version": (table(Protocol(4, 8, frozenset(), frozenset())), "TF20", "UNDECIDED"),
    "TF28 no version": (table(Protocol(0, 0)), "TF28", "ERROR"),
    "TF21 a writer's feature for readers": (table(listing("appendOnly", readers=("appendOnly",))), "TF21", "WARNING"),
    "TF22 a type": (table(LEGACY, schema=NTZ), "TF22", "ERROR"),
    "TF22 a nested type": (table(LEGACY, schema=NESTED_VARIANT), "TF22", "ERROR"),
    "TF22 a collated string": (table(LEGACY, schema=COLLATED), "TF22", "ERROR"),
    "TF22 a geometry": (table(LEGACY, schema=GEOMETRY), "TF22", "ERROR"),
    "TF22 a constraint": (table(LEGACY, CHECKED), "TF22", "ERROR"),
    "TF22 NOT NULL": (table(listing("appendOnly"), schema=NOT_NULL), "TF22", "ERROR"),
    "TF22 a generated column of an old engine": (table(LEGACY, schema=GENERATED), "TF22", "WARNING"),
    "TF22 an identity column of an old engine": (table(LEGACY, schema=IDENTITY), "TF22", "WARNING"),
    "TF22 a generated column": (table(listing("invariants"), schema=GENERATED), "TF22", "ERROR"),
}


@pytest.mark.parametrize(("state", "code", "severity"), BROKEN.values(), ids=BROKEN)
def test_broken_protocol_has_one_finding(state: TableState, code: str, severity: str) -> None:
    (finding,) = check_state(state, "TF")
    assert (finding.code, finding.severity.value, finding.version) == (code, severity, state.version)


def test_both_lists_too_early_are_two_mistakes() -> None:
    assert codes(check_state(table(Protocol(1, 2, frozenset(), frozenset())), "TF")) == ["TF03", "TF04"]


def test_unknown_feature_is_told_from_a_misspelled_one() -> None:
    spelled = table(listing("DeletionVectors", readers=("DeletionVectors",)))
    (finding,) = check_state(spelled, "TF")
    assert "deletionVectors may be meant" in finding.message
    (finding,) = check_state(table(listing("hologram")), "TF")
    assert "may be meant" not in finding.message
    assert "Readers may ignore the feature" in finding.message


def test_dependency_names_both_features() -> None:
    (finding,) = check_state(table(listing("rowTracking")), "TF")
    assert "supports rowTracking, but not domainMetadata" in finding.message


known_names = st.sets(st.sampled_from(sorted(FEATURES.keys() - set(CATALOG_MANAGED))), max_size=8)


@given(names=known_names)
def test_protocol_that_supports_any_features_is_in_order(names: set[str]) -> None:
    protocol = LEGACY.supporting(names)
    twice = {name for name in protocol.features if name.removesuffix("-preview").removesuffix("-dev") != name}
    twice = {name for name in twice if name.removesuffix("-preview").removesuffix("-dev") in protocol.features}
    unjudged = {name for name in protocol.features if not FEATURES[name].is_judged}
    expected = ({"TF16"} if twice else set()) | ({"TF17"} if unjudged else set())
    assert set(codes(check_state(table(protocol), "TF"))) == expected


@given(names=known_names, more=known_names)
def test_protocol_that_supports_more_features_lost_none(names: set[str], more: set[str]) -> None:
    before = LEGACY.supporting(names)
    assert change(before, before.supporting(more)) == []


# -- commits ----------------------------------------------------------------------------------------------


def commit(*protocols: Protocol, version: int = 4, **info: Any) -> Commit:
    known = {"engineInfo": "Some-Engine/1.0", "operation": "SET TBLPROPERTIES", "timestamp": 1_700_000_000_000}
    return Commit(version, known | info, protocols=protocols)


def transition(before: TableState, *protocols: Protocol, **info: Any) -> Transition:
    made = commit(*protocols, **info)
    after = protocols[-1] if protocols else before.protocol
    return Transition(before, made, replace(before, version=4, protocol=after), {})


def change(before: Protocol, after: Protocol, **info: Any) -> list[Finding]:
    return check_change(transition(table(before), after, **info), "TF")


TRACKED = LEGACY.supporting(["rowTracking"])
WIDENING = LEGACY.supporting(["typeWidening"])
MAPPED = Protocol(2, 5)
DROP = {"operation": "DROP FEATURE"}
QUIET = {
    "no protocol action": transition(table(TRACKED)),
    "the same again": transition(table(TRACKED), TRACKED),
    "an upgrade that lists what was implied": transition(table(LEGACY), TRACKED),
    "an upgrade that leaves out what was never used": transition(
        table(MAPPED), Protocol(2, 7, None, frozenset({"appendOnly", "columnMapping"}))
    ),
    "back to versions that mean the same": transition(
        table(listing("appendOnly", "invariants", "timestampNtz", readers=("timestampNtz",))),
        Protocol(3, 7, frozenset({"timestampNtz"}), frozenset({"appendOnly", "invariants", "timestampNtz"})),
    ),
    "back to legacy versions": transition(table(listing("appendOnly", "invariants")), LEGACY),
    "column mapping by version instead of by name": transition(
        table(listing("columnMapping", readers=("columnMapping",))), Protocol(2, 7, None, frozenset({"columnMapping"}))
    ),
    "a preview that became stable": transition(table(LEGACY.supporting(["typeWidening-preview"])), WIDENING),
    "a feature dropped": transition(
        table(TRACKED),
        LEGACY.supporting(["domainMetadata"]),
        operationParameters={"featureName": "rowtracking"},
        **DROP,
    ),
    "a feature dropped, and its versions with it": transition(
        table(WIDENING), LEGACY, operationParameters={"featureName": "typeWidening"}, **DROP
    ),
    "a feature dropped that is not named": transition(table(WIDENING), LEGACY, **DROP),
    "a list where there was none": transition(table(Protocol(1, 2, frozenset({"hologram"}))), LEGACY),
    "what the state's rules say": transition(table(WIDENING), Protocol(3, 2)),
}


@pytest.mark.parametrize("made", QUIET.values(), ids=QUIET)
def test_commit_that_loses_nothing_has_no_finding(made: Transition) -> None:
    assert check_change(made, "TF") == []


WRONG = {
    "TF09 two": (transition(table(LEGACY), TRACKED, WIDENING), "TF09", "ERROR"),
    "TF09 the same twice": (transition(table(LEGACY), TRACKED, TRACKED), "TF09", "ERROR"),
    "TF11 a feature vanished": (transition(table(TRACKED), listing("appendOnly", "invariants")), "TF11", "ERROR"),
    "TF11 a feature vanished that only writers listed": (
        transition(
            table(Protocol(3, 7, None, frozenset({"rowTracking", "domainMetadata"}))), listing("domainMetadata")
        ),
        "TF12",
        "ERROR",
    ),
    "TF11 another one dropped": (
        transition(
            table(TRACKED),
            listing("appendOnly", "domainMetadata"),
            operationParameters={"featureName": "rowTracking"},
            **DROP,
        ),
        "TF11",
        "ERROR",
    ),
    "TF11 called RESTORE": (
        transition(table(TRACKED), listing("appendOnly", "invariants"), operation="RESTORE"),
        "TF11",
        "ERROR",
    ),
    "TF12 both versions": (transition(table(WIDENING), LEGACY), "TF12", "ERROR"),
    "TF12 legacy versions": (transition(table(Protocol(1, 4)), Protocol(1, 3)), "TF12", "ERROR"),
    "TF12 readers no longer know": (
        transition(table(WIDENING), listing("typeWidening", "appendOnly", "invariants")),
        "TF12",
        "ERROR",
    ),
    "TF14 change data feed on": (transition(table(Protocol(1, 4), CDF), listing("appendOnly")), "TF14", "ERROR"),
    "TF14 a constraint": (transition(table(Protocol(1, 3), CHECKED), listing("invariants")), "TF14", "ERROR"),
    "TF14 a generated column": (
        transition(table(Protocol(1, 4), schema=GENERATED), listing("invariants")),
        "TF14",
        "ERROR",
    ),
}


def test_second_protocol_action_of_a_commit_hides_no_lost_feature() -> None:
    made = transition(table(TRACKED), TRACKED, listing("appendOnly", "invariants"))
    assert codes(check_change(made, "TF")) == ["TF09", "TF11"]


@pytest.mark.parametrize(("made", "code", "severity"), WRONG.values(), ids=WRONG)
def test_commit_that_loses_something_has_one_finding_that_names_it(made: Transition, code: str, severity: str) -> None:
    (finding,) = check_change(made, "TF")
    assert (finding.code, finding.severity.value) == (code, severity)
    assert (finding.version, finding.engine) == (4, "Some-Engine/1.0")


def test_feature_that_an_earlier_version_used_is_not_proven_unused() -> None:
    upgrade = transition(table(Protocol(1, 4)), listing("appendOnly", "invariants"))
    assert check_change(upgrade, "TF") == []
    earlier = used_features(table(Protocol(1, 4), CDF))
    assert earlier == {"changeDataFeed"}
    (finding,) = check_change(replace(upgrade, past=Past(used_features=frozenset(earlier))), "TF")
    assert finding.code == "TF14"
    assert "implies changeDataFeed, to" in finding.message
    assert finding.facts is not None
    assert finding.facts["used"] == ["changeDataFeed"]


def test_features_go_where_the_table_is_another_one() -> None:
    lost = transition(table(WIDENING), LEGACY)
    replacing = replace(lost, replaces_all=True, commit=replace(lost.commit, metadata=(metadata_of(PLAIN),)))
    assert check_change(replacing, "TF") == []
    assert check_change(replace(lost, restores=True), "TF") == []
    assert codes(check_change(replace(lost, replaces_all=True), "TF")) == ["TF12"]  # no files, the same table


def test_first_version_needs_one_protocol() -> None:
    assert check_first(commit(LEGACY, version=0), "TF") == []
    (finding,) = check_first(commit(version=0), "TF")
    assert (finding.code, finding.version, finding.engine) == ("TF10", 0, "Some-Engine/1.0")
    assert codes(check_first(commit(LEGACY, TRACKED, version=0), "TF")) == ["TF09"]


def test_log_without_protocol_is_said() -> None:
    finding = no_protocol(7)
    assert (finding.code, finding.severity, finding.version) == ("TF13", Severity.ERROR, 7)


def test_every_protocol_rule_has_its_test() -> None:
    tested = {name[:4] for name in (*BROKEN, *WRONG)} | {case.code for case in CASES} | {"TF10", "TF13"}
    assert tested == {rule.code for rule in FAMILY.rules if rule.scope not in (Scope.OUTCOME, Scope.DATA)}


@pytest.mark.parametrize(
    ("features", "severity"), [((), Severity.ERROR), (("timestampNanos",), Severity.UNDECIDED)], ids=["none", "nanos"]
)
def test_unknown_type_may_belong_to_a_feature_that_is_not_judged(features: tuple[str, ...], severity: Severity) -> None:
    state = table(LEGACY.supporting(features), schema=struct(field("t", "timestamp_nanos")))
    assert [(found.code, found.severity) for found in check_state(state, "MD")] == [("MD13", severity)]
