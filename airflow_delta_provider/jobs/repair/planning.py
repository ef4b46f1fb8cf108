"""Plans the repair of one table: the audit finds the damage, corrections are tried on it, and it proves the result."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timezone
from functools import partial
from typing import Any, cast

from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.audit.saved_state import AuditState
from airflow_delta_provider.domain.changes.provider_commit import (
    CommitIdentity,
    NoTimestampError,
    check_timestamp,
    check_writable,
    commit_info,
    lines_of,
)
from airflow_delta_provider.domain.changes.step import Edit
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import RepairMethod, Scope
from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    checkpoint_versions,
    commit_name,
    commit_versions,
    newest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_state import CommitBase
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.domain.repair import file_corrections
from airflow_delta_provider.domain.repair.corrections import StoredFile
from airflow_delta_provider.domain.repair.logged_table import Json, LoggedTable, commit_actions, copy_name
from airflow_delta_provider.domain.repair.plan import Correct, MoveAside, RepairPlan, Step, why_left
from airflow_delta_provider.domain.repair.planner import Outcome, Planner, breaks_more, identity_of
from airflow_delta_provider.domain.report.answers import RightColumn, RightStatistics
from airflow_delta_provider.domain.report.report import Finding, TableReport, Verdict
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import PlanRepairOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.audit.range_audit import RangeAudit, run_audit
from airflow_delta_provider.jobs.delta.session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, TimeBudget, Timings, silent
from airflow_delta_provider.jobs.repair.overlay import Overlay
from airflow_delta_provider.jobs.storage.errors import MissingFileError, StorageError, UnreadFileError

assert file_corrections  # registers its repairs
_POINTER = "_last_checkpoint"
#: Maximum number of audits that look for files which have to be moved aside together.
_MOST_MOVED = 50


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Plan the repair of one table. If nothing can be repaired, the open findings are the report's findings."""
    options = cast("PlanRepairOptions", request.options)
    table, timings = session.open_table(text), Timings()
    with timings.phase("plan"):
        made = Planning(session, table, options.level, options.permit, progress).plan()
    return made if isinstance(made, TableReport) else replace(report_of(made), timings=timings)


def report_of(plan: RepairPlan, **known: Any) -> TableReport:
    """Return the report about a plan."""
    return TableReport.of_findings(
        plan.table,
        *(finding for finding, _ in plan.left if not plan.steps),
        **{
            "version": plan.state.version,
            "version_before": plan.state.version,
            "protocol_before": plan.before.protocol,
            "protocol_after": plan.after.protocol,
            "plan": plan.to_json(),
            **known,
        },
    )


@dataclass
class Planning:
    """Plans the repair of one table.

    :param level: level of the audits
    :param permit: fingerprints of findings whose repair may lose information
    """

    session: DeltaSession
    table: OpenTable
    level: str
    permit: Collection[str]
    progress: Progress = silent
    _right: dict[str, RightStatistics] = field(default_factory=dict)
    _needed: tuple[str, ...] = ()
    _seen: set[str | None] = field(default_factory=set)

    @property
    def _name(self) -> str:
        return self.table.name.text

    def plan(self) -> RepairPlan | TableReport:
        """Return the plan, or the report of a refusal."""
        try:
            return self._plan()
        except BrokenLogError as error:
            return TableReport.refused(self._name, requests.broken_log(self._name, error))
        except NoTimestampError as error:
            return TableReport.refused(self._name, requests.broken_log(self._name, BrokenLogError(str(error))))

    def _plan(self) -> RepairPlan | TableReport:
        self.progress(f"{self._name}: looking for damage")
        found = self._audit((), None)
        if found.verdict in (Verdict.REFUSED, Verdict.FAULT):
            return found
        self._note_right_statistics(found)
        open_now = [finding for finding in found.findings if finding.is_open]
        self._note_fingerprints(open_now)
        steps, open_now = self._moved_aside(open_now)
        hidden = tuple(name for step in steps for name in step.files)
        if not steps and not any(rule_of(finding).all_repairs for finding in open_now):
            state = self.table.log.read_state()
            now = LoggedTable(state.protocol.to_json(), {})
            left = tuple((finding, why_left(finding)) for finding in open_now)
            return RepairPlan(
                self._name, state, now, now, (), left, tuple(self.permit), self.level, unknown=self._unknown
            )
        _, table = self._overlaid(hidden, None)
        base = table.log.read_commit_base()
        before = _with_files(base, table.log)
        trials = _Trials(self, table, base, before, hidden, open_now)
        outcome = Planner(
            base.state, before, trials, trials.audit, lambda finding: finding.fingerprint in self.permit
        ).plan(open_now)
        if outcome.forbidden:
            every = Planner(base.state, before, trials, trials.audit).plan(open_now)
            self._needed = tuple(each for each in every.permissions if each not in self.permit)
        self._note_fingerprints([*open_now, *outcome.open, *(f for each in outcome.repaired for f in each.fixes)])
        refusals = check_writable(self._name, base.state) or check_timestamp(self._name, base)
        if outcome.repaired and refusals:
            return TableReport.refused(self._name, *refusals, version=base.state.version)
        return self._proved(base, before, hidden, steps, outcome, trials, open_now)

    def _note_fingerprints(self, findings: Iterable[Finding]) -> None:
        self._seen |= {finding.fingerprint for finding in findings}

    @property
    def _unknown(self) -> tuple[str, ...]:
        return tuple(each for each in self.permit if each not in self._seen)

    def _proved(
        self,
        base: CommitBase,
        before: LoggedTable,
        hidden: Sequence[str],
        moves: Sequence[MoveAside],
        outcome: Outcome,
        trials: _Trials,
        open_now: Sequence[Finding],
    ) -> RepairPlan:
        """Return the plan, after the audit of its result: a plan that would break a rule makes no commit."""
        table, repaired = outcome.table, outcome.repaired
        if repaired or moves:
            self.progress(f"{self._name}: proving the repair")
            after = self._audit(hidden, trials.lines(table) if repaired else None, copies=table.copied)
            still = [finding for finding in after.findings if finding.is_open]
            worse = breaks_more(open_now, still, base.state.version + 1)
            if after.verdict in (Verdict.REFUSED, Verdict.FAULT) or (worse and repaired):
                self.progress(f"{self._name}: the audit of the result has new findings, so no commit is planned")
                table, repaired, still = before, (), list(open_now)
        else:
            still = list(open_now)
        open_after = {identity_of(finding) for finding in still}
        corrections = [
            Correct(each.correction, tuple(f for f in each.fixes if identity_of(f) not in open_after))
            for each in repaired
        ]
        steps: list[Step] = [*moves, *(c for c in corrections if c.fixes or c.correction.changes)]
        return RepairPlan(
            self._name,
            base.state,
            before,
            table,
            tuple(steps),
            tuple(
                (f, why_left(f, outcome.forbidden.get(identity_of(f), ()), outcome.hindered.get(identity_of(f), "")))
                for f in still
            ),
            tuple(self.permit),
            self.level,
            needed=self._needed,
            unknown=self._unknown,
        )

    def _audit(
        self,
        hidden: Sequence[str],
        lines: Sequence[str] | None,
        *,
        copies: Mapping[FileKey, Json] | None = None,
        level: str | None = None,
    ) -> TableReport:
        """Audit the table as it will be, by default at the level of the plan."""
        session, table = self._overlaid(hidden, lines, copies or {})
        return ProtocolAudit(session, table, AuditOptions(level=level or self.level), silent).run()

    def _overlaid(
        self, hidden: Sequence[str], lines: Sequence[str] | None, copies: Mapping[FileKey, Json] | None = None
    ) -> tuple[DeltaSession, OpenTable]:
        root = self.table.location.rstrip("/")
        log = f"{root}/_delta_log"
        added: dict[str, bytes] = {}
        if lines is not None:
            last = newest_version(self.table.log_names)
            added[f"{log}/{commit_name((-1 if last is None else last) + 1)}"] = "\n".join(lines).encode()
        data = self.session.data_files(root)
        for add in (copies or {}).values():
            with suppress(MissingFileError, UnreadFileError, StorageError, OSError):
                (source,), (target,) = data.uris([add["path"]]), data.uris([copy_name(add["path"])])
                added[target] = self.session.files_of(root).read(source)
        session = copy(self.session)
        session.storage = Overlay(self.session.storage, added, {f"{log}/{name}" for name in hidden})
        names = [name for name in self.table.log_names if name not in hidden]
        names += [uri.rpartition("/")[2] for uri in added if uri.startswith(f"{log}/")]
        return session, replace(self.table, log=session.open_log(self.table.location), log_names=names)

    def _moved_aside(self, open_now: list[Finding]) -> tuple[list[MoveAside], list[Finding]]:
        """Return the steps that move files of the log aside, and the findings that are open after them."""
        steps: list[MoveAside] = []
        hidden: list[str] = []
        for finding in [f for f in open_now if RepairMethod.DERIVED_FILE in rule_of(f).all_repairs]:
            if finding not in open_now:
                continue
            dispensable = self._dispensable(finding, open_now, hidden)
            if dispensable is None:
                continue
            names, report = dispensable
            if self.level != "log":
                report = self._audit((*hidden, *names), None)
            after = [other for other in report.findings if other.is_open]
            keys = {identity_of(other) for other in after}
            if report.verdict in (Verdict.REFUSED, Verdict.FAULT) or identity_of(finding) in keys:
                continue
            self._note_right_statistics(report)
            fixed = tuple(other for other in open_now if identity_of(other) not in keys)
            steps.append(MoveAside(tuple(names), fixed))
            hidden += names
            open_now = after
        return steps, open_now

    def _dispensable(
        self, finding: Finding, open_now: Sequence[Finding], hidden: Sequence[str]
    ) -> tuple[list[str], TableReport] | None:
        """Return the files that have to be moved aside for a finding, and the audit of the log without them.

        None if that breaks a rule.

        An audit names one of several wrong checksums, and the next one as soon as the first is moved.
        """
        known = {identity_of(other) for other in open_now}
        names: list[str] = []
        following = [finding]
        for _ in range(_MOST_MOVED):
            more = [name for each in following for name in self._derived_files(each) if name not in hidden]
            if not set(more) - set(names):
                return None
            names += [name for name in dict.fromkeys(more) if name not in names]
            try:
                report = self._audit((*hidden, *names), None, level="log")
            except BrokenLogError:
                return None
            # Findings about data files may be new: the damaged file hid them.
            of_log = (f for f in report.findings if f.is_open and rule_of(f).family is rule_of(finding).family)
            following = [other for other in of_log if identity_of(other) not in known]
            if not following:
                return names, report
        return None

    def _note_right_statistics(self, report: TableReport) -> None:
        statistics = (report.evidence or {}).get("statistics") or {}
        for each in (statistics.get("repair") or {}).get("files", ()):
            columns = tuple(RightColumn(**{**c, "column": tuple(c["column"])}) for c in each["columns"])
            self._right[each["path"]] = RightStatistics(**{**each, "columns": columns})

    def _derived_files(self, finding: Finding) -> list[str]:
        """Return the names of the files that a finding is about, with all parts of a checkpoint and its pointer."""
        path = (finding.path or "").removeprefix("_delta_log/")
        if not path or "/" in path or path in map(commit_name, commit_versions(self.table.log_names)):
            return []
        names = [name for name in self.table.log_names if name == path]
        if ".checkpoint." in path and path[:20].isdecimal():
            names = [n for n in self.table.log_names if n.startswith(f"{path[:20]}.checkpoint.")]
            if int(path[:20]) == max(checkpoint_versions(self.table.log_names), default=-1):
                names += [name for name in self.table.log_names if name == _POINTER]
        return names


class _Trials:
    """The past of a table, and audits of it as repaired; see ``Past``."""

    def __init__(
        self,
        planning: Planning,
        table: OpenTable,
        base: CommitBase,
        before: LoggedTable,
        hidden: Sequence[str],
        open_now: Sequence[Finding],
    ) -> None:
        self._planning = planning
        self._base = base
        self._before = before
        self._hidden = hidden
        self._of_files = [f for f in open_now if rule_of(f).scope is Scope.DATA or _is_of_log(f)]
        self._log = table.log
        self._names = table.log_names
        last = base.state.version
        run, audit = run_audit(
            partial(RangeAudit, table.log, self._names, planning._name, Timings(), silent, TimeBudget(None)),
            lambda run: run.run(find_version_range(self._names, last)),
            silent,
        )
        findings = audit.findings()
        self._memory = AuditState.of(audit.state(), audit.commit_info, findings, "log", run.facts(audit))
        self._heads: dict[int, LoggedTable | None] = {}
        self._stored: dict[str, StoredFile | None] = {}

    def lines(self, after: LoggedTable) -> list[str]:
        """Return the lines of the commit that repairs the table."""
        return repair_lines(self._base, self._before, after, CommitIdentity(int(time.time() * 1000), "repair"))

    def audit(self, after: LoggedTable) -> Sequence[Finding] | None:
        """Return the open findings of an audit that continues with the repairing commit; None if it cannot be read."""
        try:
            _, table = self._planning._overlaid(self._hidden, self.lines(after))
            make = partial(
                RangeAudit, table.log, table.log_names, self._planning._name, Timings(), silent, TimeBudget(None)
            )
            last = self._base.state.version + 1
            _, audit = run_audit(make, lambda run: run.go_on(self._memory, last), silent)
            found = [finding for finding in audit.findings() if finding.is_open]
        except (BrokenLogError, NoTimestampError):
            return None
        removed_paths = {key[0] for key in after.removed | after.copied.keys()}
        again = {key[0] for key, add in after.files.items() if add != self._before.files.get(key)}
        still = (
            f for f in self._of_files if f.path not in removed_paths and not (f.path in again and _is_of_statistics(f))
        )
        return [*found, *still]

    def heads(self, version: int) -> LoggedTable | None:
        if version not in self._heads:
            self._heads[version] = self._read_heads(version)
        return self._heads[version]

    def _read_heads(self, version: int) -> LoggedTable | None:
        if version < 0:
            return None
        try:
            return _heads(self._log.read_commit_base(version, with_files=False))
        except (BrokenLogError, MissingFileError):
            return None

    def version(self, version: int) -> LoggedTable | None:
        try:
            return _with_files(self._log.read_commit_base(version), self._log)
        except (BrokenLogError, MissingFileError):
            return None

    def added(self, path: str, version: int) -> Json | None:
        try:
            segment = select_segment(self._names, version)
            for name, content in zip(segment.commits[::-1], self._log.read_files(segment.commits[::-1])):
                for action in parse_commit(name, content):
                    add = action.get("add")
                    if isinstance(add, dict) and add.get("path") == path:
                        return add
        except (BrokenLogError, MissingFileError):
            return None
        return None

    def commit_of(self, version: int) -> Sequence[Action]:
        with suppress(BrokenLogError, MissingFileError):
            return self._log.read_commit(commit_name(version))
        return ()

    def paths_of(self, finding: Finding, *, of_rule: bool) -> Collection[str]:
        if rule_of(finding).scope is Scope.DATA:
            return tuple(self._planning._right) if _is_of_statistics(finding) else ()
        standing = self._memory.facts.standing if self._memory.facts else ()
        same = (each for each in standing if each.finding.code == finding.code)
        if not of_rule:
            same = (each for each in same if _group(each.finding) == _group(finding))
        return {path for each in same for path in each.paths}

    def stored(self, path: str) -> StoredFile | None:
        if path not in self._stored:
            self._stored[path] = self._read_stored(path)
        return self._stored[path]

    def _read_stored(self, path: str) -> StoredFile | None:
        planning = self._planning
        data = planning.session.data_files(planning.table.location)
        try:
            (uri,) = data.uris([path])
            storage = planning.session.files_of(planning.table.location)
            size = storage.size(uri)
            written = int(storage.written_at(uri).replace(tzinfo=timezone.utc).timestamp() * 1000)
        except (MissingFileError, UnreadFileError, StorageError, OSError, ValueError):
            return None
        rows: int | None = None
        with suppress(MissingFileError, FooterError, UnreadFileError, StorageError, OSError):
            rows = data.footer(LiveFile(path, size, None, None)).num_rows
        return StoredFile(size, written, rows, None, planning._right.get(path))


def _heads(base: CommitBase) -> LoggedTable:
    return LoggedTable(dict(base.protocol), dict(base.metadata), dict(base.state.domains))


def _with_files(base: CommitBase, log: TableLog) -> LoggedTable:
    """Return a version with the last ``add`` action of each live file."""
    files = {file_key(add): dict(add) for add in log.live_adds(base.state, complete=True)}
    return replace(_heads(base), files=files)


def _group(finding: Finding) -> tuple[object, ...]:
    """Return the identity of findings that are reported as one."""
    return finding.code, finding.version, finding.column, finding.subject


def _is_of_statistics(finding: Finding) -> bool:
    return RepairMethod.STATISTICS in rule_of(finding).all_repairs


def _is_of_log(finding: Finding) -> bool:
    return (finding.path or "").startswith("_delta_log/")


def repair_lines(base: CommitBase, before: LoggedTable, after: LoggedTable, stamp: CommitIdentity) -> list[str]:
    """Return the lines of the commit that repairs a version.

    :raises NoTimestampError: if the commit before lacks the timestamp that the table requires
    """
    info = commit_info(Edit("REPAIR", {"by": "airflow_delta_provider"}), stamp, base)
    return lines_of([{"commitInfo": info}, *commit_actions(before, after, stamp.now)])
