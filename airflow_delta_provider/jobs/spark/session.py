"""The Spark session: its settings, its SQL expressions, the limit of a job's time, and the code that tasks get."""

from __future__ import annotations

import json
import os
import sys
import threading
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark import __version__ as spark_version
from pyspark.errors import PySparkException
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from airflow_delta_provider.domain.delta.row_condition import ParsedExpression, why_not_evaluated
from airflow_delta_provider.domain.engine.spark_library import (
    default_delta_jars,
    is_local,
    missing_settings,
    own_settings,
    parse_defaults,
)
from airflow_delta_provider.jobs.process import OutOfTimeError, TimeBudget


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply ``settings`` within the block, and restore the previous values afterwards.

    If the session has ended meanwhile, errors of restoring are ignored, so that they do not hide the block's result.
    """
    own = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, before in own.items():
            with suppress(Exception):
                if before is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, before)


#: Required values, so that statements have their standard meaning. All except the first are Spark's own defaults.
SQL_SETTINGS: Mapping[str, str] = {
    # ${env:…}, ${spark.…}, ${hiveconf:…}: replaced before parsing, in names, paths and literals as well
    "spark.sql.variable.substitute": "false",
    # `name` in a SELECT is a name, not a regular expression
    "spark.sql.parser.quotedRegexColumnNames": "false",
    # a backslash in a literal escapes
    "spark.sql.parser.escapedStringLiterals": "false",
    # words such as end and rows may be names; "…" is a literal
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    # timestamp is the type with a time zone, as it is in a Delta schema
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # SET TBLPROPERTIES refuses properties that it would not set
    "spark.sql.legacy.notReserveProperties": "false",
    # SHOW TABLES names its columns as documented
    "spark.sql.legacy.keepCommandOutputSchema": "false",
    # grouping columns are part of the result
    "spark.sql.retainGroupColumns": "true",
    # unreadable files fail the statement instead of being left out silently
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}


class SqlSettings:
    """Keeps :data:`SQL_SETTINGS` in a session as long as any thread needs them."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._lock = threading.Lock()
        self._holders = 0
        self._held = ExitStack()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Give SQL its standard meaning within the block. The last holder to leave restores each setting."""
        with self._lock:
            if not self._holders:
                self._held.enter_context(configured(self._spark, self._otherwise()))
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self._held.close()

    def _otherwise(self) -> dict[str, str]:
        """Return only the settings that have another value now: a platform may forbid setting others."""
        return {key: value for key, value in SQL_SETTINGS.items() if self._value(key) not in (None, value)}

    def _value(self, key: str) -> str | None:
        """Return the value of a setting, including its default; None if this Spark does not have it."""
        try:
            text: str | None = self._spark.conf.get(key)
        except Exception:
            return None
        return text


#: Maximum number of rows in one string.
_TOGETHER = 1000


def ship(spark: SparkSession, rows: Sequence[Mapping[str, Any]], columns: str) -> DataFrame:
    """Return ``rows`` as a data frame: few as a literal in the plan, more as strings that tasks parse.

    :param columns: columns as in ``struct<…>``
    """
    texts = [json.dumps(rows[start : start + _TOGETHER]) for start in range(0, len(rows), _TOGETHER)]
    if len(texts) <= 1:
        whole = spark.range(1).select(sql.lit(texts[0] if texts else "[]").alias("text"))
    else:
        whole = spark.createDataFrame([(text,) for text in texts], "text string")
    return whole.select(sql.inline(sql.from_json("text", f"array<struct<{columns}>>")))


#: Seconds between two attempts to cancel Spark's work: an action may run several jobs in sequence.
_AGAIN = 0.2
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def limited(spark: SparkSession, budget: TimeBudget) -> Iterator[None]:
    """Cancel Spark's work for this thread when the time is over.

    :raises OutOfTimeError: if work was cancelled
    """
    left = budget.left
    if left is None:
        yield
        return
    context, group, done = spark.sparkContext, f"airflow-delta-provider {uuid.uuid4().hex}", Event()

    def cancel() -> None:
        wait = max(left, 0)
        while not done.wait(wait):
            context.cancelJobGroup(group)
            wait = _AGAIN

    before = [context.getLocalProperty(name) for name in _GROUP]
    context.setJobGroup(group, before[1] or "", interruptOnCancel=True)
    watch = Thread(target=cancel, daemon=True)
    watch.start()
    try:
        yield
    except Exception as error:
        if budget.is_spent:
            raise OutOfTimeError from error
        raise
    finally:
        done.set()
        watch.join()
        with suppress(Exception):  # a session that has ended must not hide the result
            for name, value in zip(_GROUP, before):
                context.setLocalProperty(name, value)  # None removes it


def submitted_session(name: str) -> SparkSession:
    """Return the session of an application that spark-submit started.

    Settings from spark-defaults, properties files and the command line are kept. Missing ones are set for Delta.
    """
    conf = submitted_conf()
    present = dict(conf.getAll())
    settings = missing_settings(present.get("spark.master", ""), present)
    return SparkSession.builder.config(conf=conf.setAll(list(settings.items()))).appName(name).getOrCreate()


def submitted_conf() -> SparkConf:
    """Return the configuration that spark-submit got from files and arguments. Does not start a Spark context."""
    SparkContext._ensure_initialized()  # the configuration is in the JVM: without it, it seems empty
    return SparkConf()


def own_session(
    name: str, master: str | None = None, delta_jars: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the active session, of the platform or of spark-submit, or else start one.

    Settings in the platform's ``spark-defaults.conf`` are kept.

    :param master: Spark master; by default the platform's, else ``local[*]``
    :param delta_jars: ``packages``, ``provided``, or jars or Maven coordinates separated by commas; by default
        packages on a local master and provided elsewhere
    :param settings: settings of a session that is started; they override the platform's
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return SparkSession.builder.getOrCreate()
    if "PYSPARK_GATEWAY_PORT" in os.environ and master is None:  # set by spark-submit
        return submitted_session(name)
    given = dict(settings or {})
    present = {**platform_defaults(), **given}
    master = master or os.environ.get("SPARK_MASTER") or present.get("spark.master") or "local[*]"
    builder = SparkSession.builder.master(master).appName(name)
    jars = delta_jars or default_delta_jars(master)
    if is_local(master):  # tasks get the packages of this process, not those of a python3 on the PATH
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for key, value in {**given, **own_settings(master, jars, present, spark_version)}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def jvm_runs() -> bool:
    """Return True if the JVM of this process's sessions is running.

    A JVM that was not started here counts as running.
    """
    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return gateway is not None and (process is None or process.poll() is None)


def platform_defaults() -> dict[str, str]:
    """Return the settings in ``spark-defaults.conf``, which other settings override."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    try:
        return parse_defaults(Path(folder, "spark-defaults.conf").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


_PACKAGES = ("org.apache.spark.sql.catalyst.expressions.", "org.apache.spark.sql.catalyst.analysis.")
_ATTRIBUTE, _FUNCTION = "UnresolvedAttribute", "UnresolvedFunction"
#: Expressions that run user code or contain a value of the session. User functions can hide built-in ones.
_FOREIGN = ("UDF", "UDAF", "SQLScalarFunction", "SQLFunctionExpression", "Subquery", "VariableReference")


def why_not_parsed_fit(spark: SparkSession, expression: str, columns: Collection[str]) -> str | None:
    """Return why Spark must not evaluate ``expression``, for the middle of a sentence; None if nothing is known.

    Names in it are not resolved, so a subquery lists no files, and a function loads no class.

    :param columns: the table's top-level columns
    :raises PySparkException: if Spark cannot parse it
    """
    try:
        parsed = _parsed(spark, expression)
        problem = why_not_evaluated(parsed, columns)
        for call in sorted(parsed.calls if problem is None else ()):
            if not _is_built_in(spark, *call):
                return f"it calls {call[0]}, which this Spark does not have as a built-in function"
        return problem
    except PySparkException:
        raise
    except Exception as error:  # Spark Connect has no parser, and a platform may forbid its use
        return f"this session cannot parse it before it is evaluated ({type(error).__name__})"


def why_not_analyzed_fit(rows: DataFrame) -> str | None:
    """Return the reason why a query with expressions of acceptable text must not run; None if it may.

    A user's function can hide a built-in one, and a variable can hide a column.
    """
    plan: Any = rows._jdf.queryExecution().analyzed()
    for expression in _each(plan.expressions()):
        if hidden := sorted(part for part in map(_part, _nodes(expression)) if part.endswith(_FOREIGN)):
            return f"this session has a function or variable of its own for a name in it ({hidden[0]})"
        if not expression.deterministic():
            return "its value may differ each time"
    return None


def _parsed(spark: SparkSession, expression: str) -> ParsedExpression:
    parser: Any = spark._jsparkSession.sessionState().sqlParser()
    tree = parser.parseExpression(expression)
    nodes = list(_nodes(tree))
    calls = (tuple(node["nameParts"][1:-1].split(", ")) for node in nodes if _part(node) == _FUNCTION)
    leaves = _each(tree.collectLeaves())
    names = (leaf.nameParts() for leaf in leaves if leaf.getClass().getSimpleName() == _ATTRIBUTE)
    return ParsedExpression(
        frozenset(calls),
        frozenset(tuple(_each(name)) for name in names),
        frozenset(map(_part, nodes)) - {_ATTRIBUTE, _FUNCTION},
    )


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a tree in the JVM as JSON, including the nodes of plans in it."""
    left: list[Any] = [json.loads(tree.toJSON())]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            if "class" in value:
                yield value
            left += value.values()
        elif isinstance(value, list):
            left += value


def _part(node: dict[str, Any]) -> str:
    """Return the name of a node's class, with its package if it is not a package of plain expressions."""
    name = str(node["class"])
    for package in _PACKAGES:
        name = name.removeprefix(package)
    return name.rstrip("$")


def _each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a sequence in the JVM."""
    return (sequence.apply(index) for index in range(sequence.length()))


def _is_built_in(spark: SparkSession, name: str) -> bool:
    catalyst: Any = spark._jvm.org.apache.spark.sql.catalyst
    registry = catalyst.analysis.FunctionRegistry.builtin()
    return bool(registry.functionExists(catalyst.FunctionIdentifier(name.lower())))
