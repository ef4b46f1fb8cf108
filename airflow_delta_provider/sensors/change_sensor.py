"""What the sensors share that compare a table with what they knew of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.head_mark import HeadMark
from airflow_delta_provider.operators.arguments import SensorArguments, Text
from airflow_delta_provider.sensors.table_sensor import TableSensor
from airflow_delta_provider.triggers.table_change import DeltaChangeTrigger


class ChangeSensor(TableSensor):
    """Base of the sensors that compare a table with what it was at the first look, or at the end of an earlier run.

    :param after_last_seen: compare with the version that this task pushed to XCom in the DAG's run before, whenever
        that was; the first run succeeds with the table as it is
    """

    trigger_type = DeltaChangeTrigger
    memory_key = "delta_change_sensor_known"

    def __init__(self, *, table: Text, after_last_seen: bool = False, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.after_last_seen = after_last_seen

    @abstractmethod
    def _wanted(self) -> dict[str, Any]:
        """Return those arguments of the trigger that the task's own arguments give.

        :raises ValueError: if the rendered arguments are wrong
        """

    def trigger_arguments(self) -> dict[str, Any]:
        """Return what is waited for."""
        return {"since": self._known, "from_first_look": self.remembers, **self._wanted()}

    def earlier_known(self, context: Context) -> Any:
        """Return the mark of what this task saw before: in this wait, else in an earlier run if that is asked for."""
        known = super().earlier_known(context)
        return self._last_seen(context) if known is None and self.after_last_seen else known

    def _last_seen(self, context: Context) -> dict[str, Any] | None:
        """Return what this task saw in an earlier run; None where there was none, or it looked at another table."""
        task = context["ti"]
        seen = task.xcom_pull(task_ids=self.task_id, map_indexes=task.map_index, include_prior_dates=True)
        if not isinstance(seen, dict) or seen.get("table") != self.table:
            self.log.info("No earlier run of this task saw %s: its newest version counts as new.", self.table)
            return None
        return HeadMark.from_json(seen).to_json()
