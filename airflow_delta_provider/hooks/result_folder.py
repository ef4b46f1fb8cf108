"""Folder for the answer of a remote driver; worker and driver must both reach it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cached_property
from getpass import getuser
from typing import TYPE_CHECKING, Any, TypeVar

from airflow.providers.common.compat.sdk import BaseHook

from airflow_delta_provider.domain.digest import short_digest
from airflow_delta_provider.domain.report.answer_file import AnswerFile
from airflow_delta_provider.domain.request.table_name import TableNameError
from airflow_delta_provider.exceptions import DeltaRequestError, DeltaResultError
from airflow_delta_provider.hooks.hadoop_configuration import WEB_HDFS_PORT, HadoopConfiguration
from airflow_delta_provider.report_store import MAX_SECONDS, check_report_path
from airflow_delta_provider.time_limit import within
from airflow_delta_provider.watch.airflow_filesystem import filesystem_of
from airflow_delta_provider.watch.errors import DeltaLogUnreadableError, StorageSetupError
from airflow_delta_provider.watch.storage_address import StorageAddress

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
            return within(MAX_SECONDS, call)
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
