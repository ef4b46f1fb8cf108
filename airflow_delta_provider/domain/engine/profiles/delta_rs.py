"""delta-rs: the Python package ``deltalake``, and Rust programs with its crate, built with DataFusion.

``scripts/measure_deltalake.py`` measures a release.
"""

from __future__ import annotations

from dataclasses import replace

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_SOURCE = "delta-io/delta-rs, ProtocolChecker in transaction/protocol.rs at the tag of each release"
_MEASURED = f"{_SOURCE}; measured"

#: Written only with ``engine="rust"``, which was not the default.
_BY_ENGINE = "checkConstraints changeDataFeed generatedColumns"
_V0_15 = Release.of(
    "0.15",
    "2024-01-02",
    _SOURCE,
    writes="appendOnly checkConstraints invariants",
    undecided=_BY_ENGINE,
    crates="0.17.0",
)
_V0_16 = _V0_15.then("0.16", "2024-03-05", both="timestampNtz", undecided=_BY_ENGINE, crates="0.17.1 0.17.3")
_V0_18 = _V0_16.then(
    "0.18", "2024-06-05", writes="changeDataFeed generatedColumns", undecided=_BY_ENGINE, crates="0.18.0 0.18.1"
)
#: ``QueryBuilder`` reads tables that list these as if they did not; ``to_pyarrow_table`` and every writer refuse them.
_DISREGARDED = "columnMapping deletionVectors typeWidening typeWidening-preview v2Checkpoint vacuumProtocolCheck"
_UNKNOWN_NAMES = "variantType variantType-preview variantShredding variantShredding-preview geospatial catalogManaged"
_V0_19 = _V0_18.then("0.19.2", "2024-09-05", crates="0.19.0 0.19.1", source=_MEASURED)
_V0_23 = _V0_19.then(
    "0.23.2",
    "2025-01-04",
    undecided=f"{_DISREGARDED} {_UNKNOWN_NAMES}",
    crates="0.20.0 0.20.1 0.21.0 0.22.0 0.22.1 0.22.2 0.22.3 0.23.0",
)
#: A column of such a type is refused; the feature's name alone is ignored.
_BY_TYPE = "variantType variantType-preview"
_PASSED_OVER = "variantShredding variantShredding-preview geospatial catalogManaged"
#: It ignores names of unknown features in both lists; so anything that was not measured is unknown.
_V0_24 = Release.of(
    "0.24",
    "2025-01-15",
    "measured",
    both=f"timestampNtz {_BY_TYPE}",
    reads=_DISREGARDED,
    writes="appendOnly checkConstraints changeDataFeed generatedColumns invariants",
    refuses_writing=f"{_DISREGARDED} domainMetadata icebergCompatV1 icebergCompatV2 identityColumns rowTracking",
    undecided=f"{_DISREGARDED} {_BY_TYPE}",
    misreads=_PASSED_OVER,
    miswrites=f"{_PASSED_OVER} clustering allowColumnDefaults inCommitTimestamp checkpointProtection "
    "materializePartitionColumns icebergCompatV3 columnMappingUsageTracking",
    lists_all=False,
    crates="0.23.1",
)
_V0_25 = replace(_V0_24, version="0.25", date="2025-02-20", crates=("0.24.0",))
_V1_0 = _V0_19.then("1.0", "2025-05-28", crates="0.26.2 0.27.0 0.28.0 0.29.0 0.29.1")
_V1_3 = _V1_0.then("1.3", "2025-12-31", crates="0.30.0 0.30.1", source=_MEASURED)
#: ``QueryBuilder`` reads these; ``to_pyarrow_table`` and every writer refuse them.
_AT_ODDS = (
    "columnMapping typeWidening typeWidening-preview v2Checkpoint vacuumProtocolCheck variantShredding-preview "
    "variantType variantType-preview"
)
_V1_4 = _V1_3.then("1.4", "2026-01-26", both="deletionVectors", undecided=_AT_ODDS, crates="0.30.1 0.31.0")
_V1_5 = _V1_4.then("1.5", "2026-03-12", undecided=_AT_ODDS, crates="0.32.0")
_V1_6_0 = _V1_4.then(
    "1.6.0", "2026-05-16", both="variantType variantType-preview", reads="columnMapping", crates="0.32.2"
)
_V1_6_1 = _V1_6_0.then("1.6.1", "2026-06-24", both="columnMapping", crates="1.0.0")
_V1_6_2 = _V1_6_1.then("1.6.2", "2026-07-08", crates="1.0.0")
_V1_6_3 = _V1_6_2.then("1.6.3", "2026-08-21", both="v2Checkpoint", crates="1.0.0")
_V1_6_6 = _V1_6_3.then("1.6.6", "2026-11-23", source="measured")

PROFILE = Profile(
    name="delta-rs",
    label="delta-rs (deltalake)",
    releases=(
        _V0_15,
        _V0_16,
        _V0_18,
        _V0_19,
        _V0_23,
        _V0_24,
        _V0_25,
        _V1_0,
        _V1_3,
        _V1_4,
        _V1_5,
        _V1_6_0,
        _V1_6_1,
        _V1_6_2,
        _V1_6_3,
        _V1_6_6,
    ),
    aliases=("deltalake",),
    remark="Releases 0.24 and 0.25 disregard features whose names they do not know: they read and write such tables.",
)

_ARROW = Release.of("0.17.4", "2024-05-11", "measured", reads="timestampNtz")
_ARROW_1_6_0 = _ARROW.then("1.6.0", "2026-05-16", reads="variantType variantType-preview")
PYARROW = Profile(
    name="deltalake to_pyarrow_table",
    label="to_pyarrow_table of deltalake",
    releases=(
        _ARROW,
        _ARROW.then("0.23.2", "2025-01-04"),
        _ARROW.then("0.24", "2025-01-15", misreads=_PASSED_OVER, undecided=_BY_TYPE),
        _ARROW.then("0.25", "2025-02-20", misreads=_PASSED_OVER, undecided=_BY_TYPE),
        _ARROW.then("1.0", "2025-05-28"),
        _ARROW.then("1.5.1", "2026-04-21"),
        _ARROW_1_6_0,
        _ARROW_1_6_0.then("1.6.3", "2026-08-21"),
        _ARROW_1_6_0.then("1.6.6", "2026-11-23", misreads="columnMapping@version"),
    ),
    read_only=True,
    remark="So does to_pandas. From 1.6.6 it returns NULL for renamed columns on tables of reader version 2.",
)
