"""Every table feature has one record, with all facts, and nothing else in the package knows features by their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import airflow_delta_provider
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.feature_traces import why_not_removable
from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind, stable_name
from airflow_delta_provider.domain.delta.features.registry import (
    FEATURES,
    WRITER_OWNED_PROPERTIES,
    feature_meant_by,
    feature_named,
)

PACKAGE = Path(airflow_delta_provider.__file__).parent
RECORDS = PACKAGE / "domain" / "delta" / "features"
#: What engines read and write says so by name.
PROFILES = PACKAGE / "domain" / "engine" / "profiles"
#: Names of features that are also keys of the log: of an action, and of a commit's time.
KEYS_OF_THE_LOG = {"domainMetadata", "inCommitTimestamp", "v2Checkpoint"}

every_feature = pytest.mark.parametrize("feature", FEATURES.values(), ids=str)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@every_feature
def test_a_feature_has_all_facts(feature):
    assert feature.kind is not FeatureKind.UNKNOWN
    assert feature.source
    assert feature.enabled_values == tuple(value.lower() for value in feature.enabled_values)
    assert bool(feature.instead) is (feature.access is FeatureAccess.OTHER_WAY)
    assert feature.legacy_reader is None or feature.is_legacy
    assert feature.kind is FeatureKind.READER_WRITER or feature.legacy_reader is None
    for name in (*feature.writer_owned, feature.enabling_property, feature.suspending_property):
        assert name is None or name.startswith("delta.")


@every_feature
def test_a_feature_can_be_dropped_or_there_is_a_reason(feature):
    if feature.removal is None:
        assert why_not_removable(feature).startswith("No Delta release can drop it. ")
        return
    assert not feature.instead_of_removal
    assert not (feature.removal.protects and feature.removal.only_truncating)
    if feature.removal.in_metadata or feature.removal.in_action:
        assert feature.removal.protects, "history without traces needs no protection"


@every_feature
def test_a_preview_comes_after_its_stable_feature_and_is_asked_for_as_special(feature):
    stable = stable_name(feature.name)
    if stable == feature.name:
        return
    assert feature.access is FeatureAccess.SPECIAL
    names = list(FEATURES)
    assert stable not in FEATURES or names.index(stable) < names.index(feature.name)


@every_feature
def test_what_a_feature_requires_has_a_record(feature):
    assert all(FEATURES[required.name] is required for required in feature.all_required)
    assert not set(feature.requires) & set(feature.requires_in_engines)


def test_a_feature_is_found_by_its_name_in_any_case_and_what_a_writer_means_by_its_aliases_too():
    assert feature_named("ROWTRACKING").name == "rowTracking"
    assert feature_named("timestampWithoutTimezone").kind is FeatureKind.UNKNOWN
    assert feature_meant_by("timestampwithouttimezone").name == "timestampNtz"
    assert feature_meant_by("no such feature") == Feature.unknown("no such feature")


def test_each_property_is_kept_by_one_feature_only():
    assert len(set(WRITER_OWNED_PROPERTIES)) == len(WRITER_OWNED_PROPERTIES)


def test_no_name_of_a_feature_stands_outside_its_record():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent not in (RECORDS, PROFILES)
        for line, text in strings(path)
        if text in FEATURES.keys() - KEYS_OF_THE_LOG
    ]
    assert found == []


def test_no_property_that_enables_a_feature_stands_outside_the_facts_of_delta():
    properties = {feature.enabling_property for feature in FEATURES.values()} - {None}
    facts = {RECORDS, RECORDS.parent}
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent not in facts
        for line, text in strings(path)
        if text in properties
    ]
    assert found == []


_BOTH = """
    adaptiveMetadata-preview allowColumnDefaults appendOnly catalogManaged changeDataFeed checkConstraints clustering
    columnMapping deletionVectors domainMetadata generatedColumns geospatial icebergCompatV1 icebergCompatV2
    icebergCompatV3 identityColumns inCommitTimestamp invariants materializePartitionColumns rowTracking timestampNtz
    typeWidening typeWidening-preview v2Checkpoint vacuumProtocolCheck variantShredding variantShredding-preview
    variantType variantType-preview
"""
#: Features that shipped engines know, by their sources.
LISTED = {
    "Delta Spark 4.4.0, TableFeature.scala": f"""
    {_BOTH} checkpointProtection coordinatedCommits-preview geospatial-dev redirectReaderWriter-preview
    redirectWriterOnly-preview
    """,
    "Java Kernel 4.4.0, TableFeatures.java": """
    allowColumnDefaults appendOnly catalogManaged changeDataFeed checkConstraints checkpointProtection clustering
    collations collations-preview columnMapping deletionVectors domainMetadata generatedColumns geospatial
    icebergCompatV2 icebergCompatV3 icebergWriterCompatV1 icebergWriterCompatV3 identityColumns inCommitTimestamp
    invariants materializePartitionColumns rowTracking timestampNtz typeWidening typeWidening-preview v2Checkpoint
    vacuumProtocolCheck variantShredding variantShredding-preview variantType variantType-preview
    """,
    "kernel-rs 0.28.1, enum TableFeature": f"{_BOTH} catalogOwned-preview timestampNanos",
}


@pytest.mark.parametrize("engine", LISTED)
def test_every_feature_that_an_engine_knows_has_a_record(engine: str):
    assert set(LISTED[engine].split()) - FEATURES.keys() == set()


_ICEBERG = "TF08 TF22 TF25 TF26 TF27 TF30 TW13"
#: The rules that judge tables by the requirements of a feature, or the reason why there is nothing to judge.
JUDGED = {
    "allowColumnDefaults": "MD20 MD21 MD22 MD23 TF22",
    "appendOnly": "AC03 TF15",
    "catalogManaged": "AC20 LG06 LG19 TF08",
    "catalogOwned-preview": "AC20 LG06",
    "changeDataFeed": "AC24 AC25 AC26 TF15",
    "checkConstraints": "MD20 MD21 MD37 TF22",
    "checkpointProtection": "TF15",  # else it binds the cleanup of logs, of which no trace is left
    "clustering": "MD14 MD29 MD30 MD32 TF08",
    "columnMapping": "CM01 CM02 CM09 CM14 TF07",
    "columnMappingUsageTracking": "UT01 UT04 UT06",
    "coordinatedCommits-preview": "AC20 LG06",
    "deletionVectors": "AC06 AC10 AC13 AC21 TF15",
    "domainMetadata": "AC04 AC05 MD28",
    "generatedColumns": "MD20 MD21 MD22 TF22",
    "icebergCompatV1": _ICEBERG,
    "icebergCompatV2": _ICEBERG,
    "icebergCompatV3": _ICEBERG,
    "identityColumns": "MD15 MD18 MD25 MD35 TF22",
    "inCommitTimestamp": "AC01 AC02 AC11 TF15",
    "invariants": "MD20 MD21 TF22",
    "materializePartitionColumns": "TF15 TF30",
    "rowTracking": "RT03 RT04 RT10 TF08",
    "timestampNtz": "TF22 TW14",
    "typeWidening": "TW01 TW04 TW08 TW09",
    "typeWidening-preview": "TW01 TW04 TW08 TW09",
    "v2Checkpoint": "LG10 LG14 TF15",
    "vacuumProtocolCheck": "It binds VACUUM to check the protocol, which leaves no trace in a table.",
    "variantShredding": "TF08 TF29",
    "variantShredding-preview": "TF29",
    "variantType": "MD22 TF22",
    "variantType-preview": "TF22",
}


def test_every_other_feature_has_rules_or_a_reason_why_nothing_is_to_be_judged():
    assert set(JUDGED) == {name for name, feature in FEATURES.items() if feature.is_judged}
    reasons = {name for name, rules in JUDGED.items() if rules.endswith(".")}
    assert reasons == {"vacuumProtocolCheck"}
    assert {rule for name in JUDGED.keys() - reasons for rule in JUDGED[name].split()} - RULES.keys() == set()


def test_feature_that_no_rule_judges_says_so():
    assert {name for name, feature in FEATURES.items() if not feature.is_judged} == {
        "adaptiveMetadata-preview",
        *("collations", "collations-preview"),
        *("geospatial", "geospatial-dev"),
        *("icebergWriterCompatV1", "icebergWriterCompatV3"),
        "inCommitTimestamp-preview",
        *("redirectReaderWriter-preview", "redirectWriterOnly-preview"),
        "timestampNanos",
    }
