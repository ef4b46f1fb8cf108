"""Files that become code, such as jars and archives of classes: none is taken that others could have written."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import stat
from functools import cache
from pathlib import Path

log = logging.getLogger(__name__)


def is_trusted(path: Path) -> bool:
    """Return whether a file or folder is as this worker, or who installed it, left it; otherwise warn once.

    Nobody may be able to write to it, or to replace it, but this process's user, root, and the owner of this package,
    whose code runs here as it is. What is not there is not trusted.
    """
    why = untrusted(path)
    if why is not None:
        _warn(path, why)
    return why is None


def untrusted(path: Path) -> str | None:
    """Return who else could have written a file or folder, and what to do; None if nobody could."""
    try:
        for place in (path.absolute(), path.resolve()):
            if why := _open_to_others(place, os.stat(place)):
                return why
            for folder in place.parents:
                status = os.stat(folder)
                # Where it is sticky, as /tmp is, nobody but its owner can replace what is another's.
                if why := _open_to_others(folder, status, by_owner_only=bool(status.st_mode & stat.S_ISVTX)):
                    return why
    except OSError as error:
        return f"{path} cannot be looked at: {error.strerror}."
    return None


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, that everybody can read and only their owner can write to.

    :raises OSError: if that is not possible
    """
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)


def can_keep(folder: Path) -> bool:
    """Whether files can be kept in a folder, which is made where it is missing, and nobody else could write there."""
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
    """Return the user who has installed this package: the owner of its files."""
    return os.stat(__file__).st_uid


@cache
def _is_private(group: int, owner: int) -> bool:
    """Whether nobody but root and the owner is known to be in a group: root's, or one that the owner has alone."""
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
