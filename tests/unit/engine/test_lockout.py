"""Who is locked out of a table by a feature, in the words of a refusal."""

from __future__ import annotations

from airflow_delta_provider.domain.engine.access import Access, known_lockouts, who_is_locked_out


def test_recent_writers_that_are_locked_out_come_first():
    writers = ("Delta Spark 4.4.0", "Delta Spark 3.2.1", "delta-rs 0.30.0", "Trino 470", "DuckDB", "SomeEngine 1.2")
    sentence = who_is_locked_out("checkpointProtection", writers)
    assert sentence.startswith(
        "Recent writers that would be locked out: Delta Spark 3.2.1, DuckDB, Trino 470, delta-rs 0.30.0. Writers that"
    )
    assert "Delta Spark before 3.3" in sentence
    assert "Delta Kernel before 4.1" in sentence


def test_of_a_feature_that_nobody_knows_every_engine_with_a_list_is_locked_out():
    assert "Delta Spark, delta-rs (deltalake)" in who_is_locked_out("columnMappingUsageTracking", ())


def test_an_engine_that_writes_a_feature_while_it_is_unused_is_not_locked_out_by_it():
    assert list(known_lockouts(Access.WRITE, ["appendOnly", "invariants"])) == [
        "DuckDB before 1.4.0",
        "Delta Kernel before 4.0",
        "Delta Standalone (Flink's connector up to 3.2)",
    ]
    assert "DuckDB before 1.5.5" in known_lockouts(Access.WRITE, ["invariants", "columnMapping"])


def test_engines_that_only_read_are_locked_out_of_reading_only():
    assert "readers of manifests (Redshift Spectrum)" in known_lockouts(Access.READ, ["columnMapping"])
    assert "readers of manifests (Redshift Spectrum)" not in known_lockouts(Access.WRITE, ["columnMapping"])


def test_engine_that_compares_metadata_with_the_lists_refuses_each_table_with_an_unlisted_feature():
    for access in Access:
        assert "Delta Spark" in known_lockouts(access, ["deletionVectors"], ["invariants"])
        assert "Delta Spark before 2.3" not in known_lockouts(access, ["deletionVectors"], ["invariants"])
    assert "Delta Spark" not in known_lockouts(Access.READ, ["deletionVectors"])
