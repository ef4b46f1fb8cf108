"""A built table's history cut and edited: what a log says is changed without replay_tail its data files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tables import log
from tests.tables.log import Action


def as_of(path: Path, version: int) -> Path:
    """Forget every commit and checkpoint after ``version``, to which the JSON commits lead. Return ``path``."""
    for file in path.joinpath("_delta_log").glob("[0-9]*.*"):
        if int(file.name.split(".")[0]) > version or ".checkpoint." in file.name:
            _unlink(file)
    _unlink(path / "_delta_log" / "_last_checkpoint")
    return path


def settled(path: Path, version: int) -> Path:
    """Forget what came after ``version`` and add a commit without an action: it is no newest commit any more."""
    as_of(path, version)
    log.commit(path, {"commitInfo": {"timestamp": 1, "operation": "VACUUM END", "operationParameters": {}}})
    return path


def edit(path: Path, change: Callable[[str, Action], Action | None], *, version: int | None = None) -> int:
    """Replace actions of one commit, or of all.

    :param change: takes the kind of an action and the action, returns it changed, as it was, or None to drop it
    :return: how many actions are others than before
    """
    changed = 0
    for number, actions in log.commits(path).items():
        if version is not None and number != version:
            continue
        lines = []
        for action in actions:
            ((kind, body),) = action.items()
            after = change(kind, json.loads(json.dumps(body)))
            changed += after != body
            if after is not None:
                lines.append(json.dumps({kind: after}) + "\n")
        file = log.log_file(path, number)
        _unlink(file)
        _unlink(log.log_file(path, number, ".crc"))
        file.write_text("".join(lines))
    return changed


def edit_file(path: Path, data_file: str, *, version: int | None = None, **fields: Any) -> None:
    """Set fields of the actions about one data file; None takes a field away."""

    def change(kind: str, body: Action) -> Action:
        if kind not in ("add", "remove") or body["path"] != data_file:
            return body
        return {key: value for key, value in {**body, **fields}.items() if value is not None}

    assert edit(path, change, version=version) > 0


def edit_statistics(path: Path, data_file: str, **fields: Any) -> None:
    """Set statistics of one data file; None takes one away."""

    def change(kind: str, body: Action) -> Action:
        if kind not in ("add", "remove") or body["path"] != data_file or not body.get("stats"):
            return body
        after = {**json.loads(body["stats"]), **fields}
        return {**body, "stats": json.dumps({key: value for key, value in after.items() if value is not None})}

    assert edit(path, change) > 0


def edit_last(path: Path, kind: str, change: Callable[[Action], Action | None]) -> None:
    """Replace the newest action of a kind."""
    version = max(number for number, actions in log.commits(path).items() for action in actions if kind in action)
    assert edit(path, lambda found, body: change(body) if found == kind else body, version=version) > 0


def set_mark(path: Path, mark: Any, *, version: int | None = None) -> None:
    """Let the log name another high water mark, in its newest action or in that of a commit."""

    def change(body: Action) -> Action:
        return {**body, "configuration": json.dumps({"rowIdHighWaterMark": mark})}

    if version is None:
        edit_last(path, "domainMetadata", change)
    else:
        found = edit(path, lambda kind, body: change(body) if kind == "domainMetadata" else body, version=version)
        assert found > 0


def set_property(path: Path, **properties: str | None) -> None:
    """Set table properties in the newest metaData, ``__`` for a dot; None takes one away."""
    named = {key.replace("__", "."): value for key, value in properties.items()}

    def change(body: Action) -> Action:
        after = {**body["configuration"], **named}
        return {**body, "configuration": {key: value for key, value in after.items() if value is not None}}

    edit_last(path, "metaData", change)


def live(path: Path) -> dict[str, Action]:
    """Return the ``add`` of every live file by path, in the order in which they came."""
    files: dict[tuple[str, str], Action] = {}
    for _, actions in sorted(log.commits(path).items()):
        for action in actions:
            if "remove" in action:
                files.pop(_key(action["remove"]), None)
        for action in actions:
            if "add" in action:
                files[_key(action["add"])] = action["add"]
    return {add["path"]: add for add in files.values()}


def with_base(path: Path, base_row_id: int) -> str:
    """Return the path of the live file whose rows begin at an id."""
    return next(name for name, add in live(path).items() if add.get("baseRowId") == base_row_id)


def _key(body: Action) -> tuple[str, str]:
    return body["path"], json.dumps(body.get("deletionVector"), sort_keys=True)


def _unlink(file: Path) -> None:
    """Remove a file and the checksum that Hadoop keeps beside it."""
    file.unlink(missing_ok=True)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
