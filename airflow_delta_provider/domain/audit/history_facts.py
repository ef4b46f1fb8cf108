"""Facts from a table's commits that the state of a version does not contain.

Rules of scope pair and history need them for commits that were audited before: see :mod:`.past_needs`.
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

#: Maximum number of files saved per violation.
_MOST_FILES = 1000
#: Maximum number of saved states that violations compare with.
_MOST_STATES = 50
#: Placeholder for the files of a violation that are not saved. It is never removed.
_OTHERS = ""


@dataclass(frozen=True)
class StandingViolation:
    """A violation that is open.

    :param finding: the finding of the commit that broke the rule, with its fingerprint
    :param paths: the files that are still wrong, if the violation is about files
    :param details: further data that decides when it is fixed; None if there is none or it is unknown
    :param before: the state before the violation, without files, if the rule compares with it and it is known
    :param of_state: whether each state with its files shows it again
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
        """Return a violation to save.

        :param paths: all files that are wrong, if known; otherwise the file that the finding names
        """
        known = [finding.path] if finding.path is not None else []
        files = sorted(known if paths is None else paths)
        if len(files) > _MOST_FILES:
            files = [*files[:_MOST_FILES], _OTHERS]
        return cls(finding, frozenset(files), details, before, of_state)

    def to_json(self) -> dict[str, Any]:
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
        """Read a saved violation.

        :param states: saved states by version
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

    :param number: number of files
    :param size: total size in bytes
    :param paths: checksums of their paths; None if there are too many
    """

    number: int
    size: int
    paths: LivePaths | None = None

    def and_also(self, number: int, size: int) -> LiveFiles:
        """Return these files plus others whose paths are not recorded."""
        return LiveFiles(self.number + number, self.size + size, self.paths)

    def with_paths(self, paths: Iterable[str]) -> LiveFiles:
        """Return the same files, with additional paths of files whose paths were not recorded."""
        known = None if self.paths is None else self.paths.and_also(paths)
        return LiveFiles(self.number, self.size, known)

    def to_json(self) -> dict[str, Any]:
        paths = {} if self.paths is None else {"paths": self.paths.to_json()}
        return {"number": self.number, "size": self.size, **paths}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> LiveFiles:
        """Read saved live files.

        :raises ValueError: if they are damaged
        """
        paths = wire.get("paths")
        return cls(int(wire["number"]), int(wire["size"]), None if paths is None else LivePaths.from_json(paths))


@dataclass(frozen=True)
class HistoryFacts:
    """Facts about a history in addition to the state that it led to.

    :param column_ids: ids of the columns that each physical path has referred to, including dropped columns, as long as
        files may contain them
    :param used_features: features that some version used
    :param ever_dropped: whether some version recorded that a column had been dropped or renamed
    :param high_water_mark: last high water mark of row ids
    :param lowered: last commit that removed or lowered the high water mark
    :param files: live files of the last version
    :param checkpoints: versions of the checkpoints that existed; None if an older release did not save them
    :param checkpoint: newest checkpoint, if an older release saved only that
    :param checksum: newest version whose checksum file was compared with the table
    :param compaction: last version of the newest log compaction file that was compared with the commits
    :param standing: violations that are still open
    :param events: changes of protocol and columns; None if an older release did not save them
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
        """Return True if the saved facts include a checkpoint of that version."""
        return version <= (self.checkpoint or -1) if self.checkpoints is None else version in self.checkpoints

    def to_json(self) -> dict[str, Any]:
        """Return the wire form; unknown facts are left out."""
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
        """Return the states that violations compare with, at most ``_MOST_STATES``."""
        states = {state.version: state for violation in self.standing if (state := violation.before) is not None}
        return list(states.values())[:_MOST_STATES]

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> HistoryFacts:
        """Read saved facts.

        :raises ValueError: if they are damaged; KeyError, TypeError and AttributeError likewise
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
