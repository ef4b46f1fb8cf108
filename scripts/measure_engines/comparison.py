"""Compares what was measured with the profiles of engines.

A profile disagrees with a measurement if it says that a table is read or written right and the release did not do so,
or if it warns and the release did: a false alarm. ``accepted.json`` lists the disagreements that stay, with reasons.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
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
ACCEPTED = Path(__file__).parent / "accepted.json"
#: By the name of a profile, the ways that show that it reads, the first one that was tried, and that it writes.
_WAYS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "delta-rs": (("query", "pyarrow"), "append"),
    "deltalake to_pyarrow_table": (("pyarrow",), ""),
}
_OTHERS = (("read",), "append")


class Outcome(str, Enum):
    """What a release does with a table, as measured or as its profile says."""

    RIGHT = "right"
    WRONG = "wrong"
    """Some rows were wrong, without an error."""
    REFUSED = "refused"
    PARTLY_REFUSED = "partly refused"
    """It refused some predicates, but not to read all rows. No profile says that."""
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """What one release did with one table, and what its profile says.

    :param profile: name of the profile
    :param access: kind of access that was tried
    :param measured: outcomes; of a table with predicates, by way and predicate
    :param said: supports of the reasons against the access; empty if the profile says that it works
    :param statements: statements that make the table, if it has predicates
    """

    profile: str
    version: str
    table: str
    access: Access
    measured: Mapping[str, str]
    said: frozenset[Support]
    statements: tuple[str, ...] = ()

    @property
    def engine(self) -> str:
        """The profile with the version."""
        return f"{self.profile} {self.version}"

    @property
    def wrong(self) -> dict[str, str]:
        """Reads or writes that were wrong without an error."""
        return {key: outcome for key, outcome in self.measured.items() if outcome.startswith("wrong")}

    @property
    def did(self) -> Outcome:
        """What the release did; a crash counts as a refusal."""
        if self.wrong:
            return Outcome.WRONG
        if all(outcome == "OK" for outcome in self.measured.values()):
            return Outcome.RIGHT
        full = [outcome for key, outcome in self.measured.items() if "," not in key or key.endswith(", all")]
        return Outcome.PARTLY_REFUSED if "OK" in full else Outcome.REFUSED

    @property
    def says(self) -> Outcome:
        """What the profile says."""
        if Support.NO in self.said:
            return Outcome.REFUSED
        if Support.WRONG in self.said:
            return Outcome.WRONG
        return Outcome.UNDECIDED if self.said else Outcome.RIGHT

    @property
    def agrees(self) -> bool:
        """True if the profile says what happened, or that it does not know."""
        return self.says in (Outcome.UNDECIDED, self.did)

    def __str__(self) -> str:
        sample = next((f"{key}: {text}" for key, text in self.measured.items() if text != "OK"), "OK")
        return (
            f"{self.engine} | {self.access.value} | {self.table} | "
            f"said {self.says.value} | {self.did.value} | {sample[:200]}"
        )


@dataclass(frozen=True)
class Accepted:
    """Disagreements that stay, and why.

    :param profiles: names of profiles
    :param tables: tables and situations
    :param releases: measured releases; empty for all
    """

    profiles: tuple[str, ...]
    tables: tuple[str, ...]
    access: Access
    says: Outcome
    did: Outcome
    reason: str
    releases: tuple[str, ...] = ()

    def covers(self, one: Comparison) -> bool:
        """Return True if a disagreement is one of these."""
        return (
            one.profile in self.profiles
            and one.table in self.tables
            and (not self.releases or one.version in self.releases)
            and (one.access, one.says, one.did) == (self.access, self.says, self.did)
        )


def accepted() -> list[Accepted]:
    """Return the accepted disagreements."""
    return [
        Accepted(
            profiles=tuple(entry["profiles"]),
            tables=tuple(entry["tables"]),
            access=Access(entry["access"]),
            says=Outcome(entry["says"]),
            did=Outcome(entry["did"]),
            reason=entry["reason"],
            releases=tuple(entry.get("releases", ())),
        )
        for entry in json.loads(ACCEPTED.read_text(encoding="utf-8"))
    ]


@cache
def comparisons() -> tuple[Comparison, ...]:
    """Return all that was measured: tables with one feature each, then situations."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    return tuple(one for kind in ("tables", "situations") for one in _compared(results, kind) if one.measured)


def reads() -> Iterator[Comparison]:
    """Yield all reads of situations."""
    return (one for one in comparisons() if one.statements)


def _compared(results: Mapping[str, Any], kind: str) -> Iterator[Comparison]:
    for key, engine in results["engines"].items():
        name, _, version = key.rpartition(" ")
        for profile in (name, "deltalake to_pyarrow_table") if name == "delta-rs" else (name,):
            for table, found in engine.get(kind, {}).items():
                made = results[kind][table]
                reasons = assess(PROFILES[profile], version, _surveyed(PROFILES[profile], version, made)).reasons
                for access, measured in _measured(profile, found):
                    said = frozenset(reason.support for reason in reasons if reason.access is access)
                    statements = tuple(made.get("statements", ()))
                    yield Comparison(profile, version, table, access, measured, said, statements)


def _measured(profile: str, found: Mapping[str, str]) -> Iterator[tuple[Access, dict[str, str]]]:
    """Yield the outcomes of reads in the first way that was tried, and of the write."""
    tried = {key: outcome for key, outcome in found.items() if _is_known(outcome)}
    ways, write = _WAYS.get(profile, _OTHERS)
    way = next((way for way in ways if any(_way(key) == way for key in tried)), "")
    yield Access.READ, {key: outcome for key, outcome in tried.items() if _way(key) == way}
    yield Access.WRITE, {key: outcome for key, outcome in tried.items() if key == write}


def _is_known(outcome: str) -> bool:
    """Return True unless it was not tried; a process that the read ended did try."""
    return not outcome.startswith("not ") or "was ended by" in outcome


def _way(key: str) -> str:
    return key.partition(",")[0]


def _surveyed(profile: Profile, version: str, table: Mapping[str, Any]) -> Demands:
    """Return the demands of a table, with decisions about its files as far as a release's conditions need them."""
    metadata = table["metaData"]
    read = Metadata("", metadata["schemaString"], tuple(metadata["partitionColumns"]), metadata["configuration"])
    demands = demands_of(Protocol.from_json(table["protocol"]), read)
    if not isinstance(demands.traits, TableTraits):
        return demands
    clauses = open_clauses(undecided_clauses([(profile, version)], demands), demands.traits)
    survey = FileSurvey(read, clauses, LogSegment(0, None, tuple(table["checkpoints"]), (), None))
    for file in table["files"]:
        survey.note(file)
    for path in table.get("checkpoint_vectors", ()):
        survey.note_listed({"path": path, "deletionVector": {"": ""}})
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


if __name__ == "__main__":
    named = accepted()
    for each in comparisons():
        if not each.agrees and not any(known.covers(each) for known in named):
            print(each)
    undecided = [each for each in comparisons() if each.says is Outcome.UNDECIDED]
    print(len(comparisons()), "cells,", len(undecided), "undecided")
