"""Bases of the operators that only read, and of the operators that change tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, get_args

from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request import option as values
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.arguments import EngineName, Flag, JobArguments, Text, is_literal
from airflow_delta_provider.operators.delta_job import DeltaJobOperator

_ENGINES = get_args(EngineName)


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
        if options is not None and options.records_in_catalog and self._engine(options, tables) == "python":
            raise RequestError(
                "{findings_table} is {table!r}, a name in a catalog, and {engine} is 'python', which asks no catalog. "
                "Leave out {engine}, or name the table by its path or URI.",
                table=options.findings_table,
            )

    def _engine(self, options: Options, tables: Sequence[str]) -> str:
        del options, tables
        return self.engine or "spark"


class CheckArguments(ReadArguments, total=False):
    """The arguments of all operators that check tables."""

    findings_table: Text | None


class DeltaCheckOperator(DeltaReadOperator):
    """Base of the operators that check tables.

    :param findings_table: Delta table to which the job appends a row for each table and each finding, once per try: a
        path, a URI, or with Spark a catalog name. It is created if it does not exist. If it cannot be written, the log
        has a warning, and the outcome of the task stays the same. With engine ``"python"``, the worker needs the
        package ``deltalake``. ``docs/guides/findings-table.md`` has the columns. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_task.DeltaReadOperator`.
    """

    def __init__(self, *, findings_table: Text | None = None, **kwargs: Unpack[ReadArguments]) -> None:
        super().__init__(**kwargs)
        self.findings_table = findings_table


class DeltaChangeOperator(DeltaJobOperator):
    """Base of the operators that change tables.

    :param dry_run: True to plan and report without changing anything. (templated)
    :param allow_unsafe_log_store: confirmation that nothing else writes to the table. It is needed if Delta's log store
        does not protect concurrent writers from each other, as on S3 by default. (templated)

    For the other arguments see :class:`~airflow_delta_provider.operators.delta_job.DeltaJobOperator`.
    """

    template_fields: Sequence[str] = (*DeltaJobOperator.template_fields, "dry_run")

    def __init__(
        self, *, dry_run: Flag = False, allow_unsafe_log_store: Flag = False, **kwargs: Unpack[JobArguments]
    ) -> None:
        super().__init__(**kwargs)
        self.dry_run = dry_run  # type: ignore[assignment, method-assign]  # the name of a method of Airflow
        self.allow_unsafe_log_store = allow_unsafe_log_store
        if is_literal(dry_run):
            self._plans_only()

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments.

        :raises DeltaRequestError: if arguments are wrong, or a table is outside the allowed locations
        """
        since = run_began(context) if context["ti"].try_number > 1 else None
        return replace(super().request(context), dry_run=self._plans_only(), retry_since=since)

    def _plans_only(self) -> bool:
        with self.refusing():
            return bool(values.Flag().rendered("dry_run", self.dry_run))


def run_began(context: Context) -> str:
    """Return a time (ISO 8601) before the first commit of any try of the task run."""
    run: Any = context.get("dag_run")
    # Clearing a run changes its start time, so ``start_date`` does not help here.
    moment = getattr(run, "run_after", None) or datetime.fromtimestamp(0, timezone.utc)
    return str(moment.isoformat())
