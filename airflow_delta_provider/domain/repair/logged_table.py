"""The newest version of a table as its log states it, and changes of single values in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.text import short_digest, visible

Json = dict[str, Any]
#: A value's keys from the kind of action down. Columns of a schema are keyed by their names.
Place = tuple[str, ...]

PROTOCOL, METADATA, DOMAIN, FILE = "protocol", "metaData", "domainMetadata", "add"
SCHEMA, CONFIGURATION = "schemaString", "configuration"
FIELDS, _ORDER = "fields", "order of columns"


@dataclass(frozen=True)
class Change:
    """A value that a repair sets or removes.

    :param place: place of the value
    :param before: the present value, as the only item; empty if there is none
    :param after: the value to be set, as the only item; empty to remove it
    :param is_fresh: True if the value is the next free one when the commit is written, as a row id is
    """

    place: Place
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    is_fresh: bool = False

    @property
    def text(self) -> str:
        """The change in a phrase, such as ``maxColumnId: "1" → "4"``."""
        before, after = (_plain_text(value) for value in (self.before, self.after))
        if self.place[0] == PROTOCOL and len(self.place) == 3:
            return f"{_named(self.place)}: {'listed' if self.after else 'not listed'}"
        return visible(f"{_named(self.place)}: {_short(before)} → {_short(after)}")


def _plain_text(value: tuple[Any, ...]) -> str:
    if value and isinstance(value[0], dict) and set(value[0].values()) == {True}:
        return json.dumps(sorted(value[0]))
    return json.dumps(_unkeyed(value[0]), ensure_ascii=False) if value else "none"


#: Maximum number of characters of a value in a phrase.
_MOST = 120


def _short(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"


def _named(place: Place) -> str:
    kind, *keys = place
    if kind == METADATA and keys[:1] == [CONFIGURATION] and len(keys) == 2:
        return f"property {keys[1]}"
    if kind == METADATA and keys[:1] == [SCHEMA]:
        return f"schema, {'.'.join(key for key in keys[1:] if key not in (FIELDS, 'type'))}".removesuffix(", ")
    if kind == PROTOCOL and len(keys) == 2:
        return f"{keys[1]} in {keys[0]}"
    if kind == DOMAIN:
        return f"domain {' '.join(keys)}"
    if kind == FILE:
        return f"{keys[0]}, {'.'.join(keys[2:]) or 'the file'}"
    return ".".join([kind, *keys])


@dataclass(frozen=True)
class LoggedTable:
    """The actions that make up a version, as they are in the log.

    :param protocol: body of the protocol action
    :param metadata: body of the metaData action
    :param domains: configuration by domain
    :param files: bodies of ``add`` actions by their keys: of all files that a repair may change
    :param removed: keys of files that a repair removes
    :param copied: files that a repair copies under a new path, by their keys; the bodies have the old path
    :param again: keys of files that are committed again as they are
    """

    protocol: Json
    metadata: Json
    domains: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[FileKey, Json] = field(default_factory=dict)
    removed: frozenset[FileKey] = frozenset()
    copied: Mapping[FileKey, Json] = field(default_factory=dict)
    again: frozenset[FileKey] = frozenset()

    def values(self) -> Json:
        """Return all values by their places.

        A schema is a mapping of columns as far as it can be read; a list of features a mapping of names to True.
        """
        metadata = dict(self.metadata)
        if SCHEMA in metadata:
            metadata[SCHEMA] = _parsed_schema(metadata[SCHEMA])
        return {
            PROTOCOL: {
                key: dict.fromkeys(sorted(value), True) if _is_texts(value) else value
                for key, value in self.protocol.items()
            },
            METADATA: metadata,
            DOMAIN: dict(self.domains),
        }

    def _listed(self, key: str, value: Any) -> Any:
        """Return a value of the protocol as in the log; a list that has the same names keeps their order."""
        if not isinstance(value, dict):
            return value
        present = self.protocol.get(key)
        return present if _is_texts(present) and set(present or ()) == set(value) else sorted(value)

    def changed(self, changes: Iterable[Change]) -> LoggedTable:
        """Return the table with changes.

        :raises KeyError: if the table does not have the value that a change starts from
        """
        heads, files = deepcopy(self.values()), dict(self.files)
        for change in changes:
            if change.place[0] == FILE:
                path, vector, *keys = change.place[1:]
                files[path, vector] = deepcopy(files[path, vector])
                _set(files[path, vector], keys, change)
            else:
                _set(heads, change.place, change)
        metadata = heads[METADATA]
        if SCHEMA in metadata:
            same = metadata[SCHEMA] == _parsed_schema(self.metadata.get(SCHEMA))
            metadata[SCHEMA] = self.metadata[SCHEMA] if same else _schema_text(metadata[SCHEMA])
        protocol = {key: self._listed(key, value) for key, value in heads[PROTOCOL].items()}
        return replace(self, protocol=protocol, metadata=metadata, domains=heads[DOMAIN], files=files)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def value_at(values: Any, place: Iterable[str]) -> tuple[Any, ...]:
    """Return the value at a place as the only item; empty if there is none."""
    for key in place:
        if not isinstance(values, Mapping) or key not in values:
            return ()
        values = values[key]
    return (values,)


def _set(values: Any, place: Sequence[str], change: Change) -> None:
    if value_at(values, place) != change.before:
        raise KeyError(change.place)
    *above, last = place
    for key in above:
        values = values[key]
    if change.after:
        values[last] = change.after[0]
    else:
        del values[last]


def changes_between(before: Any, after: Any, place: Place = ()) -> Iterator[Change]:
    """Yield the changes that lead from values to others, each as deep as both are mappings."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            if key not in before:
                yield Change((*place, key), (), (after[key],))
            elif key not in after:
                yield Change((*place, key), (before[key],), ())
            else:
                yield from changes_between(before[key], after[key], (*place, key))
    elif before != after:
        yield Change(place, (before,), (after,))


def set_back(earlier: Any, broken: Any, now: Any) -> Iterator[Change]:
    """Yield the changes that set values back which are still as a commit left them.

    :param earlier: values before the commit
    :param broken: values after it
    :param now: values of the newest version
    """
    for change in changes_between(earlier, broken):
        present = value_at(now, change.place)
        if change.place[-1:] == (_ORDER,) and present and change.before:
            order = _merged_order(change.before[0], present[0])
            if order != present[0]:
                yield Change(change.place, present, (order,))
        elif present == change.after:
            yield Change(change.place, present, change.before)


def _merged_order(earlier: Sequence[str], now: Sequence[str]) -> list[str]:
    kept = [name for name in now if name in earlier]
    order = [name for name in earlier if name in kept or name not in now]
    return [*order, *(name for name in now if name not in order)]


def _parsed_schema(text: Any) -> Any:
    """Return a schema with its columns by name; the text itself if it cannot be read."""
    try:
        return _keyed(json.loads(text))
    except (TypeError, ValueError, RecursionError):
        return text


def _keyed(value: Any) -> Any:
    if isinstance(value, list):
        return [_keyed(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {key: _keyed(item) for key, item in value.items()}
    fields = value.get(FIELDS)
    names = [item.get("name") if isinstance(item, dict) else None for item in fields or () if isinstance(fields, list)]
    if value.get("type") == "struct" and isinstance(fields, list) and _are_distinct(names):
        known[FIELDS] = dict(zip(names, known[FIELDS]))
        known[_ORDER] = names
    return known


def _are_distinct(names: Sequence[Any]) -> bool:
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def _schema_text(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    return json.dumps(_unkeyed(value), ensure_ascii=False, separators=(",", ":"))


def _unkeyed(value: Any) -> Any:
    if isinstance(value, list):
        return [_unkeyed(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {key: _unkeyed(item) for key, item in value.items() if key != _ORDER}
    if _ORDER in value and isinstance(value.get(FIELDS), dict):
        fields, order = known[FIELDS], [name for name in value[_ORDER] if name in value[FIELDS]]
        known[FIELDS] = [fields[name] for name in [*order, *(name for name in fields if name not in order)]]
    return known


#: Maximum number of columns whose bounds are named, and of characters of a value.
_MOST_COLUMNS, _MOST_OF_VALUE = 5, 40


def rows_text(add: Json, metadata: Json) -> str:
    """Return a phrase about the rows of a file: their number, its path, its partition, and bounds of columns."""
    try:
        stats = json.loads(add.get("stats") or "{}", parse_float=str)
    except (TypeError, ValueError, RecursionError):
        stats = {}
    stats = stats if isinstance(stats, dict) else {}
    rows, path = stats.get("numRecords"), add.get("path")
    count = "all rows" if type(rows) is not int else "1 row" if rows == 1 else f"{rows} rows"
    names = {physical: name for name, physical in physical_names(Metadata.from_json(metadata)).items()}
    parts = [
        f"{_value_text(names.get(name, name))}={_value_text(value)}" for name, value in _items(add, "partitionValues")
    ]
    most = dict(_items(stats, "maxValues"))
    both = [
        (name, least) for name, least in _items(stats, "minValues") if _is_plain(least) and _is_plain(most.get(name))
    ]
    for name, least in both[:_MOST_COLUMNS]:
        parts.append(f"{_value_text(names.get(name, name))} from {_value_text(least)} to {_value_text(most[name])}")
    if len(both) > _MOST_COLUMNS:
        parts.append(f"bounds of {len(both) - _MOST_COLUMNS} more columns")
    joined = ", ".join(parts)
    return visible(f"{count} of {path}{f' ({joined})' if parts else ''}")


def _items(values: Json, key: str) -> list[tuple[str, Any]]:
    found = values.get(key)
    return list(found.items()) if isinstance(found, dict) else []


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int))


def _value_text(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= _MOST_OF_VALUE else f"{text[: _MOST_OF_VALUE - 1]}…"


def physical_names(metadata: Metadata) -> dict[str, str]:
    """Return the physical names of top-level columns by their names; empty if the schema cannot be read."""
    schema = metadata.readable_mapped_schema
    fields = () if schema is None else schema.fields
    return {f.column.parts[0]: f.path[0] for f in fields if f.path is not None and len(f.path) == 1}


def copy_name(path: str) -> str:
    """Return the path of a file's copy: beside it, or in the table's folder if readers overlook its own."""
    folder, slash, name = path.rpartition("/")
    if any(part.startswith(("_", ".")) and "=" not in part for part in folder.split("/")):
        folder = slash = ""
    return f"{folder}{slash}part-repaired-{short_digest(path)}-{name.rpartition('-')[2]}"


def commit_actions(before: LoggedTable, after: LoggedTable, now: int) -> list[Action]:
    """Return the actions that lead from a version to its repaired one, without ``commitInfo``.

    :param now: time of the commit, in milliseconds since 1970
    """
    actions: list[Action] = []
    if after.protocol != before.protocol:
        actions.append({PROTOCOL: after.protocol})
    if after.metadata != before.metadata:
        actions.append({METADATA: after.metadata})
    for name in dict.fromkeys([*before.domains, *after.domains]):
        if before.domains.get(name) != after.domains.get(name):
            is_removed = name not in after.domains
            configuration = before.domains[name] if is_removed else after.domains[name]
            actions.append({DOMAIN: {"domain": name, "configuration": configuration, "removed": is_removed}})
    copies = {key: {**add, "path": copy_name(add["path"]), "dataChange": True} for key, add in after.copied.items()}
    removed_keys = sorted(after.removed | copies.keys())
    actions += ({"remove": _removed(before.files[key], now, data_change=True)} for key in removed_keys)
    for key, add in after.files.items():
        if key in after.removed or key in copies or (add == before.files.get(key) and key not in after.again):
            continue
        if file_key(add) != key:
            actions.append({"remove": _removed(before.files[key], now, data_change=False)})
        actions.append({FILE: {**add, "dataChange": key not in before.files}})
    actions += ({FILE: add} for add in copies.values())
    return actions


#: Fields of an ``add`` action that its ``remove`` action repeats.
_REPEATED = ("path", "deletionVector", "baseRowId", "defaultRowCommitVersion", "tags")


def _removed(add: Mapping[str, Any], now: int, *, data_change: bool) -> Json:
    body = {key: add[key] for key in _REPEATED if add.get(key) is not None}
    known = {key: add[key] for key in ("partitionValues", "size") if add.get(key) is not None}
    body |= {"deletionTimestamp": now, "dataChange": data_change}
    return {**body, "extendedFileMetadata": True, **known} if len(known) == 2 else body
