"""Hook that submits a job through the Spark provider's hook and returns its report."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException

from airflow_delta_provider.domain.engine.secret_settings import masked_text, shown
from airflow_delta_provider.domain.engine.spark_library import UnknownSparkError, is_local
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.text import shown_lines
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaJobError, DeltaResultError
from airflow_delta_provider.hooks.cluster import (
    ClusterSubmitHook,
    check_cluster_mode,
    check_uploads,
    is_cluster_mode,
    marked,
)
from airflow_delta_provider.hooks.command import (
    EchoFilter,
    kill,
    masked,
    refuse_owned_arguments,
    supervised,
    with_descendants,
)
from airflow_delta_provider.hooks.jars import check_delta_jars, job_jars, resolved_jars
from airflow_delta_provider.hooks.preflight import check_before_submit, check_connection, check_master, refused
from airflow_delta_provider.hooks.results import FileChannel, JobCrashError, OutputChannel, ResultChannel, ResultFolder
from airflow_delta_provider.hooks.settings_file import (
    NoSparkError,
    SettingsFile,
    find_spark_submit,
    settings_options,
    take_settings,
)
from airflow_delta_provider.hooks.startup import DRIVER_JAVA_OPTIONS, ENDING, ClassArchive, LocalDriver
from airflow_delta_provider.hooks.storage_credentials import storage_settings
from airflow_delta_provider.hooks.workspace import Workspace

#: Exit codes after signal 9: of the JVM itself, or of the Python driver below it or a shell.
_KILLED = (-9, 137)


class DeltaSparkSubmitHook(ClusterSubmitHook):
    """Runs a job of this provider through ``spark-submit`` and returns its report.

    Takes the arguments of :class:`SparkSubmitHook`, except ``java_class`` and ``application_args``. In deploy mode
    cluster, the report comes back through a folder.

    :param request: request for the job
    :param delta_jars: source of Delta's jars: ``"packages"`` resolves them, once per worker; ``"provided"`` leaves them
        to the platform; a list names jars, or Maven coordinates such as ``"io.delta:delta-spark_4.1_2.13:4.3.1"``. The
        default is packages on local masters, and provided elsewhere.
    :param spark_log_level: log level of the Spark context; with it, Spark's own lines are in the task log
    :param storage_conn_id: Airflow connection for the store of the tables. Its credentials become Hadoop settings,
        limited to the buckets or accounts of these tables if Hadoop supports that. Settings in ``conf`` take
        precedence.
    :param results: folder for the report, in deploy mode cluster
    :param detach: True if spark-submit ends once the driver runs on a cluster; the driver is then followed through the
        cluster's API

    Settings reach Spark through a file that only this user can read, never through arguments, which everybody can read.
    """

    def __init__(
        self,
        request: JobRequest,
        *,
        delta_jars: str | Sequence[str] | None = None,
        spark_log_level: str | None = None,
        storage_conn_id: str | None = None,
        results: ResultFolder | None = None,
        detach: bool = False,
        **spark_submit: Any,
    ) -> None:
        refuse_owned_arguments(spark_submit)
        check_delta_jars(delta_jars)
        super().__init__(**spark_submit)
        self._results: ResultFolder | None = None
        if is_cluster_mode(self._connection):
            check_cluster_mode(self._connection, self._conn_id, results)
            self._results = results
            self._detach_if_possible(detach)
        self._request = request
        self._delta_jars = delta_jars
        self._spark_log_level = spark_log_level
        self._storage_conn_id = storage_conn_id
        self.submission = uuid.uuid4().hex
        self._report: JobReport | None = None
        self._class_archive: ClassArchive | None = None
        self._workspace: Workspace | None = None
        self._killed = False

    @property
    def report(self) -> JobReport:
        """The report of the job.

        :raises DeltaJobError: before :meth:`submit` returned
        """
        if self._report is None:
            raise DeltaJobError("The job has not been submitted yet: there is no report.")
        return self._report

    @property
    def submission(self) -> str:
        """Id of the submission.

        If it is set to an earlier try's id, the hook receives the report of that driver.
        """
        return self._submission

    @submission.setter
    def submission(self, submission: str) -> None:
        self._submission = submission
        self._channel: ResultChannel = (
            OutputChannel(submission) if self._results is None else FileChannel(self._results, submission)
        )

    def run(self) -> JobReport:
        """Submit the job, wait for it and return its report.

        :raises DeltaConnectionError: if the connection or spark-submit cannot be used
        :raises DeltaJobError: if the job ended without a report
        """
        self.submit()
        return self.report

    def submit(self, application: str = "", **popen: Any) -> str | None:
        """Submit the job. Unless its driver outlives spark-submit, wait for it and :meth:`receive` its report.

        :param application: ignored: this provider has its own application
        :raises DeltaJobError: if there is neither a driver nor a report
        """
        del application
        failure: Exception | None = None
        if self.detaches:
            self.check_answers(self._submission)
        with Workspace(self._submission) as workspace:
            if self._results is not None:
                self._results.prepare()
            application = self._prepare(workspace)
            try:
                with supervised(self.on_kill):
                    super().submit(application, **popen)
            except (AirflowException, RuntimeError) as error:
                failure = error
        if self._class_archive is not None:
            self._class_archive.keep(whole=failure is None)
        if self.detaches and self.find_driver(self._submission):
            return None
        self.receive(failure)
        return None

    def receive(self, failure: Exception | None = None) -> JobReport:
        """Receive the report of the job and return it.

        :param failure: error of spark-submit or the driver, if any; a report is used nevertheless
        :raises DeltaJobError: if there is no report; the message gives the reason
        """
        self._report = self._received(failure)
        return self._report

    def has_report(self) -> bool:
        """Return True if the folder holds a report of the submission."""
        try:
            answer = None if self._results is None else self._results.read(self._submission)
        except ValueError as error:
            self.log.warning("The report of an earlier try could not be read: %s", error)
            return False
        return answer is not None and answer[0] == "report"

    def clean_up(self) -> None:
        """Remove the driver's files from the folder."""
        if self._results is not None:
            with suppress(DeltaResultError):
                self._results.remove()

    def on_kill(self) -> None:
        """Kill spark-submit and all processes that it started: the JVM and the Python driver."""
        self._killed = True
        tree = with_descendants(self._submit_sp)
        super().on_kill()
        kill(tree)

    def _resolve_connection(self) -> dict[str, Any]:
        """Resolve like the parent, but refuse a connection that would make the parent guess."""
        with refused(self._conn_id):
            self.get_connection(self._conn_id)
            connection: dict[str, Any] = super()._resolve_connection()
        check_connection(connection, self._conn_id)
        return connection

    def _create_keytab_path_from_base64_keytab(self, base64_keytab: str, principal: str | None) -> str:
        """Create the file like the parent, but readable by this user only."""
        mask = os.umask(0o077)
        try:
            path = str(super()._create_keytab_path_from_base64_keytab(base64_keytab, principal))
        finally:
            os.umask(mask)
        with suppress(PermissionError):  # it existed, and belongs to another user
            os.chmod(path, 0o600)
        return path

    def _prepare(self, workspace: Workspace) -> str:
        """Turn the request into arguments of spark-submit; return the application."""
        self._workspace = workspace
        in_file = "" if self._results is None else self._results.file(self._submission).folder
        application = workspace.write_application(self._request, elsewhere=self._results is not None)
        self._application_args = [self._submission, self._spark_log_level or "", in_file]
        while not self._application_args[-1]:
            self._application_args.pop()
        self._conf = {**self._storage_settings(workspace), **self._conf}
        environment = self._environment()
        try:
            binary = find_spark_submit(self._connection["spark_binary"], environment)
            master = check_master(self._connection["master"], self._conn_id)
            check_before_submit(binary, master, environment)
            if self._results is not None:
                self._conf = marked(master.kind, self._submission, self._conf)
                check_uploads(
                    self._connection,
                    lambda: SettingsFile(_texts(self._conf), self._properties_file, binary, environment).settings,
                )
            self._add_jars(binary, workspace)
        except (NoSparkError, UnknownSparkError) as error:
            raise DeltaConnectionError(str(error)) from error
        self._speed_up(binary, workspace)
        return str(application)

    def _speed_up(self, binary: str, workspace: Workspace) -> None:
        environment = self._environment()
        if is_local(self._connection["master"]):
            quiet = not self._spark_log_level
            driver = LocalDriver(binary, self._driver_class_path, environment, workspace, quiet=quiet)
            self._env_vars = {**(self._env_vars or {}), **driver.environment()}
            self._conf = {**ENDING, **self._conf}
            if DRIVER_JAVA_OPTIONS not in self._conf:
                self._conf[DRIVER_JAVA_OPTIONS] = driver.java_options
                self._class_archive = driver.class_archive
        else:
            self._py_files = _joined(self._py_files, [str(workspace.archive)])

    def _add_jars(self, binary: str, workspace: Workspace) -> None:
        if "io.delta:" in (self._packages or ""):
            return
        master = self._connection["master"]
        jars = job_jars(
            self._delta_jars,
            master,
            binary,
            self._environment(),
            lambda coordinates: self._resolved(coordinates, workspace),
            may_need_delta=self._request.may_need_delta,
        )
        if jars.paths and is_local(master):
            self._driver_class_path = ":".join(filter(None, [self._driver_class_path, *jars.paths]))
        elif jars.paths:
            self._jars = _joined(self._jars, jars.paths)
        if jars.coordinates:
            self._packages = _joined(self._packages, jars.coordinates)

    def _resolved(self, coordinates: str, workspace: Workspace) -> list[str]:
        command = [self._connection["spark_binary"]]
        settings = {key: value for key, value in _texts(self._conf).items() if key.startswith("spark.jars.")}
        if self._repositories:
            settings["spark.jars.repositories"] = self._repositories
        command += self._settings_options("resolver.properties", settings, self._properties_file, workspace)
        return resolved_jars(coordinates, command, workspace, self._environment())

    def _build_spark_common_args(self) -> list[str]:
        """Return the parent's arguments with a file instead of settings: everybody can read arguments."""
        arguments: list[str] = super()._build_spark_common_args()
        if self._workspace is None:
            return arguments
        rest, settings, properties_file = take_settings(arguments)
        for name, value in settings.items():
            self.log.info("Spark setting: %s=%s", name, shown(name, value))
        return rest + self._settings_options("settings.properties", settings, properties_file, self._workspace)

    def _settings_options(
        self, name: str, settings: dict[str, str], properties_file: str | None, workspace: Workspace
    ) -> list[str]:
        binary = find_spark_submit(self._connection["spark_binary"], self._environment())
        return settings_options(name, settings, properties_file, binary, self._environment(), workspace.write_secret)

    def _storage_settings(self, workspace: Workspace) -> dict[str, str]:
        if not self._storage_conn_id:
            return {}
        options = self._request.options
        folders = (folder for _, folder in options.folders)
        return storage_settings(
            self.get_connection(self._storage_conn_id),
            [*self._request.tables, *folders, *filter(None, [options.findings_table])],
            local=is_local(self._connection["master"]),
            write_file=workspace.write_secret,
        )

    def _mask_cmd(self, connection_cmd: str | list[str]) -> str:
        """Return the command for the log: masked by the parent, and without tokens and keys of object stores."""
        words = [connection_cmd] if isinstance(connection_cmd, str) else connection_cmd
        return str(super()._mask_cmd(masked(words)))

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        """Let the parent parse Spark's lines without echoing them, and take out this provider's own lines."""
        logger = EchoFilter(self.log)
        self._log = logger  # LoggingMixin returns this attribute as ``log``
        try:
            super()._process_spark_submit_log(self._spark_lines(itr, logger))
        finally:
            self._log = logger.logger

    def _spark_lines(self, lines: Iterable[str], logger: EchoFilter) -> Iterator[str]:
        for line in lines:
            progress = self._channel.take_line(line)
            if progress is None:
                logger.echo = None if self._spark_log_level else line.strip()
                yield masked_text(line) if self._spark_log_level else line
            else:
                logger.echo = None
                for text in progress:
                    logger.info("%s", shown_lines(text))

    def _received(self, failure: Exception | None) -> JobReport:
        """Return the report, regardless of the exit code; without one, raise the reason."""
        try:
            report = self._channel.report()
        except JobCrashError as crash:
            raise DeltaJobError(masked_text(f"{crash}\n\n{crash.traceback}")) from failure
        except ValueError as error:
            raise DeltaJobError(
                f"The report could not be read: {error}. The changes of the job are unknown; the next try checks its "
                "tables first."
            ) from failure
        if report is not None:
            return report
        if self._submit_sp is not None and self._submit_sp.returncode in _KILLED and not self._killed:
            raise DeltaJobError(
                "The driver was ended by signal 9, so the state of its tables is unknown. Memory probably ran out: "
                f"raise driver_memory or the worker's limit.\n{failure}"
            ) from failure
        details = f"\n{failure}" if failure else "" if self.detaches else " spark-submit ended with exit code 0."
        raise DeltaJobError(
            "The job ended without a report, so the state of its tables is unknown. "
            f"{masked_text(self._channel.explain_absence())}{details}"
        ) from failure


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in settings.items()}


def _joined(listed: str | None, more: Sequence[str]) -> str:
    return ",".join(filter(None, [listed, *more]))
