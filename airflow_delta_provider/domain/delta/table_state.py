"""The state of a table at a version, replayed from the actions of its log.

PROTOCOL.md, Action Reconciliation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol

#: An action as it stands in the log: one key, its kind, with the action below it.
Action = Mapping[str, Any]


@dataclass(frozen=True)
class LiveFile:
    """A data file of the table: what jobs need to know of its ``add`` action."""

    path: str
    size: int
    base_row_id: int | None
    default_row_commit_version: int | None


@dataclass(frozen=True)
class TableState:
    """A table at a version.

    :param files: live files by (path, id of the deletion vector); None where they were not read
    :param domains: domain metadata: configuration (JSON text) by domain
    """

    version: int
    protocol: Protocol
    metadata: Metadata
    domains: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[tuple[str, str], LiveFile] | None = None


def parse_commit(name: str, content: bytes) -> list[Action]:
    """Read a commit file.

    :raises BrokenLogError: if a line is no action: truncated, not JSON, not UTF-8
    """
    actions: list[Action] = []
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except ValueError as error:
            raise BrokenLogError(
                f"line {number} of commit {name} is not JSON: the file is damaged or truncated"
            ) from error
        if not isinstance(action, dict):
            raise BrokenLogError(f"line {number} of commit {name} is no action")
        actions.append(action)
    if not actions:
        raise BrokenLogError(f"commit {name} is empty: the file is damaged or truncated")
    return actions


class Replay:
    """Takes the actions of a log, oldest first, and gives the state that they add up to."""

    def __init__(self, *, with_files: bool) -> None:
        self._files: dict[tuple[str, str], LiveFile] | None = {} if with_files else None
        self._protocol: Protocol | None = None
        self._metadata: Metadata | None = None
        self._domains: dict[str, str] = {}

    def take(self, actions: Iterable[Action]) -> None:
        """Take the actions of a checkpoint or of one commit.

        :raises BrokenLogError: if an action lacks what its kind must have
        """
        for action in actions:
            for kind, body in action.items():
                if body is None or kind not in _HANDLERS:
                    continue
                try:
                    _HANDLERS[kind](self, body)
                except (KeyError, TypeError, ValueError, AttributeError) as error:
                    raise BrokenLogError(f"a {kind} action is malformed: {error!r}") from error

    def state(self, version: int) -> TableState:
        """Return the state.

        :raises BrokenLogError: if there was no protocol or no metaData action
        """
        if self._protocol is None or self._metadata is None:
            missing = "protocol" if self._protocol is None else "metaData"
            raise BrokenLogError(f"no {missing} action up to version {version}")
        return TableState(version, self._protocol, self._metadata, dict(self._domains), self._files)

    def _take_protocol(self, body: Mapping[str, Any]) -> None:
        self._protocol = Protocol.from_json(body)

    def _take_metadata(self, body: Mapping[str, Any]) -> None:
        self._metadata = Metadata.from_json(body)

    def _take_domain(self, body: Mapping[str, Any]) -> None:
        if body.get("removed"):
            self._domains.pop(body["domain"], None)
        else:
            self._domains[body["domain"]] = body["configuration"]

    def _take_add(self, body: Mapping[str, Any]) -> None:
        if self._files is not None:
            self._files[_file_key(body)] = LiveFile(
                body["path"], int(body["size"]), body.get("baseRowId"), body.get("defaultRowCommitVersion")
            )

    def _take_remove(self, body: Mapping[str, Any]) -> None:
        if self._files is not None:
            self._files.pop(_file_key(body), None)


_HANDLERS = {
    "protocol": Replay._take_protocol,
    "metaData": Replay._take_metadata,
    "domainMetadata": Replay._take_domain,
    "add": Replay._take_add,
    "remove": Replay._take_remove,
}


def _file_key(body: Mapping[str, Any]) -> tuple[str, str]:
    vector = body.get("deletionVector")
    if not vector:
        return body["path"], ""
    return body["path"], f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset') or 0}"


def commit_info(actions: Iterable[Action]) -> Mapping[str, Any]:
    """Return the commit's ``commitInfo``, empty where it has none."""
    return next((a["commitInfo"] for a in actions if a.get("commitInfo")), {})


def changes_metadata(actions: Iterable[Action]) -> bool:
    """Whether a commit changes protocol or metadata."""
    return any("protocol" in action or "metaData" in action for action in actions)
