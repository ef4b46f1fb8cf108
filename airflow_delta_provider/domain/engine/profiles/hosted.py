"""Services without releases: the features in their documentation, from the day on which it lists them.

They read Delta tables and do not write them.
"""

from __future__ import annotations

from airflow_delta_provider.domain.engine.profiles.profile import Profile, Release, Versions

BIGQUERY = Profile(
    name="BigQuery",
    label="BigQuery (BigLake)",
    releases=(
        Release.of(
            "2026-08-01",
            "2026-08",
            "delta-io/delta, docs, bigquery-integration.mdx",
            reads="columnMapping deletionVectors",
            lists_all=False,
        ),
    ),
    read_only=True,
    versions=Versions.DAYS,
)
ATHENA = Profile(
    name="Athena",
    label="Athena (engine version 3)",
    releases=(
        Release.of(
            "2026-08-01",
            "2026-08",
            "AWS documentation of Athena; its copies contradict each other on versions",
            reads="columnMapping timestampNtz",
            lists_all=False,
        ),
    ),
    read_only=True,
    versions=Versions.DAYS,
)
_SNOWFLAKE = Release.of(
    "2024-01-01",
    "2026-08",
    "Snowflake's release notes",
    reads="columnMapping@version",
    refuses="deletionVectors",
    lists_all=False,
)
_SNOWFLAKE_READER_3 = _SNOWFLAKE.then("2026-03-02", "2026-03-02", reads="columnMapping deletionVectors")
SNOWFLAKE = Profile(
    name="Snowflake",
    label="Snowflake (Delta Direct)",
    releases=(
        _SNOWFLAKE,
        _SNOWFLAKE_READER_3,
        _SNOWFLAKE_READER_3.then("2026-07-02", "2026-07-02", reads="variantType"),
    ),
    read_only=True,
    versions=Versions.DAYS,
)
REDSHIFT = Profile(
    name="Redshift manifests",
    label="readers of manifests (Redshift Spectrum)",
    releases=(
        Release.of(
            "2024-01-01",
            "2026-08",
            "delta-io/delta, GenerateSymlinkManifest.scala at v4.4.0; Amazon Redshift documentation",
            refuses="columnMapping deletionVectors timestampNtz variantType variantType-preview",
            lists_all=False,
        ),
    ),
    read_only=True,
    versions=Versions.DAYS,
    aliases=("Redshift", "Redshift Spectrum"),
    remark="They take types from their own DDL, so a widened column may be misread until the DDL is changed.",
)
_FABRIC = "Microsoft, Delta Lake interoperability of Fabric (fabric-docs, delta-lake-interoperability.md)"
FABRIC_SQL = Profile(
    name="Fabric SQL analytics endpoint",
    label="Fabric SQL analytics endpoint",
    releases=(
        Release.of(
            "2026-08-01",
            "2026-08",
            _FABRIC,
            reads="deletionVectors",
            refuses="timestampNtz",
            lists_all=False,
        ),
    ),
    read_only=True,
    versions=Versions.DAYS,
    remark="As Direct Lake, it reads column mapping by name, not by id: column mapping counts as unknown.",
)
PROFILES = (FABRIC_SQL, BIGQUERY, ATHENA, SNOWFLAKE, REDSHIFT)
