"""What the commits of a table told up to a version that the state of that version does not show.

Rules of scope pair and history need it of commits that were judged long ago: :mod:`.past_needs` says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.audit.live.paths import LivePaths
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.history_events import HistoryEvents
from airflow_delta_provider.domain.delta.mapped_schema import PhysicalPath
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding

#: Files of a violation that are remembered.
_MOST_FILES = 1000
#: States that violations compare with, of those that are remembered.
_MOST_STATES = 50
#: Stands for the files of a violation that are not remembered: it is never removed.
_OTHERS = ""


@dataclass(frozen=True)
class StandingViolation:
    """A violation that is open.

    :param finding: as of the commit that broke the rule; with its fingerprint
    :param paths: the files that are still wrong, where it is about files
    :param details: what it depends on besides until when it is open; None for nothing, or where nobody knows
    :param before: the state before it, without files, where the rule compares with that and it is known
    :param of_state: whether it is found again in each state, with its files
    """

    finding: Finding
    paths: frozenset[str] = frozenset()
    details: dict[str, Any] | None = None
    before: TableState | None = None
    of_state: bool = False

    @classmethod
    def of(
        cls,
        finding: Finding,
        paths: Iterable[str] | None = None,
        details: dict[str, Any] | None = None,
        before: TableState | None = None,
        *,
        of_state: bool = False,
    ) -> StandingViolation:
        """Return what is known of a violation.

        :param paths: all files that are wrong, as far as somebody knows; else the one that the finding names
        """
        known = [finding.path] if finding.path is not None else []
        files = sorted(known if paths is None else paths)
        if len(files) > _MOST_FILES:
            files = [*files[:_MOST_FILES], _OTHERS]
        return cls(finding, frozenset(files), details, before, of_state)

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        wire: dict[str, Any] = {"finding": self.finding.to_json()}
        if self.paths != {self.finding.path} and self.paths:
            wire["paths"] = sorted(self.paths)
        if self.details is not None:
            wire["details"] = self.details
        if self.before is not None:
            wire["before"] = self.before.version
        if self.of_state:
            wire["of_state"] = True
        return wire

    @classmethod
    def from_json(cls, wire: Mapping[str, Any], states: Mapping[int, TableState]) -> StandingViolation:
        """Read the wire form.

        :param states: by their versions, as far as they are remembered
        """
        paths, details, before = (wire.get(name) for name in ("paths", "details", "before"))
        finding = Finding.from_json(wire["finding"])
        return cls(
            finding,
            cls.of(finding).paths if paths is None else frozenset(map(str, paths)),
            None if details is None else dict(details),
            None if before is None else states.get(int(before)),
            of_state=bool(wire.get("of_state")),
        )


@dataclass(frozen=True)
class LiveFiles:
    """The live files of a version.

    :param number: how many
    :param size: bytes of all
    :param paths: None for too many
    """

    number: int
    size: int
    paths: LivePaths | None = None

    def and_also(self, number: int, size: int) -> LiveFiles:
        """Return these files and others, without the paths of those."""
        return LiveFiles(self.number + number, self.size + size, self.paths)

    def with_paths(self, paths: Iterable[str]) -> LiveFiles:
        """Return the same, with the paths of those that have none yet."""
        known = None if self.paths is None else self.paths.and_also(paths)
        return LiveFiles(self.number, self.size, known)

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        paths = {} if self.paths is None else {"paths": self.paths.to_json()}
        return {"number": self.number, "size": self.size, **paths}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> LiveFiles:
        """Read the wire form.

        :raises ValueError: if it is damaged
        """
        paths = wire.get("paths")
        return cls(int(wire["number"]), int(wire["size"]), None if paths is None else LivePaths.from_json(paths))


@dataclass(frozen=True)
class HistoryFacts:
    """What is known of a history in addition to the state that it led to.

    :param column_ids: the ids of the columns that each physical path has led to, dropped ones too, as long as files
        may hold them
    :param used_features: features that some version used
    :param ever_dropped: whether some version said that a column had been dropped or renamed
    :param high_water_mark: of row ids, the last one that was there
    :param lowered: the last commit that took that away, or set it back
    :param files: of the last version
    :param checkpoints: the versions of the checkpoints that were there; None where an older release did not remember it
    :param checkpoint: the newest of them, where that is all that an older release remembered
    :param checksum: the newest version whose checksum file was compared with it
    :param compaction: the version that the newest log compaction file ends with that was compared with the commits
    :param standing: what was wrong and still is
    :param events: what commits did to protocol and columns; None where an older release did not remember it
    """

    column_ids: Mapping[PhysicalPath, frozenset[int]] = field(default_factory=dict)
    used_features: frozenset[str] = frozenset()
    ever_dropped: bool = False
    high_water_mark: int | None = None
    lowered: Commit | None = None
    files: LiveFiles | None = None
    checkpoints: frozenset[int] | None = None
    checkpoint: int | None = None
    checksum: int | None = None
    compaction: int | None = None
    standing: tuple[StandingViolation, ...] = ()
    events: HistoryEvents | None = None

    def knows_checkpoint(self, version: int) -> bool:
        """Whether there was a checkpoint of that version, as far as that is remembered."""
        return version <= (self.checkpoint or -1) if self.checkpoints is None else version in self.checkpoints

    def to_json(self) -> dict[str, Any]:
        """Return the wire form; what is not known is left out."""
        wire = {
            "column_ids": [[list(path), sorted(ids)] for path, ids in sorted(self.column_ids.items())],
            "used_features": sorted(self.used_features),
            "ever_dropped": self.ever_dropped,
            "high_water_mark": self.high_water_mark,
            "lowered": None if self.lowered is None else [self.lowered.version, dict(self.lowered.info)],
            "files": None if self.files is None else self.files.to_json(),
            "checkpoints": None if self.checkpoints is None else sorted(self.checkpoints),
            "checkpoint": self.checkpoint,
            "checksum": self.checksum,
            "compaction": self.compaction,
            "standing": [violation.to_json() for violation in self.standing],
            "states": [state_to_json(state) for state in self._states()],
            "events": None if self.events is None else self.events.to_json(),
        }
        return {key: value for key, value in wire.items() if value is not None}

    def _states(self) -> list[TableState]:
        """Return those that violations compare with, not too many of them."""
        states = {state.version: state for violation in self.standing if (state := violation.before) is not None}
        return list(states.values())[:_MOST_STATES]

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> HistoryFacts:
        """Read the wire form.

        :raises ValueError: if it is damaged; KeyError, TypeError and AttributeError likewise
        """
        lowered, files, events = wire.get("lowered"), wire.get("files"), wire.get("events")
        checkpoints = wire.get("checkpoints")
        states = {state.version: state for state in map(state_from_json, wire.get("states", ()))}
        return cls(
            {tuple(map(str, path)): frozenset(map(int, ids)) for path, ids in wire["column_ids"]},
            frozenset(map(str, wire["used_features"])),
            bool(wire["ever_dropped"]),
            _integer(wire.get("high_water_mark")),
            None if lowered is None else Commit(int(lowered[0]), dict(lowered[1])),
            None if files is None else LiveFiles.from_json(files),
            None if checkpoints is None else frozenset(map(int, checkpoints)),
            _integer(wire.get("checkpoint")),
            _integer(wire.get("checksum")),
            _integer(wire.get("compaction")),
            tuple(StandingViolation.from_json(violation, states) for violation in wire["standing"]),
            None if events is None else HistoryEvents.from_json(events),
        )


def state_to_json(state: TableState) -> dict[str, Any]:
    """Return the wire form of a state, without its files."""
    return {
        "version": state.version,
        "protocol": state.protocol.to_json(),
        "metadata": state.metadata.to_json(),
        "domains": dict(state.domains),
    }


def state_from_json(wire: Mapping[str, Any]) -> TableState:
    """Read the wire form of a state.

    :raises ValueError: if it is damaged; KeyError, TypeError and AttributeError likewise
    """
    protocol, metadata = Protocol.from_json(wire["protocol"]), Metadata.from_json(wire["metadata"])
    return TableState(int(wire["version"]), protocol, metadata, dict(wire["domains"]))


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)
