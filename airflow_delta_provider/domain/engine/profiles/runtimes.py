"""Vendors' Spark runtimes with their own version numbers: Databricks and Fabric, as far as they are documented."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release

_DATABRICKS = Release.of(
    "9.1",
    "2026-08",
    "Databricks documentation, Delta Lake feature compatibility and type widening",
    writes="changeDataFeed checkConstraints generatedColumns",
    lists_all=False,
)
_V10_4 = _DATABRICKS.then("10.4", "2026-08", both="columnMapping", writes="identityColumns")
_V12_2 = _V10_4.then("12.2", "2026-08", reads="deletionVectors")
_V15_4 = _V12_2.then("15.4", "2026-08", both="typeWidening-preview")
DATABRICKS = Profile(
    name="Databricks Runtime",
    label="Databricks Runtime",
    releases=(_DATABRICKS, _V10_4, _V12_2, _V15_4),
    aliases=("Databricks",),
    remark="The documentation was stored only in part.",
)

_FABRIC = Release.of(
    "1.1",
    "2026-08",
    "Microsoft, Delta Lake interoperability of Fabric (fabric-docs, delta-lake-interoperability.md)",
    refuses="deletionVectors",
    refuses_writing="clustering",
    lists_all=False,
)
_V1_2 = _FABRIC.then("1.2", "2026-08", both="deletionVectors", reads="timestampNtz")
_V1_3 = _V1_2.then("1.3", "2026-08", both="columnMapping", writes="clustering")
FABRIC_SPARK = Profile(
    name="Fabric Spark",
    label="Fabric Spark runtime",
    releases=(_FABRIC, _V1_2, _V1_3, _V1_3.then("2.0", "2026-08")),
    remark="Before 1.3 it reads column mapping by name, not by id. It signs as Delta Spark.",
)
PROFILES = (DATABRICKS, FABRIC_SPARK)
