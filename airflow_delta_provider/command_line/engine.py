"""Choice of the engine, and how to start it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_delta_provider.command_line.exit_code import UsageError
from airflow_delta_provider.command_line.invocation import Invocation, pairs
from airflow_delta_provider.command_line.terminal import Terminal
from airflow_delta_provider.domain.request.config_file import Config
from airflow_delta_provider.domain.request.kinds import Kind
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import TableName, is_catalog_name
from airflow_delta_provider.domain.text import close_names
from airflow_delta_provider.jobs.delta.checkpoint_files import FILES_ON_DRIVER
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.process import has_java, has_pyspark, memory_limit
from airflow_delta_provider.jobs.storage.errors import NoStorageError
from airflow_delta_provider.jobs.storage.storages import Storages

if TYPE_CHECKING:
    from airflow_delta_provider.jobs.delta.checkpoint_files import CheckpointFiles, LargeCheckpoint
    from airflow_delta_provider.jobs.tables.table_storage import TableStorage

PYTHON, SPARK, AUTO = "python", "spark", "auto"
_ASKED = "as asked for"
_PACKAGES = "spark.jars.packages"
#: Environment variable that spark-submit sets for its applications.
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_NO_JAVA = "Java was not found. Install Java 17, and set JAVA_HOME to its folder, or unset it if java is on the PATH."
#: Number of files that this process holds on any machine: Spark needs as much memory for itself. Bytes of each.
_MOST_FILES, _BYTES_OF_FILE = 5_000_000, 300
_SPARK_FLAGS = ("master", "conf", "packages", "delta_jars")


class EngineUnavailableError(Exception):
    """An engine that cannot be started; the message gives the reason.

    :param lines: lines that the engine printed
    """

    def __init__(self, message: str, *lines: str) -> None:
        super().__init__(message)
        self.lines = lines


class EngineChoice(NamedTuple):
    name: str
    why: str


def choose(
    kind: Kind, options: Options, tables: Iterable[str], parsed: argparse.Namespace, config: Config
) -> EngineChoice:
    """Return the engine for a request.

    :raises UsageError: if the request needs Spark, and the user chose the other engine
    """
    wanted = parsed.engine or config.engine or AUTO
    why_spark = _why_spark(kind, options, tables)
    if wanted == SPARK:
        return EngineChoice(SPARK, _ASKED)
    if wanted == PYTHON:
        if why_spark is not None:
            raise UsageError(f"{why_spark}, which needs Spark. Use --engine spark.")
        return EngineChoice(PYTHON, _ASKED)
    if why_spark := why_spark or _why_rather_spark(tables, parsed):
        return EngineChoice(SPARK, why_spark)
    return EngineChoice(PYTHON, "only logs and footers are read")


def _why_spark(kind: Kind, options: Options, tables: Iterable[str]) -> str | None:
    """Return the reason why the request needs Spark; None if it does not."""
    if kind.reading_job is None:
        return f"{kind.name} changes tables"
    if options.needs_rows:
        return f"{kind.name} reads rows with these options"
    if options.records_in_catalog:
        return f"{options.findings_table} is a name in a catalog; {_nearest_path(options.findings_table or '')}"
    named = next(filter(is_catalog_name, tables), None)
    return None if named is None else f"{named} is a name in a catalog; {_nearest_path(named)}"


def _nearest_path(name: str) -> str:
    """Return a sentence with the path that may be meant by the name of a catalog."""
    try:
        folders = [entry.name for entry in os.scandir() if entry.is_dir() and not entry.name.startswith(".")]
    except OSError:
        folders = []
    near = close_names(name, folders)
    return f"a path has a slash, such as ./{near[0] if near else name}"


def _why_rather_spark(tables: Iterable[str], parsed: argparse.Namespace) -> str | None:
    """Return the reason to prefer Spark for a request that does not need it; None if there is none."""
    given = next((name for name in _SPARK_FLAGS if getattr(parsed, name)), None)
    if given is not None:
        return f"--{given.replace('_', '-')} is given"
    if jvm_is_there():
        return "spark-submit runs this"
    if not has_pyspark():
        return None
    storages = Storages()
    for table in tables:
        location = TableName.parse(table).location
        try:
            storages.of(location or "")
        except NoStorageError as error:
            return str(error)
        except Exception:  # the table's own report has the error
            continue
    return None


@contextmanager
def opened(choice: EngineChoice, invocation: Invocation, terminal: Terminal, *, delta: bool) -> Iterator[DeltaSession]:
    """Yield a session of an engine.

    :param delta: True if Delta may be needed on Spark's classpath
    :raises EngineUnavailableError: if there is none
    """
    if choice.name == PYTHON:
        from airflow_delta_provider.jobs.delta.session import python_session

        options = {**invocation.config.storage, **pairs(invocation.parsed.storage)}
        session = python_session(Storages(options, folder=invocation.project.path))
        with ExitStack() as stack:
            if choice.why != _ASKED:
                session.large = _SparkIfLarge(invocation, terminal, stack)
            yield session
        return
    if not has_pyspark():
        raise EngineUnavailableError(
            f"this needs Spark ({choice.why}), but PySpark is not installed. Install pyspark and delta-spark, or run "
            "the command on a machine with Spark."
        )
    if not (invocation.as_jobs or jvm_is_there()):
        terminal.note("Starting Spark." if choice.why == _ASKED else f"Starting Spark: {choice.why}.")
    yield from _on_spark(invocation, terminal, delta=delta)


class _SparkIfLarge:
    """Lets Spark read checkpoints that are too large for this machine. Spark starts with the first one.

    :param stack: ends with the command
    """

    def __init__(self, invocation: Invocation, terminal: Terminal, stack: ExitStack) -> None:
        self._invocation = invocation
        self._terminal = terminal
        self._stack = stack
        self._spark: Any = None
        self._is_missing = False
        self._starting = Lock()

    @cached_property
    def most(self) -> int:
        """Maximum number of files of a table that this process holds."""
        text = self._invocation.config.spark.conf.get(FILES_ON_DRIVER, "")
        return int(text) if text.isdecimal() else max(_MOST_FILES, memory_limit() // 2 // _BYTES_OF_FILE)

    def __call__(
        self, files: CheckpointFiles, storage: TableStorage, directory: str, names: Sequence[str]
    ) -> LargeCheckpoint | None:
        try:
            number = files.actions_in(directory, names, self.most)
            if number <= self.most or not (has_pyspark() and has_java()):
                return None
            with self._starting:
                spark = None if self._is_missing else self._spark or self._started(number)
            if spark is None:
                return None
            from airflow_delta_provider.jobs.spark.large_checkpoint import SparkCheckpoint

            return SparkCheckpoint(spark, storage, directory, names)
        except Exception:  # this process reads the checkpoint, and finds out the cause
            return None

    def _started(self, number: int) -> Any:
        """Return a new session; None if there can be none."""
        self._terminal.note(f"Starting Spark: a checkpoint has {number:,} files, and the limit is {self.most:,}.")
        try:
            session = self._stack.enter_context(
                contextmanager(_on_spark)(self._invocation, self._terminal, delta=False)
            )
        except EngineUnavailableError as error:
            self._is_missing = True
            self._terminal.note(f"The checkpoint is read without Spark: {error}")
            return None
        self._stack.enter_context(session.working())
        self._spark = session.spark  # type: ignore[attr-defined]  # a session of Spark
        return self._spark


def jvm_is_there() -> bool:
    """Return True if spark-submit runs this process, so that Spark is there already."""
    return _SUBMITTED in os.environ


def _on_spark(invocation: Invocation, terminal: Terminal, *, delta: bool) -> Iterator[DeltaSession]:
    import logging  # late: it imports much

    from airflow_delta_provider.domain.engine.spark_library import PROVIDED
    from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
    from airflow_delta_provider.jobs.spark.engine_errors import understand
    from airflow_delta_provider.jobs.spark.jvm_output import JvmOutput
    from airflow_delta_provider.jobs.spark.session import jvm_runs, own_session

    parsed, config = invocation.parsed, invocation.config
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # it prints a traceback for a call cut off by Ctrl-C
    name = f"airflow-delta-provider {invocation.kind.name}"
    output = JvmOutput(shown=parsed.verbose)
    jars = parsed.delta_jars or (None if delta else PROVIDED)
    master = parsed.master or config.spark.master
    try:
        with output.taken():
            spark = own_session(name, master, jars, _settings(parsed, config))
            session = SparkDeltaSession(spark, folder=invocation.project.path)
    except Exception as failure:
        why = str(failure) if isinstance(failure, RuntimeError) else understand(failure).message
        if not has_java():
            why = _NO_JAVA
        lines = output.last_lines(errors_only=jvm_runs())
        raise EngineUnavailableError(f"there is no Spark session: {why}", *lines) from None
    yield session
    if not jvm_runs():
        terminal.error("Spark's JVM ended while the job ran.", *output.last_lines(errors_only=False))


def _settings(parsed: argparse.Namespace, config: Config) -> Mapping[str, str]:
    settings = {**config.spark.conf, **pairs(parsed.conf)}
    packages = [*filter(None, [settings.get(_PACKAGES)]), *(parsed.packages or config.spark.packages)]
    return {**settings, _PACKAGES: ",".join(packages)} if packages else settings
