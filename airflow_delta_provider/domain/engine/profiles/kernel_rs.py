"""delta-kernel-rs, and DuckDB, whose extension is built on it."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_SOURCE = "delta-io/delta-kernel-rs, kernel/src/table_features/mod.rs at the tag of each release"
#: Behind a build flag: whether an engine has it depends on its build.
_BY_FLAG = "catalogManaged catalogOwned-preview"
#: Reader version 2 is refused with writer version 7, which Delta Spark writes, and read with writer version 5.
_BY_VERSIONS = "columnMapping@version"
#: Refused by 0.17 and supported by 0.21, as measured with DuckDB; the first release with support is unknown.
_SINCE_SOME = f"{_BY_FLAG} {_BY_VERSIONS} changeDataFeed"

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
    writes="domainMetadata inCommitTimestamp rowTracking",
    writes_unused="changeDataFeed",
    undecided=f"{_BY_FLAG} {_BY_VERSIONS}",
)
_V0_19 = _V0_17.then(
    "0.19.0",
    "2025-12-19",
    both="v2Checkpoint vacuumProtocolCheck",
    writes="changeDataFeed materializePartitionColumns",
    undecided=_SINCE_SOME,
)
_V0_20 = _V0_19.then("0.20.0", "2026-03-04", both="columnMapping", undecided=_SINCE_SOME)
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
    aliases=("kernel-rs",),
    remark="With row tracking it appends, but removes no files.",
)

_EXTENSION = "duckdb/duckdb-delta, CMakeLists.txt: the release of delta-kernel-rs that it is built with"
_MEASURED = f"{_EXTENSION}; measured"
#: Column mapping is read by name, and refused by id.
_BY_MODE = "columnMapping columnMapping@version"
_V1_2 = Release.of(
    "1.2",
    "2026-11-23",
    "measured; it writes no tables",
    reads="columnMapping deletionVectors timestampNtz typeWidening typeWidening-preview vacuumProtocolCheck",
    undecided=_BY_MODE,
)
DUCKDB = Profile(
    name="DuckDB",
    label="DuckDB",
    releases=(
        _V1_2,
        _V1_2.then("1.3", "2026-11-23", reads="v2Checkpoint", undecided=_BY_MODE),
        _V0_17.then("1.4", "2026-11-23", source=_MEASURED, undecided=f"{_BY_FLAG} {_BY_VERSIONS}"),
        _V0_21.then("1.5", "2026-11-23", source=_MEASURED, undecided=_BY_FLAG),
    ),
    remark="From 1.4 on it appends; before, it only reads. Early releases of the extension returned NULL for mapped "
    "columns (duckdb-delta#50).",
)
