"""delta-kernel-rs, and DuckDB, whose extension is built on it."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_SOURCE = "delta-io/delta-kernel-rs, kernel/src/table_features/mod.rs at the tag of each release"
#: Behind a build flag: whether an engine has it depends on how it was built.
_BY_FLAG = "catalogManaged catalogOwned-preview"

_V0_12 = Release.of(
    "0.12.1",
    "2025-06-06",
    _SOURCE,
    both="deletionVectors timestampNtz",
    reads="columnMapping typeWidening typeWidening-preview v2Checkpoint vacuumProtocolCheck",
    writes="appendOnly",
    writes_unused="invariants",
)
_V0_17 = _V0_12.then(
    "0.17.1",
    "2025-11-13",
    both=f"variantShredding-preview variantType variantType-preview {_BY_FLAG}",
    writes="changeDataFeed domainMetadata inCommitTimestamp rowTracking",
    undecided=_BY_FLAG,
)
_V0_19 = _V0_17.then(
    "0.19.0",
    "2025-12-19",
    both="v2Checkpoint vacuumProtocolCheck",
    writes="materializePartitionColumns",
    undecided=_BY_FLAG,
)
_V0_20 = _V0_19.then("0.20.0", "2026-03-04", both="columnMapping", undecided=_BY_FLAG)
_V0_21 = _V0_20.then("0.21.0", "2026-04-10", writes="clustering", undecided=_BY_FLAG)
_V0_27 = _V0_21.then(
    "0.27.1",
    "2026-08-14",
    both="variantShredding",
    writes="allowColumnDefaults icebergCompatV3",
    undecided=_BY_FLAG,
)

PROFILE = Profile(
    name="delta-kernel-rs",
    label="delta-kernel-rs",
    releases=(_V0_12, _V0_17, _V0_19, _V0_20, _V0_21, _V0_27),
    remark="With row tracking it appends, but removes no files.",
)

_EXTENSION = "duckdb/duckdb-delta, CMakeLists.txt: the release of delta-kernel-rs that it is built with"
DUCKDB = Profile(
    name="DuckDB",
    label="DuckDB",
    releases=(
        _V0_17.then("1.4", "2026-07-13", source=_EXTENSION, undecided=_BY_FLAG),
        _V0_21.then("1.5", "2026-07-13", source=_EXTENSION, undecided=_BY_FLAG),
    ),
    remark="It appends only. Early releases of the extension returned NULL for mapped columns (duckdb-delta#50).",
)
