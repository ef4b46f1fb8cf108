"""What an error of the engine means for the table, by error class and Java type."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from airflow_delta_provider.domain.broken_metadata import BrokenMetadataError
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.engine.conflicts import FILE_CONFLICTS, METADATA_CONFLICTS
from airflow_delta_provider.domain.engine.delta_library import UnknownSparkError, delta_coordinates
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Verdict
from airflow_delta_provider.jobs.session.missing_file import MissingFileError

_DENIED = ("java.nio.file.AccessDeniedException", "org.apache.hadoop.security.AccessControlException")
#: The session has no driver for the location's scheme.
_NO_DRIVER = ("org.apache.hadoop.fs.UnsupportedFileSystemException",)
#: What a retry does not change, with the remedy; Java has no types for these on local file systems.
_LASTING: Mapping[int, tuple[str, str]] = {
    errno.ENOTDIR: ("There is a file where a directory must be.", "Choose another location, or move the file."),
    errno.EISDIR: ("There is a directory where a file must be.", "Choose another location, or move the directory."),
    errno.EROFS: ("The file system is mounted read-only.", "Mount it writable, or choose another location."),
    errno.ENAMETOOLONG: ("A name in the path is longer than the file system allows.", "Choose a shorter one."),
    errno.ELOOP: ("Symbolic links in the path form a loop.", "Fix them."),
}
_LASTING_JAVA: Mapping[str, int] = {
    "org.apache.hadoop.fs.ParentNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.fs.PathIsNotDirectoryException": errno.ENOTDIR,
    "java.nio.file.ReadOnlyFileSystemException": errno.EROFS,
    "org.apache.hadoop.hdfs.protocol.FSLimitException": errno.ENAMETOOLONG,
}
#: Classes that Spark or Delta has in one release and not in another.
_OF_ENGINE = re.compile(r"\b(?:org[./]apache[./]spark|io[./]delta|scala)[./][\w./$]+")
_CLASS_NOT_FOUND = "java.lang.ClassNotFoundException"
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
    :param evidence: what went wrong
    :param remedy: what to do, if it is something else than the rule says
    """

    rule: Rule
    verdict: Verdict
    condition: str
    evidence: str
    remedy: str | None = None
    _: KW_ONLY
    retryable: bool = False

    @property
    def message(self) -> str:
        """What went wrong, and what to do that the rule does not say."""
        return " ".join(filter(None, (self.evidence, self.remedy)))

    def finding(self, done: str = "") -> Finding:
        """Return the finding, without secrets; ``done`` is what was done before the error, as a sentence."""
        said = " ".join(filter(None, (masked_text(self.evidence), done)))
        return self.rule.found("{error}", remedy=self.remedy, error=Prose(said), condition=self.condition)


def understand(error: BaseException) -> EngineError:
    """Return what ``error`` means."""
    condition, message = _condition(error), _message(error)
    if isinstance(error, BrokenMetadataError):
        broken = f"The log cannot be read as one table: {message}."
        return EngineError(requests.BROKEN_LOG, Verdict.REFUSED, condition, broken)
    if condition in METADATA_CONFLICTS | FILE_CONFLICTS:
        moved = f"Another writer changed the table while this ran ({condition}). This step was not done."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, condition, moved, retryable=True)
    if isinstance(error, MissingFileError):
        gone = f"A file of the table is missing: {message}. It was cleaned up, or the table dropped, while this ran."
        remedy = "Run the job again; if the error persists, restore the file."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, condition, gone, remedy, retryable=True)
    if isinstance(error, PermissionError) or _is_java(error, _DENIED):
        remedy = "Give the job's user or credentials access to the table."
        return EngineError(faults.STORAGE, Verdict.FAULT, condition, f"No permission: {message}.", remedy)
    if missing := _missing_class(error):
        return _of_missing_class(missing, condition)
    if _is_java(error, _NO_DRIVER):
        return _without_driver(message, condition)
    if lasting := _lasting(error):
        what, remedy = lasting
        for_good = f"Storage failed, and a retry does not help: {message}. {what}"
        return EngineError(faults.STORAGE, Verdict.FAULT, condition, for_good, remedy)
    storage = isinstance(error, (OSError, Py4JNetworkError)) or _is_java(error, ("java.io.IOException",))
    # A file that the storage of a table lacks is a MissingFileError: this one is of the job itself.
    storage = storage and not isinstance(error, FileNotFoundError)
    if storage and not isinstance(error, AnalysisException):
        failed, remedy = f"Storage failed: {message}.", "If it persists, check the location, network and credentials."
        return EngineError(faults.STORAGE, Verdict.FAULT, condition, failed, remedy, retryable=True)
    if isinstance(error, PySparkException) or condition:
        refused = f"The engine refused: {message}"
        return EngineError(requests.ENGINE_REFUSED, Verdict.REFUSED, condition, refused)
    if isinstance(error, Py4JError):
        return EngineError(faults.ENGINE, Verdict.FAULT, condition, f"The engine failed: {message}", retryable=True)
    if isinstance(error, UnknownSparkError):
        return EngineError(requests.UNSUPPORTED_BY_ENGINE, Verdict.REFUSED, condition, message)
    if isinstance(error, UnicodeError):
        half = f"A text is not valid Unicode: {message}."
        return EngineError(requests.ENGINE_REFUSED, Verdict.REFUSED, condition, half, "Pass it in UTF-8.")
    unexpected = f"Unexpected {type(error).__name__}: {message}."
    return EngineError(faults.UNEXPECTED, Verdict.FAULT, condition, unexpected)


def _missing_class(error: BaseException) -> str | None:
    """Return what a class, or a method of one, is called that should be there and is not."""
    origin = _origin(error)
    if not isinstance(origin, Py4JJavaError):
        return None
    for cause in _java_causes(origin):
        if _is_instance(cause, "java.lang.LinkageError") or _is_instance(cause, _CLASS_NOT_FOUND):
            return str(cause.getMessage() or cause.toString()).strip()
    return None


def _of_missing_class(missing: str, condition: str) -> EngineError:
    """Return what it means: releases of Spark and Delta that do not fit, or a storage's driver that is not there."""
    if not _OF_ENGINE.search(missing):
        return _without_driver(missing, condition)
    unfit = f"{_pair()} do not fit together: {missing.replace('/', '.')} is missing."
    remedy = f"Use releases that do: leave delta_jars out, or name others by coordinates{_fitting()}."
    return EngineError(faults.ENGINE, Verdict.FAULT, condition, unfit, remedy)


def _without_driver(message: str, condition: str) -> EngineError:
    absent = f"No Hadoop filesystem for this storage: {message}."
    remedy = (
        "Check the URI's scheme, or add the storage's package to spark.jars.packages, for instance "
        "org.apache.hadoop:hadoop-aws with the version of Spark's Hadoop for s3a://."
    )
    return EngineError(faults.STORAGE, Verdict.FAULT, condition, absent, remedy)


def _pair() -> str:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    return "Spark and Delta Lake" if context is None else f"Spark {context.version} and this release of Delta Lake"


def _fitting() -> str:
    from pyspark import __version__

    try:
        return f", such as {delta_coordinates(__version__)}"
    except UnknownSparkError:
        return ""


def _lasting(error: BaseException) -> tuple[str, str] | None:
    """Return what keeps a storage from doing something for good, with the remedy; None where another try may help."""
    if isinstance(error, OSError):
        return _LASTING.get(error.errno or 0)
    origin = _origin(error)
    if not isinstance(origin, Py4JJavaError):
        return None
    for cause in _java_causes(origin):
        for name, number in _LASTING_JAVA.items():
            if _is_instance(cause, name):
                return _LASTING[number]
        if _is_instance(cause, "java.io.IOException"):
            message = cause.getMessage() or ""
            for number, lasting in _LASTING.items():
                if message.endswith((f"({os.strerror(number)})", f": {os.strerror(number)}")):
                    return lasting
    return None


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
