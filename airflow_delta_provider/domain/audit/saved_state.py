"""Facts from a table's commits that the state of a version does not contain.

Rules of scope pair and history need them for commits that were audited before: see ``Need`` in ``checks/rule.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from airflow_delta_provider.domain.audit.file_records import FileRecords, LiveCounts
from airflow_delta_provider.domain.checks.column_mapping.names import REUSED_PATH
from airflow_delta_provider.domain.checks.log.checkpoints import INCOMPLETE_CHECKPOINT
from airflow_delta_provider.domain.checks.log.checksums import WRONG_POINTER
from airflow_delta_provider.domain.checks.log.files import (
    AHEAD_OF_COMMITS,
    MALFORMED_NAME,
    OLDEST_WITHOUT_CHECKPOINT,
    UNREAD,
)
from airflow_delta_provider.domain.checks.log.history import GAP, HISTORY_NOT_KEPT
from airflow_delta_provider.domain.checks.registry import UNKNOWN, rule_of
from airflow_delta_provider.domain.checks.row_tracking.commits import MATERIALIZED_NAMES_CHANGED
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.history_events import HistoryEvents
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata, PhysicalPath
from airflow_delta_provider.domain.delta.partial_files import known_files, other_files
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.confirmation import ReportedFindings
from airflow_delta_provider.domain.report.report import Finding, Severity, Status

#: Maximum number of files saved per violation.
_MOST_FILES = 1000
#: Maximum number of saved states that violations compare with.
_MOST_STATES = 50
#: Placeholder for the files of a violation that are not saved. It is never removed.
_OTHERS = ""


class OpenViolation(NamedTuple):
    """A violation that is open.

    :param finding: the finding of the commit that broke the rule, with its fingerprint
    :param paths: the files that are still wrong, if the violation is about files
    :param details: further data that decides when it is fixed; None if there is none or it is unknown
    :param before: the state before the violation, without files, if the rule compares with it and it is known
    :param of_state: True if each state with its files shows it again
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
    ) -> OpenViolation:
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
    def from_json(cls, wire: Mapping[str, Any], states: Mapping[int, TableState]) -> OpenViolation:
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
    :param known: the files one by one; None if there are too many, or an older release saved them
    :param counts: counts of the files, if a checksum file was compared with them
    """

    number: int
    size: int
    known: FileRecords | None = None
    counts: LiveCounts | None = None

    def and_also(self, number: int, size: int, counts: LiveCounts | None) -> LiveFiles:
        """Return these files plus others that are not recorded one by one.

        :param counts: counts of all
        """
        return LiveFiles(self.number + number, self.size + size, self.known, counts)

    def with_files(self, files: Mapping[FileKey, LiveFile]) -> LiveFiles:
        """Return the same files, with records of those that were not recorded one by one.

        Files that an engine only counted have none, and then nothing is recorded.
        """
        if self.known is None or other_files(files).number:
            return replace(self, known=None)
        return replace(self, known=self.known.and_also(known_files(files).values()))

    def kept(self) -> LiveFiles:
        """Return the same files, with counts that later commits do not change."""
        return replace(self, counts=deepcopy(self.counts))

    def without(self, files: Collection[LiveFile]) -> LiveFiles:
        """Return these files except some that are recorded one by one."""
        size = self.size - sum(file.size for file in files)
        known = None if self.known is None else self.known.without(files)
        return LiveFiles(self.number - len(files), size, known, self.counts)

    def to_json(self) -> dict[str, Any]:
        known = {} if self.known is None else {"known": self.known.to_json()}
        counts = {} if self.counts is None else {"counts": self.counts.to_json()}
        return {"number": self.number, "size": self.size, **known, **counts}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> LiveFiles:
        """Read saved live files.

        :raises ValueError: if they are damaged
        """
        number, known, counts = int(wire["number"]), wire.get("known"), wire.get("counts")
        return cls(
            number,
            int(wire["size"]),
            None if known is None else FileRecords.from_json(known, number),
            None if counts is None else LiveCounts.from_json(counts),
        )


@dataclass(frozen=True)
class HistoryFacts:
    """Facts about a history in addition to the state that it led to.

    :param column_ids: ids of the columns that each physical path has referred to, including dropped columns, as long as
        files may contain them
    :param used_features: features that some version used
    :param ever_dropped: True if some version recorded that a column had been dropped or renamed
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
    standing: tuple[OpenViolation, ...] = ()
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
            tuple(OpenViolation.from_json(violation, states) for violation in wire["standing"]),
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


SCHEMA_VERSION = 1
#: Codes that are reported once, although the finding stays open.
REPORTED_ONCE = frozenset({HISTORY_NOT_KEPT.code})
#: Codes of findings about log file names and the pointer. Every audit checks these again.
_LOOKED_AT_EACH_TIME = frozenset(
    rule.code
    for rule in (
        WRONG_POINTER,
        MALFORMED_NAME,
        AHEAD_OF_COMMITS,
        OLDEST_WITHOUT_CHECKPOINT,
        INCOMPLETE_CHECKPOINT,
        UNREAD,
    )
)


class BrokenStateError(ValueError):
    """A saved audit state that cannot be used; the message gives the reason."""


@dataclass(frozen=True)
class AuditState:
    """The saved state of an audit. The next audit of the table resumes with it.

    :param state: state of the last audited version, without files
    :param commit_info: ``commitInfo`` of that version
    :param findings: findings that were open then, waived or not
    :param level: level of the audit
    :param reported: findings that are known to have been received; the other fields hold regardless of who received
        them
    :param facts: further facts from the commits; None if an older release did not save them
    """

    state: TableState
    commit_info: Mapping[str, Any]
    findings: tuple[Finding, ...]
    level: str
    reported: ReportedFindings = field(default_factory=ReportedFindings)
    facts: HistoryFacts | None = None

    @property
    def version(self) -> int:
        """The last audited version."""
        return self.state.version

    @classmethod
    def of(
        cls,
        state: TableState,
        commit_info: Mapping[str, Any],
        findings: Iterable[Finding],
        level: str,
        facts: HistoryFacts | None = None,
    ) -> AuditState:
        """Return the state to save after an audit, with the open findings.

        HISTORY_NOT_KEPT is left out: it does not concern the next audit.
        """
        told = (finding for finding in findings if finding.code != HISTORY_NOT_KEPT.code)
        standing = (f for f in told if f.healed_version is None and f.status is not Status.RESOLVED)
        kept = tuple(replace(finding, status=None, waiver=None) for finding in standing)
        return cls(replace(state, files=None), commit_info, kept, level, facts=facts)

    @property
    def standing(self) -> tuple[OpenViolation, ...]:
        """The violations that were open: those saved with all details, then those known only from their findings."""
        known = () if self.facts is None else self.facts.standing
        one_by_one = {violation.finding.fingerprint for violation in known}
        others = (OpenViolation.of(f) for f in self.findings if f.fingerprint not in one_by_one)
        return tuple(v for v in (*known, *others) if v.finding.code != HISTORY_NOT_KEPT.code)

    def begin(self, earliest: int) -> int:
        """Return the version after which to audit again, at most the saved version.

        Findings about files, and errors, depend on more than they record, such as other files with the same fault.
        Their commits are audited again to find out whether they are still open.

        :param earliest: the first version that the log can reconstruct; older versions are known only from their
            findings
        """
        found = (violation.finding for violation in self.standing)
        versions = [f.version - 1 for f in found if f.version is not None and _is_checked_again(f)]
        return min((version for version in versions if version >= earliest), default=self.version)

    def recalled(self, begin: int, names: Collection[str]) -> list[OpenViolation]:
        """Return the violations that auditing again does not report, but that may still be open.

        :param begin: version after which commits are audited
        :param names: file names in the log
        """
        kept = (v for v in self.standing if _is_older(v.finding, begin) and v.finding.code not in _LOOKED_AT_EACH_TIME)
        return [violation for violation in kept if _may_stand(violation.finding, names)]

    def may_stand(self, names: Collection[str]) -> bool:
        """Return True if all findings may still be open, according to the names of the files in the log."""
        return all(_may_stand(finding, names) for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "table_id": self.state.metadata.id,
            "level": self.level,
            **state_to_json(self.state),
            "commit_info": dict(self.commit_info),
            "findings": [finding.to_json() for finding in self.findings],
            "reported": self.reported.to_json(),
            **({} if self.facts is None else {"facts": self.facts.to_json()}),
        }

    @classmethod
    def from_json(cls, wire: Any) -> AuditState:
        """Read a saved state.

        :raises BrokenStateError: if it has another schema version or is damaged
        """
        try:
            if wire["schema_version"] != SCHEMA_VERSION:
                raise BrokenStateError(f"it has schema version {wire['schema_version']}, not {SCHEMA_VERSION}")
            state = state_from_json(wire)
            findings = tuple(map(Finding.from_json, wire["findings"]))
            facts = None if "facts" not in wire else HistoryFacts.from_json(wire["facts"])
            # States from before receipts existed count as received.
            known = wire.get("reported")
            reported = ReportedFindings.of(findings) if known is None else ReportedFindings.from_json(known)
            return cls(state, dict(wire["commit_info"]), findings, str(wire["level"]), reported, facts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, BrokenStateError):
                raise
            raise BrokenStateError(f"it is damaged: {error!r}") from error


def _is_older(finding: Finding, begin: int) -> bool:
    if begin < 0 and finding.code == REUSED_PATH.code:
        return False  # audited again with all commits before it
    return finding.version is None or finding.version <= begin or _needs_more(finding)


def _needs_more(finding: Finding) -> bool:
    """Return True if the finding depends on more than its commit and the state before it."""
    rule = rule_of(finding)
    return rule in (UNKNOWN, REUSED_PATH) or rule.scope is Scope.DATA


def _may_stand(finding: Finding, names: Collection[str]) -> bool:
    """Return True if a finding about a log file may still hold.

    A file that was missing must still be missing; any other file must still exist.
    """
    directory, _, name = (finding.path or "").rpartition("/")
    return directory != "_delta_log" or (name in names) != (finding.code == GAP.code)


def _is_checked_again(finding: Finding) -> bool:
    if finding.at_or_before or _needs_more(finding) or finding.code == MALFORMED_NAME.code:
        return False
    return (
        finding.severity is Severity.ERROR
        or finding.path is not None
        or finding.code == MATERIALIZED_NAMES_CHANGED.code
    )
