"""Every kind of change with other releases: what is foreseen is what comes, or it is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

SPARK_3_5 = ("3.5.2", "3.5.9")
SPARK_4 = ("4.0.0", "4.0.5", "4.1.0", "4.1.4", "4.2.0", "4.2.1")
ROOT = Path(__file__).parents[2]


def tried(engines: Path, spark: str, folder: Path, *delta_jars: str) -> dict[str, Any]:
    """Try everything with a release of Spark, and with the Delta that goes with it."""
    command = [str(engines / spark / "bin" / "python"), "-m", "tests.engines.changes", str(folder), *delta_jars]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=1800)
    assert ran.returncode == 0, ran.stderr[-4000:]
    document: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return document


@pytest.mark.parametrize("spark", [*SPARK_3_5, *SPARK_4])
def test_what_a_change_does_is_known_before_and_passes_or_is_refused_with_nothing_changed(
    engines: Path, tmp_path: Path, spark: str
) -> None:
    found = tried(engines, spark, tmp_path)
    assert found["engine"].endswith(f"on Spark {spark}")
    for name, done in found["features"].items():
        known = name.casefold() in found["knows"]
        assert (name, done["planned"], done["done"]) == (name, *(["PASS"] * 2 if known else ["REFUSED"] * 2))
        assert (done["foreseen"], done["same"], done["codes"]) == (True, True, [] if known else ["RQ05"]), name
        preview = [listed for listed in done["protocol"].get("writerFeatures", []) if listed.endswith("-preview")]
        assert preview == []
    widens = spark in SPARK_4
    for name, done in found["changes"].items():
        passes = widens or name not in ("widen", "drop feature")
        assert (name, done["done"], done["codes"]) == (
            name,
            "PASS" if passes else "REFUSED",
            [] if passes else ["RQ05"],
        )
        assert (done.get("foreseen", True), done.get("planned", done["done"])) == (True, done["done"]), name


def test_releases_that_do_not_fit_are_named_and_nothing_is_changed(engines: Path, tmp_path: Path) -> None:
    found = tried(engines, "4.1.4", tmp_path, "io.delta:delta-spark_4.1_2.13:4.1.0")
    done = found["features"]["typeWidening"]
    assert (done["planned"], done["done"], done["changed"], done["codes"]) == ("FAULT", "FAULT", False, ["FT02"])
    (message,) = done["messages"]
    assert "Spark 4.1.4 and this release of Delta Lake do not fit together" in message
    assert "io.delta:delta-spark_4.1_2.13:4.3.1" in message


def test_spark_that_no_delta_is_known_for_is_said_with_those_that_are(engines: Path, tmp_path: Path) -> None:
    command = [str(engines / "4.3.0" / "bin" / "python"), "-m", "airflow_delta_provider.jobs", "enable-feature"]
    request = ["--table", str(tmp_path), "--feature", "appendOnly", "--report", str(tmp_path / "report.json")]
    ran = subprocess.run([*command, *request], capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert ran.returncode == 1
    assert "No Delta release is known to go with Spark 4.3.0. Known are Spark 4.2 from 4.2.0" in ran.stderr
    assert "bug in the provider" not in ran.stderr


@pytest.mark.parametrize("spark", SPARK_3_5)
def test_result_stands_alone_in_the_output_though_ivy_of_spark_3_5_prints_there(
    engines: Path, tmp_path: Path, spark: str
) -> None:
    schema = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    metadata = {"id": "i", "format": {"provider": "parquet"}, "schemaString": schema, "partitionColumns": []}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**metadata, "configuration": {}}},
    ]
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    command = [
        str(engines / spark / "bin" / "python"),
        "-m",
        "airflow_delta_provider.jobs",
        "enable-feature",
        "--dry-run",
    ]
    request = ["--table", str(tmp_path / "t"), "--feature", "appendOnly", "--report", str(tmp_path / "report.json")]
    command += [*request, "--format", "json", "--delta-jars", "packages"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == json.loads((tmp_path / "report.json").read_text())
