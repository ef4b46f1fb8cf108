"""Compares what was measured with the profiles of engines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.engine.access import Access, Demands, assess
from airflow_delta_provider.domain.engine.profile import Support
from airflow_delta_provider.domain.engine.profiles import PROFILES

RESULTS = Path(__file__).parent / "results.json"
#: By the name of a profile: which way shows that it reads, the first that was tried, and which that it writes.
_WAYS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "delta-rs": (("query", "pyarrow"), "append"),
    "deltalake to_pyarrow_table": (("pyarrow",), ""),
}
_OTHERS = (("read",), "append")


@dataclass(frozen=True)
class Cell:
    """What one release did with one table in one way, and what its profile says.

    :param said: the supports of the reasons why not; empty where it is said to work
    """

    engine: str
    table: str
    access: Access
    measured: str
    said: frozenset[Support]

    @property
    def is_decided(self) -> bool:
        """Whether the profile says what happens."""
        return Support.UNKNOWN not in self.said or Support.NO in self.said

    @property
    def agrees(self) -> bool:
        """Whether that is what happened; what disregards a feature may read what is right."""
        if Support.NO in self.said:
            return self.measured.startswith("refused")
        return self.measured == "OK" or (Support.WRONG in self.said and self.measured.startswith("wrong"))


def cells() -> Iterator[Cell]:
    """Yield all that was tried."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    demands = {name: _demands(table) for name, table in results["tables"].items()}
    for key, measured in results["engines"].items():
        name, _, version = key.rpartition(" ")
        for profile in (name, "deltalake to_pyarrow_table") if name == "delta-rs" else (name,):
            for table, found in measured["tables"].items():
                yield from _cells(profile, version, table, found, demands[table])


def _cells(profile: str, version: str, table: str, found: Mapping[str, str], demands: Demands) -> Iterator[Cell]:
    reads, write = _WAYS.get(profile, _OTHERS)
    reasons = assess(PROFILES[profile], version, demands).reasons
    read = next((found[way] for way in reads if not found.get(way, "not tried").startswith("not tried")), None)
    for access, measured in ((Access.READ, read), (Access.WRITE, found.get(write))):
        if measured is not None and not measured.startswith("not tried"):
            said = frozenset(reason.support for reason in reasons if reason.access is access)
            yield Cell(f"{profile} {version}", table, access, measured, said)


def _demands(table: Mapping[str, Any]) -> Demands:
    metadata = table["metaData"]
    return demands_of(
        Protocol.from_json(table["protocol"]),
        Metadata("", metadata["schemaString"], tuple(metadata["partitionColumns"]), metadata["configuration"]),
    )


if __name__ == "__main__":
    every = list(cells())
    for cell in every:
        if cell.is_decided and not cell.agrees:
            said = ", ".join(sorted(support.value for support in cell.said)) or "yes"
            print(f"{cell.engine} | {cell.access.value} {cell.table}: said {said}; measured {cell.measured}")
    print(len(every), "cells,", sum(not cell.is_decided for cell in every), "undecided")
