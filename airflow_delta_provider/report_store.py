"""Storage of whole reports outside the database: JSON files in Airflow's object storage."""

from __future__ import annotations

import gzip
import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.local_file import read_regular, replace_file
from airflow_delta_provider.time_limit import within

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath

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
                within(MAX_SECONDS, partial(_write, f"{file}{suffix}", content))
            except Exception as error:
                level = logging.WARNING if file is self._files[-1] else logging.INFO
                log.log(level, "The report could not be kept as %s: %s", file, _said(error))
                errors.append(f"{ReportPlace(file + suffix).bare}: {_said(error)}")
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
                log.warning("%s could not be read: %s", path, _said(error))
        return max(found, key=lambda kept: kept.report.finished_at, default=None)


def read_report(path: str) -> JobReport:
    """Return a report that was kept. Blocks.

    :param path: ``report_path`` of the XCom
    :raises OSError: if it does not exist, or the store cannot be reached
    :raises ValueError: if it is not a report, or was written by an incompatible version of this provider
    """
    content = within(MAX_SECONDS, lambda: _read(_path(path)))
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


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
