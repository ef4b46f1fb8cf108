"""Whether live data files have columns that their table does not have, from their footers."""

from __future__ import annotations

from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.jobs.changes.column_mapping.column_reader import survey_footers
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.storage.hadoop_storage import HadoopStorage


def find_foreign_columns(storage: HadoopStorage, table: OpenTable, state: TableState) -> str:
    """Return why the footers do not prove that every live file has only columns of the table.

    Empty if they prove it.

    :param state: of the table, with or without its files
    """
    if state.files is None:
        state = table.log.read_state(with_files=True, version=state.version)
    survey = survey_footers(DeltaFiles(storage, table.location), state)
    if survey.foreign:
        path, foreign = next(iter(survey.foreign.items()))
        others = len(survey.foreign) - 1
        more = f", and {others} more file{'s have' if others > 1 else ' has'} others, too" if others else ""
        return f"{path} has {', '.join(map(path_text, foreign))}, not a column of the table{more}"
    if survey.unread:
        path, why = next(iter(survey.unread.items()))
        return f"the footer of {path} cannot be read: {why}"
    return ""
