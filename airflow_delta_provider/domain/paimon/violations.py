"""Open violations, and the snapshots since which others are healed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.checks.paimon_metadata import FAMILY
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.live_files import Change, row_successors
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.report.confirmation import ReportedFindings
from airflow_delta_provider.domain.report.report import Finding

#: Maximum number of names in the evidence.
_NAMED = 3


@dataclass(frozen=True)
class Violation:
    """A rule that was broken.

    :param finding: finding without the commit, which :class:`OpenViolations` adds
    :param groups: groups of files; it is healed as soon as no group is completely live. Without groups, it is never
        healed
    :param inherited: True if rows carry it into the files that they move to
    """

    finding: Finding
    groups: Sequence[frozenset[FileKey]] = ()
    inherited: bool = False

    @classmethod
    def of_files(
        cls, rule: Rule, evidence: str, files: Iterable[DataFile], /, *, inherited: bool = False, **facts: Any
    ) -> Violation:
        """Create a violation that each of the files keeps open.

        :param facts: see :meth:`Rule.found`
        """
        files = tuple(files)
        path = files[0].name if len(files) == 1 else None
        groups = tuple(frozenset((file.key,)) for file in files)
        return cls(rule.found(evidence, path=path, **facts), groups, inherited)


def listed(texts: Iterable[str]) -> str:
    """Return the first strings, and the number of others."""
    texts = list(texts)
    more = len(texts) - _NAMED
    return ", ".join(texts[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def provenance(snapshot: Snapshot) -> dict[str, Any]:
    """Return the fields of a finding that identify the commit: its kind, operation, user and time."""
    kind, operation = snapshot.commit_kind, snapshot.operation
    return {
        "version": snapshot.id,
        "operation": kind if operation is None else f"{operation} ({kind})",
        "user": snapshot.commit_user,
        "timestamp": _text(snapshot.time_millis),
        "engine": f"Apache Paimon {snapshot.writer_version}" if snapshot.writer_version else None,
    }


def _text(milliseconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return None


SCHEMA_VERSION = 1


@dataclass(frozen=True)
class FormerFile:
    """A data file that was live.

    :param name: its name, unique in the table
    :param lowest: lowest row id in it; None if it was not read
    :param highest: highest row id in it; None if it was not read
    """

    name: str
    first_row_id: int | None
    row_count: int
    lowest: int | None = None
    highest: int | None = None


@dataclass(frozen=True)
class Baseline:
    """A snapshot that was checked and found correct, with all earlier ones.

    :param snapshot_uuid: identifier that distinguishes it from another snapshot with the same id: after a rollback, ids
        are reused
    :param level: level of the check
    :param key_columns: columns that the check compared
    :param files: live files
    :param reported: warnings of earlier snapshots whose report has not been confirmed yet
    """

    snapshot_id: int
    snapshot_uuid: str
    level: str
    key_columns: tuple[str, ...]
    files: tuple[FormerFile, ...]
    reported: ReportedFindings = field(default_factory=ReportedFindings)

    @property
    def version(self) -> int:
        """The id of the snapshot."""
        return self.snapshot_id

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "paimon_schema_version": SCHEMA_VERSION,
            "version": self.snapshot_id,
            "snapshot_uuid": self.snapshot_uuid,
            "level": self.level,
            "key_columns": list(self.key_columns),
            "files": [list(astuple(file)) for file in self.files],
            "reported": self.reported.to_json(),
        }

    @classmethod
    def from_json(cls, wire: Any) -> Baseline:
        """Read the JSON form.

        :raises ValueError: if it is not one, or is of another version
        """
        try:
            if not isinstance(wire, Mapping) or wire["paimon_schema_version"] != SCHEMA_VERSION:
                raise ValueError("it was not written by this kind of check, or by a later version of it")
            found = cls(
                wire["version"],
                wire["snapshot_uuid"],
                wire["level"],
                tuple(wire["key_columns"]),
                tuple(FormerFile(*file) for file in wire["files"]),
                ReportedFindings.from_json(wire["reported"]) if "reported" in wire else ReportedFindings(),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it lacks something: {error}") from error
        if type(found.snapshot_id) is not int or not isinstance(found.snapshot_uuid, str):
            raise ValueError("it names no snapshot")
        return found


#: Maximum findings of one rule; further ones are counted.
_MOST = 50
_RULES = {rule.code: rule for rule in FAMILY.rules}


@dataclass(eq=False)
class OpenViolation:
    """A violation by a commit, until it is healed.

    :param groups: groups that are still open; for each member, the files that may have its rows
    :param inherited: True if rows carry it into other files
    """

    finding: Finding
    groups: list[tuple[frozenset[FileKey], ...]] = field(default_factory=list)
    inherited: bool = False
    healed_version: int | None = None

    def heal(self, snapshot: Snapshot) -> None:
        """Mark it as healed: the rule holds again."""
        self.healed_version = snapshot.id

    @property
    def files(self) -> set[FileKey]:
        """The files that keep it open."""
        return {key for group in self.groups for member in group for key in member}

    def follow(self, added: Collection[DataFile], deleted: Mapping[FileKey, DataFile]) -> bool:
        """Follow the rows to the files that have them after a commit. Return True if there still are any."""
        candidates = added if self.inherited else ()
        moved = [tuple(row_successors(member, candidates, deleted) for member in group) for group in self.groups]
        self.groups = [group for group in moved if all(group)]
        return bool(self.groups)


class OpenViolations:
    """Violations in the order of their discovery."""

    def __init__(self) -> None:
        self._all: list[OpenViolation] = []
        self._by_file: dict[FileKey, set[OpenViolation]] = defaultdict(set)

    def add(self, violation: Violation, snapshot: Snapshot, **known: Any) -> OpenViolation:
        """Add a violation.

        :param snapshot: snapshot of the commit that broke the rule
        """
        groups = [tuple(frozenset((key,)) for key in group) for group in violation.groups]
        finding = replace(violation.finding, **{**provenance(snapshot), **known})
        opened = OpenViolation(finding, groups, violation.inherited)
        self._all.append(opened)
        self._watch(opened)
        return opened

    def follow(self, change: Change) -> None:
        """Follow the rows of files to the files that have them after a commit."""
        deleted = {file.key: file for file in change.deleted}
        touched = {one for key in deleted for one in self._by_file.pop(key, ()) if one.groups}
        for opened in touched:
            if opened.follow(change.added, deleted):
                self._watch(opened)
            else:
                opened.heal(change.snapshot)

    def _watch(self, opened: OpenViolation) -> None:
        for key in opened.files:
            self._by_file[key].add(opened)

    def findings(self) -> list[Finding]:
        """Return all findings; for each rule, the first ones and the number of others."""
        by_code: dict[tuple[str, bool], list[Finding]] = defaultdict(list)
        for opened in self._all:
            healed = opened.healed_version is not None
            by_code[opened.finding.code, healed].append(replace(opened.finding, healed_version=opened.healed_version))
        reported: list[Finding] = []
        for found in by_code.values():
            if (more := len(found) - _MOST) > 0:
                last = replace(found[_MOST - 1], alike=more, alike_until=found[-1].version)
                found[_MOST - 1] = _RULES[last.code].worded(last)
            reported += found[:_MOST]
        return reported
