"""Reads a table's files for conditions of engines: entries in the log, and few footers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from airflow_delta_provider.domain.changes.lockouts import misreads
from airflow_delta_provider.domain.changes.preflight import with_files
from airflow_delta_provider.domain.delta.engine_conditions import TableTraits, open_clauses
from airflow_delta_provider.domain.delta.file_survey import FilePlace, FileSurvey, ReadTypes, StoredTypes
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, select_segment
from airflow_delta_provider.domain.delta.table_features import demands_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.access import Demands, undecided_clauses
from airflow_delta_provider.domain.engine.conditions import Clause, Decision
from airflow_delta_provider.domain.engine.fleet import TableFleet
from airflow_delta_provider.domain.engine.profile import Profile
from airflow_delta_provider.domain.formats.parquet.footer import FooterError
from airflow_delta_provider.domain.formats.parquet.schema import LogicalKind, SchemaElement
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta.table_log import TableLog
from airflow_delta_provider.jobs.storage.errors import UnreadFileError
from airflow_delta_provider.jobs.storage.storage import MissingFileError
from airflow_delta_provider.jobs.tables.table_storage import DataFiles

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
        survey = FileSurvey(state.metadata, clauses, select_segment(log.list_names(), state.version))
        for add in log.live_adds(state, complete=True):
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
    return name
