"""Profiles of engines that users define in a fleet file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from airflow_delta_provider.domain.engine.engine import version_of
from airflow_delta_provider.domain.engine.profiles.profile import BY_VERSION, Profile, Release
from airflow_delta_provider.domain.suggestion import did_you_mean

_KEYS = ("engine", "label", "read_only", "remark", "releases")
#: Lists of features, as :meth:`Release.of` takes them.
_LISTS = (
    "both",
    "reads",
    "writes",
    "refuses",
    "refuses_reading",
    "refuses_writing",
    "misreads",
    "miswrites",
    "undecided",
    "writes_unused",
)
_RELEASE_KEYS = ("version", "date", "source", *_LISTS, "type_changes", "lists_all")


class FleetError(ValueError):
    """An error in a fleet file.

    :param where: keys and positions that lead to the place of the error
    :param what: description of the error
    :param key: wrong key at that place, if the error is not in a value
    """

    def __init__(self, where: tuple[str | int, ...], what: str, key: object = None) -> None:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
        super().__init__(f"{place}: {what}" if place else what)
        self.where = where
        self.key = key


def read_profile(wire: Any, features: Collection[str], where: tuple[str | int, ...]) -> Profile:
    """Read a profile. Missing information is unknown, unless a release has ``lists_all: true``.

    :param where: keys and positions that lead to it
    :param features: names of table features, to find mistyped ones
    :raises FleetError: if it is invalid
    """
    given = mapping_of(where, wire, _KEYS)
    name = given.get("engine")
    if not isinstance(name, str) or not name.strip():
        raise FleetError(where, "it has no engine: the name of the engine that it describes.")
    entries = given.get("releases")
    if not isinstance(entries, (list, tuple)) or not entries:
        raise FleetError((*where, "releases"), f"it is {entries!r}; it has to be a list of releases.")
    releases = [_release((*where, "releases", index), entry, features) for index, entry in enumerate(entries)]
    if len(releases) > 1 and not all(version_of(release.version) for release in releases):
        raise FleetError((*where, "releases"), "where there are several, each needs a version.")
    return Profile(
        name=name,
        label=str(given.get("label") or name),
        releases=tuple(sorted(releases, key=lambda release: version_of(release.version))),
        read_only=_flag((*where, "read_only"), given.get("read_only", False)),
        remark=str(given.get("remark") or ""),
    )


def _release(where: tuple[str | int, ...], entry: Any, features: Collection[str]) -> Release:
    given = mapping_of(where, entry, _RELEASE_KEYS)
    version = given.get("version", "")
    if isinstance(version, float):
        raise FleetError((*where, "version"), f"{version!r} is a number. Write the version between quotes.")
    text = str(version)
    if text and not version_of(text):
        raise FleetError((*where, "version"), f"{version!r} is not a version such as '1.0'.")
    lists = {name: _words((*where, name), given[name], features) for name in _LISTS if name in given}
    changes = given.get("type_changes")
    return Release.of(
        text,
        str(given.get("date") or ""),
        str(given.get("source") or "the fleet file"),
        **lists,
        widenings=None if changes is None else [_change((*where, "type_changes"), change) for change in changes],
        lists_all=_flag((*where, "lists_all"), given.get("lists_all", False)),
    )


def _words(where: tuple[str | int, ...], value: Any, features: Collection[str]) -> str:
    listed = value.split() if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(item, str) and item for item in listed):
        raise FleetError(where, f"it is {value!r}; it has to be a list of table features.")
    for name in listed:
        hint = did_you_mean(name, features)
        if hint and name.removesuffix(BY_VERSION) not in features:
            raise FleetError(where, f"there is no table feature {name!r}.{hint}")
    return " ".join(listed)


def _change(where: tuple[str | int, ...], value: Any) -> tuple[str, str]:
    parts = value.split(" to ") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise FleetError(where, f"{value!r} is not a type change such as 'integer to long'.")
    return str(parts[0]).strip(), str(parts[1]).strip()


def _flag(where: tuple[str | int, ...], value: Any) -> bool:
    if not isinstance(value, bool):
        raise FleetError(where, f"it is {value!r}; it has to be true or false.")
    return value


def mapping_of(where: tuple[str | int, ...], value: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    """Return a mapping that has only known keys.

    :raises FleetError: for anything else
    """
    if not isinstance(value, Mapping):
        raise FleetError(where, f"it has to be a mapping with any of {', '.join(known)}.")
    for key in value:
        if key not in known:
            hint = did_you_mean(str(key), known) or f" It may have {', '.join(known)}."
            raise FleetError(where, f"it has the unknown key {key!r}.{hint}", key)
    return value
