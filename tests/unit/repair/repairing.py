"""Repairs of histories in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.repair import file_corrections  # noqa: F401
from airflow_delta_provider.domain.repair.corrections import StoredFile
from airflow_delta_provider.domain.repair.logged_table import Json, LoggedTable, commit_actions
from airflow_delta_provider.domain.repair.planner import Outcome, Planner
from airflow_delta_provider.domain.report.report import Finding
from tests.unit.log_builder import Actions, audited


def logged(commits: Sequence[Actions]) -> LoggedTable:
    """The newest version of a history."""
    protocol, metadata, domains, files = {}, {}, {}, {}
    for actions in commits:
        for action in actions:
            protocol, metadata = action.get("protocol", protocol), action.get("metaData", metadata)
            if (domain := action.get("domainMetadata")) is not None:
                domains.pop(domain["domain"], None)
                if not domain.get("removed"):
                    domains[domain["domain"]] = domain["configuration"]
            if (add := action.get("add")) is not None:
                files[file_key(add)] = add
            if (remove := action.get("remove")) is not None:
                files.pop(file_key(remove), None)
    return LoggedTable(protocol, metadata, domains, files)


class Kept:
    """All versions of a history.

    :param sound: the same history without the damage: the truth about its data files
    """

    def __init__(self, commits: Sequence[Actions], sound: Sequence[Actions] = ()) -> None:
        self._commits = commits
        self._files = {a["add"]["path"]: a["add"] for actions in sound for a in actions if "add" in a}

    def heads(self, version: int) -> LoggedTable | None:
        return logged(self._commits[: version + 1]) if version >= 0 else None

    def version(self, version: int) -> LoggedTable | None:
        return self.heads(version)

    def added(self, path: str, version: int) -> Json | None:
        adds = [
            a["add"] for c in self._commits[: version + 1] for a in c if "add" in a and a["add"].get("path") == path
        ]
        return adds[-1] if adds else None

    def commit_of(self, version: int) -> Sequence[Mapping[str, Any]]:
        return self._commits[version]

    def paths_of(self, finding: Finding, *, of_rule: bool) -> tuple[str, ...]:
        return ()

    def stored(self, path: str) -> StoredFile | None:
        add = self._files.get(path)
        if add is None:
            return None
        stats = json.loads(add.get("stats") or "{}")
        return StoredFile(add["size"], add["modificationTime"], stats.get("numRecords"), stats)


def commit_of_repair(commits: Sequence[Actions], before: LoggedTable, after: LoggedTable) -> Actions:
    info = next(action["commitInfo"] for action in commits[-1] if "commitInfo" in action)
    now = max(
        i.get("inCommitTimestamp", 0) if type(i.get("inCommitTimestamp", 0)) is int else 0
        for c in commits
        for a in c
        if (i := a.get("commitInfo"))
    )
    now = max(now, 1_790_000_000_000 + 1000 * len(commits)) + 1
    written = {
        "timestamp": now,
        "operation": "REPAIR",
        "operationParameters": {},
        "engineInfo": "Repair",
        "txnId": "x",
        "isBlindAppend": False,
    }
    if "inCommitTimestamp" in info:
        written = {"inCommitTimestamp": now, **written}
    return [{"commitInfo": written}, *commit_actions(before, after, now)]


def repaired(commits: Sequence[Actions], sound: Sequence[Actions] = ()) -> Outcome:
    """Plan the repair of a history."""
    before = logged(commits)

    def audit(after: LoggedTable) -> list[Finding] | None:
        try:
            found = audited([*commits, commit_of_repair(commits, before, after)])
        except BrokenLogError:
            return None
        return [finding for finding in found if finding.is_open]

    replay = Replay(with_files=True)
    for actions in commits:
        replay.take(actions)
    return Planner(replay.state(len(commits) - 1), before, Kept(commits, sound), audit).plan(audited(commits))
