"""The kind ``widen-types``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.widen_types import (
    Widening,
    plan_widening,
    resolve_widenings,
    verify_widened,
)
from airflow_delta_provider.domain.checks.type_widening.data import VALUES_CHANGED
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.jobs.changes.column_values import differing_columns
from airflow_delta_provider.jobs.changes.table_change import Change, changing
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable


class WidenTypes(Change):
    """Widens column types and verifies log and data."""

    def __init__(self, options: WidenTypesOptions, session: DeltaSession) -> None:
        self._options = options
        self._engine = session.engine
        self._session = session

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table."""
        return plan_widening(table.name, self._options, state, self._engine)

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is wrong with the schema's record and with the values of the widened columns."""
        widenings, _ = resolve_widenings(self._options, before.metadata)
        findings = list(verify_widened(widenings, before.metadata, after.metadata, after.version))
        if commits and self._options.verify == "data":
            findings += self._verify_values(table, widenings, min(commits), after)
        return tuple(findings)

    def _verify_values(
        self, table: OpenTable, widenings: list[Widening], first: int, after: TableState
    ) -> Iterator[Finding]:
        """Compare what the files from before version ``first``, the first of this run, read as before and now."""
        old = table.log.read_state(version=first - 1, with_files=True)
        files = sorted((old.files or {}).values(), key=lambda file: file.path)
        differing = differing_columns(self._session, table.location, files, old.metadata, after.metadata, widenings)
        for column, measures in differing:
            yield VALUES_CHANGED.found(
                "{column} reads differently at version {version} than before version {first}: {measures} differ.",
                remedy=f"Do not write to the table; RESTORE it to version {first - 1}, and report the engine that "
                "wrote its files.",
                version=after.version,
                column=column,
                first=first,
                measures=list(measures),
            )


run = changing(WidenTypes)
