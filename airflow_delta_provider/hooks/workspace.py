"""The files of one submission, in a folder of their own that is removed when the submission ends."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
import time
import zipfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.local_file import open_own

_PREFIX = "airflow-delta-provider-"
#: File that is locked as long as the submission may run.
_LOCK = "submitter.lock"
#: Seconds after which a folder without a lock belongs to a killed process, and is not just being created.
_ABANDONED = 60.0
_JOB = """\
import sys

from airflow_delta_provider.jobs.run.submitted import main

REQUEST = {request!r}

sys.exit(main(REQUEST, *sys.argv[1:], lock={lock!r}))
"""
_JAR_RESOLVER = """\
import sys

from airflow_delta_provider.jobs.run.resolved_jars import main

sys.exit(main(*sys.argv[1:]))
"""
_WARM_UP = """\
import sys

from airflow_delta_provider.jobs.run.warm_up import main

sys.exit(main(*sys.argv[1:]))
"""
_QUIET_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


class Workspace:
    """A temporary folder with the files for spark-submit. A context manager.

    As long as the process lives, it holds a lock on a file there, which tells the driver that the process lives. The
    application file is in this folder and not in the package: its folder becomes the first entry of ``sys.path``, and
    this package's modules must not hide modules of the standard library.
    """

    def __init__(self, submission: str) -> None:
        self.submission = submission
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._lock = open(self.path / _LOCK, "wb")  # noqa: SIM115  # open as long as the job may run
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def __enter__(self) -> Workspace:
        _remove_abandoned(self.path.parent)
        self._write("delta_provider_jars.py", _JAR_RESOLVER)
        self._write("delta_provider_warm_up.py", _WARM_UP)
        self._write("log4j2.properties", _QUIET_LOG4J)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.close()
        self._folder.cleanup()

    @cached_property
    def archive(self) -> Path:
        """The zip for ``--py-files``, written on first use."""
        archive = self.path / "airflow_delta_provider_jobs.zip"
        write_job_archive(archive)
        return archive

    @cached_property
    def library(self) -> Path:
        """A folder for ``PYTHONPATH`` with this package, and nothing that is installed next to it.

        A driver on this machine imports the package from there: the installed package is compiled, a zip is not.
        """
        library = self.path / "library"
        library.mkdir()
        (library / PACKAGE.name).symlink_to(PACKAGE, target_is_directory=True)
        return library

    @property
    def jar_resolver(self) -> Path:
        """The application that reports the jars resolved by spark-submit."""
        return self.path / "delta_provider_jars.py"

    @property
    def warm_up(self) -> Path:
        """The application that makes a driver load the classes that jobs need."""
        return self.path / "delta_provider_warm_up.py"

    @property
    def log4j(self) -> Path:
        """Logging configuration for local drivers: warnings and errors only."""
        return self.path / "log4j2.properties"

    def write_application(self, request: JobRequest, *, elsewhere: bool = False) -> Path:
        """Write the application that runs a request and return its path.

        The request is part of it, because the location of a file from ``--files`` depends on the cluster.

        :param elsewhere: True if the driver may continue without this process
        """
        lock = None if elsewhere else self._lock.name
        return self._write("delta_provider_job.py", _JOB.format(request=json.dumps(request.to_json()), lock=lock))

    def write_secret(self, name: str, text: str) -> Path:
        """Write a file that nobody else can read and return its path.

        An existing file of that name is replaced.
        """
        path = self.path / name
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        return path


def _remove_abandoned(directory: Path) -> None:
    """Remove the folders of submissions whose processes were killed before they could remove them."""
    for lock in directory.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError):
            folder = os.lstat(lock.parent)
            if folder.st_uid != os.geteuid() or not stat.S_ISDIR(folder.st_mode):
                continue  # it may be a trap
            with open(open_own(lock), "rb") as file:
                if os.fstat(file.fileno()).st_mtime < time.time() - _ABANDONED:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # raises if the lock is held
                    shutil.rmtree(lock.parent, ignore_errors=True)


PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = ("command_line", "domain", "jobs")
#: Earliest time that a zip can hold: the same sources give the same bytes in every place.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_job_archive(destination: Path) -> None:
    """Write the zip; the same sources give the same bytes."""
    sources = [PACKAGE / "__init__.py", PACKAGE / "__main__.py"]
    sources += [path for folder in _SHIPPED for path in (PACKAGE / folder).rglob("*") if _is_shipped(path)]
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(sources):
            _add(archive, f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}", path)
        _add(archive, "__main__.py", PACKAGE / "__main__.py")  # the module that Python runs from a zip


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, path.read_bytes())


def _is_shipped(path: Path) -> bool:
    """Return True if a file is a source, not one that Python compiled."""
    return path.is_file() and "__pycache__" not in path.parts
