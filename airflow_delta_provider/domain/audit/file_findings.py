"""Findings about the live files after the last commit, each with the commit that added its file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from airflow_delta_provider.domain.audit.past import Addition, FirstAdd, PastLog
from airflow_delta_provider.domain.audit.row_tracking import RowTrackingAudit
from airflow_delta_provider.domain.audit.saved_state import OpenViolation
from airflow_delta_provider.domain.audit.violation import Key, key_of, shown_action, worded
from airflow_delta_provider.domain.audit.violations import Violations
from airflow_delta_provider.domain.checks.actions.files import check_partial_rewrite, may_replace_partitions
from airflow_delta_provider.domain.checks.data_files.files import DAMAGED, ENCRYPTED, MISSING, OUTSIDE, UNREAD
from airflow_delta_provider.domain.checks.data_files.schema import IcebergFiles
from airflow_delta_provider.domain.checks.protocol.changes import NOT_WRITTEN_FOR_ICEBERG
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import RowCount, RowFile
from airflow_delta_provider.domain.checks.row_tracking.live_files import (
    ABOVE_HIGH_WATER_MARK,
    OVERLAPPING_ROW_IDS,
    UNKNOWN_ROW_COUNT,
    check_fresh_ids,
)
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import FOREIGN_COMMIT_VERSION, FOREIGN_ROW_ID
from airflow_delta_provider.domain.checks.rule import FileAspect, Scope
from airflow_delta_provider.domain.checks.type_widening.changes import LOST_TYPE_CHANGES, UNREACHABLE_TYPE
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, is_absolute
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.row_condition import RowCondition, row_conditions
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

_UNKNOWN = " The log does not show whether {compat} was enabled when it was written; before, that was allowed."
_OLDER = (
    " It is older than the commit that enabled {compat}, which applies to all files; Delta Spark does not check it."
)


def weigh(found: Sequence[Finding], state: TableState, log: PastLog) -> Iterator[Finding]:
    """Yield findings about live files. Findings about Iceberg are kept only if the file had to be written for it.

    IcebergCompatV1 also applies to older files: values that they lack are a warning about the commit that enabled it.

    :param found: findings about files under the state
    """
    paths = {finding.path or "" for finding in found if finding.code == NOT_WRITTEN_FOR_ICEBERG.code}
    added = log.first_adds(state.version, paths) if paths else {}
    required: dict[tuple[int, Protocol], IcebergFiles] = {}
    for finding in found:
        if finding.code != NOT_WRITTEN_FOR_ICEBERG.code:
            yield finding
            continue
        first = added.get(finding.path or "")
        files = None
        if first is not None:
            protocol = first.protocol or state.protocol
            key = id(first.metadata), protocol
            if key not in required:
                required[key] = IcebergFiles(first.metadata, protocol)
            files = required[key]
        weighed = _weighed(finding, first, files)
        if weighed is not None and weighed.severity is Severity.WARNING:
            weighed = _placed(weighed, state, log)
        if weighed is not None:
            yield weighed


def _weighed(finding: Finding, first: FirstAdd | None, required: IcebergFiles | None) -> Finding | None:
    if first is not None and required is not None and not is_absolute(finding.path or "") and required.bound(finding):
        return finding
    if finding.subject == ICEBERG_COMPAT_V1.name:
        evidence, severity = _OLDER, Severity.WARNING
    elif first is None:
        evidence, severity = _UNKNOWN, Severity.UNDECIDED
    else:
        return None
    text = f"{finding.evidence}{evidence.format(compat=finding.subject)}"
    return worded(replace(finding, severity=severity, evidence=text))


def _placed(finding: Finding, state: TableState, log: PastLog) -> Finding:
    commit = log.commit_that_enabled(state.version, str(ICEBERG_COMPAT_V1.enabling_property))
    if commit is None:
        return finding
    actions = [action for action in log.actions_at(commit.version) if "metaData" in action]
    return replace(finding, action=shown_action(finding, actions), **commit.provenance)


#: Rules about data files that also depend on commits: only an audit of those commits can find violations.
_OF_COMMITS = (FOREIGN_ROW_ID, FOREIGN_COMMIT_VERSION)
#: Rules about reading files and their types. If none of them is broken, all files have the types of the schema.
_SHOW_TYPES = (UNREACHABLE_TYPE, MISSING, DAMAGED, ENCRYPTED, OUTSIDE, UNREAD)
#: Fields of a finding that describe the commit that broke the rule.
_PROVENANCE = ("version", "at_or_before", "engine", "writer", "operation", "user", "timestamp", "action")


class FileFindings:
    """Reports findings about live files after all commits were checked.

    :param since: last version whose added files are left out; None reports all files
    """

    def __init__(self, violations: Violations, tracking: RowTrackingAudit, log: PastLog, since: int | None) -> None:
        self._violations = violations
        self._tracking = tracking
        self._log = log
        self._since = since
        self._recalled: dict[Key, Finding] = {}
        self._rows_of: RowCount = _logged_rows
        self._begun: int | None = None

    def start_from(self, state: TableState) -> None:
        """Start from a state with its files, whose earlier commits are not checked."""
        self._begun = state.version

    def observe_first(self, state: TableState) -> None:
        """Report findings about the files of that state, which no earlier audit has checked."""
        self._take(state, self._tracking.check_files(state))

    def restore_saved(self, violation: OpenViolation) -> None:
        """Restore a finding of an earlier audit, if only the files themselves show whether it is still open."""
        finding = violation.finding
        rule = rule_of(finding)
        if (rule.scope is Scope.DATA and rule not in _OF_COMMITS) or violation.of_state:
            for path in violation.paths or (finding.path,):
                self._recalled[key_of(replace(finding, path=path))] = finding

    def observe_files(self, state: TableState, found: Iterable[Finding], rows_of: RowCount, *, whole: bool) -> None:
        """Report all findings about the files themselves, in place of the restored ones.

        :param state: the last state, with its files
        :param rows_of: number of rows of each file, which decides from now on which row ids the files assign
        :param whole: True if all files were checked, so that earlier findings that are not found again were fixed
        """
        self._rows_of = rows_of
        fresh = list(check_fresh_ids(state, state.row_tracking, rows_of))
        miscounted = {file.path for file in state.live_files if file.num_records != rows_of(file)}
        undone = ((UNKNOWN_ROW_COUNT, None), (ABOVE_HIGH_WATER_MARK, miscounted), (OVERLAPPING_ROW_IDS, None))
        for rule, paths in undone:
            if all(finding.code != rule.code for finding in fresh):
                self._violations.withdraw(rule, paths)
        impossible = [finding for finding in fresh if RULES[finding.code].scope is Scope.DATA]
        for code, path, *_ in self._recalled if whole else ():
            self._violations.withdraw(RULES[code], {path})
        found = [finding for finding in weigh(list(found), state, self._log) if self._is_asked_for(finding)]
        if whole and not any(RULES[finding.code] in _SHOW_TYPES for finding in found):
            self._violations.withdraw(LOST_TYPE_CHANGES)
        self._take(state, [*found, *impossible])

    def report(self, state: TableState) -> None:
        """Report findings about the row ids of the files, unless the commits have shown them already.

        :param state: the last state, with its files
        """
        self._take(state, self._tracking.report(state, self._rows_of, self._violations), of_state=True)

    def _is_asked_for(self, finding: Finding) -> bool:
        return self._since is None or finding.version is None or finding.version > self._since

    def _take(self, state: TableState, found: Iterable[Finding], *, of_state: bool = False) -> None:
        for finding in self._of_commits(state, found):
            self._violations.open(finding, of_state=of_state)

    def _of_commits(self, state: TableState, found: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings with the commits that added their files, except those outside the requested versions."""
        for finding, addition in blamed(list(found), state.known_files, self._log):
            if finding.version is not None:
                yield finding
                continue
            commit = None if addition is None else addition.commit
            actions: Sequence[Action] = () if addition is None else (addition.action,)
            above = self._tracking.lowered if finding.code == ABOVE_HIGH_WATER_MARK.code else None
            if above is not None and (commit is None or commit.version < above.version):
                commit, actions = above, self._log.actions_at(above.version)
            if self._since is not None and (commit is None or commit.version <= self._since):
                continue  # its file is older than the requested versions
            if commit is not None:
                finding = replace(finding, action=shown_action(finding, actions), **commit.provenance)
            elif (known := self._recalled.get(key_of(finding))) is not None:
                finding = replace(finding, **{name: getattr(known, name) for name in _PROVENANCE})
            elif self._begun is not None:
                finding = replace(finding, version=self._begun, at_or_before=True)
            yield finding


def blamed(found: Sequence[Finding], files: Iterable[LiveFile], log: PastLog) -> list[tuple[Finding, Addition | None]]:
    """Return findings, each with the oldest kept commit that wrote the faulty property of its file.

    None if the finding already has a version, or if no such commit is kept.

    :param files: the live files
    """
    paths: dict[FileAspect, set[str | None]] = {}
    for finding in found:
        if finding.version is None:
            paths.setdefault(_aspect(finding), set()).add(finding.path)
    added = {
        aspect: log.commits_that_added([file for file in files if file.path in wanted], aspect)
        for aspect, wanted in paths.items()
    }
    return [
        (finding, added[_aspect(finding)].get(finding.path or "") if finding.version is None else None)
        for finding in found
    ]


def _aspect(finding: Finding) -> FileAspect:
    rule = rule_of(finding)
    return rule.family.blames if rule.blames is None else rule.blames


def _logged_rows(file: RowFile) -> int | None:
    return file.num_records


Partition = frozenset[tuple[str, Any]]


class LivePartitions:
    """Reads the partitions of files from the log when a commit may have replaced some; few tables have such commits."""

    def __init__(self, log: PastLog) -> None:
        self._log = log
        self._read = -1
        self._files: dict[Partition, set[FileKey]] = defaultdict(set)
        self._partitions: dict[FileKey, Partition] = {}

    def check(self, transition: Transition, live: Container[FileKey]) -> Iterator[Finding]:
        """Yield a finding if a commit that may replace partitions keeps some of their files and has no change data.

        If the log does not give the partition of a file that the commit removes, that partition is not checked.

        :param live: the keys of the files after the commit
        """
        if may_replace_partitions(transition) and self._keeps_some(transition, live):
            yield check_partial_rewrite(transition)

    def _keeps_some(self, transition: Transition, live: Container[FileKey]) -> bool:
        self._read_up_to(transition.commit.version)
        added = transition.commit.added
        removed = [self._partitions.get(file.key) for file in transition.removed_files.values()]
        for partition in {partition for partition in removed if partition is not None}:
            self._files[partition] = {key for key in self._files[partition] if key in live}
            if any(key not in added for key in self._files[partition]):
                return True
        return False

    def _read_up_to(self, version: int) -> None:
        for add in self._log.adds_between(self._read, version):
            values = add.get("partitionValues")
            try:
                key = file_key(add)
            except (KeyError, TypeError, ValueError, BrokenLogError):
                continue  # reported for that commit
            if isinstance(values, Mapping):
                partition = frozenset((name, value or None) for name, value in values.items())
                self._partitions[key] = partition
                self._files[partition].add(key)
        self._read = version


class ConditionOrigins(NamedTuple):
    """The versions that added conditions and files, as far as the log is kept.

    :param conditions: versions by holder of the condition
    :param files: versions by path, each the first that added the file
    """

    conditions: Mapping[str, int]
    files: Mapping[str, int]

    def newer(self, condition: RowCondition, path: str) -> int | None:
        """Return the version that added a condition, if the file is older."""
        since, added = self.conditions.get(condition.holder), self.files.get(path, -1)
        return since if since is not None and added < since else None


def condition_origins(
    commits: Iterable[Iterable[Action]], first: int, before: Metadata | None, paths: Collection[str]
) -> ConditionOrigins:
    """Return the versions that added conditions and files.

    :param commits: actions of each commit, oldest first, from version ``first`` on
    :param before: the metadata before them; None if the first commit creates the table
    :param paths: paths of the files to look for
    """
    held = {} if before is None else _held(before)
    since: dict[str, int] = {}
    added: dict[str, int] = {}
    for version, actions in enumerate(commits, first):
        for action in actions:
            if wire := action.get("metaData"):
                now = _held(Metadata.from_json(wire))
                since = {holder: since[holder] for holder in now if holder in since and now[holder] == held[holder]}
                since |= {holder: version for holder in now if now[holder] != held.get(holder)}
                held = now
            elif (add := action.get("add")) and add.get("path") in paths:
                added.setdefault(add["path"], version)
    return ConditionOrigins(since, added)


def _held(metadata: Metadata) -> dict[str, str]:
    return {condition.holder: condition.holds for condition in row_conditions(metadata)}
