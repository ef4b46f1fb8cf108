"""Applies the planned repair of one table: the plan is proved again on the version that the commit follows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from airflow_delta_provider.domain.changes.provider_commit import CommitIdentity
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.repair.plan import SET_ASIDE, RepairPlan, unexpected
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.migration_options import ApplyRepairOptions
from airflow_delta_provider.jobs.audit.protocol_audit import ProtocolAudit
from airflow_delta_provider.jobs.changes.commit import LogStore, PutIfAbsent, refuse_unsafe_store
from airflow_delta_provider.jobs.changes.planned_change import is_own
from airflow_delta_provider.jobs.changes.values import row_sums, rows_of
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.process import Progress, Timings, silent
from airflow_delta_provider.jobs.repair.planning import Planning, repair_lines, report_of
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError

#: Number of tries if other writers are faster.
_TRIES = 10


def run(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Apply the planned repair of one table, and audit it again."""
    options = cast("ApplyRepairOptions", request.options)
    table = session.open_table(text)
    return _Repair(session, table, options.plan_of(text), options, request.labels, progress).run(request.dry_run)


@dataclass
class _Repair:
    """The repair of one table.

    :param approved: plan as it was approved
    """

    session: SparkDeltaSession
    table: OpenTable
    approved: Mapping[str, Any]
    options: ApplyRepairOptions
    labels: Mapping[str, Any]
    progress: Progress

    @property
    def _name(self) -> str:
        return self.table.name.text

    def run(self, dry_run: bool) -> TableReport:
        """Move files aside, copy files, commit, write a checkpoint, audit and compare rows."""
        timings = Timings()
        if (done := self._done_before()) is not None:
            self.progress(f"{self._name}: version {done} already has this repair")
            return self._verified(None, done, timings)
        with timings.phase("plan"):
            made = self._planned()
        if isinstance(made, TableReport):
            return made
        known: dict[str, Any] = {"timings": timings}
        if (refusal := self._refusal(made)) is not None:
            return replace(report_of(made, **known), verdict=refusal.verdict, findings=refusal.findings)
        if dry_run or not (made.steps or made.moved_before):
            return report_of(made, **known)
        try:
            with timings.phase("apply"):
                version = self._carry_out(made)
        except _MovedError as error:
            return TableReport.refused(self._name, error.finding, retryable=False, plan=made.to_json(), **known)
        except Exception as error:
            meaning = understand(error)
            done_so_far = (
                "Files that were moved aside have their copies in "
                f"{SET_ASIDE}; no commit was made. Run the job again: it continues."
            )
            return TableReport(
                self._name,
                meaning.verdict,
                retryable=meaning.retryable,
                findings=(meaning.finding(done_so_far),),
                plan=made.to_json(),
                **known,
            )
        return self._verified(made, version, timings)

    def _planned(self) -> RepairPlan | TableReport:
        permit = tuple(self.approved.get("permitted", ()))
        level = str(self.approved.get("level", "log"))
        made = Planning(self.session, self.table, level, permit, silent).plan()
        return made if isinstance(made, TableReport) else replace(made, moved_before=self._moved_before())

    def _moved_before(self) -> tuple[str, ...]:
        """Return the names of files that an earlier try moved aside; one that is also in the log is moved again."""
        with suppress(MissingFileError):
            return tuple(sorted(self.session.files_of(self.table.location).list_names(self._aside)))
        return ()

    @property
    def _aside(self) -> str:
        return f"{self.table.location.rstrip('/')}/{SET_ASIDE}/{self.approved['digest'][:16]}"

    def _refusal(self, plan: RepairPlan) -> TableReport | None:
        if plan.state.metadata.id != self.approved["table_id"] or plan.digest != self.approved["digest"]:
            finding = requests.TABLE_MOVED.found(
                "The plan for {table} was made on version {planned}. On version {version}, the repair would be another "
                "one. Nothing was done.",
                remedy="Plan the repair again (plan-repair), and apply the new plan.",
                table=self._name,
                planned=self.approved["version"],
                version=plan.state.version,
            )
            return TableReport.refused(self._name, finding)
        if plan.changes_protocol and not self.options.allow_protocol_upgrade:
            finding = requests.PROTOCOL_UPGRADE.found(
                "The repair changes the protocol of {table} from {before} to {after}.",
                table=self._name,
                before=str(dict(plan.before.protocol)),
                after=str(dict(plan.after.protocol)),
            )
            return TableReport.refused(self._name, finding)
        unsafe = refuse_unsafe_store(
            self.session, self._name, self.table.location, allow_unsafe=self.options.allow_unsafe_log_store
        )
        return None if unsafe is None else TableReport.refused(self._name, unsafe)

    def _done_before(self) -> int | None:
        """Return the version of this plan's commit, if an earlier try made it."""
        for version, actions in self.table.log.newest_commits():
            if version <= int(self.approved["version"]):
                return None
            if is_own(actions, {"plan_digest": self.approved["digest"]}):
                return version
        return None

    def _carry_out(self, plan: RepairPlan) -> int:
        """Carry out a plan, and return the version of its commit, or the newest version if it has none."""
        root = self.table.location.rstrip("/")
        files = self.session.files_of(root)
        for name in plan.moved:
            source, target = f"{root}/_delta_log/{name}", f"{self._aside}/{name}"
            with suppress(MissingFileError):
                self.progress(f"{self._name}: moving {name} aside")
                content = files.read(source)
                files.write(target, content)
                if files.read(target) != content:
                    raise OSError(f"{target} is not a whole copy of {source}")
                files.delete(source)
        data = self.session.data_files(root)
        for path, copied in plan.copied:
            self.progress(f"{self._name}: copying {path}")
            (source,), (target,) = data.uris([path]), data.uris([copied])
            files.copy(source, target)
        version = self._commit(plan) if plan.has_commit else plan.state.version
        if plan.needs_checkpoint:
            self.progress(f"{self._name}: writing a checkpoint")
            spark = self.session.spark._jsparkSession
            jvm: Any = self.session.spark._jvm
            log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark, self.table.location)
            log.checkpoint()
        return version

    def _commit(self, plan: RepairPlan) -> int:
        store = LogStore(self.session, self.table.location)
        put = PutIfAbsent(store, self.table.log)
        labels = {**self.labels, "plan_digest": plan.digest}
        for _ in range(_TRIES):
            base = self.table.log.read_commit_base()
            if base.state.version == plan.state.version:
                with self.session.labelled(labels):
                    stamp = CommitIdentity(int(time.time() * 1000), put.txn_id, self.session.user_metadata)
                self.progress(f"{self._name}: committing version {base.state.version + 1}")
                if put.put(base.state.version + 1, repair_lines(base, plan.before, plan.after, stamp)):
                    return base.state.version + 1
            plan = self._planned_again(plan)
        raise _MovedError(
            requests.TABLE_MOVED.found(
                "Other writers were faster {tries} times on {table}. No commit was made.",
                table=self._name,
                tries=_TRIES,
            )
        )

    def _planned_again(self, plan: RepairPlan) -> RepairPlan:
        """Return the plan on the newest version, which another writer has made.

        :raises _MovedError: if the repair would be another one
        """
        self.table = self.session.open_table(self.table.name.text)
        again = self._planned()
        if isinstance(again, RepairPlan) and again.digest == plan.digest:
            return again
        raise _MovedError(
            requests.TABLE_MOVED.found(
                "Another writer changed {table}, and the repair of the new version would be another one. No commit was "
                "made.",
                remedy="Plan the repair again (plan-repair), and apply the new plan.",
                table=self._name,
            )
        )

    def _verified(self, plan: RepairPlan | None, version: int, timings: Timings) -> TableReport:
        """Return the report: findings that the plan does not leave open, and rows that readers no longer see.

        :param plan: None if the table had the repair already
        """
        with timings.phase("verify"):
            self.progress(f"{self._name}: auditing the repaired table")
            table = self.session.open_table(self.table.name.text)
            level = str(self.approved.get("level", "log"))
            audit = ProtocolAudit(self.session, table, AuditOptions(level=level), silent).run()
            findings = [finding for finding in audit.findings if finding.is_open]
            new = unexpected(self.approved, findings)
            compared = list(self._compared(plan, version)) if plan is not None and plan.has_commit else []
        worse = [
            faults.UNVERIFIED.found(
                "The repair of {table} left {code} open, which its plan did not say: {said}",
                version=finding.version,
                subject=finding.code,
                table=self._name,
                code=finding.code,
                said=Prose(finding.evidence or finding.message),
            )
            for finding in new
        ]
        return TableReport.of_findings(
            self._name,
            *worse,
            *compared,
            *findings,
            version=audit.version,
            version_before=version - 1 if plan is not None and plan.has_commit else version,
            changed=plan is not None,
            protocol_before=None if plan is None else plan.before.protocol,
            protocol_after=None if plan is None else plan.after.protocol,
            plan=dict(self.approved) if plan is None else plan.to_json(),
            evidence=audit.evidence,
            history=audit.history,
            timings=timings,
        )

    def _compared(self, plan: RepairPlan, version: int) -> Iterator[Finding]:
        """Compare the rows with the version before, by Delta Spark and by deltalake if it is installed."""
        expected = any(correction.sees or correction.loses for correction in plan.corrections)
        for engine, read in (("Delta Spark", self._by_spark), ("deltalake", self._by_deltalake)):
            try:
                before, after = read(version - 1), read(version)
            except _NotReadError:
                continue
            except BaseException as error:  # a panic of Rust is no Exception
                if isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise
                self.progress(f"{self._name}: {engine} does not read both versions: {str(error).splitlines()[:1]}")
                continue
            columns = before[1].keys() & after[1].keys()
            differing = sorted(name for name in columns if before[1][name] != after[1][name])
            if before[0] == after[0] and not differing:
                self.progress(f"{self._name}: {engine} reads the same {after[0]:,} rows as before")
                continue
            yield faults.UNVERIFIED.found(
                "{engine} reads {after:row} of {table} after the repair and {before} before it"
                + ("; values differ in {columns}." if differing else "."),
                severity=Severity.WARNING if expected else Severity.ERROR,
                subject=engine,
                engine=engine,
                table=self._name,
                before=before[0],
                after=after[0],
                columns=differing,
            )

    def _by_spark(self, version: int) -> tuple[int, Mapping[str, Any]]:
        return row_sums(rows_of(self.session, self.table.location, version))

    def _by_deltalake(self, version: int) -> tuple[int, Mapping[str, Any]]:
        from airflow_delta_provider.jobs.migrations.engine_reader import RowsDigest
        from airflow_delta_provider.jobs.storage.local_storage import local_path

        path = local_path(self.table.location)
        if path is None:
            raise _NotReadError
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise _NotReadError from None
        digest = RowsDigest()
        for batch in DeltaTable(path, version=version).to_pyarrow_dataset().to_batches():
            digest.take(batch)
        return digest.rows, {name: (column.total, column.nulls) for name, column in digest.columns.items()}


class _NotReadError(Exception):
    """The engine is not installed, or does not reach the table."""


class _MovedError(Exception):
    """Another writer changed the table. Carries the refusal."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding
