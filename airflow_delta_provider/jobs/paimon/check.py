"""The kind ``check-paimon-row-tracking``: reads a table, applies the rules, and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.paimon.layout import snapshot_path
from airflow_delta_provider.domain.paimon.live_files import History
from airflow_delta_provider.domain.paimon.row_rules import with_rows
from airflow_delta_provider.domain.paimon.schema import PaimonFormatError, TableSchema
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import Schemas, is_tracked
from airflow_delta_provider.domain.paimon.violations import Baseline, FormerFile
from airflow_delta_provider.domain.report.answers import Evidence
from airflow_delta_provider.domain.report.confirmation import Receipts, ReportedFindings, identity
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.paimon.metadata_level import MetadataLevel, UnknownRowsError, row_history
from airflow_delta_provider.jobs.paimon.metadata_source import SnapshotGoneError
from airflow_delta_provider.jobs.paimon.table import PaimonTable, RowOptions, RowProofs, RowResult, open_paimon_table
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.state_store import StateStore
from airflow_delta_provider.jobs.tables.session import TableError, TableSession, parse_table_name

#: Number of tries of a check if snapshots vanish while it reads them.
_TRIES = 3


def check_paimon_table(
    session: TableSession, text: str, request: JobRequest, progress: Progress, proofs: RowProofs | None = None
) -> TableReport:
    """Check one table.

    :param proofs: reads rows, for level ``data`` and source ``catalog``
    :raises TableError: if there is no such table
    """
    options = request.options
    assert isinstance(options, PaimonCheckRowTrackingOptions)
    name = parse_table_name(text)
    if options.source == "catalog" or (options.source == "auto" and name.location is None):
        return _check_by_catalog(session, name, options, progress, proofs)
    table = open_paimon_table(session, name)
    for _ in range(_TRIES):
        try:
            check = PaimonRowTrackingCheck(session, table, options, progress, request.receipt, request.received, proofs)
            return check.run()
        except SnapshotGoneError as error:
            progress(f"{text}: {error} has vanished since it was listed; the check starts again")
    finding = rules.NOT_STILL.found(
        "Snapshots vanished {times} times while they were read: they expire, or the table is rolled back.", times=_TRIES
    )
    return TableReport.of_findings(text, finding)


def _check_by_catalog(
    session: TableSession,
    name: TableName,
    options: PaimonCheckRowTrackingOptions,
    progress: Progress,
    proofs: RowProofs | None,
) -> TableReport:
    """Check a table through its catalog.

    :raises TableError: if it is named by its location, or there is no catalog
    """
    if name.location is not None:
        raise TableError(
            requests.NO_SUCH_TABLE.found(
                "{name} is a location, but source is 'catalog', and a catalog knows tables by name.",
                remedy="Name the table as the catalog does, or leave out source.",
                name=name.text,
            )
        )
    if proofs is None:
        session.locate(name)
    assert proofs is not None
    return proofs.check_by_catalog(name, options, progress)


class PaimonRowTrackingCheck:
    """Checks row tracking of one table, up to the newest snapshot at the start of the check."""

    def __init__(
        self,
        session: TableSession,
        table: PaimonTable,
        options: PaimonCheckRowTrackingOptions,
        progress: Progress,
        receipt: str | None = None,
        received: Receipts | None = None,
        proofs: RowProofs | None = None,
    ) -> None:
        self._session = session
        self._unsaved: Finding | None = None
        self._proofs = proofs if options.needs_rows else None
        self._receipt = receipt
        self._received = received or {}
        self._stored: Baseline | None = None
        self._table = table
        self._options = options
        self._progress = progress
        self._timings = Timings()
        self._notes: list[str] = []
        self._rows = RowResult()
        self._store = baseline_store(session, options, progress)

    def run(self) -> TableReport:
        """Check the table.

        :raises SnapshotGoneError: if a snapshot vanished in the meantime
        """
        source = self._table.source
        with self._timings.phase("list"):
            latest = source.latest()  # read before the listing, so that the listing includes it
            ids = source.snapshot_ids()
            schemas = source.schemas()
            self._note_unchecked_parts(ids)
        findings = _check_latest(latest, ids)
        since, baseline = self._beginning(ids)
        with self._timings.phase("metadata"):
            kept = [snapshot_id for snapshot_id in ids if since is None or snapshot_id >= since]
            self._progress(f"{self._table.name.text}: reading the metadata of {len(kept)} snapshots")
            level = MetadataLevel(source, schemas, since, fail_on_reassigned=self._options.fail_on_reassigned)
            checked = level.check(kept if _may_be_tracked(schemas) or self._has_ids(ids) else [])
        history = checked.history()
        findings += checked.findings()
        tracked = _is_tracked(history, schemas)
        if not tracked and not self._has_ids(ids):
            findings.append(_not_tracked(schemas))
        elif tracked and self._proofs is not None and history is not None:
            findings = self._check_rows(self._proofs, history, since, baseline, findings)
        known = ReportedFindings() if self._stored is None else self._stored.reported
        known = known.received(self._received, self._table.name.text)
        keys = set(map(identity, findings))
        found = [*findings, *(finding for finding in known.over if identity(finding) not in keys)]
        receipt = self._save_baseline(found, history, known)
        return TableReport.of_findings(
            self._table.name.text,
            *found,
            *(() if self._unsaved is None else (self._unsaved,)),
            version=ids[-1] if ids else None,
            evidence=self._evidence(history, since),
            timings=self._timings,
            receipt=receipt,
        )

    def _has_ids(self, ids: Sequence[int]) -> bool:
        """Return True if the newest snapshot records that row ids were assigned."""
        newest = next(self._table.source.snapshots(ids[-1:]), None)
        return isinstance(newest, Snapshot) and bool(newest.next_row_id)

    def _check_rows(
        self,
        proofs: RowProofs,
        history: History,
        since: int | None,
        baseline: Baseline | None,
        findings: list[Finding],
    ) -> list[Finding]:
        """Check ids and sequence numbers of rows, if the files are known.

        :param findings: findings about the metadata; findings from rows about the same commit replace them
        """
        try:
            rows = row_history(history, self._table.source, since=since, baseline=baseline)
            options, table = self._row_options(baseline, history), self._table
            with self._timings.phase("rows"):
                result = proofs.check_rows(table.name.text, table.location, rows, options, self._progress)
        except (UnknownRowsError, PaimonFormatError) as error:
            finding = rules.ROWS_NOT_READ.found(
                "The rows of snapshot {snapshot} were not read: {error}.", snapshot=history.newest.id, error=str(error)
            )
            return [*findings, finding]
        self._rows = result
        return with_rows(findings, result.findings, result.keeping)

    def _check_all_kept(self, history: History) -> None:
        """Check if files are missing because their snapshots have vanished.

        :raises SnapshotGoneError: if a snapshot has vanished
        """
        kept = set(self._table.source.snapshot_ids())
        for change in history.changes:
            if change.snapshot.id not in kept:
                raise SnapshotGoneError(snapshot_path(change.snapshot.id))

    def _row_options(self, baseline: Baseline | None, history: History) -> RowOptions:
        ranges = {
            file.name: (file.lowest, file.highest)
            for file in (baseline.files if baseline else ())
            if file.lowest is not None and file.highest is not None
        }
        severity = Severity.ERROR if self._options.fail_on_reassigned else Severity.WARNING
        return RowOptions(
            self._options.key_columns, severity, ranges, on_vanished=lambda: self._check_all_kept(history)
        )

    def _beginning(self, ids: Sequence[int]) -> tuple[int | None, Baseline | None]:
        """Return the snapshot to begin after, or None for the first, and the saved state of that snapshot."""
        since = self._options.since_snapshot
        if since is not None:
            if since in ids:
                return since, None
            why = "is newer than all" if ids and since > ids[-1] else "is not kept"
            self._note(
                f"snapshot {since}, to begin after, {why}: the table was rolled back, or the snapshot has expired"
            )
            return None, None
        self._stored = baseline = self._store.load(self._table.location) if self._store else None
        if baseline is None:
            if self._store:
                self._note("no earlier check is remembered in state_path (--state-path): all snapshots are checked")
            return None, None
        why_not = self._why_not(baseline, ids)
        if why_not:
            self._note(f"the last check, of snapshot {baseline.snapshot_id}, {why_not}: all snapshots are checked")
            return None, None
        return baseline.snapshot_id, baseline

    def _why_not(self, baseline: Baseline, ids: Sequence[int]) -> str | None:
        """Return the reason why a check cannot resume from a baseline; None if it can."""
        if baseline.level != self._options.level and baseline.level != "data":
            return f"had the level {baseline.level}"
        if not set(self._options.key_columns) <= set(baseline.key_columns):
            return "did not compare these keys"
        if baseline.snapshot_id not in ids:
            return "cannot be continued, because the snapshot is not kept any more"
        [snapshot] = self._table.source.snapshots([baseline.snapshot_id])
        if isinstance(snapshot, PaimonFormatError) or snapshot.uuid != baseline.snapshot_uuid:
            return "was of another snapshot with this id: the table was rolled back since"
        return None

    def _note_unchecked_parts(self, ids: Sequence[int]) -> None:
        if not ids:
            self._note("the table has no snapshot yet: there is nothing to check")
        elif ids[0] > 1:
            self._note(f"history begins at snapshot {ids[0]}: those before have expired")
        if branches := self._table.source.branches():
            self._note(f"only the branch main is checked, not {', '.join(branches)}")
        if tags := self._table.source.tags():
            self._note(f"tags are not checked: {', '.join(tags)}")

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._progress(f"{self._table.name.text}: {text}")

    def _evidence(self, history: History | None, since: int | None) -> dict[str, Any]:
        changes = () if history is None else history.changes
        return Evidence(
            level=self._options.level,
            source="native",
            since_snapshot=since,
            first_snapshot=changes[0].snapshot.id if changes else None,
            snapshots=len(changes),
            files=len(history.live) if history else 0,
            next_row_id=history.newest.next_row_id if history else None,
            notes=tuple(self._notes),
            **self._rows.evidence,
        ).to_json()

    def _save_baseline(
        self, findings: Sequence[Finding], history: History | None, known: ReportedFindings
    ) -> str | None:
        """Save this check as the baseline if it has no errors. Otherwise the next check begins where this one did.

        The next check does not find warnings again, so they are saved until their report is confirmed.

        :param known: earlier reports, with their confirmations
        :return: the receipt, if it has to be confirmed
        """
        if self._store is None:
            return None
        if any(finding.severity is not Severity.WARNING and finding.is_open for finding in findings):
            baseline, passed = self._stored, known.over
        else:
            baseline, passed = self._baseline(history) or self._stored, tuple(findings)
        if baseline is None:
            return None
        baseline = replace(baseline, reported=known.waiting(passed, self._receipt))
        if baseline != self._stored:
            try:
                self._store.save(self._table.location, baseline)
            except Exception as failure:
                self._unsaved = self._session.understand(failure).not_saved()
                return None
        return self._receipt if baseline.reported.waits_for(self._receipt) else None

    def _baseline(self, history: History | None) -> Baseline | None:
        """Return the baseline for the next check; None if the newest snapshot cannot be recognized later."""
        if history is None or history.newest.uuid is None or not history.complete:
            return None
        ranges = self._rows.ranges
        files = tuple(
            FormerFile(file.name, file.first_row_id, file.row_count, *ranges.get(file.name, ()))
            for file in history.live.values()
        )
        newest = history.newest
        assert newest.uuid is not None
        return Baseline(newest.id, newest.uuid, self._options.level, self._options.key_columns, files)


def baseline_store(
    session: TableSession, options: PaimonCheckRowTrackingOptions, progress: Progress
) -> StateStore[Baseline] | None:
    """Return the store for the baselines of checks with these options; None if they save nothing."""
    if options.state_path is None:
        return None
    return StateStore(session.storage, options.state_path, progress, Baseline.from_json)


def _check_latest(latest: int | None, ids: Sequence[int]) -> list[Finding]:
    """Return a finding if the hint for the newest snapshot names a missing one."""
    if latest is None or (ids and latest <= ids[-1]):
        return []
    return [
        rules.NEXT_ROW_ID_OR_SNAPSHOTS.found(
            "{path} names snapshot {version}, but " + ("the newest one is {newest}." if ids else "there is none."),
            effect="Engines fail to open the table.",
            version=latest,
            path="snapshot/LATEST",
            newest=ids[-1] if ids else None,
        )
    ]


def _may_be_tracked(schemas: Schemas) -> bool:
    return not schemas or any(
        is_tracked(schema) or isinstance(schema, PaimonFormatError) for schema in schemas.values()
    )


def _is_tracked(history: History | None, schemas: Schemas) -> bool:
    used = () if history is None else (change.snapshot.schema_id for change in history.changes)
    looked = [schemas.get(schema_id) for schema_id in {*used, *sorted(schemas)[-1:]}]
    return any(is_tracked(schema) or not isinstance(schema, TableSchema) for schema in looked)


def _not_tracked(schemas: Schemas) -> Finding:
    newest = schemas.get(max(schemas)) if schemas else None
    if isinstance(newest, TableSchema) and newest.primary_keys:
        return rules.NOT_TRACKED.found(
            "The table has the primary key {keys}; Paimon tracks rows of append tables only.", keys=newest.primary_keys
        )
    return rules.NOT_TRACKED.found("row-tracking.enabled is not true, and cannot be set on a table that has rows.")
