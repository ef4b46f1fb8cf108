"""Base of the operators that only read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import JobArguments
from airflow_delta_provider.operators.delta_job import DeltaJobOperator

#: The engine that reads the tables.
EngineName = Literal["spark", "python"]
_ENGINES = ("spark", "python")


class ReadArguments(JobArguments, total=False):
    """The arguments of all operators that only read."""

    engine: EngineName | None


class DeltaReadOperator(DeltaJobOperator):
    """Base of the operators that change nothing.

    :param engine: ``"spark"``, the default, submits a job. ``"python"`` reads logs, metadata and footers in the task's
        own process, without Spark and a JVM, in a fraction of the time. Report, XComs, alerts and asset events are the
        same. It reads no rows and queries no catalog, so tables must be paths or URIs, and ``"data"`` is not an allowed
        level. Arguments of ``spark-submit`` then have no effect. Credentials come from ``storage_conn_id``, or else
        from the worker's environment.

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`.
    """

    def __init__(self, *, engine: EngineName | None = None, **kwargs: Unpack[JobArguments]) -> None:
        if engine not in (None, *_ENGINES):
            raise DeltaRequestError(
                f"{kwargs.get('task_id')}: engine is {engine!r}. It is {' or '.join(map(repr, _ENGINES))}."
            )
        self.engine = engine
        super().__init__(**kwargs)

    def _submit(self, context: Context, request: JobRequest) -> JobReport:
        if self._engine(request.options, request.tables) == "spark":
            return super()._submit(context, request)
        # Imported late: parsing a DAG does not need the code that reads tables.
        from airflow_delta_provider.watch.python_engine import run_here

        with self.refusing():
            return run_here(request, self.storage_conn_id or None, self.log)

    def _check_beforehand(self, tables: Sequence[str], options: Options | None = None) -> None:
        super()._check_beforehand(tables, options)
        if options is not None and options.needs_rows and self._engine(options, tables) == "python":
            raise RequestError(
                "{engine} is 'python', which reads no rows and asks no catalog, and the other arguments ask for that. "
                "Leave out {engine}, or use a {level} below 'data'."
            )

    def _engine(self, options: Options, tables: Sequence[str]) -> str:
        del options, tables
        return self.engine or "spark"
