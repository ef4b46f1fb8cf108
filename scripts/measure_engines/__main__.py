"""Builds the environments, makes the tables, tries every engine, and writes ``results.json``.

    python -m scripts.measure_engines FOLDER [ENGINE …] [--situation NAME …]

Named engines are measured again, the others keep what they have. With named situations, only those are measured again.
Some 10 GB below FOLDER, and an hour. At the end, it prints which engines returned wrong rows without an error. A run
that was cut off goes on where it was: answers are kept in FOLDER/answers until they are in ``results.json``. An engine
that hangs, aborts or fills memory at a table is not measured with it, and goes on with the next one.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.delta.session import python_session
from airflow_delta_provider.jobs.migrations.engine_reader import is_of_network
from airflow_delta_provider.jobs.migrations.try_engines import run_bounded
from airflow_delta_provider.jobs.run.runner import run
from scripts.measure_engines import situations, tables
from scripts.measure_engines.environments import environment
from scripts.measure_engines.releases import RELEASES, Measured
from scripts.measure_engines.try_engine import READERS, WAYS

_HERE = Path(__file__).parent
RESULTS = _HERE / "results.json"
_TRY = ("-m", "scripts.measure_engines.try_engine")
#: Paths of this machine in what engines say.
_PLACE = re.compile(r"(?:file:/*)?/[^\s'\"]*(?:copies|environments|situations)/[^\s'\"]*")
#: Engines that read a copy in an object store, so that absolute paths lead elsewhere.
_OF_COPIES = ("trino", "sharing")
#: Seconds that an engine has for a table.
_SECONDS = 120


def main(folder: Path, only: Collection[str], named: Collection[str] = ()) -> None:
    """Measure and write the results.

    :param only: engines or their releases; empty for all
    :param named: situations; empty for all, and for the tables with one feature each
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = {} if named else _tables(folder / "tables")
    special = _situations(folder / "situations", named or situations.SITUATIONS)
    unkept = "path", "expected", "columns", "rows", "types"
    for release in RELEASES:
        if only and release.name not in only and f"{release.name} {release.version}" not in only:
            continue
        key = f"{release.name} {release.version}"
        print(f"{key} …", file=sys.stderr, flush=True)
        found = dict(_tries(release, made, folder))
        read = dict(_reads(release, special, folder))
        day = datetime.now(timezone.utc).date().isoformat()
        results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"engines": {}}
        for kind, tried in (("tables", made), ("situations", special)):
            results.setdefault(kind, {}).update(
                (name, _without_place({key: value for key, value in table.items() if key not in unkept}, folder))
                for name, table in tried.items()
            )
        before = results["engines"].get(key, {}) if named else {}
        kept = {kind: before.get(kind, {}) | new for kind, new in (("tables", found), ("situations", read))}
        results["engines"][key] = {"packages": release.packages, "date": before.get("date", day), **kept}
        RESULTS.write_text(f"{json.dumps(results, indent=1, sort_keys=True)}\n", encoding="utf-8")
        for kind in ("tables", "situations"):
            _kept(folder, release, kind).unlink(missing_ok=True)

    for line in _wrong():
        print(line)


def _without_place(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return what is known of a table, without the folder of this machine in absolute paths of its files."""
    return dict(json.loads(json.dumps(table).replace(str(folder), "/measured")))


def _wrong() -> Iterator[str]:
    """Yield the reads that returned wrong rows, of all engines that were ever measured."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for engine, measured in results["engines"].items():
        for name, found in measured.get("situations", {}).items():
            for way, outcome in found.items():
                if outcome.startswith("wrong"):
                    yield f"{engine} | {name} | {way} | {outcome}"


def _situations(folder: Path, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the named tables of ``situations.py``, each made once."""
    listing = folder / "situations.json"
    made = dict(json.loads(listing.read_text(encoding="utf-8"))) if listing.exists() else {}
    if missing := [name for name in names if name not in made]:
        from airflow_delta_provider.jobs.spark.session import own_session

        folder.mkdir(parents=True, exist_ok=True)
        settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "1"}
        made |= situations.make(own_session("measure", "local[2]", "packages", settings), folder, missing)
        listing.write_text(json.dumps(made), encoding="utf-8")
        made = dict(json.loads(listing.read_text(encoding="utf-8")))
    return {name: made[name] for name in names}


def _reads(release: Measured, special: dict[str, dict[str, Any]], folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what a release read of each table, by way and predicate: ``OK``, wrong rows, or why it did not read it."""
    asked = {
        name: {key: table[key] for key in ("path", "predicates")}
        for name, table in special.items()
        if release.engine not in _OF_COPIES or not any(":/" in file["path"] for file in table["files"])
    }
    for name, (lines, why) in _answers(release, asked, folder, "situations"):
        yield name, _outcomes(lines, special[name], _readers(release), why)


def _outcomes(lines: Iterable[dict[str, Any]], table: dict[str, Any], ways: Iterable[str], why: str) -> dict[str, str]:
    """Return the outcomes of all reads of a table.

    :param why: reason for missing answers
    """
    answered, found = {(line["way"], line["number"]): line["found"] for line in lines}, {}
    for number, way in product(range(len(table["predicates"]) + 1), ways):
        key = f"{way}, {'all' if number == 0 else situations.condition(table['predicates'][number - 1])}"
        result = answered.get((way, number), {"not measured": why})
        if "gave" in result:
            found[key] = _compared(result["gave"], table["expected"][number])
        else:
            found[key] = _without_answer(result, "not measured", 120)
    return found


def _without_answer(result: Mapping[str, str], unknown: str, most: int | None = None) -> str:
    """Return why there is no answer; a server that cannot be reached is no refusal."""
    ((kind, why),) = result.items()
    return f"{unknown if is_of_network(why) else kind}: {_PLACE.sub('…', why)[:most]}"


def _answers(
    release: Measured, asked: Mapping[str, Any], folder: Path, kind: str
) -> Iterator[tuple[str, tuple[list[dict[str, Any]], str]]]:
    """Yield, by table, the answers of a release, and the reason for missing ones."""
    python = environment(release, folder / "environments")
    ways = _readers(release) if kind == "situations" else _ways(release)
    yield from _batch([python, *_TRY, release.engine], release.jars, asked, ways, _kept(folder, release, kind))


def _kept(folder: Path, release: Measured, kind: str) -> Path:
    return folder / "answers" / f"{release.name.replace(' ', '-')}-{release.version}-{kind}.jsonl"


def _batch(
    command: list[str], jars: str, asked: Mapping[str, Any], ways: Sequence[str], kept: Path
) -> Iterator[tuple[str, tuple[list[dict[str, Any]], str]]]:
    """Let a process try all tables, and another one those that are left if it ends before.

    :param kept: file with answers, also of an earlier run
    """
    listing, faults = kept.with_suffix(".asked.json"), dict[str, str]()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    known = _known(kept)
    while left := {
        name: each for name, each in asked.items() if name not in faults and not _is_whole(known, name, each, ways)
    }:
        listing.write_text(json.dumps(left), encoding="utf-8")
        size = kept.stat().st_size
        _, why = _run([*command, str(listing), str(kept), jars, str(_SECONDS)], _SECONDS * (len(left) + 5))
        known, started = _known(kept), kept.stat().st_size > size
        without_answer = [name for name, each in left.items() if not _is_whole(known, name, each, ways)]
        faults |= dict.fromkeys(without_answer[:1] if started else without_answer, why)
    for name in asked:
        yield name, (list(known.get(name, {}).values()), faults.get(name, ""))


def _known(kept: Path) -> dict[str, dict[Any, dict[str, Any]]]:
    """Return the answers of a file, by table, and by way and predicate."""
    known: dict[str, dict[Any, dict[str, Any]]] = {}
    for text in kept.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):  # the last line of a process that was ended
            line = json.loads(text)
            known.setdefault(line["table"], {})[line["way"], line.get("number")] = line
    return known


def _is_whole(known: Mapping[str, Any], name: str, table: Mapping[str, Any], ways: Sequence[str]) -> bool:
    return len(known.get(name, ())) == len(ways) * (len(table["predicates"]) + 1 if "predicates" in table else 1)


def _readers(release: Measured) -> tuple[str, ...]:
    return tuple(READERS.get(release.engine, ("read",)))


def _ways(release: Measured) -> tuple[str, ...]:
    return tuple(WAYS.get(release.engine, ("read", "append")))


def _compared(gave: list[str], expected: list[str]) -> str:
    if gave == expected:
        return "OK"
    extra, missing = (
        sorted((Counter(one) - Counter(other)).elements()) for one, other in ((gave, expected), (expected, gave))
    )
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
    copies = folder / "copies" / f"{release.name.replace(' ', '-')}-{release.version}"
    shutil.rmtree(copies, ignore_errors=True)
    mine = {}
    for name, table in made.items():
        path = shutil.copytree(table["path"], copies / Path(table["path"]).name)
        mine[name] = {**table, "path": str(path)}
    for name, (lines, why) in _answers(release, mine, folder, "tables"):
        found = {line["way"]: line["found"] for line in lines}
        judged = _judged({way: found.get(way, {"not tried": why}) for way in _ways(release)}, made[name])
        if judged.get("append") == "OK" and (broken := _broken(mine[name]["path"])):
            judged["append"] = f"wrong: {broken}"
        yield name, judged


def _broken(path: str) -> str:
    """Return the rules that a table violates after an append."""
    (report,) = run(JobRequest((path,), AuditOptions(level="footers")), python_session()).tables
    errors = (finding for finding in report.findings if finding.severity is Severity.ERROR)
    return "; ".join(f"{finding.code} {finding.evidence}" for finding in errors)


def _judged(found: dict[str, Any], table: dict[str, Any]) -> dict[str, str]:
    """Return, by way, ``OK``, what was wrong, or why it was refused."""
    judged = {}
    for way, result in found.items():
        if "gave" in result:
            right = result["gave"] == (1 if way == "append" else table["rows"])
            judged[way] = "OK" if right else f"wrong: {result['gave']}"
        else:
            result = {kind: why.partition(" LINE 1:")[0] for kind, why in result.items()}
            judged[way] = _without_answer(result, "not tried")
    return judged


def _run(command: list[str], seconds: float) -> tuple[str, str]:
    """Return what a process printed, and, in few words, why it gave no more."""
    said, why = run_bounded(command, seconds, environment={"TZ": "UTC"}, folder=_HERE.parents[1])
    if "SIGALRM" in why:
        why = f"it did not end within {_SECONDS:g} seconds"
    return said, why.partition(": ")[0].removesuffix(" and no message") or "it gave no answer"


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("engine", nargs="*")
    parser.add_argument("--situation", action="append", default=[])
    given = parser.parse_args()
    main(given.folder.absolute(), given.engine, given.situation)
