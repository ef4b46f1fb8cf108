"""The metadata of 1,000 snapshots judged: our job against fastavro, which only decodes the same delta manifests.

Ours reads snapshots, both manifest lists of each, every manifest once, and judges all rules. Every way to decompress
Zstandard that a cluster may have is measured: the package zstandard, and Spark's own library in the JVM. Prints
seconds, medians of interleaved runs in one process, the ratio to fastavro, and how many manifests of the base were
read.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fastavro

from airflow_delta_provider.domain.formats.avro.file import STANDARD_CODECS, Codec
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.paimon.check import PaimonRowTrackingCheck
from airflow_delta_provider.jobs.paimon.metadata_source import MetadataSource
from airflow_delta_provider.jobs.paimon.table import PaimonTable
from airflow_delta_provider.jobs.process import collect_seldom, silent
from airflow_delta_provider.jobs.spark.block_codecs import zstandard_by_jvm, zstandard_by_package
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.hadoop_storage import HadoopStorage
from airflow_delta_provider.jobs.spark.session import own_session
from benchmarks.paimon_history import make_history


class CountingStorage(HadoopStorage):
    """Reads, and keeps which files."""

    def __init__(self, spark: Any) -> None:
        super().__init__(spark)
        self.names: list[str] = []

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        self.names.append(path.rsplit("/", 1)[-1])
        return super().read(path)


def main() -> None:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--snapshots", type=int, default=1000)
    parser.add_argument("--files", type=int, default=3, help="that a commit adds")
    arguments = parser.parse_args()
    collect_seldom()
    session = SparkDeltaSession(own_session("benchmark", "local[2]", "provided"))
    ways = {"zstandard": zstandard_by_package(), "the JVM": zstandard_by_jvm(session.spark)}
    with tempfile.TemporaryDirectory() as folder:
        print(f"writing {arguments.snapshots:,} snapshots", file=sys.stderr)
        root, deltas = make_history(Path(folder), arguments.snapshots, arguments.files)
        variants: dict[str, Callable[[], None]] = {"fastavro": lambda: _decode(deltas)}
        for way, codec in ways.items():
            if codec is not None:
                variants[f"ours, by {way}"] = _ours(session, root, {**STANDARD_CODECS, "zstandard": codec})
        seconds: dict[str, list[float]] = {variant: [] for variant in variants}
        for run in range(arguments.runs + 1):
            for variant, measured in variants.items():
                started = time.monotonic()
                measured()
                if run:  # the first warms
                    seconds[variant].append(time.monotonic() - started)
        storage = CountingStorage(session.spark)
        _check(session, root, {**STANDARD_CODECS, "zstandard": zstandard_by_jvm(session.spark)}, storage)
        read = [name for name in storage.names if name.startswith("manifest-") and "list" not in name]
    least = statistics.median(seconds["fastavro"])
    for variant, found in seconds.items():
        median = statistics.median(found)
        each = ", ".join(f"{value:.2f}" for value in found)
        print(f"{variant:22}{median:8.2f} s   {median / least:.1f} times   ({each})")
    print(f"manifests read: {len(read)}, of the commits {len(deltas)}, merged ones of a base {len(read) - len(deltas)}")


def _decode(manifests: list[Path]) -> None:
    for manifest in manifests:
        with manifest.open("rb") as file:
            for _ in fastavro.reader(file):
                pass


def _ours(session: SparkDeltaSession, root: Path, codecs: Mapping[str, Codec]) -> Callable[[], None]:
    return lambda: _check(session, root, codecs, session.storage)


def _check(session: SparkDeltaSession, root: Path, codecs: Mapping[str, Codec], storage: HadoopStorage) -> None:
    location = f"file:{root}"
    table = PaimonTable(TableName.parse(str(root)), location, MetadataSource(storage, location, codecs))
    report = PaimonRowTrackingCheck(session, table, PaimonCheckRowTrackingOptions(), silent).run()
    if report.verdict is not Verdict.PASS:
        raise SystemExit(report.to_json())


if __name__ == "__main__":
    main()
