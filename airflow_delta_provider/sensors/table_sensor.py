"""Base of the sensors that watch a table: they poll once, and then wait in the triggerer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
    Context,
    PokeReturnValue,
)
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.delta.table_head import HeadMark
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import Mode, SensorArguments, SensorTaskArguments, Text, is_literal
from airflow_delta_provider.triggers.table_change import DeltaChangeTrigger
from airflow_delta_provider.triggers.table_trigger import TableTrigger, WaitStatus
from airflow_delta_provider.version_compat import TASK_STATE, task_state
from airflow_delta_provider.watch.metadata_folder import (
    DeltaLogUnreadableError,
    DeltaWatchImpossibleError,
    StorageAddress,
)
from airflow_delta_provider.watch.table_watch import MAX_FAILURES, TableWatch

#: Seconds after the trigger's deadline until Airflow itself ends the deferral: a triggerer may be down.
_GRACE = 300.0
#: A task that is rescheduled sooner fails: its worker ends up to 5 s after it gave the task back (measured on 3.3.2),
#: and the scheduler mistakes that for the end of a task that is queued again.
_SHORTEST_RESCHEDULE = 10.0
_FAILURES = "delta_feature_sensor_failures"


class TableSensor(BaseSensorOperator):
    """Base of the sensors that watch a table through Airflow's object storage: no Spark, no JVM.

    Workers and triggerers need a package for the store: ``apache-airflow-providers-amazon[s3fs]`` for ``s3://``,
    ``s3a://`` and ``s3n://``; ``apache-airflow-providers-microsoft-azure`` for ``abfs://``, ``abfss://`` and
    ``wasbs://``, with the storage account in the connection; ``apache-airflow-providers-google`` for ``gs://``. Local
    paths and ``file://`` need no package, but must be mounted wherever the table is read.

    :param table: path or URI of the table; not a catalog name, because resolving it needs a JVM (templated)
    :param storage_conn_id: Airflow connection of the store; without one, credentials come from the environment
        (templated)
    :param deferrable: True to wait in the triggerer; if False, the sensor waits in ``mode``, which is then
        ``reschedule`` by default
    :param poke_interval: seconds between two polls. Polling an unchanged table requests two files, however long its log
        is; sensors of one table in one triggerer share them. A poll without an answer from storage within 60 seconds
        counts as failed. After a failed poll, the trigger pauses for up to 15 more seconds, doubled with each further
        failure up to 5 minutes. The fifth failure in a row fails the task. In mode ``reschedule`` the interval is at
        least 10 seconds: Airflow fails a task that returns sooner. ``exponential_backoff`` and ``max_wait`` have no
        effect while deferred
    :param timeout: seconds from the task's first poll until it fails (with ``soft_fail``: is skipped), over all
        deferrals; a retry starts over. A wrong argument fails the task even with ``soft_fail``
    :param mode: ``reschedule`` or ``poke``; only without ``deferrable``. Before Airflow 3.3, which keeps no state for a
        rescheduled task, a sensor stays in its process while storage fails, or if it compares with its first poll.
        Otherwise it gives the worker back
    """

    #: The trigger that waits after the first poll.
    trigger_type: type[TableTrigger]
    #: Key of the state about the table that Airflow keeps from one process to the next; None to keep nothing.
    memory_key: ClassVar[str | None] = None
    #: Most seconds between polls of a process that must find out itself if a storage failure persists.
    longest_pause: ClassVar[float] = 60.0

    def __init__(
        self,
        *,
        table: Text,
        storage_conn_id: Text | None = None,
        deferrable: bool = True,
        mode: Mode | None = None,
        **kwargs: Unpack[SensorTaskArguments],
    ) -> None:
        super().__init__(mode=mode or ("poke" if deferrable else "reschedule"), **kwargs)
        if is_literal(table):
            with refusing():
                StorageAddress.of(cast("str", table))
        self.table = cast("str", table)  # as soon as Airflow has rendered it
        self.storage_conn_id = cast("str | None", storage_conn_id)
        self.deferrable = deferrable
        if self._forgets:
            self.poke_interval = max(self.poke_interval, _SHORTEST_RESCHEDULE)
        self._watch: TableWatch | None = None
        #: The state that polls compare with: at first from earlier processes and runs, then from the polls themselves.
        self._known: Any = None

    if TYPE_CHECKING:

        @property
        def output(self) -> Any:
            """An ``XComArg``, typed as Any: Airflow's type is not accepted by typed tasks, and has no index by key."""

    @abstractmethod
    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments that define the wait, from the rendered arguments and the known state.

        :raises ValueError: if they are wrong
        """

    @abstractmethod
    def timeout_message(self) -> str:
        """Return the message for a timeout."""

    def execute(self, context: Context) -> Any:
        """Poll once, and defer if the condition does not hold yet."""
        if not self.deferrable:
            if self._forgets and self.remembers and self._memory(context) is None:
                self.log.warning("This Airflow has no %s (since %s): mode is poke.", TASK_STATE.name, TASK_STATE.since)
                self.mode = "poke"
            if not self.never_fail:  # before Airflow's own pokes: soft_fail turns their errors into skips
                self._watch = self._new_watch(context)
            return super().execute(context)
        deadline = time.time() + self.timeout
        seen = self._poll_once(context)
        if not seen:
            self._defer_until(deadline)
        return seen.xcom_value

    def poke(self, context: Context) -> PokeReturnValue:
        """Poll once. After a failure that the next process could not know about, poll until it is over or final."""
        watch = self._watch = self._watch or self._new_watch(context)
        memory = self._memory(context)
        failures = watch.failures
        try:
            seen = watch.poll()
            while watch.failures and self._forgets and memory is None:
                time.sleep(min(self.poke_interval, self.longest_pause))
                seen = watch.poll()
        finally:
            if memory is not None and watch.failures != failures:
                memory.set(_FAILURES, watch.failures % MAX_FAILURES)
        self._known = watch.known
        if memory is not None and self.memory_key is not None and self._known is not None:
            memory.set(self.memory_key, self._known)
        return PokeReturnValue(seen is not None, seen)

    def execute_complete(
        self,
        context: Context,  # noqa: ARG002  # Airflow passes it by name
        event: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the trigger's result, or raise its error.

        :param event: the trigger's event, see :class:`~airflow_delta_provider.triggers.table_trigger.WaitStatus`
        """
        if event is None:
            raise DeltaLogUnreadableError("the trigger ended without an event. The triggerer's log says why.")
        status = WaitStatus(event["status"])
        if status is WaitStatus.TIMED_OUT:
            raise AirflowSensorTimeout(" ".join(filter(None, (self.timeout_message(), event.get("said")))))
        if status is WaitStatus.FAILED:
            raise (DeltaLogUnreadableError if event["retryable"] else DeltaWatchImpossibleError)(event["error"])
        result = {key: value for key, value in event.items() if key != "status"}
        self.log.info("%s", result)
        return result

    def _defer_until(self, end: float, **kept: Any) -> NoReturn:
        """Wait in the triggerer.

        :param end: end of the wait, in seconds since the epoch
        :param kept: arguments for ``execute_complete``, besides the event
        """
        self.defer(
            trigger=self._trigger(end),
            method_name="execute_complete",
            kwargs=kept,
            timeout=timedelta(seconds=max(0.0, end - time.time()) + _GRACE),
        )

    def _poll_once(self, context: Context) -> PokeReturnValue:
        """Poke, and handle errors like the base class does for its own pokes."""
        try:
            seen = self.poke(context)
            if not seen and self.timeout <= 0:
                raise AirflowSensorTimeout(self.timeout_message())
        except Exception as error:
            is_soft = isinstance(error, AirflowSensorTimeout | AirflowFailException)
            if self.soft_fail and is_soft and not isinstance(error, DeltaRequestError):
                raise AirflowSkipException(f"Skipping due to soft_fail: {error}") from error
            if self.never_fail:
                raise AirflowSkipException(f"Skipping due to never_fail: {error}") from error
            raise
        return seen

    def check_access(self, access: Access) -> None:
        """Check that the task may access everything that its arguments name.

        :raises DeltaRequestError: if it may not
        """
        access.check_table(self.table, read_here=True)

    def earlier_known(self, context: Context) -> Any:
        """Return the state from an earlier process or run that polls compare with; None if there is none.

        :raises ValueError: if it cannot be used
        """
        memory = self._memory(context)
        return None if memory is None or self.memory_key is None else memory.get(self.memory_key)

    def _new_watch(self, context: Context) -> TableWatch:
        if not isinstance(self.table, str):
            raise DeltaRequestError(f"table is {self.table!r}; give a path or a URI.")
        with refusing():
            self._known = self.earlier_known(context)
            watch = self._trigger().watch()
        memory = self._memory(context)
        watch.failures = 0 if memory is None else cast(int, memory.get(_FAILURES, 0))
        self.check_access(Access.of(context))
        return watch

    def _trigger(self, deadline: float = 0.0) -> TableTrigger:
        return self.trigger_type(
            table=self.table,
            deadline=deadline,
            storage_conn_id=self.storage_conn_id or None,
            poke_interval=self.poke_interval,
            **self.trigger_arguments(),
        )

    def _memory(self, context: Context) -> Any:
        """Return the store that Airflow keeps from one process to the next; None if there is none or none is needed."""
        return task_state(context) if self._forgets else None

    @property
    def remembers(self) -> bool:
        """True if later polls need the result of the first one."""
        return False

    @property
    def _forgets(self) -> bool:
        """True if the next poke runs in another process."""
        return not self.deferrable and bool(self.reschedule)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors of wrong arguments into refusals.

    :raises DeltaRequestError: for a ``ValueError``, with its remedy
    """
    try:
        yield
    except ValueError as error:
        raise DeltaRequestError(str(error)) from error


class ChangeSensor(TableSensor):
    """Base of the sensors that compare a table with its state at the first poll, or at the end of an earlier run.

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
