from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureAccess, FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES, feature_named, with_requirements
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol, weakest_protocol
from airflow_delta_provider.domain.delta.table_features import FeatureState, feature_state
from tests.tables.open_features import OPEN_FEATURES

feature_sets = st.frozensets(st.sampled_from(sorted(FEATURES)), max_size=8)
LEGACY_PAIRS = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6)]
protocols = st.sampled_from([Protocol(*pair) for pair in LEGACY_PAIRS]) | feature_sets.map(weakest_protocol)


def listed(reader: int, writer: int, reader_features: str | None, writer_features: str) -> Protocol:
    return Protocol(
        reader,
        writer,
        None if reader_features is None else frozenset(reader_features.split()),
        frozenset(writer_features.split()),
    )


@given(protocols, feature_sets)
def test_supporting_more_loses_nothing_adds_what_is_required_and_no_more(protocol, names):
    after = protocol.supporting(names)
    assert after.features == with_requirements(protocol.features | names) or names <= protocol.features
    assert protocol.features | names <= after.features
    assert after.supporting(names) == after


@given(protocols)
def test_protocol_survives_its_json(protocol):
    assert Protocol.from_json(protocol.to_json()) == protocol


@given(feature_sets)
def test_weakest_protocol_supports_exactly_the_features_and_is_well_formed(names):
    names = with_requirements(names)
    protocol = weakest_protocol(names)
    assert protocol.features == names
    assert (protocol.min_reader_version == 3) == (protocol.reader_features is not None)
    assert (protocol.min_writer_version == 7) == (protocol.writer_features is not None)
    reader_writer = {name for name in names if FEATURES[name].kind is FeatureKind.READER_WRITER}
    if protocol.reader_features is not None:
        assert protocol.reader_features == reader_writer
    else:
        assert reader_writer <= {"columnMapping"}


@pytest.mark.parametrize(
    ("pair", "features"),
    [
        ((1, 1), ""),
        ((1, 2), "appendOnly invariants"),
        ((1, 3), "appendOnly invariants checkConstraints"),
        ((1, 4), "appendOnly invariants checkConstraints changeDataFeed generatedColumns"),
        # columnMapping needs reader 2 as well
        ((1, 5), "appendOnly invariants checkConstraints changeDataFeed generatedColumns"),
        ((2, 5), "appendOnly invariants checkConstraints changeDataFeed generatedColumns columnMapping"),
        (
            (2, 6),
            "appendOnly invariants checkConstraints changeDataFeed generatedColumns columnMapping identityColumns",
        ),
    ],
)
def test_legacy_versions_imply_their_features(pair, features):
    assert Protocol(*pair).features == set(features.split())


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        (Protocol(1, 2), "typeWidening", listed(3, 7, "typeWidening", "appendOnly invariants typeWidening")),
        (Protocol(1, 2), "changeDataFeed", listed(1, 7, None, "appendOnly invariants changeDataFeed")),
        (Protocol(1, 2), "columnMapping", listed(2, 7, None, "appendOnly invariants columnMapping")),
        (Protocol(1, 2), "rowTracking", listed(1, 7, None, "appendOnly invariants rowTracking domainMetadata")),
        (Protocol(1, 1), "appendOnly invariants", Protocol(1, 2)),
        (Protocol(1, 2), "appendOnly", Protocol(1, 2)),
        (Protocol(1, 2), "checkConstraints", Protocol(1, 3)),
        (
            listed(1, 7, None, "domainMetadata"),
            "deletionVectors",
            listed(3, 7, "deletionVectors", "domainMetadata deletionVectors"),
        ),
        (
            listed(2, 7, None, "columnMapping"),
            "timestampNtz",
            listed(3, 7, "columnMapping timestampNtz", "columnMapping timestampNtz"),
        ),
    ],
)
def test_feature_added_to_a_protocol_gives_what_delta_would_write(before, names, after):
    assert before.supporting(names.split()) == after


def test_unknown_writer_feature_of_a_table_is_kept():
    protocol = listed(1, 7, None, "hologram")
    assert protocol.supporting(["appendOnly"]) == listed(1, 7, None, "hologram appendOnly")


def test_protocol_prints_its_versions_and_sorted_features():
    assert str(Protocol(1, 2)) == "reader 1, writer 2"
    assert str(listed(3, 7, "b a", "a b")) == "reader 3, writer 7 [a, b]"


# -- the feature table ----------------------------------------------------------------------------


def test_every_required_feature_is_in_the_table_and_properties_are_deltas():
    for feature in FEATURES.values():
        assert set(feature.all_required) <= set(FEATURES.values()), feature
        assert feature.enabling_property is None or feature.enabling_property.startswith("delta.")
        assert (feature.access is FeatureAccess.OTHER_WAY) == bool(feature.instead)
        assert feature.kind is not FeatureKind.UNKNOWN


def test_features_for_anybody_are_open_and_the_special_ones_are_not():
    special = ["catalogManaged", "checkpointProtection", "icebergCompatV1", "icebergCompatV2", "icebergCompatV3"]
    previews = [name for name in FEATURES if name.endswith("-preview")]
    assert {feature_named(name).access for name in OPEN_FEATURES} == {FeatureAccess.OPEN}
    assert {feature_named(name).access for name in special + previews} == {FeatureAccess.SPECIAL}
    assert feature_named("clustering").access is FeatureAccess.OTHER_WAY


def test_feature_is_found_in_any_case_and_an_unlisted_one_is_unknown():
    assert feature_named("ROWTRACKING").name == "rowTracking"
    assert feature_named("hologram") == Feature.unknown("hologram")
    assert feature_named("hologram-preview").access is FeatureAccess.SPECIAL


WIDENING = Protocol(1, 2).supporting(["typeWidening"])
TRACKING = Protocol(1, 2).supporting(["rowTracking"])


@pytest.mark.parametrize(
    ("name", "protocol", "configuration", "state"),
    [
        ("typeWidening", Protocol(1, 2), {"delta.enableTypeWidening": "true"}, FeatureState.ABSENT),
        ("typeWidening", WIDENING, {}, FeatureState.SUPPORTED),
        ("typeWidening", WIDENING, {"delta.enableTypeWidening": "false"}, FeatureState.SUPPORTED),
        ("typeWidening", WIDENING, {"delta.enableTypeWidening": "TRUE"}, FeatureState.ENABLED),
        ("rowTracking", TRACKING, {"delta.rowTrackingSuspended": "true"}, FeatureState.SUSPENDED),
        ("rowTracking", TRACKING, {"delta.enableRowTracking": "true"}, FeatureState.ENABLED),
        ("domainMetadata", TRACKING, {}, FeatureState.ENABLED),
        ("columnMapping", Protocol(2, 5), {}, FeatureState.SUPPORTED),
        ("columnMapping", Protocol(2, 5), {"delta.columnMapping.mode": "none"}, FeatureState.SUPPORTED),
        ("columnMapping", Protocol(2, 5), {"delta.columnMapping.mode": "id"}, FeatureState.ENABLED),
        ("changeDataFeed", Protocol(1, 4), {"delta.enableChangeDataFeed": "true"}, FeatureState.ENABLED),
    ],
)
def test_state_of_a_feature_follows_from_protocol_and_property(name, protocol, configuration, state):
    assert feature_state(feature_named(name), protocol, Metadata("id", "", configuration=configuration)) is state


def test_property_enables_by_its_own_value_only():
    assert FEATURES["v2Checkpoint"].is_enabling("V2")
    assert not FEATURES["v2Checkpoint"].is_enabling("classic")
    assert not FEATURES["v2Checkpoint"].is_enabling(None)
