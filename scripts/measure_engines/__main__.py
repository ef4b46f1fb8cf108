"""Builds the environments, makes the tables, tries every engine, and writes ``results.json``.

    python -m scripts.measure_engines FOLDER [ENGINE …]

Named engines are measured again, the others keep what they have. Some 8 GB below FOLDER, and an hour.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scripts.measure_engines import tables
from scripts.measure_engines.environments import environment
from scripts.measure_engines.releases import RELEASES, Measured

_HERE = Path(__file__).parent
RESULTS = _HERE / "results.json"
_TRY = _HERE / "try_engine.py"
#: Paths of this machine in what engines say.
_PLACE = re.compile(r"(?:file:/*)?/[^\s'\"]*(?:copies|environments)/[^\s'\"]*")


def main(folder: Path, only: list[str]) -> None:
    """Measure and write the results."""
    folder.mkdir(parents=True, exist_ok=True)
    made = _tables(folder / "tables")
    kept = {name: {key: table[key] for key in ("protocol", "metaData")} for name, table in made.items()}
    for release in RELEASES:
        if only and release.name not in only and f"{release.name} {release.version}" not in only:
            continue
        key = f"{release.name} {release.version}"
        print(f"{key} …", file=sys.stderr, flush=True)
        found = dict(_tries(release, made, folder))
        day = datetime.now(timezone.utc).date().isoformat()
        results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"engines": {}}
        results["tables"] = kept
        results["engines"][key] = {"packages": release.packages, "date": day, "tables": found}
        RESULTS.write_text(f"{json.dumps(results, indent=1, sort_keys=True)}\n", encoding="utf-8")


def _tables(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the tables, made once."""
    listing = folder / "tables.json"
    if not listing.exists():
        from airflow_delta_provider.jobs.spark.session import own_session

        folder.mkdir(parents=True, exist_ok=True)
        made = tables.make(own_session("measure", "local[2]", "packages"), folder)
        for table in made.values():
            fields = json.loads(table["metaData"]["schemaString"])["fields"]
            table["types"] = [field["type"] for field in fields]
        listing.write_text(json.dumps(made), encoding="utf-8")
    return dict(json.loads(listing.read_text(encoding="utf-8")))


def _tries(release: Measured, made: dict[str, dict[str, Any]], folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield what a release did with each table."""
    python = environment(release, folder / "environments")
    copies = folder / "copies" / f"{release.name}-{release.version}"
    shutil.rmtree(copies, ignore_errors=True)
    mine = {}
    for name, table in made.items():
        path = shutil.copytree(table["path"], copies / Path(table["path"]).name)
        mine[name] = {**table, "path": str(path)}
    if release.jars:
        listing = copies / "tables.json"
        listing.write_text(json.dumps(mine), encoding="utf-8")
        done = _run([python, str(_TRY), "spark", str(listing), release.jars], 1800)
        lines = [json.loads(line) for line in done.splitlines() if line.startswith('{"table"')]
        for line in lines:
            yield line["table"], _judged(line["found"], made[line["table"]])
        return
    for name, table in mine.items():
        arguments = [release.engine, table["path"], json.dumps(table["columns"]), json.dumps(table["types"])]
        done = _run([python, str(_TRY), *arguments], 120)
        found = {line["way"]: line["found"] for line in map(json.loads, done.splitlines())}
        yield name, _judged(found, made[name])


def _judged(found: dict[str, Any], table: dict[str, Any]) -> dict[str, str]:
    """Return, by way, ``OK``, what was wrong, or why it was refused."""
    judged = {}
    for way, result in found.items():
        if "gave" in result:
            right = result["gave"] == (1 if way == "append" else table["rows"])
            judged[way] = "OK" if right else f"wrong: {result['gave']}"
        else:
            ((kind, why),) = result.items()
            judged[way] = f"{kind}: {_PLACE.sub('…', why.partition(' LINE 1:')[0])}"
    return judged


def _run(command: list[str], seconds: int) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False).stdout
    except subprocess.TimeoutExpired as late:
        return late.stdout.decode() if isinstance(late.stdout, bytes) else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
