"""The matrix of releases: what is declared can be made, and the kept results are of what is declared."""

from __future__ import annotations

from pathlib import Path

from airflow_delta_provider.domain.engine.spark_library import coordinates_of, delta_coordinates
from scripts.matrix import results
from scripts.matrix.entries import Airflow, Engine, entries
from scripts.sample_blocks import CHECKOUT


def test_names_tell_entries_apart_and_lists_are_there_and_hold_that_airflow() -> None:
    assert len({entry.name for entry in entries()}) == len(entries())
    for entry in entries():
        if isinstance(entry, Airflow):
            assert f"apache-airflow=={entry.version}\n" in (CHECKOUT / entry.listed).read_text(encoding="utf-8")


def test_delta_that_goes_with_a_spark_by_default_is_tried_with_it() -> None:
    tried = {(each.spark, coordinates_of(each.delta, each.spark)) for each in entries() if isinstance(each, Engine)}
    lines = {spark.rpartition(".")[0] for spark, _ in tried}
    by_default = {spark.rpartition(".")[0] for spark, coordinates in tried if coordinates == delta_coordinates(spark)}
    assert by_default == lines


def test_kept_results_are_of_entries_and_without_failures() -> None:
    declared = [entry.versions for entry in entries()]
    for result in results.read():
        assert result.versions in declared
        assert result.passed
        assert result.failed == 0


def test_result_counts_tests_and_what_they_saw_refused(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(
        '<testsuites><testsuite tests="6" failures="1" errors="1" skipped="1"><testcase name="a"><properties>'
        '<property name="refused" value="widen-types; drop-feature"/></properties></testcase><testcase name="b">'
        '<properties><property name="refused" value=""/></properties></testcase></testsuite></testsuites>'
    )
    result = results.Result.of({"spark": "4.2.0"}, file)
    assert (result.passed, result.failed, result.skipped) == (3, 2, 1)
    assert result.refused == ("widen-types", "drop-feature")
