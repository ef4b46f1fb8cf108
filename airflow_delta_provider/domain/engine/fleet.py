"""The fleet: the engines that read and write tables, as users declare them, and the access that must be kept.

A fleet file contains, each optional: ``engines``, ``profiles``, ``policy``, ``must_stay_readable_by`` and
``must_stay_writable_by``. ``docs/guides/compatibility.md`` shows one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from airflow_delta_provider.domain.engine.access import Demands
from airflow_delta_provider.domain.engine.profile import (
    PROFILES,
    FleetError,
    Profile,
    VersionScheme,
    mapping_of,
    profile_named,
    read_profile,
)
from airflow_delta_provider.domain.engine.statistics_use import Reliance
from airflow_delta_provider.domain.text import did_you_mean


@dataclass(frozen=True, kw_only=True)
class RecentWriter:
    """One release of an engine, and its commits within some days.

    :param name: name and version, or the signature if those are unknown; None for commits that are not signed
    :param commits: number of its commits
    :param first: version of the oldest of them
    :param last: version of the newest of them
    :param last_time: time of the newest commit, ISO 8601, UTC; None if unknown
    :param managed: the table's demands at its newest commit, which the engine can meet; None if unknown
    """

    name: str | None
    commits: int
    first: int
    last: int
    last_time: str | None = None
    managed: Demands | None = None


@dataclass(frozen=True, kw_only=True)
class RecentWriters:
    """The writers of a table within some days.

    :param days: number of days
    :param writers: writers, newest commit first
    :param since: version of the oldest commit of those days that the log still has; None if there is no commit
    :param complete: whether the log has all commits of those days
    """

    days: float
    writers: tuple[RecentWriter, ...] = ()
    since: int | None = None
    complete: bool = True


_EVERYWHERE = ("*",)
_READABLE, _WRITABLE = "must_stay_readable_by", "must_stay_writable_by"
_KEYS = ("engines", "profiles", "policy", _READABLE, _WRITABLE)
_ENGINE_KEYS = ("engine", "version", "versions", "name", "reads", "writes")
_POLICY_KEYS = ("tables", _READABLE, _WRITABLE)
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:[-.+]?[A-Za-z0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class Member:
    """An engine of the fleet, on one table.

    :param name: its name in the fleet
    :param profile: its profile
    :param version: its version; None if the fleet gives none: then it may be any release, or is a service as of today
    :param reads: whether it reads the table
    :param writes: whether it writes the table
    :param must_read: whether the table must stay readable for it
    :param must_write: whether the table must stay writable for it
    :param declared: False if only the log names it
    """

    name: str
    profile: Profile
    version: str | None = None
    reads: bool = False
    writes: bool = False
    must_read: bool = False
    must_write: bool = False
    declared: bool = True

    def is_called(self, name: str) -> bool:
        """Return True if a policy or an option may use this name for the engine."""
        return _is_one_of(name, _names(self.name, self.profile, self.version))


@dataclass(frozen=True, kw_only=True)
class TableFleet:
    """The fleet of one table.

    :param profiles: profiles by name, from this package and from the fleet file
    :param from_file: True if it is from a fleet file; its changes must keep undeclared recent writers, too
    :param has_policy: True if a policy of the file matches the table, and decides about the engines that it declares
    """

    members: tuple[Member, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    from_file: bool = False
    has_policy: bool = False

    @classmethod
    def of_known_engines(cls) -> TableFleet:
        """Return the fleet of all engines with a profile, in any release."""
        return cls(members=tuple(Member(name=profile.label, profile=profile) for profile in PROFILES.values()))

    def relying(self, use: Reliance, of: str, *, is_field: bool) -> tuple[list[str], list[str]]:
        """Return the engines that rely on statistics of files in a way, and those of which that is unknown.

        :param of: type of the column, as in the schema's JSON; empty for the number of rows
        :param is_field: whether the column is a field of a struct
        """
        found: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for member in self.members:
            relies, always = member.profile.relies(member.version, use, of, is_field=is_field)
            found[relies].append(f"{member.name} (some releases)" if relies and not always else member.name)
        return found[True], found[None]


@dataclass(frozen=True, kw_only=True)
class _Engine:
    """An entry of ``engines`` with one version, or an engine that only a policy names."""

    name: str
    profile: Profile
    version: str | None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a policy may use for it."""
        return _names(self.name, self.profile, self.version)


@dataclass(frozen=True, kw_only=True)
class _Policy:
    tables: tuple[str, ...]
    readable: tuple[_Engine, ...]
    writable: tuple[_Engine, ...]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The contents of a fleet file."""

    engines: tuple[_Engine, ...] = ()
    policies: tuple[_Policy, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)

    @classmethod
    def parse(cls, wire: Any, features: Iterable[str] = ()) -> Fleet:
        """Read a fleet from plain values, as in YAML or JSON.

        :param features: names of table features, to find mistyped ones in profiles
        :raises FleetError: if the values are invalid
        """
        given = mapping_of((), wire, _KEYS)
        profiles = dict(PROFILES)
        for index, entry in enumerate(_list(("profiles",), given.get("profiles"))):
            profile = read_profile(entry, tuple(features), ("profiles", index))
            profiles[profile.name] = profile
        engines = tuple(
            engine
            for index, entry in enumerate(_list(("engines",), given.get("engines")))
            for engine in _engines(("engines", index), entry, profiles)
        )
        top = {key: given[key] for key in (_READABLE, _WRITABLE) if key in given}
        listed = given.get("policy")
        entries = [listed] if isinstance(listed, Mapping) else _list(("policy",), listed)
        by_name: dict[str, list[_Engine]] = {}
        for engine in engines:
            for name in {each.casefold() for each in engine.names}:
                by_name.setdefault(name, []).append(engine)
        policies = [_policy(("policy", index), entry, by_name, profiles) for index, entry in enumerate(entries)]
        if top:
            policies.insert(0, _policy((), top, by_name, profiles))
        return cls(engines=engines, policies=tuple(policies), profiles=profiles)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of its engines, including engines that only a policy names."""
        policies = (engine for policy in self.policies for engine in (*policy.readable, *policy.writable))
        return tuple(name for engine in (*self.engines, *policies) for name in engine.names)

    def has_engine(self, name: str) -> bool:
        """Return True if an engine of the fleet may have this name."""
        return _is_one_of(name, self.names)

    def on(self, fits: Callable[[str], bool]) -> TableFleet:
        """Return the fleet of one table.

        If no policy matches the table, every engine that uses it now must keep its access.

        :param fits: returns True if a pattern matches the table
        """
        policies = [policy for policy in self.policies if any(map(fits, policy.tables))]
        engines = dict.fromkeys(
            (*self.engines, *(engine for policy in policies for engine in (*policy.readable, *policy.writable)))
        )
        readable = {engine for policy in policies for engine in policy.readable}
        writable = {engine for policy in policies for engine in policy.writable}
        members = []
        for engine in engines:
            reads, writes = any(map(fits, engine.reads)), any(map(fits, engine.writes))
            must_read = engine in readable if policies else reads
            must_write = engine in writable if policies else writes
            if reads or writes or must_read or must_write:
                members.append(
                    Member(
                        name=engine.name,
                        profile=engine.profile,
                        version=engine.version,
                        reads=reads or must_read,
                        writes=writes or must_write,
                        must_read=must_read,
                        must_write=must_write,
                    )
                )
        return TableFleet(members=tuple(members), profiles=self.profiles, from_file=True, has_policy=bool(policies))


def _engines(where: tuple[str | int, ...], entry: Any, profiles: Mapping[str, Profile]) -> Iterator[_Engine]:
    """Yield an entry of ``engines``, once per version."""
    given = mapping_of(where, entry, _ENGINE_KEYS)
    if "engine" not in given:
        raise FleetError(where, "it has no engine. Name one, such as 'Delta Spark'.")
    profile = _profile((*where, "engine"), given["engine"], profiles)
    if "version" in given and "versions" in given:
        raise FleetError(where, "it has both version and versions. Keep one of them.")
    versions: list[str | None] = [None]
    if given.get("version") is not None:
        versions = [_version((*where, "version"), given["version"], profile)]
    elif given.get("versions"):
        listed = _list((*where, "versions"), given["versions"])
        versions = [_version((*where, "versions", index), value, profile) for index, value in enumerate(listed)]
    reads = _patterns((*where, "reads"), given.get("reads", "writes" not in given))
    writes = _patterns((*where, "writes"), given.get("writes", False))
    if writes and profile.read_only:
        raise FleetError((*where, "writes"), f"{profile.label} never writes Delta tables.")
    for version in versions:
        name = given.get("name")
        if name is not None and not (isinstance(name, str) and name.strip()):
            raise FleetError((*where, "name"), f"it is {name!r}; it has to be a string.")
        yield _Engine(
            name=name or " ".join(filter(None, (profile.name, version))),
            profile=profile,
            version=version,
            reads=reads,
            writes=writes,
        )


def _policy(
    where: tuple[str | int, ...], entry: Any, engines: Mapping[str, Sequence[_Engine]], profiles: Mapping[str, Profile]
) -> _Policy:
    """Read a policy.

    :param engines: the declared engines by their names, in lower case
    """
    given = mapping_of(where, entry, _POLICY_KEYS)
    named = {
        key: tuple(
            engine
            for index, name in enumerate(_list((*where, key), given.get(key)))
            for engine in _meant((*where, key, index), name, engines, profiles)
        )
        for key in (_READABLE, _WRITABLE)
    }
    for engine in named[_WRITABLE]:
        if engine.profile.read_only:
            raise FleetError((*where, _WRITABLE), f"{engine.profile.label} never writes Delta tables.")
    tables = _patterns((*where, "tables"), given.get("tables", True))
    return _Policy(tables=tables, readable=named[_READABLE], writable=named[_WRITABLE])


def _meant(
    where: tuple[str | int, ...], name: Any, engines: Mapping[str, Sequence[_Engine]], profiles: Mapping[str, Profile]
) -> Sequence[_Engine]:
    """Return the engines that a policy means: those declared with that name, or else one that only the policy names."""
    if not isinstance(name, str) or not name.strip():
        raise FleetError(where, f"it is {name!r}; it has to be the name of an engine.")
    if declared := engines.get(name.casefold()):
        return declared
    own_names = (engine.name for declared in engines.values() for engine in declared)  # read only for a hint
    stem, _, version = name.rpartition(" ")
    profile = profile_named(name, profiles)
    if profile is not None:
        return (_Engine(name=profile.name, profile=profile, version=None),)
    if stem and version[:1].isdigit():
        profile = _profile(where, stem, profiles, own_names)
        version = _version(where, version, profile)
        return (_Engine(name=f"{profile.name} {version}", profile=profile, version=version),)
    return (_Engine(name=name, profile=_profile(where, name, profiles, own_names), version=None),)


def _profile(
    where: tuple[str | int, ...], name: Any, profiles: Mapping[str, Profile], also: Iterable[str] = ()
) -> Profile:
    found = profile_named(name, profiles) if isinstance(name, str) else None
    if found is not None:
        return found
    known = [*also, *(known for profile in profiles.values() for known in _names_of(profile))]
    hint = did_you_mean(name, known) if isinstance(name, str) else ""
    listed = ", ".join(profiles)
    raise FleetError(
        where, f"there is no engine {name!r}.{hint or f' The known engines are {listed}; profiles adds others.'}"
    )


def _names(name: str, profile: Profile, version: str | None) -> tuple[str, ...]:
    """Return the names of an engine of the fleet."""
    versioned = [f"{each} {version}" for each in _names_of(profile) if version]
    return (name, *_names_of(profile), *versioned)


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    return name.casefold() in map(str.casefold, names)


def _names_of(profile: Profile) -> tuple[str, ...]:
    return (profile.name, profile.label, *profile.aliases)


def _version(where: tuple[str | int, ...], value: Any, profile: Profile) -> str:
    if profile.versions is VersionScheme.DAYS:
        try:
            return (value if isinstance(value, date) else date.fromisoformat(value)).isoformat()
        except (TypeError, ValueError):
            what = f"{value!r} is not a day such as '2026-03-02'; {profile.label} is a service without releases."
            raise FleetError(where, what) from None
    if isinstance(value, float):  # 1.10 would be read as 1.1
        raise FleetError(where, f"{value!r} is a number. Write the version between quotes.")
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _VERSION.fullmatch(text):
        last = next((release.version for release in reversed(profile.releases) if release.version), "1.0")
        raise FleetError(where, f"{value!r} is not a version such as {last!r}.")
    return text


def _patterns(where: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
    """Return patterns of tables; True matches all tables, False none."""
    if isinstance(value, bool) or value is None:
        return _EVERYWHERE if value else ()
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(item, str) and item for item in listed):
        raise FleetError(where, f"it is {value!r}; it has to be true, false, or patterns of tables.")
    return tuple(listed)


def _list(where: tuple[str | int, ...], value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, (list, tuple)):
        raise FleetError(where, f"it is {value!r}; it has to be a list.")
    return list(value)
