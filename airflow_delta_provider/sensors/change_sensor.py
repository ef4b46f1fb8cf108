"""Base of the sensors that compare a table with an earlier state."""

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
    """Base of the sensors that compare a table with its state at the first look, or at the end of an earlier run.

    :param after_last_seen: True to compare with the version that this task pushed to XCom in an earlier run of the DAG,
        whenever that was; the first run succeeds with the table as it is
    """

    trigger_type = DeltaChangeTrigger
    memory_key = "delta_change_sensor_known"

    def __init__(self, *, table: Text, after_last_seen: bool = False, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.after_last_seen = after_last_seen

    @abstractmethod
    def _wanted(self) -> dict[str, Any]:
        """Return the trigger's arguments that come from the arguments of this sensor.

        :raises ValueError: if the rendered arguments are wrong
        """

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        return {"since": self._known, "from_first_look": self.remembers, **self._wanted()}

    def earlier_known(self, context: Context) -> Any:
        """Return the last mark of this wait, or else of an earlier run if ``after_last_seen`` is set."""
        known = super().earlier_known(context)
        return self._last_seen(context) if known is None and self.after_last_seen else known

    def _last_seen(self, context: Context) -> dict[str, Any] | None:
        """Return the mark of an earlier run; None if there is none, or it is for another table."""
        task = context["ti"]
        seen = task.xcom_pull(task_ids=self.task_id, map_indexes=task.map_index, include_prior_dates=True)
        if not isinstance(seen, dict) or seen.get("table") != self.table:
            self.log.info("No earlier run of this task saw %s: its newest version counts as new.", self.table)
            return None
        return HeadMark.from_json(seen).to_json()
