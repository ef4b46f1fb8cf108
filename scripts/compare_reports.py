"""Compares the reports of two checkouts over a directory of tables.

``python -m scripts.compare_reports OTHER DIRECTORY [--kind audit] [--level log] [-- ARGUMENT…]``

Both sides run their own command line, each in one Spark process per kind, so modules may move between them. Everything
is compared that a user or a program may rely on: verdicts, versions, evidence, plans, and of each finding everything
but its text. Keys that only this checkout writes are ignored. The exit code is 1 if anything differs.

With ``--state``, both sides go on from the state that the other checkout wrote before the last commit of each table:
findings that did not change have to be KNOWN on both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
#: Text that people read, and what differs between two runs of the same code.
_IGNORED = frozenset({"table", "message", "explanation", "notes", "timings", "receipt", "findings", "reason"})
_PLACE = ("code", "version", "path", "column", "subject")
_COMMIT = re.compile(r"(\d{20})\.json")

Report = Mapping[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return the exit code."""
    parsed = _parser().parse_args(arguments)
    directory = parsed.directory.resolve()
    tables = list(find_tables(directory, paimon="paimon" in parsed.kind))
    if not tables:
        print(f"There is no table for {parsed.kind} in {directory}.", file=sys.stderr)
        return 2
    job = [parsed.kind, *(["--level", parsed.level] if parsed.level else []), *parsed.arguments]
    with tempfile.TemporaryDirectory() as temporary:
        kept = (parsed.keep or Path(temporary)).resolve()
        name = re.sub(r"[^\w.]+", "-", " ".join([*job, *(["state"] if parsed.state else [])]))
        store = kept / directory.name / name
        store.mkdir(parents=True, exist_ok=True)
        if parsed.state:
            old, new = reports_with_state(parsed.other, job, directory, tables, store, Path(temporary))
        else:
            old = stored_report(parsed.other, job, directory, tables, store / "report.json")
            new = run(HERE, job, directory, tables, Path(temporary) / "report.json")
    return 1 if print_differences(old, new) else 0


def find_tables(directory: Path, *, paimon: bool) -> Iterator[str]:
    """Yield the paths of the tables below a directory, relative to it."""
    for folder, folders, _ in os.walk(directory):
        folders.sort()
        is_paimon = {"schema", "snapshot"} & {*folders} and "_delta_log" not in folders
        if "_delta_log" in folders or is_paimon:
            folders.clear()
            if bool(is_paimon) == paimon:
                yield str(Path(folder).relative_to(directory))


def stored_report(checkout: Path, job: Sequence[str], directory: Path, tables: Sequence[str], file: Path) -> Report:
    """Return the report of a checkout; the one that an earlier comparison kept, if it is about the same."""
    if file.exists():
        report: Report = json.loads(file.read_text(encoding="utf-8"))
        if [table["table"] for table in report["tables"]] == [str(directory / table) for table in tables]:
            return report
        print(f"{file} is about other tables and is replaced.", file=sys.stderr)
    return run(checkout, job, directory, tables, file)


def run(checkout: Path, job: Sequence[str], directory: Path, tables: Sequence[str], file: Path) -> Report:
    """Run a job of a checkout on all tables; return its report.

    :raises SystemExit: if there is none
    """
    named = [argument for table in tables for argument in ("--table", str(directory / table))]
    known = {"PYTHONPATH": str(checkout.resolve()), "SPARK_DRIVER_MEMORY": "2g", "TZ": "UTC"}
    command = [sys.executable, "-m", "airflow_delta_provider", *job, *named, "--report", str(file)]
    command += ["--engine", "spark", "--exit-zero"]
    print(f"{checkout}: {' '.join(job)}, {len(tables)} tables", file=sys.stderr)
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as elsewhere:
        ended = subprocess.run(
            command, cwd=elsewhere, env={**os.environ, **known}, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        if not file.exists():
            sys.exit(f"{checkout} wrote no report, exit code {ended.returncode}:\n{output.read()[-3000:]}")
    report: Report = json.loads(file.read_text(encoding="utf-8"))
    return report


def reports_with_state(
    other: Path, job: Sequence[str], directory: Path, tables: Sequence[str], store: Path, temporary: Path
) -> tuple[Report, Report]:
    """Let the other checkout judge all but the newest commit of each table, then let both go on from its state.

    The state knows tables by their location: those that are judged are copies in ``store``.
    """
    copies, states, file = store / "tables", store / "states", store / "report.json"

    def go_on(checkout: Path, file: Path) -> Report:
        own_states = shutil.copytree(states, temporary / f"states-{len(list(temporary.iterdir()))}")
        return run(checkout, [*job, "--state-path", str(own_states)], copies, tables, file)

    if not file.exists():
        shutil.rmtree(store)
        moved = []
        for table in tables:
            shutil.copytree(directory / table, copies / table)
            moved += _newest_files(copies / table, temporary / "aside" / table)
        for path, aside in moved:
            aside.parent.mkdir(parents=True, exist_ok=True)
            path.rename(aside)
        run(other, [*job, "--state-path", str(states)], copies, tables, temporary / "before.json")
        for path, aside in moved:
            shutil.move(aside, path)
        go_on(other, file)
    return json.loads(file.read_text(encoding="utf-8")), go_on(HERE, temporary / "report.json")


def _newest_files(table: Path, aside: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the files of the newest version in the log, and where to hide each."""
    log = table / "_delta_log"
    if not log.is_dir():
        return
    names = sorted(path.name for path in log.iterdir() if path.is_file())
    commits = [name for name in names if _COMMIT.fullmatch(name)]
    if len(commits) > 1:
        for name in names:
            if name[:20] == commits[-1][:20]:
                yield log / name, aside / name


def print_differences(old: Report, new: Report) -> bool:
    """Print how two reports differ; return whether they do."""
    numbers: Counter[str] = Counter()
    differing = 0
    for before, after in zip(old["tables"], new["tables"]):
        lines = list(differences(before, after))
        if lines:
            differing += 1
            print(before["table"])
        for what, line in lines:
            numbers[what] += 1
            print(f"    {line}")
    for what, number in numbers.most_common():
        print(f"{number:6} × {what}")
    verdicts = Counter(table["verdict"] for table in new["tables"])
    found = sum(len(table["findings"]) for table in new["tables"])
    said = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items()))
    print(f"{old['kind']}: {differing} of {len(new['tables'])} tables differ ({said}; {found} findings).")
    return bool(differing)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how the reports of one table differ: what, and a line that says it."""
    for path, before, after in _unequal(old, new):
        yield path, f"{path}: {_shown(before)} → {_shown(after)}"
    codes = {f["fingerprint"]: _place(f) for f in (*old["findings"], *new["findings"]) if "fingerprint" in f}
    rest, matched, gone = list(new["findings"]), list[tuple[Report, Report]](), list[Report]()
    for finding in old["findings"]:
        alike = [other for other in rest if _place(other) == _place(finding)]
        alike.sort(key=lambda other: sum(other.get(key) != value for key, value in finding.items()))
        if alike:
            rest.remove(alike[0])
            matched.append((finding, alike[0]))
        else:
            gone.append(finding)
    for finding, other in matched:
        for path, before, after in _unequal(finding, other):
            if path == "caused_by":
                before, after = codes.get(before, before), codes.get(after, after)
            yield f"{finding['code']} {path}", f"{_place(finding)}: {path} {_shown(before)} → {_shown(after)}"
    for finding in gone:
        yield f"{finding['code']} missing", f"missing: {_place(finding)} {finding['severity']}"
    for finding in rest:
        yield f"{finding['code']} added", f"added: {_place(finding)} {finding['severity']}"
    if not gone and not rest and [*map(_place, old["findings"])] != [*map(_place, new["findings"])]:
        yield "order", f"order: {[f['code'] for f in old['findings']]} → {[f['code'] for f in new['findings']]}"


def _unequal(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the places where two JSON values differ, as far as ``old`` has them."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - _IGNORED:
            yield from _unequal(old[key], new.get(key), f"{path}.{key}" if path else key)
        if "code" in old:
            yield from ((key, None, new[key]) for key in _OPTIONAL & new.keys() - old.keys())
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new)):
            yield from _unequal(*pair, f"{path}[{number}]")
    elif old != new:
        yield path, old, new


#: Keys that only some findings have: new ones on a finding that had none are a difference.
_OPTIONAL = frozenset({"healed_version", "at_or_before", "caused_by", "fingerprint", "status", "waiver", "earliest"})


def _place(finding: Mapping[str, Any]) -> str:
    return " ".join(str(finding[key]) for key in _PLACE if key in finding)


def _shown(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("other", type=Path, help="the other checkout, usually of an earlier commit")
    parser.add_argument("directory", type=Path, help="where the tables are, at any depth")
    parser.add_argument("--kind", default="audit", help="job kind; default audit. Run only kinds that change nothing")
    parser.add_argument("--level", help="level of the audit or check")
    parser.add_argument("--state", action="store_true", help="audit in two steps, the first by the other checkout")
    parser.add_argument("--keep", type=Path, help="where to keep the other checkout's reports, to run it only once")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="after --: more arguments of the kind")
    return parser


if __name__ == "__main__":
    sys.exit(main())
