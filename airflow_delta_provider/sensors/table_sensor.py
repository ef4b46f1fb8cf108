"""What the sensors that watch a table share: they look once, and then wait in the triggerer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseSensorOperator,
    Context,
    PokeReturnValue,
)
from typing_extensions import Unpack

from airflow_delta_provider.access import Access
from airflow_delta_provider.airflow_release import TASK_STATE, task_state
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import Mode, SensorTaskArguments, Text, is_literal
from airflow_delta_provider.triggers.table_trigger import TableTrigger, WaitStatus
from airflow_delta_provider.watch.errors import DeltaLogUnreadableError, DeltaWatchImpossibleError
from airflow_delta_provider.watch.storage_address import StorageAddress
from airflow_delta_provider.watch.table_watch import MAX_FAILURES, TableWatch

#: Airflow itself ends the deferral so many seconds after the trigger should have: a triggerer may be down.
_GRACE = 300.0
#: Rescheduled sooner, a task fails: its worker ends up to 5 s after it gave the task back (measured on 3.3.2),
#: and the scheduler takes that end for the end of a task that is queued again.
_SHORTEST_RESCHEDULE = 10.0
_FAILURES = "delta_feature_sensor_failures"


class TableSensor(BaseSensorOperator):
    """Base of the sensors that watch a table through Airflow's object storage: no Spark, no JVM.

    What reads the table, on workers and triggerers: for ``s3://``, ``s3a://`` and ``s3n://``
    ``apache-airflow-providers-amazon[s3fs]``; for ``abfs://``, ``abfss://`` and ``wasbs://``
    ``apache-airflow-providers-microsoft-azure``, the storage account being the connection's; for
    ``gs://`` ``apache-airflow-providers-google``; local paths and ``file://`` need nothing, but have to
    be mounted wherever the table is read.

    :param table: path or URI of the table; not a catalog name, which takes a JVM to resolve (templated)
    :param storage_conn_id: Airflow connection of the store; without one, credentials come from the
        environment (templated)
    :param deferrable: wait in the triggerer; if False, in ``mode``, which then is ``reschedule`` by default
    :param poke_interval: seconds between two polls. Polling an unchanged table asks for two files, however long
        its log; sensors of one table in one triggerer share them. A poll that storage does not answer within
        60 seconds counts as failed; after one, the trigger leaves the storage alone for up to 15 seconds more, doubled
        with each in a row up to 5 minutes, and the fifth in a row fails the task. At least 10 in mode ``reschedule``:
        Airflow takes a task that comes back sooner for failed. ``exponential_backoff`` and ``max_wait`` have no
        effect while deferred
    :param timeout: seconds from the task's first look until it fails (``soft_fail``: is skipped), over
        all deferrals; a retry starts over. A wrong argument fails the task, whatever ``soft_fail`` says
    :param mode: ``reschedule`` or ``poke``; only without ``deferrable``. Before Airflow 3.3, which keeps nothing
        for a task that is rescheduled, the worker is given back only when nothing has to be remembered: a sensor
        stays in its process while storage fails, or where it compares with what it saw first
    """

    #: What keeps waiting after the first look.
    trigger_type: ClassVar[type[TableTrigger]]
    #: Key under which Airflow keeps what is known of the table, from one process to the next; None to keep nothing.
    memory_key: ClassVar[str | None] = None
    #: Seconds, at most, between looks of a process that has to find out itself whether storage fails for good.
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
        #: What looks compare with: at first as earlier processes and runs left it, then as the looks themselves do.
        self._known: Any = None

    if TYPE_CHECKING:

        @property
        def output(self) -> Any:
            """An ``XComArg``: Airflow's own type is neither taken by a task with types, nor indexed by a key."""

    @abstractmethod
    def trigger_arguments(self) -> dict[str, Any]:
        """Return the arguments of the trigger that say what is waited for, from the rendered ones and what is known.

        :raises ValueError: if they are wrong
        """

    @abstractmethod
    def timeout_message(self) -> str:
        """Return what did not happen."""

    def execute(self, context: Context) -> Any:
        """Look once, and wait in the triggerer if that was not enough."""
        if not self.deferrable:
            if self._forgets and self.remembers and self._memory(context) is None:
                self.log.warning("This Airflow has no %s (since %s): mode is poke.", TASK_STATE.name, TASK_STATE.since)
                self.mode = "poke"
            if not self.never_fail:  # before Airflow's own pokes, whose errors soft_fail makes skips
                self._watch = self._new_watch(context)
            return super().execute(context)
        deadline = time.time() + self.timeout
        seen = self._look_once(context)
        if not seen:
            self.defer(
                trigger=self._trigger(deadline),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout + _GRACE),
            )
        return seen.xcom_value

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once; after a failure that the next process would not know of, until it is over or is for good."""
        watch = self._watch = self._watch or self._new_watch(context)
        memory = self._memory(context)
        failures = watch.failures
        try:
            seen = watch.look()
            while watch.failures and self._forgets and memory is None:
                time.sleep(min(self.poke_interval, self.longest_pause))
                seen = watch.look()
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
        """Return what the trigger saw, or raise what it says.

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

    def _look_once(self, context: Context) -> PokeReturnValue:
        """Poke, and end as the base class would end its own pokes."""
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
        """Check that the task may reach what its arguments name.

        :raises DeltaRequestError: if it must not
        """
        access.check_table(self.table, read_here=True)

    def earlier_known(self, context: Context) -> Any:
        """Return what looks compare with, as an earlier process or run knew it; None where there is nothing.

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
        """Return what Airflow keeps from one process to the next; None where it keeps nothing, or need not."""
        return task_state(context) if self._forgets else None

    @property
    def remembers(self) -> bool:
        """Whether later looks need to know what the first one saw."""
        return False

    @property
    def _forgets(self) -> bool:
        """Whether the next poke is another process."""
        return not self.deferrable and bool(self.reschedule)


@contextmanager
def refusing() -> Iterator[None]:
    """Refuse arguments that are wrong.

    :raises DeltaRequestError: for a ``ValueError``, with its remedy
    """
    try:
        yield
    except ValueError as error:
        raise DeltaRequestError(str(error)) from error
