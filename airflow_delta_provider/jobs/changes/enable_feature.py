"""The kind ``enable-feature``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from airflow_delta_provider.domain.changes.enable_features import plan_enabling, verify_enabled
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.change_options import EnableFeatureOptions
from airflow_delta_provider.jobs.changes.expected_protocol import expected_protocol
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange


@dataclass(frozen=True)
class EnableFeatures(PlannedChange):
    """Enable table features by SQL."""

    options: EnableFeatureOptions

    @cached_property
    def planned(self) -> Planned:
        """The statements; what this engine does not add for a property alone is asked for by name."""
        plan = partial(plan_enabling, self.table.name, self.options, self.state, self.session.engine)
        planned = plan()
        if planned.refusals or planned.plan is None or not planned.plan.steps:
            return planned
        try:
            expected = expected_protocol(self.session, self.table.location, planned.plan.steps)
        except Exception:  # why the engine refuses is reported later, in one place for all changes
            return planned
        missing = planned.plan.protocol_after.features - expected.features if expected else ()
        return plan(missing) if missing else planned

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return what is missing of the features."""
        del commits
        return verify_enabled(self.options, after)
