"""The engines of a table: those that recently wrote to it, and files read for conditions of engines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from airflow_delta_provider.domain.changes.lockouts import misreads
from airflow_delta_provider.domain.changes.preflight import with_files
from airflow_delta_provider.domain.delta.column_statistics import is_rounding
from airflow_delta_provider.domain.delta.commit import (
    ENGINE_INFO,
    CommitTime,
    actions_of_head,
    changes_metadata,
    commit_info,
    made_since,
    parse_commit,
    signature_of,
    writer_of,
)
from airflow_delta_provider.domain.delta.engine_conditions import TableTraits, open_clauses
from airflow_delta_provider.domain.delta.file_survey import MILLIS, FilePlace, FileSurvey, ReadTypes, StoredTypes
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, commit_versions, select_segment
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import Demands, undecided_clauses
from airflow_delta_provider.domain.engine.conditions import Clause, Decision
from airflow_delta_provider.domain.engine.fleet import RecentWriter, RecentWriters, TableFleet
from airflow_delta_provider.domain.engine.profile import Profile
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, SchemaElement, TimeUnit
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.table_log import TableLog, time_of_commit
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError
from airflow_delta_provider.jobs.tables.table_storage import DataFiles

#: Number of commits that count as recent.
RECENT = 100
_OWN = ENGINE_INFO.partition("/")[0]


def recent_writers(log: TableLog) -> Counter[str]:
    """Return the number of recent commits by engine, the engine of the newest commit first."""
    return Counter(_writers(log))


def _writers(log: TableLog) -> Iterator[str]:
    names = [commit_name(version) for version in reversed(commit_versions(log.list_names())[-RECENT:])]
    for name, content in zip(names, log.read_files(names)):
        try:
            info = commit_info(parse_commit(name, content))
        except BrokenLogError:
            continue
        yield writer_of(info) or signature_of(info) or "an engine that does not sign"


@dataclass(frozen=True)
class _Commit(CommitTime):
    info: Mapping[str, Any]
    changes_metadata: bool


def writers_within(log: TableLog, head: TableState, days: float, now: datetime) -> RecentWriters:
    """Return the engines that wrote to a table within a number of days, except this package.

    Commits that cannot be read are skipped.

    :param head: newest state
    :param now: current time, with a time zone
    """
    since = now - timedelta(days=days)
    versions = [version for version in commit_versions(log.list_names()) if version <= head.version]
    commits, left_window = made_since(_newest_first(log, versions), since, now)
    oldest = commits[-1].version if commits else None
    complete = left_window or oldest == 0 or not versions
    managed = _Managed(log, head, commits)
    writers: dict[str | None, list[_Commit]] = {}
    for commit in commits:
        signature = signature_of(commit.info)
        if signature is None or signature.partition("/")[0] != _OWN:
            writers.setdefault(writer_of(commit.info) or signature, []).append(commit)
    found = tuple(
        RecentWriter(
            name=name,
            commits=len(made),
            first=made[-1].version,
            last=made[0].version,
            last_time=made[0].time.isoformat(timespec="milliseconds"),
            managed=managed.at(made[0].version),
        )
        for name, made in writers.items()
    )
    return RecentWriters(days=days, writers=found, since=oldest, complete=complete)


def _newest_first(log: TableLog, versions: list[int]) -> Iterator[_Commit]:
    with suppress(MissingFileError):  # cleaned up in the meantime
        for version, _, content in log.commits(reversed(versions)):
            try:
                actions = list(actions_of_head(content))
            except ValueError:
                continue
            info = commit_info(actions)
            made = time_of_commit(log, version, info)
            yield _Commit(version, made.time, made.is_in_commit, info, changes_metadata(actions))


class _Managed:
    """The demands of a table at the time of a commit. The engine of the commit can write such tables.

    :param commits: commits, newest first
    """

    def __init__(self, log: TableLog, head: TableState, commits: list[_Commit]) -> None:
        self._log = log
        self._head = head
        self._changes = [commit.version for commit in reversed(commits) if commit.changes_metadata]
        self._known: dict[int, Demands | None] = {}

    def at(self, version: int) -> Demands | None:
        """Return the demands at a version of the window; None if they are unknown."""
        number = sum(change <= version for change in self._changes)
        if number not in self._known:
            self._known[number] = self._after(number)
        return self._known[number]

    def _after(self, number: int) -> Demands | None:
        """Return the demands after the first ``number`` changes."""
        if number == len(self._changes):
            return _demands(self._head.protocol, self._head.metadata)
        try:
            state = self._log.read_state(version=self._changes[number] - 1)
        except (BrokenLogError, MissingFileError):
            return None
        return _demands(state.protocol, state.metadata)


def _demands(protocol: Protocol, metadata: Metadata) -> Demands | None:
    try:
        return demands_of(protocol, metadata)
    except (ValueError, BrokenLogError):
        return None


#: Engines as profiles with versions.
Engines = Collection[tuple[Profile, str | None]]


def misreads_of(log: TableLog, files: DataFiles | None, state: TableState, fleet: TableFleet) -> tuple[Finding, ...]:
    """Return findings about engines of a fleet that misread or damage a table as it is, without an error.

    Engines about which this cannot be decided are left out: the job ``check-compatibility`` reports them.
    """
    engines = [(member.profile, member.version) for member in fleet.members]
    try:
        now = demands_of(state.protocol, state.metadata)
    except (ValueError, BrokenLogError):  # an audit has findings about such metadata
        return ()
    return misreads(with_files(now, decisions_about_files(log, files, state, engines, now)), fleet)


def decisions_about_files(
    log: TableLog,
    files: DataFiles | None,
    state: TableState,
    engines: Engines,
    demands: Demands,
    before: Demands | None = None,
) -> Mapping[Clause, Decision]:
    """Return decisions about the clauses of engines' conditions that metadata leaves open.

    The entries for files are read only if there is such a clause. If the log cannot be read, nothing is decided.

    :param files: data files, whose footers show the types in which columns are stored; None if they are not read
    :param state: newest state
    :param before: demands before a change; conditions that were undecided then are left out
    """
    traits = demands.traits
    if not isinstance(traits, TableTraits):
        return {}
    clauses = open_clauses(undecided_clauses(engines, demands, before), traits)
    if not clauses:
        return {}
    try:
        if state.files is None:
            state = log.read_state(version=state.version, with_files=True)
        segment = select_segment(log.list_names(), state.version)
        survey = FileSurvey(state.metadata, clauses, segment, rounds=lambda: any(map(is_rounding, recent_writers(log))))
        for add in log.live_adds(state, complete=True, note_listed=survey.note_listed):
            survey.note(add)
    except (BrokenLogError, MissingFileError, UnreadFileError):
        return {}
    return survey.decisions(_types_of(files))


def _types_of(files: DataFiles | None) -> ReadTypes:
    """Return a function that reads the physical types of a file's columns."""
    known: dict[FilePlace, StoredTypes | str] = {}

    def read(place: FilePlace) -> StoredTypes | str:
        if files is None:
            return "footers are not read"
        if place not in known:
            known[place] = stored_types(files, LiveFile(*place, None, None))
        return known[place]

    return read


def stored_types(files: DataFiles, file: LiveFile) -> StoredTypes | str:
    """Return the physical types of a file's columns, or the reason why they are unknown."""
    try:
        leaves = files.footer(file).layout.leaves
    except UnreadFileError as error:
        return f"the footer of {file.path} cannot be read: {error.problem}"
    except MissingFileError:
        return f"the file {file.path} is missing"
    except FooterError as error:
        return f"the footer of {file.path} cannot be read: {error}"
    return {path: _type_of(element) for path, (_, element) in leaves.items()}


def _type_of(element: SchemaElement) -> str:
    logical, physical = element.logical_type, element.physical_type
    name = "" if physical is None else physical.name
    if logical is not None and logical.kind is LogicalKind.DECIMAL:
        return f"{name} decimal({logical.precision}, {logical.scale})"
    if logical is not None and logical.unit is TimeUnit.MILLIS:
        return f"{name} {MILLIS}"
    return name
