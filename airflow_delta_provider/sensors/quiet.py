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
    """Waits until nobody has committed to a Delta table for some time, for instance before a migration.

    Reads the table's log through Airflow's object storage: no Spark, no JVM. By default the task is deferred while it
    waits. The sensor also waits for a table that does not exist yet.

    The time of a commit is its in-commit timestamp if the table has those, else the time in ``commitInfo``, else the
    time of its file. It is no earlier than the times of earlier commits. A commit that arrives while the sensor waits
    is never considered older than its arrival. A commit whose time lies in the future counts from the first poll that
    saw it; in mode ``reschedule``, with a new process per poll, it counts from its own time.

    Pushes ``{"table": ..., "version": ..., "last_commit": ..., "quiet_seconds": ...}``. This is not a lock: a writer
    may begin right afterwards.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param quiet_for: required time without a commit: seconds, or a ``timedelta``
    :raises DeltaRequestError: for a catalog name, a wrong time, or a location that is not allowed
    """

    template_fields: Sequence[str] = ("table", "storage_conn_id")
    trigger_type = DeltaQuietTrigger

    def __init__(self, *, table: Text, quiet_for: timedelta | float, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.quiet_for = quiet_for.total_seconds() if isinstance(quiet_for, timedelta) else quiet_for
        if isinstance(self.quiet_for, bool) or not isinstance(self.quiet_for, int | float) or not self.quiet_for > 0:
            raise DeltaRequestError(f"quiet_for is {quiet_for!r}; give seconds, or a timedelta, above 0.")

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        return {"seconds": self.quiet_for}

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"{self.table} was never without a commit for {self.quiet_for:g} seconds in {self.timeout:g} seconds."
