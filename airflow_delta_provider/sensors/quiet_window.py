"""A sensor that waits for the time of day when tables may be changed."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta, timezone, tzinfo
from typing import Any, cast

from airflow.providers.common.compat.sdk import BaseSensorOperator, Context
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from typing_extensions import Unpack

from airflow_delta_provider.domain.migrations.planner import QuietWindow
from airflow_delta_provider.operators.approve_migration import check_not_rejected
from airflow_delta_provider.operators.arguments import SensorTaskArguments

#: Longest wait in seconds without a deferral; Airflow loses track of tasks whose trigger fires at once.
_SHORT = 10.0


class QuietWindowSensor(BaseSensorOperator):
    """Waits, in the triggerer, for the time of day when tables may be changed.

    :param start: start of the window, a ``datetime.time`` in the time zone of the DAG
    :param end: end of the window, exclusive; an end before ``start`` is on the next day
    :param plans: migration plans by table; if none has a step, the sensor does not wait. (templated)
    :param approval: the value pushed by
        :class:`~airflow_delta_provider.operators.approve_migration.DeltaApproveMigrationOperator`. After a rejection
        the task is skipped. (templated)
    """

    template_fields: Sequence[str] = ("plans", "approval")

    def __init__(
        self,
        *,
        start: time,
        end: time,
        plans: Any = None,
        approval: Any = None,
        **kwargs: Unpack[SensorTaskArguments],
    ) -> None:
        super().__init__(**cast("dict[str, Any]", kwargs))
        self.window = QuietWindow(start, end)
        self.plans = plans
        self.approval = approval

    def execute(self, context: Context) -> None:
        """Return if the window is open; otherwise wait for it."""
        del context
        check_not_rejected(self.approval)
        if self.plans is not None and not any(plan["steps"] for plan in cast("Mapping[str, Any]", self.plans).values()):
            self.log.info("Nothing to wait for: no plan has a step")
            return
        while seconds := self._seconds():
            if seconds > _SHORT:
                opens = datetime.now(timezone.utc) + timedelta(seconds=seconds)
                self.log.info("The window opens at %s", opens.isoformat(timespec="seconds"))
                self.defer(trigger=DateTimeTrigger(moment=opens), method_name="execute_complete")
            clock.sleep(seconds)

    def execute_complete(self, context: Context, event: Any) -> None:
        """Check the window again: the triggerer may have been down until after it."""
        del event
        self.execute(context)

    def _seconds(self) -> float:
        """Return the seconds until the window opens; 0 if it is open."""
        now = datetime.now(timezone.utc)
        zone = cast("tzinfo", self.dag.timezone)
        return max(0.0, (self.window.opens(now, zone) - now).total_seconds())
