"""Jobs on large tables, large fleets and wide schemas with engine Python, beside ``deltalake``, which only opens them.

    python -m benchmarks.large_tables [FILES] [RUNS]

Tables are written here: a checkpoint of FILES files (default 100,000) with mapped columns; the same files in commits of
ten; two checkpoints with row ids; the same with ranges of row ids that overlap; and a schema of 1,000 columns that
changes in every second of 20 commits. Each job runs in a process of its own, in turns with a script that opens the same
table. Prints medians of CPU time and of the largest resident memory over RUNS runs (default 3).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.large_checkpoints import write as write_row_ids
from benchmarks.protocol_logs import FILES as FILES_PER_COMMIT
from benchmarks.protocol_logs import MappedLog, PlainLog
from benchmarks.scale import write_checkpointed
from benchmarks.without_jvm import OPEN, medians, run

READERS, COLUMNS = 1000, 1000
_ENGINES = "Delta Spark", "Trino", "Athena", "DuckDB", "deltalake"


class MappedAppends(MappedLog):
    """Appends to a table with mapped columns."""

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return new files."""
        return PlainLog.changes(self, version, made)


class WideLog(MappedLog):
    """A table of many mapped columns, one of which gets another comment in every second commit."""

    def changes(self, version: int, made: int) -> list[dict[str, Any]]:
        """Return new files, or the changed schema."""
        if version % 2 == 0:
            return PlainLog.changes(self, version, made)
        metadata = self.metadata(made)
        schema = json.loads(metadata["schemaString"])
        schema["fields"][0]["metadata"]["comment"] = f"of version {version}"
        return [{"metaData": metadata | {"schemaString": json.dumps(schema)}}]

    def metadata(self, made: int) -> dict[str, Any]:
        """Return the ``metaData`` action."""
        metadata = super().metadata(made)
        more = [self.column(f"column_{n}", "long", n) for n in range(5, COLUMNS + 1)]
        fields = json.loads(metadata["schemaString"])["fields"] + more
        mapping = {**self.configuration, "delta.columnMapping.maxColumnId": str(COLUMNS)}
        schema = json.dumps({"type": "struct", "fields": fields})
        return metadata | {"id": "wide", "schemaString": schema, "configuration": mapping}


def write(name: str, table: Path, files: int) -> None:
    """Write a table."""
    if name == "checkpoint":
        write_checkpointed(table, files, "classic", MappedAppends(files))
    elif name == "commits":
        MappedAppends(files // FILES_PER_COMMIT).write(table)
    elif name == "wide":
        WideLog(20).write(table)
    else:
        write_row_ids(table, files, overlap=name == "overlapping")


#: The jobs of each table: arguments of the command line. ``{t}`` stands for the table, ``{f}`` for the folder of files.
JOBS: dict[str, Sequence[str]] = {
    "checkpoint": (
        "column-mapping-usage {t}",
        "plan-migration --spec {f}/spec.json",
        "check-drift --spec {f}/spec.json",
        "check-retention {t}",
        "check-compatibility --fleet {f}/fleet.json {t}",
    ),
    "commits": ("column-mapping-usage {t}", "plan-migration --spec {f}/spec.json"),
    "row ids": ("check-row-tracking --level log {t}", "audit --since-version 0 {t}"),
    "overlapping": ("check-row-tracking --level log {t}",),
    "wide": ("audit {t}", "column-mapping-usage {t}", "detail {t}"),
}


def main(files: int, runs: int) -> None:
    """Measure everything, and print it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
        fleet = [{"engine": _ENGINES[n % len(_ENGINES)], "name": f"reader {n}"} for n in range(READERS)]
        policy = {"must_stay_readable_by": [engine["name"] for engine in fleet]}
        Path(folder, "fleet.json").write_text(json.dumps({"engines": fleet, "policy": policy}))
        print(f"{files:,} files, {READERS:,} readers, {COLUMNS:,} columns; medians of {runs} processes")
        for name, jobs in JOBS.items():
            table = Path(folder, name.replace(" ", "-"))
            # In another process: the memory of this one would count as that of the processes that it starts.
            run(["-m", "benchmarks.large_tables", "--write", name, str(table), str(files)])
            spec = {"table": str(table), "comment": "as declared"}
            Path(folder, "spec.json").write_text(json.dumps({"tables": [spec]}))
            scripts = {"deltalake, opening": ["-c", OPEN, str(table)]}
            for job in jobs:
                command = job.format(t=table, f=folder).split()
                scripts[command[0]] = ["-m", "airflow_delta_provider", *command, "-q", "--no-config", "--exit-zero"]
                scripts[command[0]] += ["--engine", "python"]
            run(scripts[command[0]])  # which compiles the package
            for job, (_, cpu, memory) in medians(scripts, runs).items():
                print(f"{name:12} {job:22} CPU {cpu:6.2f} s {memory:6.0f} MB", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    else:
        main(*(int(given) for given in (sys.argv[1:] + ["100000", "3"][len(sys.argv) - 1 :])))
