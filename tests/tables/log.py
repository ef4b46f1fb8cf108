"""A table's directory as the tests see it: read and written without the provider's own reader."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Action = dict[str, Any]


def commits(path: Path) -> dict[int, list[Action]]:
    """Return the actions of every JSON commit by version."""
    files = sorted(path.joinpath("_delta_log").glob("[0-9]" * 20 + ".json"))
    return {int(file.stem): [json.loads(line) for line in file.read_text().splitlines()] for file in files}


def newest(path: Path) -> int:
    return max(commits(path))


def last(path: Path, kind: str) -> Action:
    """Return the newest action of a kind in the JSON commits."""
    return next(
        action[kind]
        for _, actions in sorted(commits(path).items(), reverse=True)
        for action in actions
        if kind in action
    )


def protocol(path: Path) -> Action:
    """Return the newest protocol, its lists sorted."""
    return {key: sorted(value) if isinstance(value, list) else value for key, value in last(path, "protocol").items()}


def configuration(path: Path) -> dict[str, str]:
    found: dict[str, str] = last(path, "metaData")["configuration"]
    return found


def fields(path: Path) -> dict[str, Action]:
    """Return the top-level fields of the schema by name."""
    schema = json.loads(last(path, "metaData")["schemaString"])
    return {field["name"]: field for field in schema["fields"]}


def user_metadata(path: Path, version: int) -> Any:
    """Return the ``userMetadata`` of a commit, parsed."""
    info = next(action["commitInfo"] for action in commits(path)[version] if "commitInfo" in action)
    return json.loads(info["userMetadata"]) if info.get("userMetadata") else None


def commit(path: Path, *actions: Action) -> int:
    """Write the next commit by hand."""
    version = newest(path) + 1
    log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))
    return version


@contextmanager
def rewritten(path: Path, version: int) -> Iterator[list[Action]]:
    """Let a commit's actions be changed in place."""
    actions = commits(path)[version]
    yield actions
    log_file(path, version).write_text("".join(json.dumps(action) + "\n" for action in actions))


def forget_checkpoints(path: Path) -> None:
    """Delete what lies beside the commits: it was made of them, before any damage."""
    for pattern in ("*.checkpoint*", "*.crc", ".*.crc", "_last_checkpoint", "_sidecars/*"):
        for file in path.joinpath("_delta_log").glob(pattern):
            file.unlink()


def log_file(path: Path, version: int, suffix: str = ".json") -> Path:
    return path / "_delta_log" / f"{version:020d}{suffix}"


def contents(path: Path) -> dict[str, str]:
    """Return a digest of every file below a directory, and of the directories themselves."""
    return {
        str(found.relative_to(path)): hashlib.sha256(found.read_bytes()).hexdigest() if found.is_file() else "directory"
        for found in sorted(path.rglob("*"))
    }
