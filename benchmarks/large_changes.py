"""Changes of a table with many files: our jobs against the same statements, inside one running session of Spark.

    python -m benchmarks.large_changes [FILES] [RUNS]

The log begins with a checkpoint of FILES files (default 100,000) in one Parquet file; there are no data files, so our
jobs verify the log only. Each run of each variant changes a table of its own, which the session has not opened yet.
Prints medians of wall time and of the CPU time of all processes over RUNS interleaved runs (default 3), after one that
warms the session, and the ratios of CPU time to the statement, with the default numbers of partitions.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions, WidenTypesOptions
from airflow_delta_provider.domain.request.migration_options import ApplyMigrationOptions
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.many_tables import cpu_seconds
from benchmarks.protocol_logs import PlainLog
from benchmarks.scale import write_checkpointed
from benchmarks.side_by_side import Change, job, script

_OURS, _DEFAULT, _FEW = "ours", "statement, default partitions", "statement, our partitions"
_WIDENING = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["typeWidening"],
    "writerFeatures": ["appendOnly", "invariants", "typeWidening"],
}


class WideningLog(PlainLog):
    """A table with type widening, and the id as an integer."""

    protocol: ClassVar[dict[str, Any]] = _WIDENING
    configuration: ClassVar[dict[str, str]] = {"delta.enableTypeWidening": "true"}

    def column(self, name: str, kind: str, number: int) -> dict[str, object]:
        """Return a field of the schema."""
        return super().column(name, "integer" if name == "id" else kind, number)


def _variants(change: Change, statement: str) -> Mapping[str, Change]:
    return {
        _OURS: change,
        _DEFAULT: script([statement], by_default=True),
        _FEW: script([statement], by_default=False),
    }


CHANGES: Mapping[str, Mapping[str, Change]] = {
    "set a property": _variants(
        job(ApplyMigrationOptions(spec=({"properties": {"delta.checkpointInterval": "20"}},))),
        "SET TBLPROPERTIES ('delta.checkpointInterval' = '20')",
    ),
    "widen a type": _variants(
        job(WidenTypesOptions(columns={"id": "bigint"}, verify="log")), "ALTER COLUMN id TYPE BIGINT"
    ),
    "enable a feature": _variants(
        job(EnableFeatureOptions(features=("inCommitTimestamp",), allow_protocol_upgrade=True)),
        "SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
    ),
}


def main(files: int, runs: int) -> None:
    """Measure everything, and print it."""
    session = SparkDeltaSession(own_session("benchmark", "local[2]"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        write_checkpointed(source, files, "classic", WideningLog(files))
        print(f"{files:,} files, medians of {runs} runs")
        for name, variants in CHANGES.items():
            taken: dict[str, list[tuple[float, float]]] = {variant: [] for variant in variants}
            for number in range(runs + 1):
                for variant, change in variants.items():
                    table = Path(shutil.copytree(source, Path(folder, f"{name}-{variant}-{number}".replace(" ", "-"))))
                    cpu, started = cpu_seconds(), time.monotonic()
                    change(session, table)
                    if number:  # the first of each warms the session
                        taken[variant].append((time.monotonic() - started, cpu_seconds() - cpu))
            medians = {each: [statistics.median(part) for part in zip(*spent)] for each, spent in taken.items()}
            for variant, (wall, cpu) in medians.items():
                ratio = cpu / medians[_DEFAULT][1]
                print(f"{name:18} {variant:30} {wall:6.2f} s, CPU {cpu:6.2f} s, ratio {ratio:.2f}", flush=True)
    session.spark.stop()


if __name__ == "__main__":
    main(*(int(given) for given in (sys.argv[1:] + ["100000", "3"][len(sys.argv) - 1 :])))
