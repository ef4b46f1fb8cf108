"""Records the fields of a commit that checks read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, KeysView, Mapping
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.check import Checks, Declared, Registry
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import Past, TableState, Transition

_IDS = {"base_row_id": "baseRowId", "default_row_commit_version": "defaultRowCommitVersion"}
_REMOVED = {"path": "path", **_IDS, "deletion_vector": "deletionVector", "data_change": "dataChange"}
_LIVE = {**_REMOVED, "size": "size", "num_records": "stats"}
_STATE = ("protocol", "metaData", "domainMetadata")
#: The fields behind each attribute of a class. Values that are kept once they are computed have all of theirs.
_FIELDS: Mapping[type, Mapping[str, tuple[str, ...]]] = {
    LiveFile: {name: (f"add.{field}",) for name, field in _LIVE.items()},
    RemovedFile: {name: (f"remove.{field}",) for name, field in _REMOVED.items()},
    Commit: {
        "version": ("version",),
        "adds": ("add",),
        "added": ("add.path", "add.deletionVector"),
        "removes": ("remove",),
        "protocols": ("protocol",),
        "metadata": ("metaData",),
        "domains": ("domainMetadata",),
        "transactions": ("txn",),
        "first_kind": ("order",),
        "change_data": ("cdc",),
    },
    TableState: {
        "version": ("version",),
        **{name: (field,) for name, field in zip(("protocol", "metadata", "domains"), _STATE)},
        "row_tracking": _STATE,
        "files": ("files",),
    },
    Transition: {
        **dict.fromkeys(("removed_files", "replaces_all", "restores", "added_again", "not_live"), ("files",)),
        **dict.fromkeys(("otherwise_live", "found_empty", "before_files"), ("files",)),
        "new_files": ("files", "add.path"),
    },
    Past: {
        **dict.fromkeys(("used_features", "ever_dropped", "had_protocol", "had_identity"), ("past",)),
        **dict.fromkeys(("row_ids", "restored_row_ids", "assigned"), ("past",)),
        "previous": ("previous",),
    },
    RowTracking: {"high_water_mark": ("domainMetadata",)},
}


class _Body(dict[str, Any]):
    """The body of an action, whose values are recorded as they are read."""

    def __init__(self, kind: str, body: Mapping[str, Any], note: Callable[..., None]) -> None:
        super().__init__(body)
        self._kind, self._note = kind, note

    def _read(self, key: str) -> None:
        self._note(f"{self._kind}.{key}")

    def __getitem__(self, key: str) -> Any:
        self._read(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._read(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        for key in dict.keys(self):
            self._read(key)
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        self._read(key)
        return super().get(key, default)

    def keys(self) -> Any:
        return KeysView(self)

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def values(self) -> Any:
        return [self[key] for key in self]


class Reads:
    """The fields that each check reads while audits run.

    :param registries: the registries whose checks are watched
    """

    def __init__(self, patch: pytest.MonkeyPatch, *registries: Registry) -> None:
        self.fields: dict[Declared, set[str]] = {}
        self._current: set[str] | None = None
        for kind, fields in _FIELDS.items():
            self._watch(patch, kind, fields)
        for registry in registries:
            watched = [self._watched(declared) for declared in registry.declared]
            if isinstance(registry, Checks):
                patch.setattr(registry, "declared", watched)
                continue
            for declared, again in zip(registry.declared, watched):
                modules = [module for name, module in sys.modules.items() if name.startswith("airflow_delta_provider")]
                for module in modules:
                    if vars(module).get(declared.check.__name__) is declared.check:
                        patch.setattr(module, declared.check.__name__, again.check)

    def _note(self, *fields: str) -> None:
        if self._current is not None:
            self._current.update(fields)

    def _watched(self, declared: Declared) -> Declared:
        found = self.fields.setdefault(declared, set())

        def check(*values: Any, **named: Any) -> Any:
            kind = values[0] if isinstance(values[0], str) else "add"  # of a body that comes without its action
            given = [self._shown(value, kind) for value in values]
            outer, self._current = self._current, found
            try:
                said = declared.check(*given, **named)
                return iter([*said]) if isinstance(said, Iterator) else said
            finally:
                self._current = outer

        return declared._replace(check=check)

    def _shown(self, value: Any, kind: str) -> Any:
        if isinstance(value, list) and all(isinstance(each, dict) for each in value):
            return [self._shown(each, kind) for each in value]
        if not isinstance(value, dict):
            return value
        if "path" in value:
            return _Body(kind, value, self._note)
        return {key: _Body(key, body, self._note) if type(body) is dict else body for key, body in value.items()}

    def _watch(self, patch: pytest.MonkeyPatch, kind: type, fields: Mapping[str, tuple[str, ...]]) -> None:
        def get(value: Any, name: str) -> Any:
            if name in fields:
                self._note(*fields[name])
            found = object.__getattribute__(value, name)
            if kind is Commit and name == "info":
                return _Body("commitInfo", found, self._note)
            if kind is Commit and name == "transactions":
                return tuple(_Body("txn", each, self._note) for each in found)
            return found

        patch.setattr(kind, "__getattribute__", get)
        if issubclass(kind, tuple):
            every = [field for names in fields.values() for field in names]
            for name in ("__iter__", "__getitem__", "__eq__", "__ne__"):
                patch.setattr(kind, name, self._whole(getattr(tuple, name), every), raising=False)

    def _whole(self, call: Callable[..., Any], fields: list[str]) -> Callable[..., Any]:
        def whole(*values: Any) -> Any:
            self._note(*fields)
            return call(*values)

        return whole
