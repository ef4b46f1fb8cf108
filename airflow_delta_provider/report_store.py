"""Storage of whole reports outside the database: JSON files in Airflow's object storage or on the worker."""

from __future__ import annotations

import errno
import gzip
import json
import logging
import os
import re
import stat
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from airflow_delta_provider.domain.report.report import JobReport, ReportPlace
from airflow_delta_provider.exceptions import DeltaRequestError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath


def read_regular(path: Path | str) -> bytes:
    """Return the content of a regular file.

    :raises OSError: if it cannot be read, or is a pipe or a device, which could block forever
    """
    with open(path, "rb", opener=_open_at_once) as file:
        _check_regular(file.fileno(), path)
        return file.read()


def read_text(path: Path | str) -> str:
    """Return the text of a regular file in UTF-8.

    :raises OSError: see :func:`read_regular`
    :raises UnicodeDecodeError: if it is not UTF-8
    """
    with open(path, encoding="utf-8", opener=_open_at_once) as file:
        _check_regular(file.fileno(), path)
        return file.read()


def open_own(path: Path | str) -> int:
    """Open a regular file of this process's user for reading, and return its descriptor.

    Links are not followed.

    :raises OSError: if it cannot be read, is something else, or belongs to another user
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if _check_regular(descriptor, path).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "It belongs to another user", str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def replace_file(path: Path | str, content: bytes) -> None:
    """Replace a file atomically: readers see the old or the new file.

    A link at the path is replaced, not followed.

    :raises OSError: if it cannot be written
    """
    partial = f"{path}.{os.urandom(8).hex()}.tmp"  # an unpredictable name, so that nobody can create it first
    try:
        with open(partial, "xb") as file:
            file.write(content)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_regular(descriptor: int, path: Path | str) -> os.stat_result:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.ENOTSUP, "Not a regular file", str(path))
    return found


T = TypeVar("T")


def within_time(call: Callable[[], T]) -> T:
    """Return the result of ``call``, or raise its error.

    :raises TimeoutError: if it takes longer than ``MAX_SECONDS``; its thread continues
    """
    outcome: list[Callable[[], T]] = []

    def run() -> None:
        try:
            result = call()
        except BaseException as error:
            outcome.append(partial(_raise, error))
        else:
            outcome.append(lambda: result)

    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="delta-time-limit")
    thread.start()
    thread.join(MAX_SECONDS)
    if not outcome:
        raise TimeoutError(f"no answer within {MAX_SECONDS:g} s")
    return outcome[0]()


def _raise(error: BaseException) -> Any:
    raise error


log = logging.getLogger(__name__)

#: Size in bytes from which on a report is compressed.
COMPRESSED_FROM = 256 * 1024
#: Seconds to write or read one file: a store that hangs must not keep a task from ending.
MAX_SECONDS = 60
#: Most characters of the error that is recorded if a report could not be kept.
_MAX_ERROR = 500
_GZIP = b"\x1f\x8b"
_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/@]*:[^/@]*@")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True)
class KeptReport:
    """A report, and its place.

    :param report: the whole report
    :param place: its file
    """

    report: JobReport
    place: ReportPlace


class ReportStore:
    """The reports of a task: one file per try, in folders like Airflow's logs. Every call blocks.

    :param folders: paths or URIs; the first writable one gets the report
    :param instance: task instance; its DAG, run, task, map index and try determine the file's name
    """

    def __init__(self, folders: Iterable[str], instance: Any) -> None:
        name = "/".join(_name_of(instance))
        self._files = tuple(f"{folder.rstrip('/')}/{name}" for folder in folders)

    def keep(self, report: JobReport) -> ReportPlace:
        """Write the report. If that fails, the returned place has the error."""
        content, suffix = _packed(report)
        errors: list[str] = []
        for file in self._files:
            try:
                within_time(partial(_write, f"{file}{suffix}", content))
            except Exception as error:
                level = logging.WARNING if file is self._files[-1] else logging.INFO
                log.log(level, "The report could not be kept as %s: %s", file, _error_text(error))
                errors.append(f"{ReportPlace(file + suffix).bare}: {_error_text(error)}")
            else:
                return ReportPlace(f"{file}{suffix}")
        return ReportPlace(None, "; ".join(errors)[:_MAX_ERROR] or "there is no folder for it")

    def find(self) -> KeptReport | None:
        """Return the last report that this try kept; None if there is none."""
        found = []
        for path in (f"{file}{suffix}" for file in self._files for suffix in ("", ".gz")):
            try:
                found.append(KeptReport(read_report(path), ReportPlace(path)))
            except FileNotFoundError:
                continue
            except Exception as error:
                log.warning("%s could not be read: %s", path, _error_text(error))
        return max(found, key=lambda kept: kept.report.finished_at, default=None)


def read_report(path: str) -> JobReport:
    """Return a report that was kept. Blocks.

    :param path: ``report_path`` of the XCom
    :raises OSError: if it does not exist, or the store cannot be reached
    :raises ValueError: if it is not a report, or was written by an incompatible version of this provider
    """
    content = within_time(lambda: _read(_path(path)))
    return JobReport.from_json(json.loads(gzip.decompress(content) if content.startswith(_GZIP) else content))


def check_report_path(path: Any, argument: str = "report_path") -> str:
    """Return the address in an argument, after checking it.

    :raises DeltaRequestError: if it is not a path or a URI, is relative, or contains a password
    """
    if not isinstance(path, str) or not path.strip():
        raise DeltaRequestError(f"{argument} is {path!r}; it has to be a path or a URI.")
    if _PASSWORD.match(path):
        raise DeltaRequestError(
            f"{argument} holds a password before its @, which logs and XCom would show. Put the id of a connection "
            "there, as in s3://aws_default@bucket/reports."
        )
    if not _ABSOLUTE.match(path):
        raise DeltaRequestError(
            f"{argument} is {path!r}, relative to the folder of the process that reads it. Give an absolute path or "
            "a URI."
        )
    return path


def _name_of(instance: Any) -> Iterator[str]:
    yield f"dag_id={_part(instance.dag_id)}"
    yield f"run_id={_part(instance.run_id)}"
    yield f"task_id={_part(instance.task_id)}"
    index = getattr(instance, "map_index", None)
    if index is not None and index >= 0:
        yield f"map_index={index}"
    yield f"attempt={getattr(instance, 'try_number', None) or 1}.json"


def _part(value: Any) -> str:
    """Return a value as a part of a path, escaped so that every store reads it as a single part."""
    return quote(str(value), safe=":+~!$&'()*,;=@ ")


def _packed(report: JobReport) -> tuple[bytes, str]:
    content = json.dumps(report.to_json()).encode()
    return (content, "") if len(content) < COMPRESSED_FROM else (gzip.compress(content, 6), ".gz")


def _write(path: str, content: bytes) -> None:
    file = _path(path)
    if isinstance(file, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, content)
    else:
        file.write_bytes(content)


def _read(file: Path | ObjectStoragePath) -> bytes:
    if isinstance(file, Path):
        return read_regular(file)
    content: bytes = file.read_bytes()
    return content


def _path(path: str) -> Path | ObjectStoragePath:
    scheme, colon, rest = path.partition(":")
    if not colon or "/" in scheme:
        return Path(path)
    if scheme in ("file", "local"):
        return Path(rest.removeprefix("//"))
    # This import takes seconds the first time, so it runs only if needed.
    from airflow.providers.common.compat.sdk import ObjectStoragePath

    return ObjectStoragePath(path)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
