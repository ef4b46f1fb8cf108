"""The answers of drivers: the folder that worker and remote driver must both reach, and the channel of a local one."""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import cached_property
from getpass import getuser
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.providers.common.compat.sdk import BaseHook

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.report.transport import AnswerFile, MarkerReader, is_marker
from airflow_delta_provider.domain.table_name import TableNameError
from airflow_delta_provider.domain.text import short_digest
from airflow_delta_provider.exceptions import DeltaRequestError, DeltaResultError
from airflow_delta_provider.hooks.settings_file import WEB_HDFS_PORT, HadoopConfiguration
from airflow_delta_provider.report_store import check_report_path, within_time
from airflow_delta_provider.watch.metadata_folder import (
    DeltaLogUnreadableError,
    StorageAddress,
    StorageSetupError,
    filesystem_of,
)

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


T = TypeVar("T")

#: Schemes of HDFS. A scheme whose URIs name the HTTP port has the scheme of HTTP as its value.
_HDFS = {"hdfs": None, "webhdfs": "http", "swebhdfs": "https"}
#: Types of Airflow's connections to HDFS; the connection of the tables' store may have another type.
_CONNECTIONS = ("hdfs", "webhdfs")
#: Errors that another try does not change.
_LASTING = (PermissionError, NotADirectoryError, FileExistsError)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class ResultFolder:
    """The folder of one task instance, the same for all its tries.

    :param path: a path on both machines, or a URI in Hadoop's notation
    :param instance: task instance; its DAG, run, task and map index determine the folder's name
    :param conn_id: Airflow connection of the store; with None, credentials come from the environment
    :raises DeltaRequestError: if the path is not absolute, or contains a password
    """

    def __init__(self, path: str, instance: Any, conn_id: str | None = None) -> None:
        check_report_path(path, "result_path")
        self.path = path.rstrip("/")
        self._conn_id = conn_id
        identity = [instance.dag_id, instance.run_id, instance.task_id, getattr(instance, "map_index", -1)]
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{instance.dag_id}.{instance.task_id}")[:100]
        # Only characters that every file system accepts; HDFS, for instance, does not accept a colon.
        self._folder = f"{name}-{short_digest(json.dumps(identity))}"

    def file(self, submission: str) -> AnswerFile:
        """Return a submission's file, with the driver's address for it."""
        path = self.path if _SCHEME.match(self.path) else f"file://{self.path}"
        return AnswerFile(f"{path}/{self._folder}", submission)

    def prepare(self) -> None:
        """Remove the files of earlier submissions, and check that files can be written and read.

        :raises DeltaRequestError: if no filesystem here serves the path, or the worker may not use it
        :raises DeltaResultError: if it cannot be written or read
        """

        def probe() -> None:
            self._remove_all()
            path, content = f"{self._here}/probe", os.urandom(16)
            self._filesystem.makedirs(self._here, exist_ok=True)
            self._filesystem.pipe_file(path, content)
            if self._filesystem.cat_file(path) != content:
                raise OSError("the content that was read differs from the content that was written")
            self._filesystem.rm_file(path)

        try:
            self._reached(probe, "Nothing was submitted.")
        except DeltaResultError as error:
            if isinstance(error.__cause__, _LASTING):
                raise DeltaRequestError(str(error)) from error
            raise

    def read(self, submission: str) -> tuple[str, dict[str, Any]] | None:
        """Return the channel and the document of a submission's answer; None if there is none.

        :raises DeltaResultError: if it cannot be read
        :raises ValueError: if it is damaged, or answers another submission
        """
        file = AnswerFile(self._here, submission)
        content = self._content(file.path)
        return None if content is None else file.document(json.loads(content))

    def has_begun(self, submission: str) -> bool:
        """Return True if the driver of a submission began.

        :raises DeltaResultError: if the folder cannot be read
        """
        return self._content(AnswerFile(self._here, submission).begun) is not None

    def remove(self) -> None:
        """Remove all answers, and the folder.

        :raises DeltaResultError: if that fails
        """
        self._reached(self._remove_all, "It is no longer needed.")

    def _content(self, path: str) -> bytes | None:
        def read() -> bytes | None:
            self._filesystem.invalidate_cache()
            try:
                return bytes(self._filesystem.cat_file(path))
            except FileNotFoundError:
                return None

        return self._reached(read, "The report of the job may be there.")

    def _remove_all(self) -> None:
        self._filesystem.invalidate_cache()
        if self._filesystem.exists(self._here):
            self._filesystem.rm(self._here, recursive=True)

    def _reached(self, call: Callable[[], T], consequence: str) -> T:
        try:
            return within_time(call)
        except (TableNameError, StorageSetupError, DeltaLogUnreadableError) as error:
            raise DeltaRequestError(f"result_path is {self.path!r}: {error}") from error
        except Exception as error:
            raise DeltaResultError(
                f"The worker cannot use {self.path} (result_path): {type(error).__name__}: {error}. {consequence}"
            ) from error

    @cached_property
    def _address(self) -> StorageAddress:
        return StorageAddress.of(self.path)

    @property
    def _here(self) -> str:
        """The folder's path in the worker's file system."""
        url = self.path if self._address.scheme in _HDFS else self._address.url
        return f"{self._filesystem._strip_protocol(url)}/{self._folder}"

    @cached_property
    def _filesystem(self) -> AbstractFileSystem:
        if self._address.scheme == "file":
            from fsspec.implementations.local import LocalFileSystem

            return LocalFileSystem()
        if self._address.scheme in _HDFS:
            return _web_hdfs(self._address.url, self._conn_id)
        return filesystem_of(self._address, self._conn_id)


def _web_hdfs(url: str, conn_id: str | None) -> AbstractFileSystem:
    """Return HDFS over HTTP, from a connection or else from Hadoop's settings on the worker.

    :raises OSError: if no name node answers
    """
    from fsspec.implementations.webhdfs import WebHDFS

    connection = None if conn_id is None else BaseHook.get_connection(conn_id)
    if connection is not None and connection.conn_type in _CONNECTIONS:
        extra = connection.extra_dejson
        return WebHDFS(
            host=connection.host,
            port=connection.port or WEB_HDFS_PORT,
            user=None if extra.get("kerberos") else connection.login or None,
            password=connection.password or None,
            kerberos=bool(extra.get("kerberos")),
            use_https=bool(extra.get("use_ssl")),
            session_verify=extra.get("verify", True),
        )
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0]
    over_http = _HDFS[scheme]
    addresses = [f"{over_http}://{authority}"] if over_http else HadoopConfiguration().web_hdfs(authority)
    error: Exception = OSError("no setting of Hadoop on the worker says where WebHDFS is served")
    for address in addresses:
        scheme, _, rest = address.partition("://")
        host, _, port = rest.partition(":")
        user = os.environ.get("HADOOP_USER_NAME") or getuser()
        filesystem = WebHDFS(host=host, port=int(port), user=user, use_https=scheme == "https")
        try:
            filesystem.info("/")
        except Exception as failure:  # a name node on standby also fails
            error = failure
        else:
            return filesystem
    raise error


class JobCrashError(Exception):
    """The job sent an error instead of a report.

    :param traceback: the job's Python traceback
    """

    def __init__(self, message: str, traceback: str) -> None:
        super().__init__(message)
        self.traceback = traceback


class ResultChannel(ABC):
    """The channel of a submission's answer."""

    @abstractmethod
    def take_line(self, line: str) -> list[str] | None:
        """Process a line of the driver's output.

        :return: progress to show; None if the line is not this provider's
        """

    @abstractmethod
    def answer(self) -> tuple[str, dict[str, Any]] | None:
        """Return the channel (``report`` or ``error``) and the document of the job's answer; None if there is none.

        :raises DeltaResultError: if it cannot be read
        :raises ValueError: if it is damaged
        """

    @abstractmethod
    def explain_absence(self) -> str:
        """Return the reason why there is no report, as far as known."""

    def report(self) -> JobReport | None:
        """Return the report, or None if there is none.

        :raises JobCrashError: if the job sent an error instead
        :raises DeltaResultError: if it cannot be read
        :raises ValueError: if it is damaged
        """
        answer = self.answer()
        if answer is None:
            return None
        channel, document = answer
        if channel == "error":
            raise JobCrashError(document["message"], document["traceback"])
        return JobReport.from_json(document)


class OutputChannel(ResultChannel):
    """Reads the answer from the driver's output."""

    def __init__(self, submission: str) -> None:
        self._reader = MarkerReader(submission)
        self._sent: dict[str, dict[str, Any]] = {}
        self._traceback: deque[str] = deque(maxlen=60)

    def take_line(self, line: str) -> list[str] | None:
        if not is_marker(line):
            self._watch_for_traceback(line)
            return None
        progress = []
        for channel, document in self._reader.feed(line):
            if channel == "progress":
                progress.append(str(document))
            else:
                self._sent[channel] = document
        return progress

    def answer(self) -> tuple[str, dict[str, Any]] | None:
        """Return the report if the job sent one, else the error."""
        return next(((name, self._sent[name]) for name in ("report", "error") if name in self._sent), None)

    def explain_absence(self) -> str:
        if self._traceback:
            return "The job's Python code failed before it could report:\n" + "\n".join(self._traceback)
        if self._reader.torn:
            return "The report arrived damaged: the driver's output was cut or mixed."
        if self._reader.foreign:
            return "The output held the report of another submission, which was refused."
        return "The driver's output held no report."

    def _watch_for_traceback(self, line: str) -> None:
        """Keep a Python traceback that was printed: Spark's own lines push it out of the log's tail."""
        if line.startswith("Traceback (most recent call last)"):
            self._traceback.clear()
            self._traceback.append(line.rstrip())
        elif self._traceback and (line.startswith(" ") or self._traceback[-1].startswith(" ")):
            self._traceback.append(line.rstrip())


class FileChannel(ResultChannel):
    """Reads the answer from a file that a remote driver wrote.

    :param folder: folder of the file
    """

    def __init__(self, folder: ResultFolder, submission: str) -> None:
        self._folder = folder
        self._submission = submission

    def take_line(self, line: str) -> list[str] | None:
        """Return None: spark-submit's output has no line of this provider."""
        del line
        return None

    def answer(self) -> tuple[str, dict[str, Any]] | None:
        return self._folder.read(self._submission)

    def explain_absence(self) -> str:
        if self._folder.has_begun(self._submission):
            return "The driver started, but was ended before it could report."
        return (
            f"The driver did not start, or could not write to {self._folder.path} (result_path): then it changes "
            "nothing. Its log on the cluster says why."
        )
