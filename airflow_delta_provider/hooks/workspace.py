"""The files of one submission, in a folder of their own that is removed when the submission ends."""

from __future__ import annotations

import fcntl
import grp
import json
import logging
import os
import pwd
import shutil
import stat
import tempfile
import time
import zipfile
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from types import TracebackType

from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.report_store import open_own

log = logging.getLogger(__name__)


def is_trusted(path: Path) -> bool:
    """Return True if no untrusted user could have written a file or folder; otherwise warn once.

    Only this process's user, root, and the owner of this package, whose code runs here anyway, may be able to write or
    replace it. A missing file is not trusted.
    """
    why = untrusted(path)
    if why is not None:
        _warn(path, why)
    return why is None


def untrusted(path: Path) -> str | None:
    """Return who else could have written a file or folder, and the remedy; None if nobody could."""
    try:
        for place in (path.absolute(), path.resolve()):
            if why := _open_to_others(place, os.stat(place)):
                return why
            for folder in place.parents:
                status = os.stat(folder)
                # In a sticky folder such as /tmp, only the folder's owner can replace other users' files.
                if why := _open_to_others(folder, status, by_owner_only=bool(status.st_mode & stat.S_ISVTX)):
                    return why
    except OSError as error:
        return f"{path} cannot be inspected: {error.strerror}."
    return None


def make_folder(folder: Path) -> None:
    """Create a folder and its parents; everybody can read them, only their owner can write to them.

    :raises OSError: if that is not possible
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)


def can_keep(folder: Path) -> bool:
    """Return True if a folder is writable, and only trusted users can write to it.

    A missing folder is created.
    """
    try:
        make_folder(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and is_trusted(folder)


def _open_to_others(path: Path, status: os.stat_result, *, by_owner_only: bool = False) -> str | None:
    if status.st_uid not in (0, os.geteuid(), installed_by()):
        return (
            f"{path} belongs to user {status.st_uid}, which is neither this process's, nor root, nor the owner of this "
            "package. Change its owner."
        )
    if by_owner_only:
        return None
    if status.st_mode & stat.S_IWOTH:
        return f"every user can write to {path}. Take that right away: chmod o-w {path}"
    if status.st_mode & stat.S_IWGRP and not _is_private(status.st_gid, status.st_uid):
        return f"group {status.st_gid} can write to {path}. Take that right away: chmod g-w {path}"
    return None


def installed_by() -> int:
    """Return the id of the user who installed this package: the owner of its files."""
    return os.stat(__file__).st_uid


@cache
def _is_private(group: int, owner: int) -> bool:
    """Return True if a group is root's, or is the owner's primary group without other known members."""
    if group == 0:
        return True
    try:
        user = pwd.getpwuid(owner)
        return user.pw_gid == group and set(grp.getgrgid(group).gr_mem) <= {user.pw_name}
    except KeyError:
        return False


@cache
def _warn(path: Path, why: str) -> None:
    log.warning("%s is not used: %s", path, why)


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

from airflow_delta_provider.jobs.run.warm_up import report_jars

sys.exit(report_jars(*sys.argv[1:]))
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
