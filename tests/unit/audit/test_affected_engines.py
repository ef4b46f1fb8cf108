"""Findings about statistics name the engines that rely on them: those of the fleet, or else all that are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.engine.profile import PROFILES
from airflow_delta_provider.domain.engine.statistics_use import Reliance, StatisticsUse
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import Finding, Status, TableReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.run.runner import run
from tests.unit.audit.test_file_statistics import only
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.command_line.tables import history as damaged_table
from tests.unit.command_line.tables import write
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import Table
from tests.unit.states import field, struct


def damaged(path: Path, of: Any, values: pa.Array, **stats: Any) -> None:
    table = Table(KEY, field("x", of)).append()
    (add,) = (action["add"] for actions in table.commits for action in actions if "add" in action)
    path.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": values}), path / add["path"])
    add["size"] = (path / add["path"]).stat().st_size
    add["stats"] = json.dumps({"numRecords": len(values), **stats})
    write(path, table)


def audit(path: Path, fleet: Any = None, *, on_level: str = "footers", **options: Any) -> TableReport:
    (report,) = run(
        JobRequest((str(path),), AuditOptions(level=on_level, fleet=fleet, **options)), python_session()
    ).tables
    return report


def effect(finding: Finding) -> str:
    assert finding.effect is not None
    assert finding.effect in finding.message
    return finding.effect


HIGH = {"minValues": {"x": 1}, "maxValues": {"x": 1}, "nullCount": {"x": 0}}
FLEET: dict[str, Any] = {
    "engines": [
        {"engine": "Delta Spark", "version": "4.4.0"},
        {"engine": "DuckDB", "version": "1.5", "name": "reports"},
        {"engine": "Snowflake"},
        {"engine": "deltalake", "version": "1.0.2", "reads": "*/elsewhere"},
    ]
}


def test_engines_of_the_fleet_that_rely_on_a_bound_are_named(tmp_path: Path) -> None:
    damaged(tmp_path, "long", pa.array([1, 5]), **HIGH)
    assert effect(only(audit(tmp_path, FLEET))).endswith(
        "Engines of the fleet that skip files by bounds of this type: Delta Spark 4.4.0, reports. Unknown for "
        "Snowflake. Engines of the fleet that answer MIN and MAX from bounds of this type: Delta Spark 4.4.0. "
        "Unknown for Snowflake."
    )


def test_known_engines_are_named_without_a_fleet_and_if_none_of_its_engines_uses_the_table(tmp_path: Path) -> None:
    damaged(tmp_path, "long", pa.array([1, 5]), **HIGH)
    elsewhere = {"engines": [{"engine": "Polars", "reads": "*/elsewhere"}]}
    for fleet in (None, elsewhere):
        said = effect(only(audit(tmp_path, fleet)))
        assert "Engines known to skip files by bounds of this type: Delta Spark, delta-rs (deltalake) (" in said
        assert "to_pyarrow_table of deltalake, Polars (some releases), DuckDB, Trino (some releases), " in said
        assert "Snowflake" not in said


@pytest.mark.parametrize(
    ("of", "values", "stats", "said"),
    [
        ("string", ["a", "b"], {"minValues": {"x": "b"}}, "skip files by bounds of this type: Delta Spark 4.4.0"),
        ("string", ["a", "b"], {"minValues": {"x": "b"}}, "is known to answer MIN and MAX from bounds of this type"),
        ("boolean", [False, True], {"maxValues": {"x": False}}, "that skip files by bounds of this type: reports."),
        ("boolean", [False, None], {"nullCount": {"x": 0}}, "that skip files by nullCount of this type: Delta Spark"),
        ("long", [None, None, 1], {"nullCount": {"x": 1}}, "No engine of the fleet is known to answer COUNT of such"),
        (struct(field("y", "long")), [{"y": 5}], {"maxValues": {"x": {"y": 1}}}, "Delta Spark 4.4.0, reports."),
        (struct(field("y", "long")), [{"y": 5}], {"maxValues": {"x": {"y": 1}}}, "known to answer MIN and MAX"),
        ("long", [1], {"numRecords": 7}, "Engines of the fleet that answer COUNT(*) from numRecords: Delta Spark"),
    ],
)
def test_engines_depend_on_type_and_statistic(
    tmp_path: Path, of: Any, values: list[Any], stats: dict[str, Any], said: str
) -> None:
    damaged(tmp_path, of, pa.array(values), **stats)
    effects = [finding.effect for finding in audit(tmp_path, FLEET).findings if finding.effect]
    assert said in " ".join(effects)


def test_wide_bounds_beside_deletion_vectors_do_not_blame_delta_spark(tmp_path: Path) -> None:
    damaged(tmp_path, "string", pa.array(["a"]), minValues={"x": "a"}, maxValues={"x": "c"})
    fleet = {"engines": [{"engine": "Delta Spark"}]}
    finding = only(audit(tmp_path, fleet))
    assert (finding.code, finding.severity.name) == ("DF17", "WARNING")
    assert effect(finding).endswith("No engine of the fleet is known to answer MIN and MAX from bounds of this type.")


def test_another_fleet_does_not_change_a_known_finding(tmp_path: Path) -> None:
    damaged(tmp_path / "t", "long", pa.array([1, 5]), **HIGH)
    first = only(audit(tmp_path / "t", state_path=str(tmp_path / "state")))
    second = only(audit(tmp_path / "t", FLEET, state_path=str(tmp_path / "state")))
    assert (first.status, second.status) == (Status.NEW, Status.KNOWN)
    assert second.effect != first.effect


def test_engines_of_the_fleet_with_a_known_reading_of_a_partition_value_are_named(tmp_path: Path) -> None:
    write(tmp_path, damaged_table("AC40"))
    fleet = {"engines": [*FLEET["engines"], {"engine": "deltalake"}]}
    (finding,) = audit(tmp_path, fleet, on_level="log").findings
    assert effect(finding).endswith(
        " Engines of the fleet with a known reading: Delta Spark 4.4.0, reports, delta-rs. The reading of Snowflake is "
        "unknown."
    )
    (alone,) = audit(tmp_path, on_level="log").findings
    assert (alone.code, alone.effect) == ("AC40", None)


def test_engines_that_rely_on_statistics_that_a_checkpoint_lacks_are_named(tmp_path: Path) -> None:
    table = Table(KEY, field("s", "string")).append(2).append().append()
    write(tmp_path, table)
    actions = json.loads(json.dumps(reconciled(table.commits[:3])))
    for action in actions:
        action.get("add", {}).pop("stats", None)
    (tmp_path / "_delta_log" / classic_name(2)).write_bytes(as_parquet(actions))
    (finding,) = audit(tmp_path, FLEET, on_level="log").findings
    assert finding.code == "LG27"
    assert effect(finding).endswith(
        "Engines of the fleet that skip files by bounds: Delta Spark 4.4.0, reports. Unknown for Snowflake. Engines of "
        "the fleet that answer COUNT(*) from numRecords: Delta Spark 4.4.0. Unknown for Snowflake."
    )
    (known,) = audit(tmp_path, on_level="log").findings
    assert "Engines known to skip files by bounds: Delta Spark, " in effect(known)


def test_versions_of_an_engine_differ() -> None:
    deltalake = PROFILES["delta-rs"]

    def answers(version: str | None) -> bool | None:
        return deltalake.relies(version, Reliance.EXTREMES, "long", is_field=False)[0]

    assert [answers(version) for version in ("0.16", "1.0.2", "1.1", "1.6.6", None, "77")] == [
        None,
        True,
        None,
        False,
        True,
        None,
    ]


def test_profiles_of_a_fleet_may_tell_statistics() -> None:
    use = StatisticsUse.of({"bounds": ["decimal", "?date", "struct"], "counts": "long ?struct", "rows": False})
    assert use.relies(Reliance.BOUNDS, "date") is None
    assert use.relies(Reliance.COUNTS, "long", is_field=True) is None
    assert use.relies(Reliance.COUNTS, "date", is_field=True) is False
    assert use.relies(Reliance.BOUNDS, "decimal(18,2)", is_field=True) is True
    assert use.relies(Reliance.BOUNDS, "long") is False
    assert use.relies(Reliance.NULLS, "long") is None
    assert use.relies(Reliance.ROWS, "") is False


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bounds": "decimals"}, "bounds has 'decimals'; the types are byte, "),
        ({"rows": "all"}, "rows is 'all'; it has to be true or false"),
        ({"nulls": 7}, "nulls is 7; it has to be a list of types"),
        ({"null": "all"}, "it has the unknown key 'null'. Did you mean 'nulls'?"),
        ("all", "it has to be a mapping with any of bounds, nulls, "),
    ],
)
def test_wrong_statistics_of_a_profile_are_refused_with_their_place(given: Any, said: str) -> None:
    fleet = {"profiles": [{"engine": "Acme", "releases": [{"version": "1", "statistics": given}]}]}
    with pytest.raises(RequestError) as raised:
        AuditOptions(fleet=fleet)
    assert f"profiles[0].releases[0].statistics: {said}" in str(raised.value)
