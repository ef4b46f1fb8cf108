"""A sensor that waits until nobody writes to a table, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import SensorArguments, Text
from airflow_delta_provider.sensors.table_sensor import TableSensor
from airflow_delta_provider.triggers.quiet import DeltaQuietTrigger


class DeltaQuietSensor(TableSensor):
    """Waits until nobody has committed to a Delta table for some time: before a migration, for instance.

    Reads the table's log through Airflow's object storage: no Spark, no JVM. By default the task is deferred while it
    waits. A table that does not exist yet is waited for.

    The time of a commit is its in-commit timestamp where the table has those, else the one in ``commitInfo``, else when
    its file was written; it is no earlier than those of the commits before it. A commit that arrives while the sensor
    waits is never taken for older than that, and one whose time lies in the future counts from when it was first seen;
    in mode ``reschedule``, where each poll is a process of its own, from the time that it names.

    Pushes ``{"table": ..., "version": ..., "last_commit": ..., "quiet_seconds": ...}``. It is not a lock: who begins
    writing right after is not kept from it.

    For the other arguments, and what reads the table, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param quiet_for: how long nobody may have committed: seconds, or a ``timedelta``
    :raises DeltaRequestError: for a catalog name, a wrong time, a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "storage_conn_id")
    trigger_type = DeltaQuietTrigger

    def __init__(self, *, table: Text, quiet_for: timedelta | float, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.quiet_for = quiet_for.total_seconds() if isinstance(quiet_for, timedelta) else quiet_for
        if isinstance(self.quiet_for, bool) or not isinstance(self.quiet_for, int | float) or not self.quiet_for > 0:
            raise DeltaRequestError(f"quiet_for is {quiet_for!r}; give seconds, or a timedelta, above 0.")

    def trigger_arguments(self) -> dict[str, Any]:
        """Return what is waited for."""
        return {"seconds": self.quiet_for}

    def timeout_message(self) -> str:
        """Return what did not happen."""
        return f"{self.table} was never without a commit for {self.quiet_for:g} seconds in {self.timeout:g} seconds."
