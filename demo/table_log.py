"""The log of a Delta table as it lies on disk, read without the provider: the demo checks it by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

#: What writer version 2 means without naming it; later versions list it with the rest.
_FEATURES_OF_WRITER_2 = ("appendOnly", "invariants")


@dataclass(frozen=True)
class Commit:
    """One commit file."""

    version: int
    actions: tuple[dict[str, Any], ...]

    @cached_property
    def info(self) -> dict[str, Any]:
        """The commitInfo action."""
        return next((a["commitInfo"] for a in self.actions if "commitInfo" in a), {})

    @property
    def operation(self) -> str:
        """What the writer called it."""
        return str(self.info.get("operation", "?"))

    @property
    def task(self) -> str:
        """The Airflow task that made it, from the userMetadata; empty if it was none."""
        return self.label("task_id")

    def label(self, name: str) -> str:
        """A label in the userMetadata; empty if there is none."""
        text = self.info.get("userMetadata")
        return str(json.loads(text).get(name, "")) if text else ""

    def one(self, kind: str) -> dict[str, Any] | None:
        """Return the action of a kind of which a commit has at most one."""
        return next((a[kind] for a in self.actions if kind in a), None)

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Return the actions of a kind."""
        return [a[kind] for a in self.actions if kind in a]


class TableLog:
    """All commits of a small table, oldest first."""

    def __init__(self, table: Path) -> None:
        self._folder = table / "_delta_log"

    def commits(self) -> list[Commit]:
        """Return the commits that are there now."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            if path.stem.isdigit():
                lines = path.read_text(encoding="utf-8").splitlines()
                found.append(Commit(int(path.stem), tuple(json.loads(line) for line in lines if line)))
        return found

    @property
    def version(self) -> int:
        """The newest version."""
        return self.commits()[-1].version

    def last(self, kind: str) -> dict[str, Any]:
        """Return the newest action of a kind that replaces those before: protocol, metaData."""
        return self._newest(kind, self.version)

    def schema(self, version: int | None = None) -> dict[str, Any]:
        """Return the schema, of the newest version if none is given."""
        text = self._newest("metaData", self.version if version is None else version)["schemaString"]
        return dict(json.loads(text))

    def types(self, version: int | None = None) -> dict[str, str]:
        """Return the SQL type of every primitive by its path, as the provider writes paths."""
        return _leaf_types(self.schema(version))

    def live_files(self) -> list[dict[str, Any]]:
        """Return the add actions of the files that the table consists of."""
        files: dict[str, dict[str, Any]] = {}
        for commit in self.commits():
            # Removed first: a file that gets another deletion vector is removed and added in one commit.
            for gone in commit.all("remove"):
                files.pop(gone["path"], None)
            for added in commit.all("add"):
                files[added["path"]] = added
        return list(files.values())

    def what_changed(self, commit: Commit) -> str:
        """Return what a commit did, from its actions and those before it."""
        if commit.version == 0:
            return "the table is made"
        done = []
        if protocol := commit.one("protocol"):
            earlier = self._newest("protocol", commit.version - 1).get("writerFeatures") or _FEATURES_OF_WRITER_2
            added = sorted(set(protocol.get("writerFeatures") or ()).difference(earlier))
            done.append(f"the protocol gets {', '.join(added)}")
        if metadata := commit.one("metaData"):
            old = self.types(commit.version - 1)
            new = self.types(commit.version)
            done += [f"{path} {old[path]} -> {new[path]}" for path in new if old.get(path, new[path]) != new[path]]
            done += [f"column {path} is gone" for path in old if path not in new]
            done += [f"column {path} is there" for path in new if path not in old]
            earlier = self._newest("metaData", commit.version - 1)["configuration"]
            done += [
                f"{name.removeprefix('delta.')}={value}"
                for name, value in metadata["configuration"].items()
                if earlier.get(name) != value and "materialized" not in name
            ]
        if commit.operation == "ROW TRACKING BACKFILL":
            done.append(f"row ids for {len(commit.all('add'))} files")
        elif added := [add for add in commit.all("add") if not add.get("deletionVector")]:
            rows = sum(json.loads(add.get("stats") or "{}").get("numRecords", 0) for add in added)
            done.append(f"{rows:,} rows in {len(added)} new file{'s' if len(added) > 1 else ''}")
        if hidden := [add["deletionVector"]["cardinality"] for add in commit.all("add") if add.get("deletionVector")]:
            done.append(f"{sum(hidden):,} rows of older files marked deleted by now")
        if commit.operation == "OPTIMIZE":
            done.append(f"instead of {len(commit.all('remove'))} files")
        return ", ".join(done) or "nothing"

    def _newest(self, kind: str, version: int) -> dict[str, Any]:
        return [action for commit in self.commits() if commit.version <= version for action in commit.all(kind)][-1]


def recorded_changes(schema: Any, path: str = "") -> dict[str, tuple[str, str]]:
    """Return what ``delta.typeChanges`` says: (from, to) as SQL types by path, for the whole schema."""
    found: dict[str, tuple[str, str]] = {}
    for name, child, metadata in _children(schema):
        at = f"{path}.{name}" if path else name
        for change in metadata.get("delta.typeChanges", ()):
            where = f"{at}.{change['fieldPath']}" if change.get("fieldPath") else at
            found[where] = (_sql_type(change["fromType"]), _sql_type(change["toType"]))
        found |= recorded_changes(child, at)
    return found


def _leaf_types(schema: Any, path: str = "") -> dict[str, str]:
    if isinstance(schema, str):
        return {path: _sql_type(schema)}
    found: dict[str, str] = {}
    for name, child, _ in _children(schema):
        found |= _leaf_types(child, f"{path}.{name}" if path else name)
    return found


def _children(schema: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return name, type and metadata of what is directly below a type."""
    if isinstance(schema, str):
        return []
    if schema["type"] == "array":
        return [("element", schema["elementType"], {})]
    if schema["type"] == "map":
        return [("key", schema["keyType"], {}), ("value", schema["valueType"], {})]
    return [(field["name"], field["type"], field.get("metadata", {})) for field in schema["fields"]]


def _sql_type(name: str) -> str:
    return {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}.get(name, name)
