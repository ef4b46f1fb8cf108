"""Base of the operators that run a job through ``spark-submit``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from inspect import signature
from typing import Any, ClassVar, cast

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import Context
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access, result_path
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace, TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.option import Document, as_list
from airflow_delta_provider.domain.request.options import Options, SqlTypes
from airflow_delta_provider.domain.table_name import TableName, TableNameError, check_tables, is_relative
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.hooks.command import OWNED_ARGUMENTS, hide_secrets, refuse_owned_arguments
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook
from airflow_delta_provider.hooks.jars import check_delta_jars
from airflow_delta_provider.hooks.results import ResultFolder
from airflow_delta_provider.notifications.delivery import new_receipt, received
from airflow_delta_provider.operators.arguments import (
    DagFiles,
    Names,
    OnUndetermined,
    OnViolation,
    SparkSubmitArguments,
    Text,
    is_literal,
    read_document,
)
from airflow_delta_provider.operators.durable import AttachingOperator, FinishedTables
from airflow_delta_provider.operators.reporting import Reporting, logged
from airflow_delta_provider.report_store import check_report_path
from airflow_delta_provider.version_compat import team_of


class DeltaJobOperator(Reporting, AttachingOperator):
    """Base of the operators that run a job of this provider through ``spark-submit``.

    Takes the arguments of ``SparkSubmitOperator``, except ``application``, ``java_class`` and ``application_args``. An
    ``AssetAlias`` in ``outlets`` gets an event for each table that was violated, resolved or changed, as soon as the
    task succeeds; a failed task emits none, so use ``on_violation="warn"`` if another DAG is scheduled on violations.

    :param table: the table: a path, a URI or a catalog name. (templated)
    :param tables: many tables, processed in one job, instead of ``table``. (templated)
    :param on_violation: outcome if a table breaks a rule or was refused: ``"fail"``, ``"warn"`` or ``"skip"``
    :param on_undetermined: outcome if something could not be decided: ``"warn"``, ``"fail"`` or ``"ignore"``
    :param delta_jars: ``"packages"``, ``"provided"``, or a list of jars, as paths or Maven coordinates such as
        ``"io.delta:delta-spark_4.1_2.13:4.3.1"``. The default is packages on local masters, and provided elsewhere.
        (templated)
    :param spark_log_level: log level of Spark; Spark's lines then appear in the task log
    :param report_path: folder where each try keeps its whole report: a path, or a URI of object storage
        (``s3://aws_default@bucket/reports``). The default is ``[delta_provider] report_path``, or else a folder next to
        the logs. (templated)
    :param result_path: folder for the reports of drivers in deploy mode cluster: a path, or a URI in Hadoop's notation
        (``s3a://bucket/results``, ``hdfs://namenode:8020/results``). Driver and worker must both reach it. The default
        is ``[delta_provider] result_path``. (templated)
    :param storage_conn_id: Airflow connection for the store of the tables; without one, Spark uses its own credentials.
        ``docs/guides/storage-and-connections.md`` lists the types of connections. (templated)
    """

    #: Options of the operator's kind of job. Each option has an argument, or is derived from another option's argument.
    options_type: ClassVar[type[Options]]

    template_fields: Sequence[str] = (
        *(f for f in SparkSubmitOperator.template_fields if f not in ("application", "application_args")),
        "table",
        "tables",
        "delta_jars",
        "report_path",
        "result_path",
        "storage_conn_id",
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add the options' arguments to the template fields of the base."""
        super().__init_subclass__(**kwargs)
        if "options_type" in vars(cls) and "template_fields" not in vars(cls):
            cls.template_fields = (*cls.template_fields, *cls.options_type.templated())

    def __init__(
        self,
        *,
        table: Text | None = None,
        tables: Sequence[Any] | Text | None = None,
        on_violation: OnViolation = "fail",
        on_undetermined: OnUndetermined = "warn",
        delta_jars: Names | None = None,
        spark_log_level: str | None = None,
        report_path: Text | None = None,
        result_path: Text | None = None,
        storage_conn_id: Text | None = None,
        **kwargs: Unpack[SparkSubmitArguments],
    ) -> None:
        refuse_owned_arguments(kwargs)
        kwargs.setdefault("name", f"airflow-delta-provider {self.options_type.kind}")
        super().__init__(**cast("dict[str, Any]", kwargs))  # templated arguments have other types once rendered
        self.table = table
        self.tables = tables
        self._report_with(on_violation, on_undetermined, report_path)
        self.delta_jars = cast("str | Sequence[str] | None", delta_jars)
        self.spark_log_level = spark_log_level
        self.result_path = cast("str | None", result_path)
        self.storage_conn_id = cast("str | None", storage_conn_id)
        self._from_elsewhere: tuple[str, ...] = ()
        """Options whose columns come through a template or an XCom."""
        self._request: JobRequest | None = None
        self._context: Context | None = None
        self._results: ResultFolder | None = None

    def options(self) -> Options:
        """Return the options of this kind of job, from the rendered arguments.

        :raises RequestError: if they are wrong
        """
        return self.options_type(**self.given())

    def given(self) -> dict[str, Any]:
        """Return the values of the options that have an argument of the same name.

        :raises RequestError: if a rendered string cannot be parsed
        """
        declared = {
            name: option.value for name, option in self.options_type.declared().items() if option.argument is None
        }
        for name in self._from_elsewhere:
            cast("SqlTypes", declared[name]).check_order(name, self.argument(name))
        return {
            name: self._document(name)
            if isinstance(value, Document)
            else value.from_template(name, self.argument(name))
            for name, value in declared.items()
        }

    def _document(self, name: str) -> Any:
        """Return an argument's value, or the content of the YAML file that it names relative to the DAG's file."""
        value, document = self.argument(name), _document_of(self.options_type, name)
        if document.names_file(value):
            return read_document(name, self._documents.path(self, name, value, self._context), document)
        return document.from_template(name, value)

    def argument(self, name: str) -> Any:
        """Return the value of an option's argument."""
        return getattr(self, name)

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """Render the templates, and mask secrets in settings before Airflow displays them."""
        super().render_template_fields(context, jinja_env)
        for settings in (self.conf, self.env_vars):
            if isinstance(settings, Mapping):
                hide_secrets(settings)

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]  # the parent returns nothing
        """Run the job, push its report and apply the policies to it. Return the summary."""
        request = self.request(context)
        if request.options.state_path is not None:
            self._received = received(context)
            request = replace(request, receipt=new_receipt(), received=self._received)
        finished = FinishedTables(context, request)
        earlier = finished.load()
        pending = tuple(table for table in request.tables if table not in earlier)
        if earlier:
            self.log.info("%d of %d tables were done by an earlier try", len(earlier), len(request.tables))
        pending_report = self._submit(context, replace(request, tables=pending)) if pending else None
        report = in_order(request, pending_report, earlier)
        finished.save(report)
        try:
            return self._conclude(context, report, pending_report)
        finally:
            with logged(self.log, "What the submission left could not be removed"):
                self._forget_submission()

    def request(self, context: Context) -> JobRequest:
        """Return the request, built from the rendered arguments.

        :raises DeltaRequestError: if arguments are wrong, or name something outside the allowed locations
        """
        access = Access.of(context)
        with self.refusing():
            request = self._rendered_request(context, access.allowed)
            self._check_beforehand(request.tables, request.options)
            for table in request.tables:
                access.check_table(table)
            if request.options.state_path:
                access.check_path("state_path", request.options.state_path, tables=request.tables)
            if request.options.findings_table:
                access.check_table(request.options.findings_table)
                if (place := TableName.parse(request.options.findings_table).location) is not None:
                    access.check_path("findings_table", place, tables=request.tables)
            if self.report_path:
                folder = ReportPlace(check_report_path(self.report_path)).bare
                access.check_path("report_path", folder, tables=request.tables, used_here=True)
            if self.result_path:
                access.check_path("result_path", self.result_path, tables=request.tables, used_here=True)
        check_delta_jars(self.delta_jars)
        return request

    def _rendered_request(self, context: Context, allowed: tuple[str, ...]) -> JobRequest:
        self._context = context
        try:
            return JobRequest(
                self._tables(),
                self.options(),
                labels=_labels(context),
                allowed_locations=allowed,
                exclude=self._excluded(),
                **_attempt(context),
            )
        finally:
            self._context = None

    def check_literals(self) -> None:
        """Check the arguments that need no rendering, when the operator is constructed.

        :raises DeltaRequestError: if one is wrong
        """
        if (self.table is None) == (self.tables is None) and not self._names_tables_elsewhere():
            raise DeltaRequestError(f"{self.task_id}: pass exactly one of table and tables.")
        declared = self.options_type.declared().items()
        self._from_elsewhere = tuple(
            name
            for name, option in declared
            if isinstance(option.value, SqlTypes)
            and not isinstance(given := getattr(self, name), Mapping)
            and not is_literal([given])
        )
        documents = ((name, option.value) for name, option in declared if isinstance(option.value, Document))
        given = ((name, document, getattr(self, name)) for name, document in documents)
        self._documents = DagFiles({name: value for name, document, value in given if document.names_file(value)})
        with self.refusing():
            are_literal = is_literal([getattr(self, option.argument or name) for name, option in declared])
            if are_literal:
                self._check_beforehand((), options := self.options())
                for name in options.features_to_come():
                    warnings.warn(f"{self.task_id}: {name!r} is not a table feature known here", stacklevel=4)
            if is_literal([self.table, self.tables]) and (are_literal or not self._names_tables_elsewhere()):
                tables = self._tables()
                if not tables:
                    raise RequestError("{tables} is empty. Name at least one table.")
                self._check_beforehand(tables)
        if is_literal(self.delta_jars):
            check_delta_jars(self.delta_jars)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Add the task and the operator's argument names to errors in a request."""
        declared = self.options_type.declared().items()
        try:
            yield
        except RequestError as error:
            arguments = {name: option.argument or name for name, option in declared}
            raise DeltaRequestError(f"{self.task_id}: {error.naming(arguments)}") from error
        except (TableNameError, DeltaRequestError) as error:
            raise DeltaRequestError(f"{self.task_id}: {error}") from error

    def _submit(self, context: Context, request: JobRequest) -> JobReport:
        """Submit through the parent, which adds OpenLineage's settings."""
        self._request = request
        self._hook = None
        path = self.result_path or result_path(team_of(context))
        self._results = ResultFolder(path, context["ti"], self.storage_conn_id or None) if path else None
        super().execute(context)
        return cast("DeltaSparkSubmitHook", self._hook).report

    def _get_hook(self) -> DeltaSparkSubmitHook:
        """Return the hook for the request, with every argument that the parent's hook accepts."""
        own = vars(self)
        names = [name for name in signature(SparkSubmitHook).parameters if name not in OWNED_ARGUMENTS]
        return DeltaSparkSubmitHook(
            cast("JobRequest", self._request),
            delta_jars=self.delta_jars,
            spark_log_level=self.spark_log_level,
            storage_conn_id=self.storage_conn_id or None,
            results=self._results,
            detach=bool(getattr(self, "durable", False)),
            **{name: own[name] if name in own else own[f"_{name}"] for name in names},
        )

    def _check_beforehand(self, tables: Sequence[str], options: Options | None = None) -> None:
        """Check the arguments without reading a table: no relative paths, no table named twice, no misspelt options."""
        if options is not None:
            options.check_names()
            for name, folder in options.folders:
                if is_relative(folder):
                    raise RequestError(
                        f"{{{name}}} is {{path!r}}, which is relative to the folder of the driver. Give an absolute "
                        "path or a URI.",
                        path=folder,
                    )
            place = options.findings_table
            if place and not options.records_in_catalog and is_relative(TableName.parse(place).location or ""):
                raise RequestError(
                    "{findings_table} is {path!r}, which is relative to the folder of the driver. Give an absolute "
                    "path or a URI.",
                    path=place,
                )
        check_tables(tables, patterns=self.options_type.takes_patterns, relative=False)

    def _tables(self) -> tuple[str, ...]:
        if self.tables is not None:
            return tuple(as_list("tables", self.tables))
        return (cast("str", self.table),) if self.table is not None else self.options().declared_tables

    def _names_tables_elsewhere(self) -> bool:
        return self.options_type.names_tables and self.table is None and self.tables is None

    def _excluded(self) -> tuple[str, ...]:
        return ()


def _document_of(options: type[Options], name: str) -> Document:
    return cast("Document", options.declared()[name].value)


def in_order(request: JobRequest, report: JobReport | None, earlier: dict[str, TableReport]) -> JobReport:
    """Return one report for all tables of the request, including those finished by earlier tries."""
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    done = {**earlier, **{table.table: table for table in (report.tables if report else ())}}
    # Tables that only a pattern of an audit matched follow the named ones.
    named = [table for table in request.tables if table in done or not TableName.parse(table).may_be_pattern]
    tables = tuple(done[table] for table in dict.fromkeys([*named, *done]))
    if report is None:
        return JobReport(request.kind, now, now, tables, {"spark": None, "delta": None})
    return replace(report, tables=tables)


def _attempt(context: Context) -> dict[str, Any]:
    """Return the id and the number of the task's try."""
    instance: Any = context["ti"]
    place = (instance.dag_id, instance.run_id, instance.task_id, instance.map_index, instance.try_number)
    named = getattr(instance, "id", None) or "/".join(map(str, place))
    return {"attempt": str(named), "try_number": instance.try_number}


def _labels(context: Context) -> dict[str, Any]:
    """Return the labels for the ``userMetadata`` of every commit."""
    instance = context["ti"]
    return {
        "dag_id": instance.dag_id,
        "run_id": instance.run_id,
        "task_id": instance.task_id,
        "map_index": instance.map_index,
    }
