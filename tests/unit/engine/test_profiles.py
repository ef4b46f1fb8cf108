"""Profiles of engines: what a source does not say is unknown, and never counts as support."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_delta_provider.domain.delta.commit import writer_of
from airflow_delta_provider.domain.delta.features.columns import TypeChange
from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import feature_meant_by
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.engine.access import Access, Outcome, assess
from airflow_delta_provider.domain.engine.profile import (
    BY_VERSION,
    PROFILES,
    Basis,
    Support,
    VersionScheme,
    engine_of,
    profile_named,
)
from airflow_delta_provider.domain.engine.spark_library import version_of

every_profile = pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)


def outcome(name, version, *features, changes=()):
    protocol = weakest_protocol(frozenset(features))
    return assess(PROFILES[name], version, demands_of(protocol, planned=changes)).outcome


@every_profile
def test_a_profile_names_known_features_and_its_sources_oldest_release_first(profile):
    for release in profile.releases:
        assert release.source
        assert release.basis is not Basis.STATED
        assert version_of(release.date) or not release.date
        for words in (release.reads, release.writes, release.misreads, release.miswrites, release.undecided):
            for word in words:
                assert feature_meant_by(word.removesuffix(BY_VERSION)).kind is not FeatureKind.UNKNOWN, word
    numbers = [version_of(release.version.replace("-", ".")) for release in profile.releases]
    assert numbers == sorted(numbers)


@every_profile
def test_what_no_source_says_is_unknown(profile):
    for version in ("0.0.1", "999.0"):
        demands = demands_of(weakest_protocol(frozenset({"clustering"})))
        found = assess(profile, version, demands).outcome
        if profile.no_reader:
            assert found is Outcome.READ_LOCKED
        elif profile.versions is VersionScheme.RELEASES and profile.releases[-1].version and not profile.keeps_features:
            assert found is Outcome.UNKNOWN
        else:
            assert found in (Outcome.UNKNOWN, Outcome.WRITE_LOCKED, Outcome.OK)


@pytest.mark.parametrize(
    ("name", "version", "features", "expected"),
    [
        ("Delta Spark", "4.4.0", ("rowTracking", "domainMetadata"), Outcome.OK),
        ("Delta Spark", "3.1.0", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Delta Spark", "2.4.0.19", ("v2Checkpoint",), Outcome.READ_LOCKED),
        ("Delta Spark", "3.2.1", ("typeWidening",), Outcome.READ_LOCKED),
        ("Delta Spark", "4.0.0", ("catalogManaged", "inCommitTimestamp"), Outcome.READ_LOCKED),
        ("Delta Spark", "5.0.0", ("appendOnly",), Outcome.UNKNOWN),
        ("delta-rs", "1.4.0", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("delta-rs", "1.3.0", ("deletionVectors",), Outcome.READ_LOCKED),
        ("delta-rs", "1.6.0", ("columnMapping",), Outcome.WRITE_LOCKED),
        ("delta-rs", "1.6.6", ("columnMapping",), Outcome.OK),
        ("delta-rs", "1.6.6", ("typeWidening",), Outcome.READ_LOCKED),
        ("delta-rs", None, ("checkConstraints", "rowTracking"), Outcome.WRITE_LOCKED),
        ("Polars", "2.1.0", ("columnMapping",), Outcome.READ_LOCKED),
        ("Trino", "470", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Trino", "476", ("columnMapping",), Outcome.OK),
        ("Trino", "469", ("vacuumProtocolCheck",), Outcome.UNKNOWN),
        ("Trino", "476", ("vacuumProtocolCheck",), Outcome.OK),
        ("Trino", "478", ("vacuumProtocolCheck",), Outcome.OK),
        ("Trino", "999", ("columnMapping",), Outcome.UNKNOWN),
        ("Trino", "443", ("v2Checkpoint",), Outcome.READ_LOCKED),
        ("Amazon EMR", "7.5.0", ("rowTracking", "domainMetadata"), Outcome.OK),
        ("Amazon EMR", "6.13.0", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Amazon EMR", "7.4.0", ("typeWidening-preview",), Outcome.OK),
        ("AWS Glue", "5.0", ("inCommitTimestamp",), Outcome.OK),
        ("Athena", None, ("deletionVectors",), Outcome.OK),
        ("Athena", None, ("typeWidening",), Outcome.READ_LOCKED),
        ("Daft", "0.7.26", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Sail", "0.7.2", ("columnMapping", "deletionVectors", "variantType"), Outcome.OK),
        ("Sail", "0.7.2", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Delta Sharing", "1.4.2", ("columnMapping", "deletionVectors", "timestampNtz"), Outcome.OK),
        ("Delta Sharing", "1.4.2", ("typeWidening",), Outcome.UNKNOWN),
        ("Delta Sharing", "1.4.2", ("variantType",), Outcome.READ_LOCKED),
        ("Databricks Runtime", "17.3", ("deletionVectors",), Outcome.UNKNOWN),
        ("Databricks Runtime", "17.3", ("columnMapping", "timestampNtz", "v2Checkpoint"), Outcome.OK),
        ("DuckDB", None, ("checkpointProtection",), Outcome.WRITE_LOCKED),
        ("BigQuery", None, ("deletionVectors",), Outcome.OK),
        ("BigQuery", None, ("typeWidening",), Outcome.UNKNOWN),
        ("BigQuery", None, ("rowTracking",), Outcome.OK),
        ("Snowflake", "2026-01-01", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Snowflake", "2026-03-02", ("deletionVectors",), Outcome.OK),
        ("Redshift manifests", None, ("columnMapping",), Outcome.READ_LOCKED),
        ("Databricks Runtime", "15.4.x-scala2.12", ("rowTracking", "domainMetadata"), Outcome.UNKNOWN),
        ("Fabric Spark", "1.1", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Fabric pipelines", "2024-01-01", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Fabric pipelines", None, ("deletionVectors",), Outcome.WRITE_LOCKED),
        ("Fabric Eventstream", None, ("clustering",), Outcome.WRITE_LOCKED),
        ("Starburst", "470-e.3", ("rowTracking", "domainMetadata"), Outcome.WRITE_LOCKED),
        ("Starburst", "443-e", ("v2Checkpoint",), Outcome.READ_LOCKED),
        ("Impala", None, (), Outcome.READ_LOCKED),
        ("Presto", "0.283", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Presto", "0.287", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Presto", "0.298", ("v2Checkpoint",), Outcome.OK),
        ("StarRocks", "3.3.4", ("columnMapping",), Outcome.READ_LOCKED),
        ("StarRocks", "3.3.7", ("columnMapping",), Outcome.OK),
        ("StarRocks", "4.0.1", ("deletionVectors", "timestampNtz"), Outcome.OK),
        ("StarRocks", "4.0.1", ("variantType",), Outcome.UNKNOWN),
        ("Apache Doris", "3.0.1", ("v2Checkpoint",), Outcome.READ_LOCKED),
        ("Apache Doris", "3.1.0", ("columnMapping",), Outcome.UNKNOWN),
        ("Dremio", "25.0.3", ("timestampNtz",), Outcome.READ_LOCKED),
        ("Delta Standalone", "3.0.0", ("deletionVectors",), Outcome.READ_LOCKED),
        ("Hive", None, ("columnMapping",), Outcome.READ_LOCKED),
        ("Power BI fn_ReadDeltaTable", None, ("deletionVectors",), Outcome.READ_LOCKED),
        ("Synapse serverless", None, ("deletionVectors",), Outcome.READ_LOCKED),
        ("Synapse Spark", "3.5", ("rowTracking", "domainMetadata"), Outcome.OK),
    ],
)
def test_what_becomes_of_an_engine_on_a_table_with_features(name, version, features, expected):
    assert outcome(name, version, *features) is expected


@pytest.mark.parametrize(
    ("name", "version", "protocol", "expected"),
    [
        ("Delta Standalone", "3.2", Protocol(1, 2), Outcome.OK),
        ("Delta Standalone", "3.2", Protocol(1, 3), Outcome.WRITE_LOCKED),
        ("Delta Standalone", "3.2", Protocol(2, 5), Outcome.READ_LOCKED),
        ("Hive", "3.0", Protocol(1, 6), Outcome.OK),
        ("Dremio", "20.0", Protocol(2, 5), Outcome.UNKNOWN),
        ("Dremio", "25.0", Protocol(2, 5), Outcome.UNKNOWN),
        ("Dremio", "14.0", Protocol(2, 5), Outcome.READ_LOCKED),
        ("Power BI fn_ReadDeltaTable", None, Protocol(2, 5), Outcome.OK),
    ],
)
def test_what_becomes_of_an_engine_that_checks_versions_of_the_protocol(name, version, protocol, expected):
    demands = demands_of(protocol)
    assert assess(PROFILES[name], version, replace(demands, unused=frozenset({"invariants"}))).outcome is expected


def test_the_connectors_of_delta_standalone_may_disregard_invariants_that_a_table_uses():
    assert assess(PROFILES["Delta Standalone"], "3.2", demands_of(Protocol(1, 2))).outcome is Outcome.UNKNOWN


def test_delta_3_3_lists_type_widening_and_reads_changes_among_small_integers_only():
    small, large = TypeChange("byte", "integer"), TypeChange("integer", "long")
    assert outcome("Delta Spark", "3.3.2", "typeWidening", changes=[small]) is Outcome.OK
    assert outcome("Delta Spark", "3.3.2", "typeWidening", changes=[small, large]) is Outcome.READ_LOCKED
    assert outcome("Delta Spark", "4.0.0", "typeWidening", changes=[small, large]) is Outcome.OK


def test_a_product_that_contains_an_engine_has_its_facts_as_derived_ones():
    own, contained = PROFILES["Starburst"], PROFILES["Trino"]
    for release, base in zip(own.releases, contained.releases, strict=True):
        assert (release.version, release.reads, release.writes) == (base.version, base.reads, base.writes)
        assert release.basis is Basis.DERIVED
        assert base.source in release.source
        assert [each.clauses for each in release.conditions] == [each.clauses for each in base.conditions]
    assert profile_named("starburst galaxy") is own


def test_a_release_between_two_does_what_both_do():
    assert outcome("delta-kernel-rs", "0.22.0", "allowColumnDefaults") is Outcome.UNKNOWN
    assert outcome("delta-kernel-rs", "0.22.0", "clustering", "domainMetadata") is Outcome.OK
    assert outcome("delta-kernel-rs", "0.22.0", "checkConstraints") is Outcome.WRITE_LOCKED


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("DuckDB", "1.3", ("1.3.0", "1.3.1", "1.3.2")),
        ("DuckDB", "1.3.2", ("1.3.2",)),
        ("Delta Spark", "4.0", ("4.0.0", "4.0.1")),
        ("Delta Spark", "4.4", ("4.4.0",)),
        ("Delta Spark", "4.4.0.1", ("4.4.0",)),
        ("delta-rs", "1.4", ("1.4",)),
        ("delta-rs", "1.1", ("1.0", "1.2")),
        ("delta-kernel-rs", "0.17", ("0.12.1", "0.17.1")),
        ("DuckDB", "1.6", None),
    ],
)
def test_a_version_without_its_patch_release_stands_for_all_records_within_it(name, version, expected):
    around = PROFILES[name].around(version)
    assert (around and tuple(release.version for release in around)) == expected


def test_writer_version_5_demands_column_mapping_of_writers_at_any_reader_version():
    demands = demands_of(Protocol(1, 5))
    assert assess(PROFILES["delta-rs"], "1.5.1", demands).outcome is Outcome.WRITE_LOCKED
    assert assess(PROFILES["delta-rs"], "1.6.6", demands).outcome is Outcome.OK


def test_a_protocol_without_its_list_is_unknown_to_everybody():
    demands = demands_of(Protocol(3, 7, None, frozenset({"deletionVectors"})))
    assert assess(PROFILES["Delta Spark"], "4.4.0", demands).outcome is Outcome.UNKNOWN


def test_an_upgrade_locks_out_those_that_do_not_know_the_feature():
    before = demands_of(Protocol(1, 2))
    after = demands_of(Protocol(1, 2).supporting(["rowTracking"]))
    assert assess(PROFILES["delta-rs"], "1.4.0", before).outcome is Outcome.OK
    assert assess(PROFILES["Delta Spark"], "4.4.0", after).outcome is Outcome.OK
    found = assess(PROFILES["delta-rs"], "1.4.0", after)
    assert str(found) == "delta-rs 1.4.0: WRITE_LOCKED"
    assert [(reason.access, reason.subject, reason.support) for reason in found.reasons] == [
        (Access.WRITE, "domainMetadata", Support.NO),
        (Access.WRITE, "rowTracking", Support.NO),
    ]
    assert "ProtocolChecker" in found.reasons[0].source


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"engineInfo": "delta-rs:py-1.4.0"}, ("delta-rs", "1.4.0")),
        ({"clientVersion": "delta-rs.py-0.25.5"}, ("delta-rs", "0.25.5")),
        ({"engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}, ("Delta Spark", "4.4.0")),
        ({"engineInfo": "Kernel-4.0.0/Flink"}, ("Delta Kernel", "4.0.0")),
        ({"engineInfo": "DuckDB"}, ("DuckDB", None)),
        ({"clusterId": "trino-470-node-1"}, ("Trino", "470")),
        ({"engineInfo": "SomeEngine v1.2"}, None),
    ],
)
def test_the_writer_of_a_commit_leads_to_its_profile(info, expected):
    found = engine_of(writer_of(info))
    assert (found and (found[0].name, found[1])) == expected


def test_a_version_of_the_crate_leads_to_the_releases_that_were_built_with_it():
    assert outcome("delta-rs", "0.31.0", "deletionVectors") is Outcome.OK
    assert outcome("delta-rs", "0.17.0", "timestampNtz") is Outcome.READ_LOCKED
    assert outcome("delta-rs", "1.0.0", "v2Checkpoint") is Outcome.UNKNOWN  # of 1.6.1 to 1.6.3
