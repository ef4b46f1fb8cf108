"""What the sensors share that compare a table with what they knew of it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, cast

from airflow.providers.common.compat.sdk import Context, PokeReturnValue
from typing_extensions import Unpack

from airflow_delta_provider.domain.delta.head_condition import HeadCondition
from airflow_delta_provider.domain.delta.head_mark import HeadMark
from airflow_delta_provider.operators.arguments import SensorArguments, Text
from airflow_delta_provider.sensors.table_sensor import TableSensor
from airflow_delta_provider.triggers.table_change import DeltaChangeTrigger
from airflow_delta_provider.watch.delta.change_watch import ChangeWatch

_KNOWN = "delta_change_sensor_known"


class ChangeSensor(TableSensor):
    """Base of the sensors that compare a table with what it was at the first look, or at the end of an earlier run.

    :param after_last_seen: compare with the version that this task pushed to XCom in the DAG's run before, whenever
        that was; the first run succeeds with the table as it is
    """

    trigger_type = DeltaChangeTrigger
    result_keys: ClassVar[tuple[str, ...]] = ("table", "version", "table_id", "since_version", "changed", "digests")

    def __init__(self, *, table: Text, after_last_seen: bool = False, **kwargs: Unpack[SensorArguments]) -> None:
        super().__init__(table=table, **kwargs)
        self.after_last_seen = after_last_seen

    @abstractmethod
    def _wanted(self) -> tuple[int | None, HeadMark | None, HeadCondition | None]:
        """Return the version that will do, what is known, and the condition; None for what was not given.

        :raises ValueError: if the rendered arguments are wrong
        """

    @property
    def _from_first_look(self) -> bool:
        """Whether only what comes after the first look counts, unless something is known."""
        return False

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once; what is known is passed on to the next process if there is one."""
        seen = super().poke(context)
        memory = self._memory(context)
        if memory is not None and self._known is not None:
            memory.set(_KNOWN, self._known)
        return seen

    def new_watch(self, failures: int, context: Context) -> ChangeWatch:
        """Return what looks at the table's log."""
        at_least, since, condition = self._wanted()
        memory = self._memory(context)
        if memory is not None and since is None and (kept := memory.get(_KNOWN)) is not None:
            since = HeadMark.from_json(kept)
        if since is None and self.after_last_seen:
            since = self._last_seen(context)
        return ChangeWatch(
            self.table,
            since=since,
            from_first_look=self._from_first_look,
            at_least=at_least,
            condition=condition,
            storage_conn_id=self.storage_conn_id or None,
            failures=failures,
        )

    def trigger_arguments(self) -> dict[str, Any]:
        """Return what is waited for."""
        return {
            "since": self._known,
            "from_first_look": self._from_first_look,
            "at_least": self._wanted()[0],
            "condition": getattr(self, "condition", None),
        }

    @property
    def remembers(self) -> bool:
        """Whether what the first look saw is what later looks compare with."""
        return self._from_first_look

    @property
    def _known(self) -> dict[str, Any] | None:
        since = cast(ChangeWatch, self._watch).since
        return None if since is None else since.to_json()

    def _last_seen(self, context: Context) -> HeadMark | None:
        """Return what this task saw in an earlier run; None where there was none, or it looked at another table."""
        task = context["ti"]
        seen = task.xcom_pull(task_ids=self.task_id, map_indexes=task.map_index, include_prior_dates=True)
        if not isinstance(seen, dict) or seen.get("table") != self.table:
            self.log.info("No earlier run of this task saw %s: its newest version counts as new.", self.table)
            return None
        return HeadMark.from_json(seen)
