"""The meaning of an engine's error for the table, by error class and Java type."""

from __future__ import annotations

import errno
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.engine.spark_library import (
    FILE_CONFLICTS,
    METADATA_CONFLICTS,
    UnknownSparkError,
    delta_coordinates,
)
from airflow_delta_provider.domain.errors import MEMORY, Shortage, shortage_named
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.jobs.storage.errors import (
    LASTING,
    EngineError,
    denied,
    failed,
    lasting,
    short_of,
    unexpected,
)
from airflow_delta_provider.jobs.storage.errors import understand as understand_python

_DENIED = ("java.nio.file.AccessDeniedException", "org.apache.hadoop.security.AccessControlException")
#: The session has no driver for the location's scheme.
_NO_DRIVER = ("org.apache.hadoop.fs.UnsupportedFileSystemException",)
_LASTING_JAVA: Mapping[str, int] = {
    "org.apache.hadoop.fs.ParentNotDirectoryException": errno.ENOTDIR,
    "org.apache.hadoop.fs.PathIsNotDirectoryException": errno.ENOTDIR,
    "java.nio.file.ReadOnlyFileSystemException": errno.EROFS,
    "org.apache.hadoop.hdfs.protocol.FSLimitException": errno.ENAMETOOLONG,
}
#: Classes that exist in one release of Spark or Delta and not in another.
_OF_ENGINE = re.compile(r"\b(?:org[./]apache[./]spark|io[./]delta|scala)[./][\w./$]+")
_CLASS_NOT_FOUND = "java.lang.ClassNotFoundException"
#: Class of a log store, named in a setting.
_LOG_STORE = re.compile(r"io\.delta\.storage\.[\w.$]+")
#: Class of Hadoop that another class was compiled against.
_HADOOP_CLASS = re.compile(r"org/apache/hadoop/[\w/$]+")
#: A class lacks the method, field or interface that another class was compiled against.
_OTHER_RELEASE = "java.lang.IncompatibleClassChangeError"
#: Py4J's messages for a missing method, and for a missing class.
_NO_METHOD = re.compile(r"([\w.$]+(?:\([^\n]*\))?) does not exist\b")
_NO_CLASS = "'JavaPackage' object is not callable"
#: Hadoop's message for a missing class that one of its settings names: a storage's driver.
_OF_HADOOP = re.compile(r"Class \S+ not found")
#: Messages of Hive's client if its metastore cannot be opened. Its classes may come from a class loader of its own.
_NO_METASTORE = re.compile(r"SessionHiveMetaStoreClient|Could not connect to meta store|TTransportException")
#: Beginning of a message that names its condition.
_NAMED = re.compile(r"\[([A-Z][A-Z0-9_]+)[.\]]")
#: Message that only reports the failure of another thread.
_WAITING = "Exception thrown in awaitResult"
#: Messages of Parquet's reader for a file that is damaged or not Parquet, and of Hadoop for a wrong checksum.
_DAMAGE = re.compile(
    r"is not a Parquet file|footer is too large|can ?not read FileMetaData|could not read page|^checksum error"
    r"|can not read class org\.apache\.parquet[\w.]*: (socket is closed|required field|don't know|un|negative|length)",
    re.IGNORECASE,
)


#: Errors that Py4J and PySpark raise when their local connection to the JVM ends. The last one comes from a bug in
#: their clean-up.
_LOST = (ConnectionError, EOFError, TimeoutError, UnboundLocalError)
#: Py4J's messages for the same problem, in an exception without a type of its own.
_NO_ANSWER = re.compile(r"Answer from Java side is empty|Error while (sending|receiving)|connect to the Java server")
_NO_SOCKET = "CANNOT_OPEN_SOCKET"
#: Python modules that raise these errors on their behalf.
_SOCKETS = frozenset({"socket", "selectors"})


def understand(error: BaseException) -> EngineError:
    """Return the meaning of ``error``."""
    if _lost_jvm(error):
        return _without_jvm(error)
    try:
        return _understand(error)
    except Exception as another:
        if _lost_jvm(another):  # raised while asking the JVM about the first error
            return _without_jvm(another)
        raise


def _lost_jvm(error: BaseException) -> bool:
    """Return True if an error means that the connection to Spark's JVM broke."""
    if isinstance(error, Py4JNetworkError):
        return True
    if isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError):
        return bool(_NO_ANSWER.search(str(error)))
    if isinstance(error, PySparkException):
        of_python = getattr(error, "_origin", None) is None  # does not call the JVM
        return of_python and condition_of(error) == _NO_SOCKET
    return isinstance(error, _LOST) and _raised_by_engine(error)


def _raised_by_engine(error: BaseException) -> bool:
    """Return True if PySpark or Py4J raised an error, and no library of a storage."""
    frames = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__))
    raising = [name for name in frames if name not in _SOCKETS]
    return bool(raising) and raising[-1].split(".")[0] in ("pyspark", "py4j")


def _without_jvm(error: BaseException) -> EngineError:
    message = str(error).strip().split("\n")[0] or type(error).__name__
    lost = f"The connection to Spark's JVM broke, most likely because the JVM ended: {message}."
    remedy = (
        "Run the job again. If it happens again, look for OutOfMemoryError or a signal in the Spark log, and give the "
        "driver more memory (spark.driver.memory)."
    )
    return EngineError(faults.STORAGE, Verdict.FAULT, "", lost, remedy, retryable=True)


def _understand(error: BaseException) -> EngineError:
    condition, message = _condition(error), _message(error)
    if condition in METADATA_CONFLICTS | FILE_CONFLICTS:
        moved = f"Another writer changed the table while this ran ({condition}). This step was not done."
        return EngineError(requests.TABLE_MOVED, Verdict.REFUSED, condition, moved, retryable=True)
    if found := understand_python(error):
        return found
    if short := _shortage(error):
        return short_of(short, message, condition)
    if why := _closed_metastore(error):
        return _without_metastore(why, condition)
    if _is_java(error, _DENIED):
        return denied(message, condition)
    if unfit := _of_releases(error, condition):
        return unfit
    if _is_java(error, _NO_DRIVER):
        return _without_driver(message, condition)
    if number := _lasting(error):
        return lasting(message, number, condition)
    if _is_java(error, ("java.io.IOException",)) and not isinstance(error, AnalysisException):
        return failed(message, condition)
    if isinstance(error, PySparkException) or condition:
        refused = f"The engine refused: {message}"
        return EngineError(requests.ENGINE_REFUSED, Verdict.REFUSED, condition, refused)
    if isinstance(error, Py4JError):
        return EngineError(faults.ENGINE, Verdict.FAULT, condition, f"The engine failed: {message}", retryable=True)
    if isinstance(error, UnknownSparkError):
        return EngineError(requests.UNSUPPORTED_BY_ENGINE, Verdict.REFUSED, condition, message)
    return unexpected(error, message, condition)


def _shortage(error: BaseException) -> Shortage | None:
    """Return the resource that the driver's or an executor's machine ran out of; None if an error has another cause."""
    for cause in _causes(error):
        out_of_memory = _is_instance(cause, "java.lang.OutOfMemoryError")
        if out_of_memory or _is_instance(cause, "java.io.IOException"):
            named = shortage_named(str(cause.getMessage() or ""))
            if named or out_of_memory:
                return named or MEMORY
    return None


def _closed_metastore(error: BaseException) -> str | None:
    """Return the reason why Hive's metastore cannot be opened; None for another error."""
    if not isinstance(error, AnalysisException):
        return None
    messages = [str(cause.toString()) for cause in _causes(error)]
    return messages[-1].strip().split("\n")[0] if any(map(_NO_METASTORE.search, messages)) else None


def _without_metastore(why: str, condition: str) -> EngineError:
    closed = f"Hive's metastore cannot be opened: {why}."
    remedy = (
        "Check spark.hadoop.hive.metastore.uris, or the settings of its database (spark.hadoop.javax.jdo.option.*), "
        "and that it runs. Derby serves one job at a time."
    )
    return EngineError(faults.ENGINE, Verdict.FAULT, condition, closed, remedy, retryable=True)


def _of_releases(error: BaseException, condition: str) -> EngineError | None:
    """Return the meaning of a missing class or method; None for another error.

    The class belongs to incompatible releases of Spark or Delta, or to a library. Otherwise it is a storage's driver,
    or a class that a setting of Spark names.
    """
    if isinstance(error, TypeError) and str(error) == _NO_CLASS:
        return _unfit("a class that jobs call", condition)
    for cause in _causes(error):
        is_unknown = _is_instance(cause, _CLASS_NOT_FOUND)
        if is_unknown or _is_instance(cause, "java.lang.LinkageError"):
            missing = str(cause.getMessage() or cause.toString()).strip()
            if is_unknown and _LOG_STORE.fullmatch(missing):
                return _without_class(missing, condition)
            if _OF_ENGINE.search(missing):
                return _unfit(missing, condition)
            if _is_instance(cause, _OTHER_RELEASE) or _HADOOP_CLASS.fullmatch(missing):
                return _unfit_libraries(missing.replace("/", "."), condition)
            if is_unknown and _OF_HADOOP.fullmatch(missing):
                return _without_driver(missing, condition)
            return _without_class(missing.replace("/", "."), condition)
    of_python = isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    if of_python and (missing_method := _NO_METHOD.search(str(error))):
        return _unfit(missing_method[1], condition)
    return None


def _unfit(missing: str, condition: str) -> EngineError:
    unfit = f"{_pair()} do not fit together: {missing.replace('/', '.')} is missing."
    remedy = f"Use releases that do: leave delta_jars (--delta-jars) out, or name others by coordinates{_fitting()}."
    return EngineError(faults.ENGINE, Verdict.FAULT, condition, unfit, remedy)


def _unfit_libraries(missing: str, condition: str) -> EngineError:
    unfit = f"Libraries on Spark's classpath do not fit together: {missing} is missing."
    remedy = "Add packages in the releases that this Spark was built with, such as hadoop-aws in that of its Hadoop."
    return EngineError(faults.ENGINE, Verdict.FAULT, condition, unfit, remedy)


def _without_class(missing: str, condition: str) -> EngineError:
    absent = f"A class is not on Spark's classpath: {missing}."
    remedy = "Add the package that holds it to spark.jars.packages, or correct the setting that names it."
    return EngineError(faults.ENGINE, Verdict.FAULT, condition, absent, remedy)


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


def _lasting(error: BaseException) -> int | None:
    """Return the error number of a permanent storage failure; None if another try may help."""
    for cause in _causes(error):
        for name, number in _LASTING_JAVA.items():
            if _is_instance(cause, name):
                return number
        if _is_instance(cause, "java.io.IOException"):  # error of a local file, without a Java type of its own
            message = cause.getMessage() or ""
            for number in LASTING:
                if message.endswith((f"({os.strerror(number)})", f": {os.strerror(number)}")):
                    return number
    return None


def damage(error: BaseException) -> str | None:
    """Return the damage of a Parquet file that could not be read; None if the file is not the cause."""
    messages = (cause.getMessage() or "" for cause in _causes(error))
    return next((message for message in messages if _DAMAGE.search(message)), None)


def condition_of(error: PySparkException) -> str | None:
    """Return the condition of a PySpark error. Spark 3.5 calls it an error class."""
    named: Callable[[], str | None] = getattr(error, "getCondition", None) or error.getErrorClass
    return named()


def _condition(error: BaseException) -> str:
    condition: str | None = None
    if isinstance(error, PySparkException):
        condition = condition_of(error)
    if not condition:
        throwable = (cause for cause in _causes(error) if _is_instance(cause, "org.apache.spark.SparkThrowable"))
        condition = next(map(_condition_in_java, throwable), None)
    if not condition and isinstance(error, PySparkException):
        # Once imported, Delta's Python package replaces exceptions by its own, without their conditions.
        named = _NAMED.match(str(error).strip())
        condition = named[1] if named else None
    return (condition or "").split(".")[0]


def _condition_in_java(cause: Any) -> str | None:
    try:
        condition: str | None = cause.getCondition()
    except Py4JError:  # Spark 3.5 has no such method
        condition = cause.getErrorClass()
    return condition


def _message(error: BaseException) -> str:
    if isinstance(error, PySparkException):
        try:
            text = error.getMessage() or str(error)
        except Exception:  # PySpark fails on error classes of Delta that it does not list
            text = str(error)
    elif isinstance(error, Py4JJavaError):
        messages = (cause.getMessage() for cause in _causes(error))
        told = (message for message in messages if message and not message.startswith(_WAITING))
        text = next(told, str(error.java_exception))
    else:
        text = str(error)
    return text.strip().split("\n\tat ")[0].split("\n== SQL ==")[0].strip()


def _is_java(error: BaseException, classes: tuple[str, ...]) -> bool:
    return any(_is_instance(cause, name) for cause in _causes(error) for name in classes)


def _causes(error: BaseException) -> Iterator[Any]:
    """Yield the Java exception behind an error, and its causes, the root cause last; nothing if there is none.

    Py4J's error has it, and so have PySpark's own errors that replace some of Py4J's.
    """
    cause = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    for _ in range(20):
        if not isinstance(cause, JavaObject):
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
