"""Every kind of change with other releases: what is foreseen is what comes, or it is refused."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.engines.pair import Pair

#: Delta 3.2 has these for new tables only, or by a protocol version that the statement names.
NOT_ON_TABLES_BEFORE_3_3 = ("columnMapping", "rowTracking")
#: The release lines that do not make these changes. Delta 3.2 has no type widening to drop.
REFUSED_BY = {
    "property alone": [(3, 2)],
    "widen": [(3, 2), (3, 3)],
    "drop feature": [(3, 3)],
    "leave mapping": [(3, 2)],
}
ROOT = Path(__file__).parents[2]


def tried(pair: Pair, folder: Path) -> dict[str, Any]:
    """Try everything."""
    command = [str(pair.binaries / "python"), "-m", "tests.engines.changes", str(folder), pair.coordinates]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=1800)
    assert ran.returncode == 0, ran.stderr[-4000:]
    document: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return document


def test_what_a_change_does_is_known_before_and_passes_or_is_refused_with_nothing_changed(
    pair: Pair, tmp_path: Path, record_property: Callable[[str, Any], None]
) -> None:
    found = tried(pair, tmp_path)
    assert found["engine"] == f"Delta {pair.delta} on Spark {pair.spark}"
    refused = []
    for name, done in found["features"].items():
        known = name.casefold() in found["knows"] and (pair.line >= (3, 3) or name not in NOT_ON_TABLES_BEFORE_3_3)
        assert (name, done["planned"], done["done"]) == (name, *(["PASS"] * 2 if known else ["REFUSED"] * 2))
        assert (done["foreseen"], done["same"], done["codes"]) == (True, True, [] if known else ["RQ05"]), name
        preview = [listed for listed in done["protocol"].get("writerFeatures", []) if listed.endswith("-preview")]
        assert preview == []
        refused += [] if known else [f"feature {name}"]
    for name, done in found["changes"].items():
        passes = pair.line not in REFUSED_BY.get(name, ())
        assert (name, done["done"]) == (name, "PASS" if passes else "REFUSED")
        assert set(done["codes"]) == (set() if passes else {"RQ05"}), (name, done["messages"])
        assert passes or "Use Delta" in done["messages"][0], name
        assert (done.get("foreseen", True), done.get("planned", done["done"])) == (True, done["done"]), name
    record_property("refused", "; ".join(refused))


def test_result_stands_alone_in_the_output_though_ivy_may_print_there(pair: Pair, tmp_path: Path) -> None:
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
        str(pair.binaries / "python"),
        "-m",
        "airflow_delta_provider",
        "enable-feature",
        "--dry-run",
    ]
    request = ["--table", str(tmp_path / "t"), "--feature", "appendOnly", "--report", str(tmp_path / "report.json")]
    command += [*request, "--format", "json", "--delta-jars", pair.coordinates]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "Starting Spark: enable-feature changes tables.\n")
    assert json.loads(ran.stdout) == json.loads((tmp_path / "report.json").read_text())
