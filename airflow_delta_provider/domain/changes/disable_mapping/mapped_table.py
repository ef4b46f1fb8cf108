"""What is known about a table with regard to column mapping: its state, its columns' history, its files' columns."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.changes.disable_mapping.column_history import KnownColumns
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_state import TableState


@dataclass(frozen=True)
class MappedTable:
    """A table at a version.

    :param state: with its files
    :param known: the history of its columns up to that version
    :param footers: of its files; None if they were not read
    :param last_stream: the version of the last commit of a streaming query, among the recent ones
    """

    state: TableState
    known: KnownColumns
    footers: FooterSurvey | None = None
    last_stream: int | None = None

    @property
    def is_mapped(self) -> bool:
        """Whether it has column mapping.

        :raises BrokenLogError: if the schema is damaged
        """
        return MappedSchema.of(self.state.metadata).is_mapped
