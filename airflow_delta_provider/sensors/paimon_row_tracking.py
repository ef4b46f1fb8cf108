"""A sensor that waits for a new snapshot of a Paimon table, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import Unpack

from airflow_delta_provider.domain.request import option as values
from airflow_delta_provider.operators.arguments import SensorArguments, Text, Version, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.paimon_snapshot import PaimonSnapshotTrigger


class PaimonRowTrackingSensor(TableSensor):
    """Waits until an Apache Paimon table has a new snapshot, so that a task can check only the new commits.

    Looks for the table's snapshots through Airflow's object storage: no Spark, no JVM. By default the task is deferred
    while it waits. The sensor also waits for a table that does not exist yet. A rollback counts as a new snapshot: ids
    of snapshots are used again after it.

    Pushes ``{"table": ..., "snapshot": ..., "uuid": ..., "since_snapshot": ...}``. ``snapshot`` is the newest one. Pass
    ``since_snapshot`` to ``PaimonCheckRowTrackingOperator``, so that it checks only new commits. It is None, which
    means a full check, after a rollback, if the known snapshot has expired, or if none was known.

    For the other arguments, and for the packages that each store needs, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param since_snapshot: last known snapshot. By default, or if a template renders to ``None``, it is the newest one
        when the task begins. (templated)
    :raises DeltaRequestError: for a catalog name, an invalid snapshot or a disallowed location
    """

    template_fields: Sequence[str] = ("table", "since_snapshot", "storage_conn_id")
    trigger_type = PaimonSnapshotTrigger
    memory_key = "paimon_row_tracking_sensor_known"

    def __init__(self, *, table: Text, since_snapshot: Version = None, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.since_snapshot = since_snapshot
        with refusing():
            if is_literal(since_snapshot):
                values.Version().rendered("since_snapshot", since_snapshot)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments."""
        since, uuid = values.Version().rendered("since_snapshot", self.since_snapshot), None
        if since is None:
            since, uuid = self._known or (None, None)
        return {"since_snapshot": since, "since_uuid": uuid}

    def timeout_message(self) -> str:
        """Return the message for a timeout."""
        return f"{self.table} had no new snapshot within {self.timeout:g} seconds."

    @property
    def remembers(self) -> bool:
        """True if later polls compare with the newest snapshot of the first poll."""
        try:
            return values.Version().rendered("since_snapshot", self.since_snapshot) is None
        except ValueError:
            return False  # the first poll reports the error
