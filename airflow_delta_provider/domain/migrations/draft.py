"""A table while a migration of it is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.drop_features import DropSurvey
from airflow_delta_provider.domain.changes.plan import Draft
from airflow_delta_provider.domain.changes.steps import Step
from airflow_delta_provider.domain.changes.widen_types import widening_preparation
from airflow_delta_provider.domain.delta.data_type import parse_type
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import (
    Metadata,
)
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.migrations.difference import column_changes, is_partitioned_otherwise
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import TableName


class MigrationDraft(Draft):
    """Follows the table through its steps, and collects the evidence that the plan rests on.

    :param survey: costs of dropping features
    """

    def __init__(
        self, table: TableName, spec: TableSpec, state: TableState, engine: Engine, survey: DropSurvey
    ) -> None:
        super().__init__(table, state, engine)
        self.spec = spec
        self.survey = survey
        self.columns = column_changes(state.metadata.schema, spec)
        self._cast_where_rows_are_rewritten()
        self.refusals += self.columns.refusals
        self._wants_files = False

    def _cast_where_rows_are_rewritten(self) -> None:
        """Turn widenings into casts if the rows are rewritten anyway.

        New files then have the wider types, and the table needs no type widening.
        """
        changes = self.columns
        has_to_rewrite = any(w.parts in changes.rewritable and not self._can_widen(w) for w in changes.widenings)
        renamed = Metadata.from_json(steps.RenameColumns(tuple(changes.renames)).edited(self.state.metadata.to_json()))
        if changes.casts or has_to_rewrite or is_partitioned_otherwise(renamed, self.spec):
            changes.casts += [steps.Cast(w.parts, w.old, w.new) for w in changes.widenings]
            changes.widenings.clear()

    def _can_widen(self, change: steps.ColumnType) -> bool:
        old, new = parse_type(change.old), parse_type(change.new)
        _, needed = widening_preparation([new], self.state, self.engine)
        return self.engine.widens(str(old), str(new)) and all(map(self.engine.knows, needed))

    @property
    def wants_files(self) -> bool:
        """True if planning in full needs the live files and they were not read yet."""
        return self._wants_files and self.before.files is None

    def take(self, *planned: Step) -> None:
        """Add steps, and continue with the table after them."""
        super().take(*planned)
        for step in planned:
            wire = step.edited(self.state.metadata.to_json())
            self.state = replace(self.state, metadata=Metadata.from_json(wire))

    def files(self) -> Sequence[LiveFile]:
        """Return the live files of the table; empty if they were not read yet.

        Records that the plan needs them.
        """
        self._wants_files = True
        return list(self.before.live_files)
