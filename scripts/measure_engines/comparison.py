"""Compares what was measured with the profiles of engines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.engine_conditions import TableTraits, open_clauses
from airflow_delta_provider.domain.delta.file_survey import FileSurvey
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.engine.access import Access, Demands, assess, undecided_clauses
from airflow_delta_provider.domain.engine.profile import PROFILES, Profile, Support
from airflow_delta_provider.domain.engine.spark_library import version_of

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


@dataclass(frozen=True)
class Read:
    """What one release read of a table of ``situations.py``, and what its profile says.

    :param measured: outcomes by way and predicate
    :param said: supports of the reasons against reading; empty if the profile says that it is read right
    :param statements: statements that make the table
    """

    engine: str
    situation: str
    measured: Mapping[str, str]
    said: frozenset[Support]
    statements: tuple[str, ...] = ()

    @property
    def wrong(self) -> dict[str, str]:
        """Reads that returned wrong rows without an error."""
        return {key: outcome for key, outcome in self.measured.items() if outcome.startswith("wrong")}

    @property
    def is_right(self) -> bool:
        """True if the full table was read, and no read returned wrong rows."""
        full = [outcome for key, outcome in self.measured.items() if key.endswith(", all")]
        return bool(full) and all(outcome == "OK" for outcome in full) and not self.wrong

    @property
    def agrees(self) -> bool:
        """True if the profile contradicts nothing: no silent misread is called right, and no right read wrong."""
        if self.wrong:
            return bool(self.said)
        return not (self.is_right and self.said & {Support.WRONG, Support.NO})


def reads() -> Iterator[Read]:
    """Yield all reads of situations, by profile."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    tables = results.get("situations", {})
    for key, measured in results["engines"].items():
        name, _, version = key.rpartition(" ")
        for profile in (name, "deltalake to_pyarrow_table") if name == "delta-rs" else (name,):
            ways = _READS.get(profile, ("read",))
            for situation, found in measured.get("situations", {}).items():
                demands = _surveyed(PROFILES[profile], version, tables[situation])
                reasons = assess(PROFILES[profile], version, demands).reasons
                said = frozenset(reason.support for reason in reasons if reason.access is Access.READ)
                mine = {way: outcome for way, outcome in found.items() if way.partition(",")[0] in ways}
                yield Read(f"{profile} {version}", situation, mine, said, tuple(tables[situation]["statements"]))


_READS = {"delta-rs": ("query",), "deltalake to_pyarrow_table": ("pyarrow",)}


def _surveyed(profile: Profile, version: str, table: Mapping[str, Any]) -> Demands:
    """Return the demands of a table, with decisions about its files as far as a release's conditions need them."""
    demands = _demands(table)
    if not isinstance(demands.traits, TableTraits):
        return demands
    clauses = open_clauses(undecided_clauses([(profile, version)], demands), demands.traits)
    metadata = table["metaData"]
    read = Metadata("", metadata["schemaString"], tuple(metadata["partitionColumns"]), metadata["configuration"])
    survey = FileSurvey(read, clauses, LogSegment(0, None, tuple(table["checkpoints"]), (), None))
    for file in table["files"]:
        survey.note(file)
    survey.note_checkpoint({"path": path, "deletionVector": {"": ""}} for path in table.get("checkpoint_vectors", ()))
    types = {file["path"]: file["types"] for file in table["files"]}
    decisions = survey.decisions(lambda place: {tuple(k.split("/")): v for k, v in types[place[0]].items()})
    return replace(demands, traits=demands.traits.with_files(decisions))


@cache
def measured_features(name: str, version: str, access: str = "") -> frozenset[str]:
    """Return the features that were measured with a release, in one kind of access or in any."""
    of_reading, of_writing = {"read", "query", "pyarrow"}, {"append"}
    ways = {"read": of_reading, "write": of_writing}.get(access, of_reading | of_writing)
    found = set()
    for key, engine in json.loads(RESULTS.read_text("utf-8"))["engines"].items():
        engine_name, _, number = key.rpartition(" ")
        if engine_name != name or version_of(number)[: len(version_of(version))] != version_of(version):
            continue
        for table, outcomes in engine["tables"].items():
            if any(not outcomes.get(way, "not tried").startswith("not tried") for way in ways):
                found.add(table.partition(",")[0])
    return frozenset(found)


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
    for read in reads():
        if not read.agrees:
            said = ", ".join(sorted(support.value for support in read.said)) or "yes"
            print(f"{read.engine} | {read.situation}: said {said}; measured {read.wrong or 'OK'}")
    print(len(every), "cells,", sum(not cell.is_decided for cell in every), "undecided")
