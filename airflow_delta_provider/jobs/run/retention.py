"""The kind ``check-retention``: complete history, files that a VACUUM would delete, and streams that it would break."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import chain
from typing import cast

from airflow_delta_provider.domain.checks import retention as rules
from airflow_delta_provider.domain.checks.data_files.files import missing_file
from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    commit_name,
    commit_versions,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.delta.retention import History, Need, Offset, OffsetError, is_hidden, parse_offsets
from airflow_delta_provider.domain.delta.table_properties import (
    DELETED_FILE_RETENTION,
    LOG_CLEANUP,
    LOG_RETENTION,
    duration_text,
    is_true,
    parse_duration,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.answers import ConsumerOutcome, Evidence, PlannedVacuum
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import CheckRetentionOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import check_path
from airflow_delta_provider.jobs.delta.session import DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.storage.local_storage import is_link
from airflow_delta_provider.jobs.tables.table_storage import TableStorage

_ICEBERG = "delta.universalFormat.enabledFormats"
_DEFAULT_LOG_RETENTION = timedelta(days=30)
#: Most files that a report names.
_MOST_PATHS = 100
_MOST_MISSING = 20


@dataclass(frozen=True)
class _Plan:
    """A planned clean-up.

    :param now: time of the check, in UTC
    :param retain: retention of the VACUUM
    :param own: retention of the table's property
    :param log_retain: retention of commits; None if the table's log is not cleaned up
    """

    now: datetime
    retain: timedelta
    own: timedelta
    log_retain: timedelta | None

    @property
    def horizon(self) -> int:
        """Time in milliseconds: files that were written before it may be deleted."""
        return _milliseconds(self.now - self.retain)

    @property
    def tombstones(self) -> int:
        """Time in milliseconds: files that were removed then or later are kept.

        Readers forget a removal after the time in the table's property, whatever the VACUUM retains.
        """
        return _milliseconds(self.now - min(self.retain, self.own))

    @property
    def commits_before(self) -> datetime | None:
        """Time before which a clean-up deletes commits: a midnight, as in Delta Spark. None if there is none."""
        if self.log_retain is None:
            return None
        return (self.now - self.log_retain).replace(hour=0, minute=0, second=0, microsecond=0)


@dataclass
class _Files:
    """The files of a table in view of a planned VACUUM.

    :param deleted: files that the log names and that are not there
    :param doomed: files that the VACUUM would delete
    :param sizes: sizes of these files, as far as they are known
    :param lost: live files that are not there
    """

    deleted: set[str] = field(default_factory=set)
    doomed: set[str] = field(default_factory=set)
    sizes: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Check one table. Its log is read, at level ``files`` its folder is listed, and nothing is deleted."""
    del progress
    options = cast("CheckRetentionOptions", request.options)
    table, timings = session.open_table(text), Timings()
    name = table.name.text
    for consumer in options.consumers:
        if refusal := _refusal(session, consumer):
            return TableReport.refused(name, refusal)
    with timings.phase("read"):
        state = table.log.read_state(with_files=True)
    if undecidable := tuple(why_undecidable(state)):
        return TableReport.of_findings(name, *undecidable, version=state.version, timings=timings)
    plan = _planned(options, state, datetime.now(timezone.utc))
    if plan is None:
        why = f"{DELETED_FILE_RETENTION} or {LOG_RETENTION} is not an interval"
        return TableReport.of_findings(name, rules.history_unreadable(why), version=state.version, timings=timings)
    try:
        with timings.phase("commits"):
            history = _history(table, state)
            kept = _kept(table.log, history, state, plan)
    except (BrokenLogError, MissingFileError) as error:
        return TableReport.of_findings(
            name, rules.history_unreadable(str(error)), version=state.version, timings=timings
        )
    live = history.paths_of(state.live_files)
    with timings.phase("files"):
        files = (
            _in_log(history, live, kept, plan)
            if options.level == "log"
            else _in_folder(session.files_of(table.location), table.location, state, history, live, kept, plan)
        )
    findings = [missing_file(path) for path in files.lost[:_MOST_MISSING]]
    retain = duration_text(plan.retain)
    if plan.retain != plan.own:
        own = duration_text(plan.own)
        findings.append(rules.retention_not_followed(retain, DELETED_FILE_RETENTION, own))
    with timings.phase("consumers"):
        check = _Consumers(session, table, state, history, files, plan)
        outcomes = [check.outcome(consumer) for consumer in options.consumers]
    earliest = earliest_version(table.log_names) or 0
    after = files.deleted | files.doomed
    evidence = Evidence(
        level=options.level,
        earliest_version=earliest,
        travel_from_version=None if files.lost else history.travel_from(earliest, files.deleted),
        feed_from_version=history.feed_from(earliest, files.deleted),
        vacuum=PlannedVacuum(
            retain=retain,
            files=len(files.doomed),
            bytes=sum(files.sizes.values()),
            unsized=len(files.doomed) - len(files.sizes),
            unreferenced=None if options.level == "log" else len(files.doomed - history.files.keys()),
            paths=tuple(sorted(files.doomed)[:_MOST_PATHS]),
            travel_from_version=history.travel_from(earliest, after),
            feed_from_version=history.feed_from(earliest, after),
        ),
        consumers=tuple(outcomes),
    ).to_json()
    return TableReport.of_findings(
        name, *findings, *check.findings, version=state.version, evidence=evidence, timings=timings
    )


def _refusal(session: DeltaSession, consumer: str) -> Finding | None:
    """Return the reason why a folder must not be read; None if it may."""
    reach = session.reach
    return check_path("consumers", session.storage.real_location(consumer), reach.roots) if reach.is_bounded else None


def _planned(options: CheckRetentionOptions, state: TableState, now: datetime) -> _Plan | None:
    """Return the plan; None if a property that it depends on is not an interval."""
    known = state.metadata.configuration
    own = state.metadata.properties.deleted_file_retention
    retain = parse_duration(options.vacuum_retain) if options.vacuum_retain else own
    written = options.log_retain or known.get(LOG_RETENTION)
    log_retain = parse_duration(written) if written else _DEFAULT_LOG_RETENTION
    if own is None or retain is None or log_retain is None:
        return None
    return _Plan(now, retain, own, log_retain if is_true(known.get(LOG_CLEANUP, "true")) else None)


def _history(table: OpenTable, state: TableState) -> History:
    base, commits = table.log.commits_from_start(state.version)
    own = "" if base is None else commit_name(base.version)
    history = History(table.location, base, with_own=own in table.log_names)
    first = [table.log.read_commit(own)] if own in table.log_names else []
    for version, actions in enumerate(chain(first, commits), start=history.first):
        history.take(version, actions)
    return history


def _kept(log: TableLog, history: History, state: TableState, plan: _Plan) -> set[str]:
    """Return the removed files that a VACUUM keeps, because they were removed lately."""
    kept = set(history.kept_after(plan.tombstones))
    if history.first == 0 or (history.oldest_time is not None and history.oldest_time < plan.tombstones):
        return kept  # the commits have all of these removals
    segment = select_segment(log.list_names(), state.version)
    for part in log.checkpoint_parts(segment):
        for batch in part.batches:
            if batch.kind == "remove":
                for body in batch.bodies():
                    if (body.get("deletionTimestamp") or 0) >= plan.tombstones:
                        kept.update(history.removed_paths(body))
    return kept


def _in_log(history: History, live: Collection[str], kept: Collection[str], plan: _Plan) -> _Files:
    """Return the files by the log alone: files are gone if a VACUUM that the log records has deleted them."""
    horizon = history.vacuum_horizon
    deleted = set() if horizon is None else history.missing_before(horizon, live)
    doomed = history.missing_before(plan.horizon, live) - set(kept) - deleted
    sizes = {path: history.files[path].size for path in doomed}
    return _Files(deleted, doomed, {path: size for path, size in sizes.items() if size is not None})


def _in_folder(
    storage: TableStorage,
    location: str,
    state: TableState,
    history: History,
    live: Collection[str],
    kept: Collection[str],
    plan: _Plan,
) -> _Files:
    """Return the files by a listing of the table's folder."""
    metadata = state.metadata
    iceberg = "iceberg" in (metadata.configuration.get(_ICEBERG) or "")
    there = set(_listed(storage, location.rstrip("/"), "", metadata.partition_columns, iceberg=iceberg))
    files = _Files({path for path in history.files if path not in there and path not in live})
    files.lost = sorted(path for path in live if path not in there and _is_listed(path, metadata.partition_columns))
    for path in sorted(there.difference(live, kept)):
        uri = f"{location.rstrip('/')}/{path}"
        with suppress(MissingFileError):  # somebody has deleted it since
            if _milliseconds(storage.written_at(uri)) < plan.horizon:
                files.sizes[path] = storage.size(uri)
                files.doomed.add(path)
    return files


def _listed(
    storage: TableStorage, location: str, folder: str, partition_columns: Collection[str], *, iceberg: bool
) -> Iterator[str]:
    """Yield the files below a folder of a table, relative to the table, except hidden ones."""
    place = f"{location}/{folder}".rstrip("/")
    folders = set(storage.list_folders(place))
    for name in storage.list_names(place):
        path = f"{folder}/{name}" if folder else name
        if is_hidden(name, partition_columns, iceberg=iceberg):
            continue
        if name in folders:
            if place.startswith("file:") and is_link(f"{place}/{name}"):
                continue  # it may lead back
            yield from _listed(storage, location, path, partition_columns, iceberg=iceberg)
        else:
            yield path


def _is_listed(path: str, partition_columns: Collection[str]) -> bool:
    """Return True if no folder of a path is hidden from a listing."""
    return not any(is_hidden(name, partition_columns, iceberg=True) for name in path.split("/"))


class _Consumers:
    """Checks streams that read a table."""

    def __init__(
        self,
        session: DeltaSession,
        table: OpenTable,
        state: TableState,
        history: History,
        files: _Files,
        plan: _Plan,
    ) -> None:
        self._session = session
        self._log = table.log
        self._table_id = state.metadata.id
        self._newest = state.version
        self._history = history
        self._files = files
        self._plan = plan
        self._earliest = earliest_version(table.log_names) or 0
        self._oldest_commit = state.version
        there = frozenset(commit_versions(table.log_names))
        while self._oldest_commit - 1 in there:
            self._oldest_commit -= 1
        self.findings: list[Finding] = []

    def outcome(self, consumer: str) -> ConsumerOutcome:
        """Return the outcome for a stream, and note its findings.

        :param consumer: folder of its checkpoint
        """
        try:
            offset = self._offset(consumer)
        except OffsetError as error:
            self.findings.append(rules.consumer_unknown(consumer, str(error)))
            return ConsumerOutcome(checkpoint=consumer, version=None, initial=None, outcome="UNKNOWN")
        findings, outcome = self._judged(consumer, offset)
        self.findings += findings
        return ConsumerOutcome(checkpoint=consumer, version=offset.version, initial=offset.initial, outcome=outcome)

    def _offset(self, consumer: str) -> Offset:
        """Return the end of the newest batch that a stream has committed.

        :raises OffsetError: if there is none
        """
        location = self._session.storage.qualify(consumer).rstrip("/")
        storage = self._session.files_of(location)
        try:
            batches = [int(name) for name in storage.list_names(f"{location}/commits") if name.isdecimal()]
            if not batches:
                raise MissingFileError(f"{location}/commits")
            content = storage.read(f"{location}/offsets/{max(batches)}")
        except MissingFileError as error:
            raise OffsetError(f"it has no committed batch ({error.path} is missing or empty)") from error
        return parse_offsets(content, self._table_id)

    def _judged(self, consumer: str, offset: Offset) -> tuple[list[Finding], str]:
        version = offset.version
        if version > self._newest + 1:
            why = f"it reads version {version} next, and the newest version is {self._newest}"
            return [rules.consumer_unknown(consumer, why)], "UNKNOWN"
        if version > self._newest:
            return [], "OK"
        if version < (self._earliest if offset.initial else self._oldest_commit):
            why = "the log no longer has that version"
            return [rules.consumer_broken(consumer, version, why)], "BROKEN"
        if self._history.need(offset, self._files.deleted) is Need.YES:
            return [rules.consumer_broken(consumer, version, "files that it still has to read are gone")], "BROKEN"
        findings, outcome = [], "OK"
        if self._history.need(offset, self._files.doomed) is Need.YES:
            findings.append(rules.vacuum_breaks(consumer, version, duration_text(self._plan.retain)))
            outcome = "BROKEN_BY_VACUUM"
        if self._is_cleaned_up(version):
            retention = duration_text(cast("timedelta", self._plan.log_retain))
            findings.append(rules.clean_up_breaks(consumer, version, retention))
            outcome = "BROKEN_BY_CLEAN_UP" if outcome == "OK" else outcome
        if not findings and (why := self._doubt(offset)):
            return [rules.consumer_unknown(consumer, why, rules.CATCH_UP)], "UNKNOWN"
        return findings, outcome

    def _doubt(self, offset: Offset) -> str:
        """Return why it is unknown whether a stream can continue; empty if it can."""
        if not offset.initial and offset.version < self._history.first:
            return f"files of versions before {self._history.first} are not known"
        for files, what in ((self._files.deleted, "are gone"), (self._files.doomed, "would be deleted")):
            if self._history.need(offset, files) is Need.UNKNOWN:
                return (
                    f"files of version {offset.version} or later {what}; it needs them only if it has not read them "
                    "yet, or reads the change data feed"
                )
        return ""

    def _is_cleaned_up(self, version: int) -> bool:
        """Return True if the next clean-up deletes the commit of a version."""
        before = self._plan.commits_before
        if before is None or version >= self._newest:
            return False
        try:
            return self._log.written_at(commit_name(version)) < before
        except MissingFileError:
            return False


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)
