"""The files of a ``_delta_log`` directory, and the selection of files for a version.

PROTOCOL.md, Delta Log Entries and Checkpoints. Nothing is read here: names in, names out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import count
from typing import NamedTuple
from urllib.parse import unquote

from airflow_delta_provider.domain.errors import BrokenMetadataError, UnreadMetadataError

#: Characters allowed in a URI, including non-ASCII ones that Java accepts.
_CHARACTERS = r"[^\x00-\x20\x7f-\xa0\"<>\\^`{|}\[\]%]"
#: Regular expression of a valid path, also in quotes: a URI that can be decoded.
_URI = rf"(?=[^\"]){_CHARACTERS}*(?:%[0-9A-Fa-f]{{2}}{_CHARACTERS}*)"
#: The same for a path with few encoded bytes: within a larger pattern, each additional one needs memory.
SHORT_URI = f"{_URI}{{0,200}}"
_IS_URI = re.compile(f"{_URI}*").fullmatch
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?=/)")
_DOTS = re.compile(r"/(?:\./)+")
_SLASHES = re.compile(r"/{2,}")
#: Schemes that lead to the same files.
_SAME = {"s3a": "s3", "s3n": "s3", "file": ""}


def is_uri(path: str) -> bool:
    """Return True if a path is a URI that can be decoded."""
    return _IS_URI(path) is not None


def is_odd(path: str) -> bool:
    """Return True if another path may name the same file: decoded, normalised or relative to the table.

    If neither of two different paths is odd, they name two files.
    """
    return "%" in path or ":" in path or path.startswith((".", "/")) or "/." in path or "//" in path


_ODD = ("%", ":", "/.", "//", "\n.", "\n/")
_NOT_PLAIN = (*_ODD, "/_", "\n_")


def is_any_odd(paths: Iterable[str]) -> bool:
    """Return True if at least one of several paths is odd."""
    return _is_any_in(paths, _ODD)


def are_plain(paths: Iterable[str]) -> bool:
    """Return True if no path is odd, and none leads into a folder whose name begins with an underscore."""
    return not _is_any_in(paths, _NOT_PLAIN)


def _is_any_in(paths: Iterable[str], signs: Iterable[str]) -> bool:
    joined = "\n".join(["", *paths])
    return any(sign in joined for sign in signs)


def is_absolute(path: str) -> bool:
    """Return True if a path does not start at the table's root."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def plain_path(path: str, root: str | None = None) -> str:
    """Return the same string for all paths of one file.

    The path is decoded, and relative to the table if it is inside it.

    :param root: location of the table, a URI; None if unknown
    """
    if not is_absolute(path):
        return _short(f"/{unquote(path)}")[1:]
    found = _located(path)
    below = None if root is None else f"{_located(root).rstrip('/')}/"
    return found[len(below) :] if below is not None and found.startswith(below) else found


def _located(path: str) -> str:
    scheme = _SCHEME.match(path)
    if scheme is None:
        return _short(unquote(path))
    name = scheme[1].lower()
    name = _SAME.get(name, name)
    return f"{name}{':' if name else ''}{_short(unquote(path[scheme.end() :]))}"


def _short(path: str) -> str:
    return _DOTS.sub("/", _SLASHES.sub("/", path))


def hidden_folder(path: str) -> str | None:
    """Return the first hidden folder of a relative path: its name begins with an underscore.

    None if there is none. A folder that is named after a partition column, such as ``_day=2024-01-01``, is not hidden.
    """
    if not ("_" in path and "/" in path) or is_absolute(path):
        return None
    folders = path.split("/")[:-1]
    return next((folder for folder in folders if folder.startswith("_") and "=" not in folder), None)


_COMMIT = re.compile(r"(\d{20})\.json")
_COMMIT_LENGTH = len("00000000000000000000.json")
_CHECKSUM = re.compile(r"(\d{20})\.crc")
_CLASSIC_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")
_COMPACTION = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_UUID_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.[0-9a-fA-F-]{36}\.(?:json|parquet)")
_DERIVED = (_CHECKSUM, _CLASSIC_CHECKPOINT, _PART, _UUID_CHECKPOINT)
_FORMS = (_COMMIT, _COMPACTION, *_DERIVED)
#: Names like those of log files, with numbers of any length.
_LIKE_LOG = re.compile(r"\d+\.(?:json|crc|\d+\.compacted\.json|checkpoint(?:\.[0-9a-fA-F-]+){0,2}\.(?:json|parquet))")


class BrokenLogError(BrokenMetadataError):
    """A log whose files do not make up a version; the message names the missing ones."""


class MalformedActionError(BrokenLogError):
    """A line that is no valid action, although the file is whole: its writer wrote it so."""


class NoLogError(BrokenLogError):
    """A log without commit and checkpoint: this is not a Delta table."""


class BrokenCheckpointError(BrokenLogError):
    """A checkpoint with a damaged or missing file, or without a state."""


class UnreadCheckpointError(BrokenCheckpointError, UnreadMetadataError):
    """A checkpoint file that cannot be read here, or that needs too much memory. It may be undamaged.

    :param remedy: advice, as a sentence
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class BrokenCommitError(BrokenLogError):
    """A damaged commit.

    :param version: version of the commit
    """

    def __init__(self, message: str, version: int) -> None:
        super().__init__(message)
        self.version = version


class LogSegment(NamedTuple):
    """The files that make up one version.

    :param version: the version
    :param checkpoint_version: version of the checkpoint it starts from, or None
    :param checkpoint_files: names of the checkpoint's files (several for a multi-part one)
    :param commits: names of the commits after the checkpoint, oldest first
    :param checksum: name of the version's ``.crc`` file, or None
    """

    version: int
    checkpoint_version: int | None
    checkpoint_files: tuple[str, ...]
    commits: tuple[str, ...]
    checksum: str | None


class CompactionFile(NamedTuple):
    """A log compaction file, which replaces the commits from ``first`` to ``last``."""

    first: int
    last: int
    name: str


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def version_of(name: str) -> int:
    """Return the version in the name of a log file."""
    return int(name[:20])


def commit_versions(names: Iterable[str]) -> list[int]:
    """Return the versions that have a commit file, ascending."""
    return [*_commit_versions(tuple(names))]


@lru_cache(maxsize=1)  # an audit calls it repeatedly with the same listing
def _commit_versions(names: tuple[str, ...]) -> list[int]:
    return sorted([int(name[:20]) for name in names if len(name) == _COMMIT_LENGTH and _COMMIT.fullmatch(name)])


def has_log(names: Iterable[str]) -> bool:
    """Return True if there is a commit or a checkpoint among the files, complete or not."""
    return any(_COMMIT.fullmatch(name) or _is_checkpoint(name) for name in names)


def newest_version(names: Iterable[str]) -> int:
    """Return the newest version that has a commit or a complete checkpoint.

    :raises NoLogError: if there is none
    """
    names = list(names)
    newest = max([*commit_versions(names)[-1:], *checkpoint_versions(names)[-1:]], default=None)
    if newest is None:
        raise NoLogError("there is neither a commit nor a checkpoint in _delta_log")
    return newest


def checkpoint_versions(names: Iterable[str]) -> list[int]:
    """Return the versions that have a complete checkpoint, ascending."""
    return sorted(_checkpoints(names))


def checksum_versions(names: Iterable[str]) -> list[int]:
    """Return the versions that have a checksum file, ascending."""
    return sorted(int(name[:20]) for name in names if name.endswith(".crc") and _CHECKSUM.fullmatch(name))


def compaction_files(names: Iterable[str]) -> list[CompactionFile]:
    """Return the log compaction files, sorted by their last version."""
    matches = filter(None, map(_COMPACTION.fullmatch, names))
    found = [CompactionFile(int(match[1]), int(match[2]), match[0]) for match in matches]
    return sorted((file for file in found if file.first < file.last), key=lambda file: (file.last, file.first))


def select_segment(names: Iterable[str], version: int | None = None) -> LogSegment:
    """Return the files that make up ``version``, by default the newest.

    :param names: names of the files in ``_delta_log``, in any order
    :raises NoLogError: if there is neither a commit nor a checkpoint
    :raises BrokenLogError: if a commit between the checkpoint and the version is missing
    """
    names = list(names)
    commits = commit_versions(names)
    checkpoints = _checkpoints(names)
    if not commits and not checkpoints:
        raise NoLogError("there is neither a commit nor a checkpoint in _delta_log")
    newest = max([*commits, *checkpoints])
    wanted = newest if version is None else version
    base = max((v for v in checkpoints if v <= wanted), default=None)
    first = 0 if base is None else base + 1
    present = {v for v in commits if first <= v <= wanted}
    missing = wanted + 1 - first - len(present)  # counted, never listed: a name may contain any version
    if missing:
        gap = f"commit {commit_name(next(v for v in count(first) if v not in present))}"
        gap += f" and {missing - 1} more" if missing > 1 else ""
        start = "no checkpoint to start from" if base is None else f"the newest checkpoint is of version {base}"
        raise BrokenLogError(f"{gap} missing in _delta_log below version {wanted}; {start}")
    checksums = {int(match[1]) for match in map(_CHECKSUM.fullmatch, names) if match}
    return LogSegment(
        version=wanted,
        checkpoint_version=base,
        checkpoint_files=() if base is None else checkpoints[base],
        commits=tuple(commit_name(v) for v in range(first, wanted + 1)),
        checksum=f"{wanted:020d}.crc" if wanted in checksums else None,
    )


def earliest_version(names: Iterable[str]) -> int | None:
    """Return the first version with a complete log up to the newest one, based only on file names.

    None if there is no such version.
    """
    names = list(names)
    commits, checkpoints = commit_versions(names), checkpoint_versions(names)
    first = max([*commits[-1:], *checkpoints[-1:]], default=-1) + 1
    for version in reversed(commits):
        if version != first - 1:
            break
        first = version
    if first == 0:
        return 0 if commits else None
    return next((version for version in checkpoints if version >= first - 1), None)


def is_multi_part(name: str) -> bool:
    """Return True if a file is a part of a multi-part checkpoint."""
    return _PART.fullmatch(name) is not None


def is_uuid_named(name: str) -> bool:
    """Return True if a file is a checkpoint that is named by a UUID."""
    return _UUID_CHECKPOINT.fullmatch(name) is not None


def checkpoint_segments(names: Iterable[str], version: int) -> list[LogSegment]:
    """Return the complete checkpoints of a version, which may have several in different forms."""
    own = [name for name in names if name.startswith(f"{version:020d}.checkpoint")]
    found = []
    while files := _checkpoints(own).get(version):
        found.append(LogSegment(version, version, files, (), None))
        own = [name for name in own if name not in files]
    return found


def incomplete_checkpoints(names: Iterable[str]) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return the multi-part checkpoints that lack parts: version, number of parts, and existing parts."""
    parts = _parts(names)
    return sorted(
        (version, total, tuple(sorted(found))) for (version, total), found in parts.items() if len(found) < total
    )


def derived_versions(names: Iterable[str]) -> list[tuple[int, str]]:
    """Return the files derived from commits, each with the last version that it covers, ascending."""
    found = []
    for name in names:
        if len(name) == _COMMIT_LENGTH:
            continue  # most are commits; derived files have names of other lengths
        if match := _COMPACTION.fullmatch(name):
            found.append((int(match[2]), name))
        elif any(form.fullmatch(name) for form in _DERIVED):
            found.append((int(name[:20]), name))
    return sorted(found)


def malformed_names(names: Iterable[str]) -> list[str]:
    """Return names that resemble commits or files derived from them, but are invalid."""
    names = [name for name in names if len(name) != _COMMIT_LENGTH or _COMMIT.fullmatch(name) is None]
    odd = [name for name in names if _LIKE_LOG.fullmatch(name)]
    found = [name for name in odd if not any(form.fullmatch(name) for form in _FORMS)]
    found += [m[0] for m in filter(None, map(_COMPACTION.fullmatch, names)) if int(m[1]) >= int(m[2])]
    return sorted(found)


def _parts(names: Iterable[str]) -> dict[tuple[int, int], set[str]]:
    parts: dict[tuple[int, int], set[str]] = defaultdict(set)
    for match in filter(None, map(_PART.fullmatch, names)):
        if 1 <= int(match[2]) <= int(match[3]):
            parts[int(match[1]), int(match[3])].add(match[0])
    return parts


def _is_checkpoint(name: str) -> bool:
    return ".checkpoint." in name and name[:20].isdecimal()


def _checkpoints(names: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Return the files of one complete checkpoint by version. A version may have several forms."""
    complete: dict[int, tuple[str, ...]] = {}
    own = sorted(filter(_is_checkpoint, names))
    for name in own:
        if match := (_CLASSIC_CHECKPOINT.fullmatch(name) or _UUID_CHECKPOINT.fullmatch(name)):
            complete[int(match[1])] = (name,)
    for (version, total), found in _parts(own).items():
        if len(found) == total:
            complete.setdefault(version, tuple(sorted(found)))
    return complete
