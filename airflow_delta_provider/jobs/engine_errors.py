"""What an error of the engine means for the table: by error class and Java type, never by its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.domain.rules import faults, requests
from airflow_delta_provider.domain.rules.rule import Rule
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError

#: Another writer changed what the statement was planned on: plan anew.
METADATA_CONFLICTS = frozenset({"DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED"})
#: Another writer changed files only: the same statement may run again.
FILE_CONFLICTS = frozenset(
    {
        "DELTA_CONCURRENT_APPEND",
        "DELTA_CONCURRENT_DELETE_DELETE",
        "DELTA_CONCURRENT_DELETE_READ",
        "DELTA_CONCURRENT_TRANSACTION",
        "DELTA_CONCURRENT_WRITE",
    }
)
_DENIED = ("java.nio.file.AccessDeniedException", "org.apache.hadoop.security.AccessControlException")
#: The session has no driver for the location's scheme.
_NO_DRIVER = ("org.apache.hadoop.fs.UnsupportedFileSystemException", "java.lang.ClassNotFoundException")
#: How a message begins that names its condition.
_NAMED = re.compile(r"\[([A-Z][A-Z0-9_]+)[.\]]")
#: What only says that another thread failed.
_WAITING = "Exception thrown in awaitResult"
#: What Parquet's reader says of a file that is none, or damaged, and Hadoop of one with a wrong checksum.
_DAMAGE = re.compile(
    r"is not a Parquet file|footer is too large|can ?not read FileMetaData|could not read page|^checksum error"
    r"|can not read class org\.apache\.parquet[\w.]*: (socket is closed|required field|don't know|un|negative|length)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class EngineError:
    """An exception, understood.

    :param condition: error class of Spark or Delta, without its subclass; empty where there is none
    """

    rule: Rule
    verdict: Verdict
    retryable: bool
    condition: str
    message: str


def understand(error: BaseException) -> EngineError:
    """Return what ``error`` means."""
    condition, message = _condition(error), _message(error)
    if isinstance(error, BrokenLogError):
        broken = f"The log cannot be read as one table: {message}. Restore the file from a backup or a replica."
        return EngineError(requests.BROKEN_LOG, Verdict.REFUSED, False, condition, broken)
    if condition in METADATA_CONFLICTS | FILE_CONFLICTS:
        moved = f"Another writer changed the table while this ran ({condition}). This step was not done; run it again."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, True, condition, moved)
    if isinstance(error, MissingFileError):
        gone = f"A file of the table is gone: {message}. The log was cleaned up, or the table dropped, while this ran. "
        gone += "Run it again; if it lasts, restore the file."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, True, condition, gone)
    if isinstance(error, PermissionError) or _is_java(error, _DENIED):
        denied = f"No permission: {message}. Give the job's user or credentials access to the table."
        return EngineError(faults.STORAGE, Verdict.FAULT, False, condition, denied)
    if _is_java(error, _NO_DRIVER):
        absent = (
            f"No driver for this storage: {message}. Check the URI's scheme, and add the storage's package to Spark."
        )
        return EngineError(faults.STORAGE, Verdict.FAULT, False, condition, absent)
    storage = isinstance(error, (OSError, Py4JNetworkError)) or _is_java(error, ("java.io.IOException",))
    # A file that the storage of a table lacks is a MissingFileError: this one is of the job itself.
    storage = storage and not isinstance(error, FileNotFoundError)
    if storage and not isinstance(error, AnalysisException):
        failed = f"Storage failed: {message}. If it lasts, check the location, the network and the credentials."
        return EngineError(faults.STORAGE, Verdict.FAULT, True, condition, failed)
    if isinstance(error, PySparkException) or condition:
        refused = f"The engine refused: {message}"
        return EngineError(requests.ENGINE_REFUSED, Verdict.REFUSED, False, condition, refused)
    if isinstance(error, Py4JError):
        return EngineError(faults.ENGINE, Verdict.FAULT, True, condition, f"The engine failed: {message}")
    unexpected = f"Unexpected {type(error).__name__}: {message}. This is a defect of the provider: please report it."
    return EngineError(faults.UNEXPECTED, Verdict.FAULT, False, condition, unexpected)


def damage(error: BaseException) -> str | None:
    """Return what is wrong with a Parquet file that could not be read, None where it is not the file's own fault."""
    causes = list(_java_causes(_origin(error))) if isinstance(_origin(error), Py4JJavaError) else []
    messages = (cause.getMessage() or "" for cause in causes)
    return next((message for message in messages if _DAMAGE.search(message)), None)


def _condition(error: BaseException) -> str:
    condition: str | None = None
    if isinstance(error, PySparkException):
        condition = error.getCondition()
    elif isinstance(error, Py4JJavaError):
        for cause in _java_causes(error):
            if _is_instance(cause, "org.apache.spark.SparkThrowable"):
                condition = cause.getCondition()
                break
    if not condition and isinstance(error, PySparkException):
        # Delta's Python package, once it is imported, puts exceptions of its own in place, without their conditions.
        named = _NAMED.match(str(error).strip())
        condition = named[1] if named else None
    return (condition or "").split(".")[0]


def _message(error: BaseException) -> str:
    if isinstance(error, PySparkException):
        try:
            text = error.getMessage() or str(error)
        except Exception:  # PySpark fails on error classes of Delta that it does not list
            text = str(error)
    elif isinstance(error, Py4JJavaError):
        messages = (cause.getMessage() for cause in _java_causes(error))
        told = (message for message in messages if message and not message.startswith(_WAITING))
        text = next(told, str(error.java_exception))
    else:
        text = str(error)
    return text.strip().split("\n\tat ")[0].split("\n== SQL ==")[0].strip()


def _is_java(error: BaseException, classes: tuple[str, ...]) -> bool:
    error = _origin(error)
    if not isinstance(error, Py4JJavaError):
        return False
    return any(_is_instance(cause, name) for cause in _java_causes(error) for name in classes)


def _origin(error: BaseException) -> BaseException:
    """Return the Java exception that an exception of PySpark stands for."""
    return (getattr(error, "_origin", None) or error) if isinstance(error, PySparkException) else error


def _java_causes(error: Py4JJavaError) -> Iterator[Any]:
    cause = error.java_exception
    for _ in range(20):
        if cause is None:
            return
        yield cause
        cause = cause.getCause()


def _is_instance(java_object: Any, name: str) -> bool:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    try:
        return bool(is_instance_of(gateway, java_object, name))
    except Py4JError:
        return False
