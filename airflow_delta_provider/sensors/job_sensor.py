"""Base of the sensors that check each new version of a table by a job, until a version passes."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Literal, NoReturn, cast, get_args

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowSensorTimeout, Context, PokeReturnValue
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access, result_path
from airflow_delta_provider.domain.delta.table_head import HeadMark
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace, TableReport, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import is_relative
from airflow_delta_provider.exceptions import DeltaFaultError, DeltaRequestError, DeltaRetryableError
from airflow_delta_provider.hooks.command import OWNED_ARGUMENTS, hide_secrets, refuse_owned_arguments
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.jars import check_delta_jars
from airflow_delta_provider.hooks.results import ResultFolder
from airflow_delta_provider.operators.arguments import EngineName, JobSensorArguments, Level, Text, is_literal
from airflow_delta_provider.operators.reporting import KeepsReport
from airflow_delta_provider.report_store import check_report_path
from airflow_delta_provider.sensors.table_sensor import TableSensor, refusing
from airflow_delta_provider.triggers.table_change import DeltaChangeTrigger
from airflow_delta_provider.triggers.table_trigger import TableTrigger
from airflow_delta_provider.version_compat import team_of
from airflow_delta_provider.watch.health import Answer, Gate

OnViolation = Literal["fail", "wait"]
OnUndetermined = Literal["wait", "fail", "pass"]

#: Arguments of a submit: those of Airflow's hook, and this provider's own.
_OF_SUBMIT = (
    *(name for name in signature(SparkSubmitHook).parameters if name not in OWNED_ARGUMENTS),
    *("delta_jars", "spark_log_level", "result_path"),
)
#: Key under which a rescheduled task keeps the try that checked a version.
_TRY = "try_number"


def _naming_arguments_of_submit(init: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments of a submit, and ``report_path``, to a constructor's signature: Airflow learns names from it.

    Without them, ``default_args`` and ``partial()`` would not apply to these arguments.
    """
    named = signature(init)
    *own, rest = named.parameters.values()
    more = [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in (*_OF_SUBMIT, "report_path")]
    init.__signature__ = named.replace(parameters=[*own, *more, rest])  # type: ignore[attr-defined]  # read by inspect
    return init


class JobSensor(KeepsReport, TableSensor):
    """Base of the sensors that check each new version of a table by a job, until a version passes.

    Only a new version leads to a job: the trigger polls the table's log, without Spark. A version that was checked and
    did not pass is not checked again, except by a retry. Between two jobs the task is deferred and holds no worker.
    While a job runs, the task holds one, like a task with ``SparkSubmitOperator``: the Spark provider cannot defer a
    submit (apache/airflow#67168). With ``deferrable=False`` and mode ``poke`` the task holds its worker all the time.

    Takes the arguments of ``SparkSubmitHook``, except ``application``, ``java_class`` and ``application_args``, and
    ``delta_jars``, ``spark_log_level`` and ``result_path`` of
    :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`. They are all templated. ``timeout`` does not
    end a running job: a version that passes ends the wait even then.

    The whole report of each job is kept, and pushed to XCom as by an operator: ``findings``, and the keys of the pages
    about reports. The last job of a try replaces the earlier ones.

    For the other arguments see :class:`~airflow_delta_provider.sensors.table_sensor.TableSensor`.

    :param table: path or URI of the table; not a catalog name, because the trigger reads the log without a JVM
        (templated)
    :param engine: ``"spark"`` submits a job; ``"python"`` checks without Spark, and reads no rows
    :param level: depth of the check: ``"log"``, ``"footers"`` or ``"data"``. (templated)
    :param on_violation: outcome if a table breaks a rule: ``"fail"``, naming the findings, or ``"wait"`` for a version
        that fixes it
    :param on_undetermined: outcome if a table could not be fully checked: ``"wait"``, ``"fail"`` or ``"pass"``
    :param report_path: folder for whole reports, as for
        :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`. (templated)
    """

    template_fields: Sequence[str] = ("table", "level", "spark_submit", "storage_conn_id", "report_path")
    trigger_type: type[TableTrigger] = DeltaChangeTrigger
    memory_key = "delta_job_sensor_checked"

    _hook: DeltaSparkSubmitHook | None = None

    @_naming_arguments_of_submit
    def __init__(
        self,
        *,
        table: Text,
        engine: EngineName = "spark",
        level: Level = "log",
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "wait",
        **kwargs: Unpack[JobSensorArguments],
    ) -> None:
        refuse_owned_arguments(kwargs)
        arguments = cast("dict[str, Any]", kwargs)
        #: The arguments of a submit that were given, by name.
        self.spark_submit = {name: arguments.pop(name) for name in _OF_SUBMIT if name in arguments}
        report_path = arguments.pop("report_path", None)
        super().__init__(table=table, **arguments)
        for argument, given, possible in (
            ("engine", engine, get_args(EngineName)),
            ("on_violation", on_violation, get_args(OnViolation)),
            ("on_undetermined", on_undetermined, get_args(OnUndetermined)),
        ):
            if given not in possible:
                raise DeltaRequestError(f"{argument} is {given!r}. It is {' or '.join(map(repr, possible))}.")
        delta_jars = self.spark_submit.get("delta_jars")
        if is_literal(delta_jars):
            check_delta_jars(delta_jars)
        self.engine = engine
        self.level = cast("str", level)  # as soon as Airflow has rendered it
        self.on_violation = on_violation
        self.on_undetermined = on_undetermined
        if report_path is not None and is_literal(report_path):
            check_report_path(report_path)
        self.report_path = report_path
        self._outcome = ""

    @abstractmethod
    def options(self) -> Options:
        """Return the options of the check, from the rendered arguments.

        :raises RequestError: if they are wrong
        """

    @property
    @abstractmethod
    def check_name(self) -> str:
        """The check, for messages."""

    def timeout_message(self) -> str:
        """Return the message for a timeout, with the outcome of the last check."""
        late = f"No newest version of {self.table} passed {self.check_name} within {self.timeout:g} seconds."
        return f"{late} {self._outcome}".rstrip()

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """Render the templates, and mask secrets in settings before Airflow displays them."""
        super().render_template_fields(context, jinja_env)
        for settings in (self.spark_submit.get("conf"), self.spark_submit.get("env_vars")):
            if isinstance(settings, Mapping):
                hide_secrets(settings)

    def trigger_arguments(self) -> dict[str, Any]:
        """Return the trigger's arguments: the version that was checked last."""
        return {"since": self._known}

    @property
    def remembers(self) -> bool:
        """True, because the checked version must not be checked again."""
        return True

    def earlier_known(self, context: Context) -> Any:
        """Return the mark of the version that was checked last by this try; None if there is none."""
        if self._known is not None:
            return self._known
        known = super().earlier_known(context)
        return known if known is not None and known.get(_TRY) == context["ti"].try_number else None

    def poke(self, context: Context) -> PokeReturnValue:
        """Look for a new version, and check it."""
        seen = super().poke(context)
        if not seen:
            self._remember(context)
            return seen
        value = self._checked(context, cast("dict[str, Any]", seen.xcom_value))
        self._watch = None  # the next poll compares with the version that was checked
        self._remember(context)
        return PokeReturnValue(value is not None, value)

    def execute_complete(
        self, context: Context, event: dict[str, Any] | None = None, deadline: float = 0.0, said: str = ""
    ) -> dict[str, Any]:
        """Check the version that the trigger found. Return the result, or wait again.

        :param event: the trigger's event
        :param deadline: end of the wait, in seconds since the epoch
        :param said: outcome of the last check
        """
        self._outcome = said
        value = self._checked(context, super().execute_complete(context, event))
        if value is None and time.time() >= deadline:
            raise AirflowSensorTimeout(self.timeout_message())
        if value is None:
            self._defer_until(deadline)
        return value

    def on_kill(self) -> None:
        """Kill a running job."""
        if self._hook is not None:
            self._hook.on_kill()

    def check_options(self) -> None:
        """Refuse wrong options.

        :raises DeltaRequestError: with the remedy
        """
        with refusing():
            options = self.options()
            options.check_names()
            if options.needs_rows and self.engine == "python":
                raise RequestError(
                    "{level} is {given!r}, and {engine} is 'python', which reads no rows. Use {engine} 'spark', or "
                    "{level} 'footers'.",
                    given=self.level,
                )
            if options.state_path and self.engine == "spark" and is_relative(options.state_path):
                raise RequestError(
                    "{state_path} is {path!r}, which is relative to the folder of the driver. Give an absolute path or "
                    "a URI.",
                    path=options.state_path,
                )

    def _remember(self, context: Context) -> None:
        """Keep the version that was checked last for the next process of this try."""
        memory = self._memory(context)
        if memory is not None and self._known is not None:
            memory.set(self.memory_key, {**self._known, _TRY: context["ti"].try_number})

    def _defer_until(self, end: float, **kept: Any) -> NoReturn:
        super()._defer_until(end, deadline=end, said=self._outcome, **kept)

    def _checked(self, context: Context, seen: Mapping[str, Any]) -> dict[str, Any] | None:
        """Check a new version. Return the value to push, or None if the wait continues.

        :param seen: mark of the new version
        :raises UnhealthyTableError: if the wait ends without success
        """
        report = self._run(context)
        self._publish(context, report)
        (table,) = report.tables
        if table.verdict is Verdict.FAULT:
            raise (DeltaRetryableError if table.retryable else DeltaFaultError)(report)
        gate = Gate(Answer(self.on_violation), Answer(self.on_undetermined))
        value, self._outcome = gate.value(self.table, table)
        self.log.info("%s", self._outcome)
        if value is None:
            self._known = {**HeadMark.from_json(seen).to_json(), "version": _newest(seen["version"], table)}
        return value

    def _run(self, context: Context) -> JobReport:
        """Run the check and return its report."""
        access = Access.of(context)
        self.check_access(access)
        self.check_options()
        if self.report_path:
            folder = ReportPlace(check_report_path(self.report_path)).bare
            access.check_path("report_path", folder, tables=[self.table], used_here=True)
        with refusing():
            request = JobRequest((self.table,), self.options(), allowed_locations=access.allowed)
        if self.engine == "python":
            # Imported late: parsing a DAG does not need the code that reads tables.
            from airflow_delta_provider.watch.python_engine import run_here

            return run_here(request, self.storage_conn_id or None, self.log)
        submit = {name: value for name, value in self.spark_submit.items() if value is not None}
        folder = submit.pop("result_path", None) or result_path(team_of(context))
        if folder:
            access.check_path("result_path", folder, tables=request.tables, used_here=True)
        self._hook = DeltaSparkSubmitHook(
            request,
            storage_conn_id=self.storage_conn_id or None,
            results=ResultFolder(folder, context["ti"], self.storage_conn_id or None) if folder else None,
            **{"name": f"airflow-delta-provider {request.kind}", **submit},
        )
        try:
            return self._hook.run()
        finally:
            self._hook.clean_up()


def _newest(version: int, table: TableReport) -> int:
    """Return the version that a report is about: a commit may have followed the version that led to the job."""
    return version if table.version is None else max(version, table.version)
