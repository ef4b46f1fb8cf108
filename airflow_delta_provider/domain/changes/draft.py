"""A plan in the making."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_delta_provider.domain.changes.plan import Plan, Planned
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName


class Draft:
    """What a plan begins as, be it of one change or of a migration: parts add their steps to it, or refuse.

    :param state: the table that it begins with
    """

    def __init__(self, table: TableName, state: TableState, engine: Engine) -> None:
        self.table = table
        self.before = self.state = state
        self.engine = engine
        self.steps: list[Step] = []
        self.refusals: list[Finding] = []
        self.notes: list[str] = []

    def take(self, *planned: Step) -> None:
        """Take steps."""
        self.steps += planned

    def support(self, names: Iterable[str]) -> None:
        """Continue with a table whose protocol supports more features."""
        self.state = replace(self.state, protocol=self.state.protocol.supporting(names))

    def plan(self) -> Plan:
        """Return the plan of the steps that were taken."""
        return Plan(self.table, tuple(self.steps), self.before.protocol, self.state.protocol, tuple(self.notes))

    def planned(self) -> Planned:
        """Return the plan, or why there is none."""
        return Planned(None, tuple(self.refusals)) if self.refusals else Planned(self.plan())
