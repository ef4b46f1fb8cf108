"""Commits as the log has them, and whether the files of before matter to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from airflow_delta_provider.domain.delta.commit import Action, parse_commit
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name

#: New commits, and their bytes, up to which it is worth looking whether the files of before matter to them.
_FEW, _SMALL = 1000, 1 << 26


class CommitFile(NamedTuple):
    """One commit.

    :param checksum: of its version, where there is one
    """

    version: int
    content: bytes
    checksum: bytes | None


def touch_files(commits: Iterator[CommitFile], ahead: list[CommitFile]) -> bool:
    """Return whether commits can only be judged with the files that were live before them: all but mere additions.

    :param ahead: takes the commits that had to be looked at
    """
    size = 0
    for commit in commits:
        ahead.append(commit)
        size += len(commit.content)
        if len(ahead) > _FEW or size > _SMALL:
            return True
        try:
            if any(map(_touches_files, parse_commit(commit_name(commit.version), commit.content))):
                return True
        except BrokenLogError:
            return True
    return False


def _touches_files(action: Action) -> bool:
    added = action.get("add")
    vector = isinstance(added, dict) and added.get("deletionVector")
    return bool(vector) or any(action.get(kind) for kind in ("remove", "protocol", "metaData"))
