"""A sensor that waits for a new snapshot of a Paimon table, without Spark and without a worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from airflow.providers.common.compat.sdk import Context, PokeReturnValue
from typing_extensions import Unpack

from airflow_delta_provider.domain.request import value as values
from airflow_delta_provider.operators.arguments import SensorArguments, Text, Version, is_literal
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.paimon_snapshot import PaimonSnapshotTrigger
from airflow_delta_provider.watch.paimon.snapshot_watch import SnapshotWatch

_KNOWN = "paimon_row_tracking_sensor_known"


class PaimonRowTrackingSensor(TableSensor):
    """Waits until an Apache Paimon table has a new snapshot, for a check of what is new.

    Looks for the table's snapshots through Airflow's object storage: no Spark, no JVM. By default the task is
    deferred while it waits. A table that does not exist yet is waited for. A rollback, after which ids of
    snapshots are used again, counts as news.

    Pushes ``{"table": ..., "snapshot": ..., "uuid": ..., "since_snapshot": ...}``: the newest snapshot, and the
    one to give to ``PaimonCheckRowTrackingOperator`` as ``since_snapshot``, so that it checks only what is new;
    None after a rollback, where the known one has expired, or none was known: then it has to check all.

    For the other arguments, and what reads the table, see
    :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param since_snapshot: the snapshot that is known already; by default, or where a template renders to
        ``None``, the newest when the task begins. (templated)
    :raises DeltaRequestError: for a catalog name, an invalid snapshot or a disallowed location
    """

    template_fields: Sequence[str] = ("table", "since_snapshot", "storage_conn_id")
    trigger_type = PaimonSnapshotTrigger
    result_keys: ClassVar[tuple[str, ...]] = ("table", "snapshot", "uuid", "since_snapshot")

    def __init__(self, *, table: Text, since_snapshot: Version = None, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.since_snapshot = since_snapshot
        with refusing():
            if is_literal(since_snapshot):
                values.Version().rendered("since_snapshot", since_snapshot)

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once; what is known is passed on to the next process if there is one."""
        seen = super().poke(context)
        memory = self._memory(context)
        if memory is not None and self._known[0] is not None:
            memory.set(_KNOWN, list(self._known))
        return seen

    def new_watch(self, failures: int, context: Context) -> SnapshotWatch:
        """Return what looks at the table's snapshots."""
        since, uuid = values.Version().rendered("since_snapshot", self.since_snapshot), None
        memory = self._memory(context)
        if memory is not None and since is None:
            since, uuid = cast("list[Any]", memory.get(_KNOWN) or (None, None))
        return SnapshotWatch(self.table, since, uuid, self.storage_conn_id or None, failures=failures)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return what is waited for."""
        since, uuid = self._known
        return {"since_snapshot": since, "since_uuid": uuid}

    def timeout_message(self) -> str:
        """Return what did not happen."""
        return f"{self.table} had no new snapshot within {self.timeout:g} seconds."

    @property
    def remembers(self) -> bool:
        """Whether the newest snapshot of the first look is what later looks compare with."""
        try:
            return values.Version().rendered("since_snapshot", self.since_snapshot) is None
        except ValueError:
            return False  # the first look says so

    @property
    def _known(self) -> tuple[int | None, str | None]:
        watch = cast(SnapshotWatch, self._watch)
        return watch.since, watch.since_uuid
