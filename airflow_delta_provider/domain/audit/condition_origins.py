"""The commits that added conditions on rows, and the files that violate them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition, row_conditions


@dataclass(frozen=True)
class ConditionOrigins:
    """The versions that added conditions and files, as far as the log is kept.

    :param conditions: versions by holder of the condition
    :param files: versions by path, each the first that added the file
    """

    conditions: Mapping[str, int]
    files: Mapping[str, int]

    def newer(self, condition: RowCondition, path: str) -> int | None:
        """Return the version that added a condition, if the file is older."""
        since, added = self.conditions.get(condition.holder), self.files.get(path, -1)
        return since if since is not None and added < since else None


def condition_origins(
    commits: Iterable[Iterable[Action]], first: int, before: Metadata | None, paths: Collection[str]
) -> ConditionOrigins:
    """Return the versions that added conditions and files.

    :param commits: actions of each commit, oldest first, from version ``first`` on
    :param before: the metadata before them; None if the first commit creates the table
    :param paths: paths of the files to look for
    """
    held = {} if before is None else _held(before)
    since: dict[str, int] = {}
    added: dict[str, int] = {}
    for version, actions in enumerate(commits, first):
        for action in actions:
            if wire := action.get("metaData"):
                now = _held(Metadata.from_json(wire))
                since = {holder: since[holder] for holder in now if holder in since and now[holder] == held[holder]}
                since |= {holder: version for holder in now if now[holder] != held.get(holder)}
                held = now
            elif (add := action.get("add")) and add.get("path") in paths:
                added.setdefault(add["path"], version)
    return ConditionOrigins(since, added)


def _held(metadata: Metadata) -> dict[str, str]:
    return {condition.holder: condition.holds for condition in row_conditions(metadata)}
