"""Files that become code, such as jars and archives of classes.

Files that others could have written are not used.
"""

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
