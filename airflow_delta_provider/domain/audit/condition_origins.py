"""Which commits brought the conditions on rows, and the files that do not satisfy them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.row_condition import RowCondition, row_conditions


@dataclass(frozen=True)
class ConditionOrigins:
    """The versions that brought conditions and files, as far as the log is kept.

    :param conditions: by what has the condition
    :param files: by path; the first time
    """

    conditions: Mapping[str, int]
    files: Mapping[str, int]

    def newer(self, condition: RowCondition, path: str) -> int | None:
        """Return the version that brought a condition, if a file was there before."""
        since, added = self.conditions.get(condition.holder), self.files.get(path, -1)
        return since if since is not None and added < since else None


def condition_origins(
    commits: Iterable[Iterable[Action]], first: int, before: Metadata | None, paths: Collection[str]
) -> ConditionOrigins:
    """Return where conditions and files come from.

    :param commits: oldest first, from version ``first`` on
    :param before: the metadata before them; None where they are all
    :param paths: of the files that matter
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
