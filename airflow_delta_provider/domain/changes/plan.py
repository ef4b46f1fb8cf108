"""A plan: the steps of a job on one table, decided before anything is changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName

#: Old names of steps and fields that were renamed. Digests use them, so digests stay the same.
_DIGEST_NAMES = {
    "Alteration": "AlterColumns",
    "DisableMapping": "RemoveMapping",
    "RewriteWithoutMapping": "RewriteUnmapped",
    "without_sql": "by_hand",
}


@dataclass(frozen=True)
class Plan:
    """Steps for one table, in order, and the resulting protocol.

    :param steps: steps; empty if there is nothing to do
    :param protocol_before: protocol of the version that the plan was made on
    :param notes: notes for users, to read before applying the plan
    :param once: True if applying it again would discard data written since
    """

    table: TableName
    steps: tuple[Step, ...]
    protocol_before: Protocol
    protocol_after: Protocol
    notes: tuple[str, ...] = ()
    once: bool = False

    @property
    def upgrades_protocol(self) -> bool:
        """True if the protocol changes, so readers or writers may be locked out."""
        return self.protocol_after != self.protocol_before

    @property
    def commits(self) -> int:
        """Expected number of commits."""
        return sum(step.commits for step in self.steps)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of table and steps, equal for plans with the same effect."""
        named = [{"step": _digest_name(type(step).__name__), **asdict(step)} for step in self.steps]
        steps = [{_digest_name(key): value for key, value in step.items()} for step in named]
        canonical = json.dumps({"table": self.table.text, "steps": steps}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports."""
        return {
            "digest": self.digest,
            "commits": self.commits,
            "steps": [{"sql": render_sql(step, self.table), "explanation": explain(step)} for step in self.steps],
            "notes": list(self.notes),
        }


def _digest_name(name: str) -> str:
    return _DIGEST_NAMES.get(name, name)


@dataclass(frozen=True)
class Planned:
    """A plan and the reasons against it. A plan with any refusal must not be applied.

    :param plan: the plan; None if none could be made
    """

    plan: Plan | None
    refusals: tuple[Finding, ...] = ()


class Draft:
    """A plan in the making, of one change or of a migration. Parts add steps to it, or refuse.

    :param state: state of the table before the first step
    """

    def __init__(self, table: TableName, state: TableState, engine: Engine) -> None:
        self.table = table
        self.before = self.state = state
        self.engine = engine
        self.steps: list[Step] = []
        self.refusals: list[Finding] = []
        self.notes: list[str] = []

    def take(self, *planned: Step) -> None:
        """Add steps."""
        self.steps += planned

    def support(self, names: Iterable[str]) -> None:
        """Continue with a protocol that supports more features."""
        self.state = replace(self.state, protocol=self.state.protocol.supporting(names))

    def plan(self) -> Plan:
        """Return the plan of the steps added so far."""
        return Plan(self.table, tuple(self.steps), self.before.protocol, self.state.protocol, tuple(self.notes))

    def planned(self) -> Planned:
        """Return the plan, or the refusals if there are any."""
        return Planned(None, tuple(self.refusals)) if self.refusals else Planned(self.plan())
