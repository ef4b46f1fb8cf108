"""Reads the columns of a table from its history and from the footers of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.audit.past import FOREIGN_FILES, find_version_range
from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnHistory, MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey, TableColumns
from airflow_delta_provider.domain.changes.disable_mapping.usage import (
    needs_footers,
    undecidable_usage,
    unknown_usage,
    usage_of,
)
from airflow_delta_provider.domain.changes.schema import PastColumns
from airflow_delta_provider.domain.checks import usage_tracking
from airflow_delta_provider.domain.checks.log.history import why_undecidable
from airflow_delta_provider.domain.delta.commit import Action, Commit, commit_info, parse_commit
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    commit_name,
    commit_versions,
    newest_version,
    select_segment,
    version_of,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.report.answers import Usage
from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.text import counted
from airflow_delta_provider.jobs.delta.engines import RECENT
from airflow_delta_provider.jobs.delta.kept_log import KeptLog
from airflow_delta_provider.jobs.delta.session import DeltaFiles, DeltaSession, OpenTable
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.process import Progress, Timings
from airflow_delta_provider.jobs.storage.errors import MissingFileError, UnreadFileError


def read_columns(log: TableLog, version: int | None = None) -> MappedTable:
    """Follow the log from the first version that is kept up to ``version``, by default the newest.

    If the log cannot be followed from there, the result starts at the newest checkpoint and has the reason.

    :raises MissingFileError: if there is no ``_delta_log``
    :raises BrokenLogError: if the log does not lead to that version
    """
    names = log.list_names()
    last = newest_version(names) if version is None else version
    try:
        wanted = find_version_range(names, last)
        if wanted.last == last:
            return _follow(log, names, None if wanted.base is None else wanted.base.version, last)
        why = f"version {wanted.last + 1} is missing in the log"
    except BrokenLogError as error:
        why = str(error)
    segment = select_segment(names, last)
    found = _follow(log, names, segment.checkpoint_version, last)
    broken = f"the log cannot be followed further back than version {found.known.since}: {why}"
    since = found.known.since
    return replace(found, known=replace(found.known, why_incomplete=broken, unknown_before=since))


def _follow(log: TableLog, names: Sequence[str], base: int | None, last: int) -> MappedTable:
    history = ColumnHistory(KeptLog(log))
    replay = Replay(with_files=True)
    if base is not None:
        replay = log.replay(select_segment(names, base))
        history.begin(replay.state(base), is_first=False)
    commits = [commit_name(version) for version in range(0 if base is None else base + 1, last + 1)]
    last_stream: int | None = None
    for name, content in zip(commits, log.read_files(commits)):
        version, actions = version_of(name), parse_commit(name, content)
        history.follow(replay, version, actions)
        if version > last - RECENT and _is_of_a_stream(actions):
            last_stream = version
    return MappedTable(replay.state(last), history.known, last_stream=last_stream)


def _is_of_a_stream(actions: Sequence[Action]) -> bool:
    return commit_info(actions).get("operation") == "STREAMING UPDATE" or any("txn" in action for action in actions)


def survey_footers(
    data: DeltaFiles, state: TableState, read: dict[str, Footer | FooterError] | None = None
) -> FooterSurvey:
    """Compare the columns in the footers of a table's live files with the columns of the table.

    :param state: state with its files
    :param read: footers already read, by path; missing ones are read and added
    """
    read = {} if read is None else read
    found, columns = FooterSurvey(), TableColumns(state.metadata)
    by_path = {file.path: file for file in state.live_files}
    missing = [file for path, file in by_path.items() if path not in read]
    read.update((file.path, _footer(data, file, tail)) for file, tail in data.read_each(data.tail, missing))
    for path in by_path:
        found.take(path, read[path], columns)
    return found


def find_foreign_columns(session: DeltaSession, table: OpenTable, state: TableState) -> str:
    """Return the reason why live files may have other columns than the table; empty if their footers rule it out.

    :param state: state of the table, with or without its files
    """
    if state.files is None:
        state = table.log.read_state(with_files=True, version=state.version)
    survey = survey_footers(session.data_files(table.location), state)
    if survey.foreign:
        path, foreign = next(iter(survey.foreign.items()))
        others = len(survey.foreign) - 1
        more = f", and {others} more file{'s have' if others > 1 else ' has'} others, too" if others else ""
        return f"{path} has {', '.join(map(path_text, foreign))}, not a column of the table{more}"
    if survey.unread:
        path, why = next(iter(survey.unread.items()))
        return f"the footer of {path} cannot be read: {why}"
    return ""


def _footer(data: DeltaFiles, file: LiveFile, tail: bytes | Exception) -> Footer | FooterError:
    try:
        return data.footer(file, tail)
    except MissingFileError:
        return FooterError("there is no such file")
    except UnreadFileError as error:
        return FooterError(error.problem)
    except FooterError as error:
        return error


def read_past_columns(log: TableLog) -> PastColumns:
    """Return the columns that a table has had."""
    return PastColumns.of(*_read_metadata(log))


def _read_metadata(log: TableLog) -> tuple[list[Metadata], str]:
    """Return the metadata of all versions that are kept, and the reason why there may have been others."""
    names = log.list_names()
    versions = commit_versions(names)
    metadata: list[Metadata] = []
    why = ""
    if versions[:1] != [0]:
        first = log.earliest_version()
        why = "the log is no longer kept from the beginning"
        if first is not None:
            why = f"the log is kept from version {first} on"
            metadata.append(log.read_state(version=first).metadata)
    elif len(versions) != versions[-1] + 1:
        why = "commits are missing in the log"
    for version, content in zip(versions, log.read_files(map(commit_name, versions))):
        if b'"metaData"' not in content and not any(name.encode() in content for name in FOREIGN_FILES):
            continue
        try:
            commit = Commit.from_actions(version, parse_commit(commit_name(version), content))
        except BrokenLogError as error:
            why = str(error)
            continue
        metadata += commit.metadata
        if commit.operation in FOREIGN_FILES:
            why = f"version {version} took over files from elsewhere ({commit.operation})"
    return metadata, why


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Determine the usage of one table's column mapping from its history, and from footers if needed."""
    del request  # it has no options
    table, timings = session.open_table(text), Timings()
    name = table.name.text
    with timings.phase("commits"):
        found = read_columns(table.log)
    schema = found.state.metadata.mapped_schema
    known: dict[str, Any] = {"version": found.state.version, "timings": timings}
    if undecidable := list(why_undecidable(found.state)):
        usage = undecidable_usage(schema, found.known, undecidable)
        return TableReport.of_findings(name, *undecidable, usage=usage.to_json(), **known)
    survey = None
    if needs_footers(schema, found.known):
        progress(f"{name}: reading the footers of {counted(len(found.state.files or ()), 'file')}")
        with timings.phase("footers"):
            survey = survey_footers(session.data_files(table.location), found.state)
    usage = usage_of(schema, found.known, survey, list(usage_tracking.check_state(found.state)))
    findings = [unknown_usage(name, usage)] if usage.answer is Usage.UNDETERMINED else []
    return TableReport.of_findings(name, *findings, usage=usage.to_json(), **known)
