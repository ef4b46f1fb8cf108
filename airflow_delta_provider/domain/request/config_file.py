"""The configuration file: ``delta-provider.toml``, or ``[tool.delta-provider]`` in ``pyproject.toml``."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, NamedTuple

from airflow_delta_provider.domain.table_name import is_relative
from airflow_delta_provider.domain.text import did_you_mean

NAME, PYPROJECT = "delta-provider.toml", "pyproject.toml"
_TOOL = ("tool", "delta-provider")
_HEADER = re.compile(r"\s*\[{1,2}\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_TYPES: Mapping[type, str] = {str: "a string", bool: "true or false", list: "a list", dict: "a table"}


class ConfigError(ValueError):
    """An error for an invalid configuration; the message names file, line and key."""


@dataclass(frozen=True)
class Spark:
    """Settings for starting Spark if it is needed.

    :param master: Spark master
    :param packages: Maven coordinates
    :param conf: settings of Spark
    """

    master: str | None = None
    packages: Sequence[str] = ()
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Config:
    """The content of a configuration file; keys that are not in it are None or empty.

    :param tables: tables and patterns, as they are written; relative paths start at the folder of the file
    :param ownership: entries of tables with an owner or severities of their own
    :param exclude: patterns of tables to leave out
    :param waivers: accepted findings
    :param state_path: folder where audits save state
    :param findings_table: table to which checks append their findings
    :param policy: file with the policy for rules about plans and drift
    :param fleet: file of the engines that use the tables
    :param fail_on: lowest severity that fails: ``error``, ``warning`` or ``never``
    :param level: level of an audit
    :param engine: ``auto``, ``python`` or ``spark``
    :param strict: True if undetermined results fail
    :param rules_page: address of the page of rules, for links to them
    :param storage: options of object stores, such as region and endpoint
    :param spark: settings for starting Spark
    :param name: name of the file that was read; empty if there is none
    """

    tables: tuple[str, ...] = ()
    ownership: tuple[Mapping[str, Any], ...] = ()
    exclude: tuple[str, ...] = ()
    waivers: tuple[Mapping[str, Any], ...] = ()
    state_path: str | None = None
    findings_table: str | None = None
    policy: str | None = None
    fleet: str | None = None
    fail_on: str | None = None
    level: str | None = None
    engine: str | None = None
    strict: bool | None = None
    rules_page: str | None = None
    storage: Mapping[str, str] = field(default_factory=dict)
    spark: Spark = field(default_factory=Spark)
    name: str = ""

    def renamed(self, rename: Callable[[str], str]) -> Config:
        """Return the configuration with all table names passed through ``rename``."""
        return replace(
            self,
            tables=tuple(map(rename, self.tables)),
            ownership=tuple({**entry, "table": rename(entry["table"])} for entry in self.ownership),
            waivers=renamed_entries(self.waivers, rename),
            exclude=tuple(map(rename, self.exclude)),
        )

    def with_absolute_names(self, folder: str) -> Config:
        """Return the configuration with absolute paths, for readers in another folder.

        :param folder: folder of the configuration file
        """
        return self.renamed(lambda text: _below(folder, text) if "/" in text and not text.startswith("`") else text)


def renamed_entries(entries: Sequence[Any], rename: Callable[[str], str]) -> tuple[Any, ...]:
    """Return entries, such as waivers, with other table names.

    A pattern such as ``*/orders`` stays, as it matches any folder.
    """
    return tuple({**entry, "table": rename(entry["table"])} if _names_path(entry) else entry for entry in entries)


def _names_path(entry: Any) -> bool:
    table = entry.get("table") if isinstance(entry, Mapping) else None
    return isinstance(table, str) and not table.startswith("*")


def _below(folder: str, path: str) -> str:
    return posixpath.normpath(f"{folder}/{path}") if folder and is_relative(path) else path


#: The type of each key; for ``spark``, the types of its keys.
_KEYS: Mapping[str, Any] = {
    "tables": list,
    "exclude": list,
    "waivers": list,
    "state_path": str,
    "findings_table": str,
    "policy": str,
    "fleet": str,
    "fail_on": str,
    "level": str,
    "engine": str,
    "strict": bool,
    "rules_page": str,
    "storage": dict,
    "spark": {"master": str, "packages": list, "conf": dict},
}
#: Keys whose values are places; relative paths start at the folder of the file.
_PLACES = ("state_path", "findings_table", "policy", "fleet")
_CHOICES: Mapping[str, Sequence[str]] = {
    "fail_on": ("error", "warning", "never"),
    "level": ("log", "footers", "data"),
    "engine": ("auto", "python", "spark"),
}


def parse_config(text: str, name: str, folder: str = "") -> Config:
    """Return the configuration in a file.

    :param name: name of the file, for messages; in ``pyproject.toml``, only one table is read
    :param folder: folder where relative paths of files start; empty for the working directory
    :raises ConfigError: if it is malformed, has an unknown key, or a value of the wrong kind
    """
    given = parse_toml(text, name)
    prefix = _TOOL if name.rpartition("/")[2] == PYPROJECT else ()
    for part in prefix:
        given = given.get(part, {})
    reader = _Reader(text, name, folder, prefix)
    reader.check(given, _KEYS, ())
    return reader.config(given)


def is_configured(text: str, name: str) -> bool:
    """Return True if a ``pyproject.toml`` has the table ``[tool.delta-provider]``.

    :raises ConfigError: if it is malformed
    """
    tool = parse_toml(text, name).get(_TOOL[0]) if _TOOL[1] in text else None
    return isinstance(tool, Mapping) and _TOOL[1] in tool


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Return a TOML document.

    :raises ConfigError: if it is malformed, or tomli is missing on Python 3.10
    """
    try:
        parser = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError:
        raise ConfigError(f"{name}: reading TOML on Python 3.10 needs tomli: pip install tomli.") from None
    try:
        return dict(parser.loads(text))
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None


class _Reader(NamedTuple):
    text: str
    name: str
    folder: str
    prefix: tuple[str, ...]

    def check(self, given: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...]) -> None:
        """Check the keys of a table, and the types of their values."""
        for key, value in given.items():
            where = (*above, key)
            if key not in known:
                raise self._error(where, f"unknown key {'.'.join(where)!r}.{did_you_mean(key, known)}")
            if isinstance(known[key], Mapping):
                self._check_type(where, value, dict)
                self.check(value, known[key], where)
            else:
                self._check_type(where, value, known[key])
        for key, words in _CHOICES.items():
            if not above and key in given and given[key] not in words:
                hint = did_you_mean(given[key], words)
                raise self._error((key,), f"{key} is {given[key]!r}; it has to be one of {', '.join(words)}.{hint}")

    def config(self, given: Mapping[str, Any]) -> Config:
        entries = tuple(given.get("tables", ()))
        spark = given.get("spark", {})
        simple = {key: given[key] for key in _CHOICES if key in given}
        places = {key: given[key] for key in _PLACES if key in given}
        places = {key: self._place(key, place) for key, place in places.items()}
        return Config(
            tables=tuple(self._table(number, entry) for number, entry in enumerate(entries, start=1)),
            ownership=tuple(entry for entry in entries if not isinstance(entry, str)),
            exclude=self._texts(("exclude",), given.get("exclude", ())),
            waivers=tuple(given.get("waivers", ())),
            strict=given.get("strict"),
            rules_page=given.get("rules_page"),
            storage=self._settings(("storage",), given.get("storage", {})),
            spark=Spark(
                spark.get("master"),
                self._texts(("spark", "packages"), spark.get("packages", ())),
                self._settings(("spark", "conf"), spark.get("conf", {})),
            ),
            name=self.name,
            **simple,
            **places,
        )

    def _place(self, key: str, place: str) -> str:
        is_name = key == "findings_table" and "/" not in place  # a table of a catalog
        return place if is_name else _below(self.folder, place)

    def _table(self, number: int, entry: Any) -> str:
        name = entry.get("table") if isinstance(entry, Mapping) else entry
        if not isinstance(name, str) or not name:
            raise self._error(
                ("tables",),
                f'entry {number} of tables names no table. Write a path, or {{ table = "…", owner = "…" }}.',
            )
        return name

    def _texts(self, where: tuple[str, ...], values: Sequence[Any]) -> tuple[str, ...]:
        for value in values:
            if not isinstance(value, str) or not value:
                raise self._error(where, f"{'.'.join(where)} has {value!r}; it has to be a list of strings.")
        return tuple(values)

    def _settings(self, where: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, str]:
        """Return settings as strings; nested tables become keys with dots."""
        return dict(self._flat(where, given))

    def _flat(self, where: tuple[str, ...], given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
        for key, value in given.items():
            if isinstance(value, Mapping):
                yield from self._flat((*where, key), value, f"{above}{key}.")
            elif isinstance(value, bool):
                yield f"{above}{key}", str(value).lower()
            elif isinstance(value, (str, int, float)):
                yield f"{above}{key}", str(value)
            else:
                raise self._error((*where, key), f"{'.'.join((*where, key))} is {value!r}; it has to be a string.")

    def _check_type(self, where: tuple[str, ...], value: Any, wanted: type) -> None:
        if not isinstance(value, wanted):
            raise self._error(where, f"{'.'.join(where)} is {value!r}; it has to be {_TYPES[wanted]}.")

    def _error(self, where: tuple[str, ...], what: str) -> ConfigError:
        line = _line_of((*self.prefix, *where), self.text)
        return ConfigError(f"{self.name}{'' if line is None else f', line {line}'}: {what}")


def _line_of(where: tuple[str, ...], text: str) -> int | None:
    """Return the line of a key, counted from 1; None if the key is inside a value."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.fullmatch(line):
            table = _parts(header[1])
            if table == where:
                return number
        elif (key := _KEY.match(line)) and (*table, *_parts(key[1])) == where:
            return number
    return None


def _parts(dotted: str) -> tuple[str, ...]:
    found = re.findall(r""""[^"]*"|'[^']*'|[^.\s]+""", dotted)
    return tuple(part.strip("\"'") for part in found)
