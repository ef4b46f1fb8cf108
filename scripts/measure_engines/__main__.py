"""Builds the environments, makes the tables, tries every engine, and writes ``results.json``.

    python -m scripts.measure_engines FOLDER [ENGINE …]

Named engines are measured again, the others keep what they have. Some 8 GB below FOLDER, and an hour. At the end, it
prints which engines returned wrong rows without an error.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scripts.measure_engines import situations, tables
from scripts.measure_engines.environments import environment
from scripts.measure_engines.releases import RELEASES, Measured

_HERE = Path(__file__).parent
RESULTS = _HERE / "results.json"
_TRY = ("-m", "scripts.measure_engines.try_engine")
#: Paths of this machine in what engines say.
_PLACE = re.compile(r"(?:file:/*)?/[^\s'\"]*(?:copies|environments|situations)/[^\s'\"]*")
#: Seconds that an engine has for a table.
_SECONDS = 120


def main(folder: Path, only: list[str]) -> None:
    """Measure and write the results."""
    folder.mkdir(parents=True, exist_ok=True)
    made, special = _tables(folder / "tables"), _situations(folder / "situations")
    kept = {name: {key: table[key] for key in ("protocol", "metaData")} for name, table in made.items()}
    for release in RELEASES:
        if only and release.name not in only and f"{release.name} {release.version}" not in only:
            continue
        key = f"{release.name} {release.version}"
        print(f"{key} …", file=sys.stderr, flush=True)
        found = dict(_tries(release, made, folder))
        read = dict(_reads(release, special, folder))
        day = datetime.now(timezone.utc).date().isoformat()
        results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"engines": {}}
        results["tables"] = kept
        results["situations"] = {
            name: {key: value for key, value in table.items() if key not in ("path", "expected")}
            for name, table in special.items()
        }
        results["engines"][key] = {"packages": release.packages, "date": day, "tables": found, "situations": read}
        RESULTS.write_text(f"{json.dumps(results, indent=1, sort_keys=True)}\n", encoding="utf-8")

    for line in _wrong():
        print(line)


def _wrong() -> Iterator[str]:
    """Yield the reads that returned wrong rows, of all engines that were ever measured."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for engine, measured in results["engines"].items():
        for name, found in measured.get("situations", {}).items():
            for way, outcome in found.items():
                if outcome.startswith("wrong"):
                    yield f"{engine} | {name} | {way} | {outcome}"


def _situations(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the tables of ``situations.py``, made once."""
    listing = folder / "situations.json"
    if not listing.exists():
        from airflow_delta_provider.jobs.spark.session import own_session

        folder.mkdir(parents=True, exist_ok=True)
        settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "1"}
        made = situations.make(own_session("measure", "local[2]", "packages", settings), folder)
        listing.write_text(json.dumps(made), encoding="utf-8")
    return dict(json.loads(listing.read_text(encoding="utf-8")))


def _reads(release: Measured, special: dict[str, dict[str, Any]], folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what a release read of each table, by way and predicate: ``OK``, wrong rows, or why it did not read it."""
    python = environment(release, folder / "environments")
    by_table: dict[str, list[dict[str, Any]]] = {}
    if release.jars:
        listing = folder / "situations" / "tables.json"
        asked = {name: {key: table[key] for key in ("path", "predicates")} for name, table in special.items()}
        listing.write_text(json.dumps(asked), encoding="utf-8")
        done = _run([python, *_TRY, release.engine, str(listing), release.jars], 1800)
        for line in (json.loads(text) for text in done.splitlines() if text.startswith('{"table"')):
            by_table.setdefault(line["table"], []).append(line)
    for name, table in special.items():
        if not release.jars:
            arguments = [release.engine, table["path"], json.dumps(table["predicates"])]
            done = _run([python, *_TRY, *arguments], _SECONDS)
            by_table[name] = [json.loads(text) for text in done.splitlines() if text.startswith('{"way"')]
        yield name, _outcomes(by_table.get(name, ()), table)


def _outcomes(lines: Iterable[dict[str, Any]], table: dict[str, Any]) -> dict[str, str]:
    found = {}
    for line in lines:
        number, result = line["number"], line["found"]
        key = f"{line['way']}, {'all' if number == 0 else situations.condition(table['predicates'][number - 1])}"
        if "gave" in result:
            found[key] = _compared(result["gave"], table["expected"][number])
        else:
            ((kind, why),) = result.items()
            found[key] = f"{kind}: {_PLACE.sub('…', why)[:120]}"
    return found or {"all": f"not measured: it ended, or gave no answer within {_SECONDS} seconds"}


def _compared(gave: list[str], expected: list[str]) -> str:
    if gave == expected:
        return "OK"
    extra, missing = ([row for row in one if row not in other] for one, other in ((gave, expected), (expected, gave)))
    return f"wrong: {_sample(extra)} instead of {_sample(missing)}"


def _sample(rows: list[str]) -> str:
    return f"{rows[0]}{f' and {len(rows) - 1} more rows' if len(rows) > 1 else ''}" if rows else "no row"


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
    copies = folder / "copies" / f"{release.name.replace(' ', '-')}-{release.version}"
    shutil.rmtree(copies, ignore_errors=True)
    mine = {}
    for name, table in made.items():
        path = shutil.copytree(table["path"], copies / Path(table["path"]).name)
        mine[name] = {**table, "path": str(path)}
    if release.jars:
        listing = copies / "tables.json"
        listing.write_text(json.dumps(mine), encoding="utf-8")
        done = _run([python, *_TRY, release.engine, str(listing), release.jars], 1800)
        lines = [json.loads(line) for line in done.splitlines() if line.startswith('{"table"')]
        for line in lines:
            yield line["table"], _judged(line["found"], made[line["table"]])
        return
    for name, table in mine.items():
        arguments = [release.engine, table["path"], json.dumps(table["columns"]), json.dumps(table["types"])]
        done = _run([python, *_TRY, *arguments], 120)
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
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "TZ": "UTC"},
            cwd=_HERE.parents[1],
        )
        return done.stdout
    except subprocess.TimeoutExpired as late:
        return late.stdout.decode() if isinstance(late.stdout, bytes) else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
