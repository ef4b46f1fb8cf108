"""The kind ``widen-types``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.widen_types import Widening, plan_widening, resolve_widenings, verify_widened
from airflow_delta_provider.domain.checks.type_widening.data import VALUES_CHANGED
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.jobs.changes.column_values import differing_columns
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange


@dataclass(frozen=True)
class WidenTypes(PlannedChange):
    """Widen column types by SQL."""

    options: WidenTypesOptions

    @cached_property
    def planned(self) -> Planned:
        """The statements."""
        return plan_widening(self.table.name, self.options, self.state, self.session.engine)

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return what is wrong with the recorded type changes and with the values of the widened columns."""
        widenings, _ = resolve_widenings(self.options, self.state.metadata)
        findings = list(verify_widened(widenings, self.state.metadata, after.metadata, after.version))
        if commits and self.options.verify == "data":
            findings += self._verify_values(widenings, min(commits), after)
        return tuple(findings)

    def _verify_values(self, widenings: list[Widening], first: int, after: TableState) -> Iterator[Finding]:
        """Compare what the files from before version ``first``, the first of this run, read as before and now."""
        old = self.table.log.read_state(version=first - 1, with_files=True)
        files = sorted((old.files or {}).values(), key=lambda file: file.path)
        location, metadata = self.table.location, (old.metadata, after.metadata)
        for column, measures in differing_columns(self.session, location, files, *metadata, widenings):
            yield VALUES_CHANGED.found(
                "{column} reads differently at version {version} than before version {first}: {measures} differ.",
                remedy=f"Do not write to the table; RESTORE it to version {first - 1}, and report the engine that "
                "wrote its files.",
                version=after.version,
                column=column,
                first=first,
                measures=list(measures),
            )
