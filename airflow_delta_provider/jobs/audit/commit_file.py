"""Commits as the log has them, and whether the files of before matter to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from airflow_delta_provider.domain.audit.audit_state import AuditState
from airflow_delta_provider.domain.audit.touching import Touching
from airflow_delta_provider.domain.delta.commit import parse_commit
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


def touch_files(commits: Iterator[CommitFile], ahead: list[CommitFile], memory: AuditState) -> bool:
    """Return whether commits can only be judged with the files that were live before them: all but mere additions.

    :param ahead: takes the commits that had to be looked at
    :param memory: what is known of the version before them
    """
    size = 0
    touching = Touching(memory)
    for commit in commits:
        ahead.append(commit)
        size += len(commit.content)
        if len(ahead) > _FEW or size > _SMALL:
            return True
        try:
            if touching.take(parse_commit(commit_name(commit.version), commit.content)):
                return True
        except BrokenLogError:
            return True
    return False
