"""The record of an engine: the features that its releases read and write, as far as a source covers them.

Anything without a source is unknown. Features are named as in ``readerFeatures`` and ``writerFeatures``;
``invariants@version`` is the feature if only the protocol's version implies it.

The profiles of known engines are in ``profiles.json``, in the form that a fleet file has. A release with ``adds_to``
lists what it adds to the features of an earlier release, of this engine or of a named one; ``without`` lists features
that it no longer has. ``crates`` are library versions in an engine's signature. ``contains`` names the engine whose
releases a product contains. ``comment`` is for readers of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from operator import methodcaller
from pkgutil import get_data
from typing import Any

from airflow_delta_provider.domain.engine.conditions import Condition, ConditionError, read_condition
from airflow_delta_provider.domain.engine.spark_library import version_of
from airflow_delta_provider.domain.engine.statistics_use import KEYS as _STATISTICS_KEYS
from airflow_delta_provider.domain.engine.statistics_use import Reliance, StatisticsUse, answer
from airflow_delta_provider.domain.text import did_you_mean

#: Marks a feature that is not listed, but implied by the protocol's version: some engines treat it differently.
BY_VERSION = "@version"
#: Features, separated by spaces, as records write them.
Words = str


class Support(Enum):
    """The behavior of a release with a table that has a feature."""

    YES = "yes"
    NO = "no"
    WRONG = "disregards the feature"
    UNKNOWN = "unknown"


class Basis(Enum):
    """The kind of a record's source; the values are the words of profiles."""

    MEASURED = "measured"
    """It was tried with tables."""
    SOURCE = "source"
    """It was read from the engine's source."""
    DOCUMENTED = "documented"
    DERIVED = "derived"
    """It follows from a library that the engine contains; changes by the vendor are not known."""
    STATED = "stated"
    """A fleet file states it."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """The features of one release; the next record of its profile gives the changes since.

    :param version: version number; for a service, the first day of the record; empty if the source has none
    :param date: date of the release, or of reading the source, ISO 8601
    :param source: source of the record
    :param reads: features that it reads
    :param writes: features that it writes
    :param refuses_reading: features that it does not read, if ``reads`` may be incomplete
    :param refuses_writing: features that it does not write, if ``writes`` may be incomplete
    :param misreads: features that make it silently return wrong values
    :param miswrites: features that it ignores when it writes
    :param undecided: features on which its ways of reading, or of writing, differ
    :param writes_unused: features that it writes as long as the table does not use them
    :param widenings: type changes that it reads, as names of types; None for all
    :param lists_all: whether ``reads`` and ``writes`` are its own lists: it refuses features that they lack
    :param crates: library versions in its signature, if the library is numbered separately
    :param statistics: the statistics of files that it relies on; None if no source covers them
    :param conditions: cases in which it behaves otherwise
    :param basis: kind of the source
    """

    version: str
    date: str
    source: str
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    refuses_reading: frozenset[str] = frozenset()
    refuses_writing: frozenset[str] = frozenset()
    misreads: frozenset[str] = frozenset()
    miswrites: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    writes_unused: frozenset[str] = frozenset()
    widenings: frozenset[tuple[str, str]] | None = None
    lists_all: bool = True
    crates: tuple[str, ...] = ()
    statistics: StatisticsUse | None = None
    conditions: tuple[Condition, ...] = ()
    basis: Basis = Basis.STATED

    @classmethod
    def of(
        cls,
        version: str,
        date: str,
        source: str,
        *,
        both: Words = "",
        refuses: Words = "",
        widenings: Iterable[tuple[str, str]] | None = None,
        lists_all: bool = True,
        crates: Words = "",
        statistics: Mapping[str, Any] | None = None,
        basis: str = Basis.STATED.value,
        **features: Words,
    ) -> Release:
        """Return a record made from words; ``both`` is read and written, ``refuses`` neither.

        :param features: any other field, by its name
        """
        named: dict[str, Any] = {name: _set(words) for name, words in features.items()}
        for names, words in ((("reads", "writes"), both), (("refuses_reading", "refuses_writing"), refuses)):
            named |= {name: named.get(name, frozenset()) | _set(words) for name in names}
        return cls(
            version=version,
            date=date,
            source=source,
            widenings=None if widenings is None else frozenset(widenings),
            lists_all=lists_all,
            crates=tuple(crates.split()),
            statistics=None if statistics is None else StatisticsUse.of(statistics),
            basis=Basis(basis),
            **named,
        )

    def then(
        self,
        version: str,
        date: str,
        *,
        both: Words = "",
        reads: Words = "",
        writes: Words = "",
        writes_unused: Words = "",
        without: Words = "",
        misreads: Words = "",
        miswrites: Words = "",
        undecided: Words = "",
        widenings: Iterable[tuple[str, str]] | None = None,
        crates: Words = "",
        source: str = "",
        statistics: Mapping[str, Any] | None = None,
        basis: str = "",
    ) -> Release:
        """Return a later release with additional features; ``without`` lists features that it no longer knows.

        Features that this release gets wrong, leaves undecided or limits, and conditions are not carried over.
        """
        gone = _set(without)
        written = (self.writes | _set(both, writes)) - gone
        return replace(
            self,
            version=version,
            date=date,
            source=source or self.source,
            reads=(self.reads | _set(both, reads)) - gone,
            writes=written,
            refuses_reading=self.refuses_reading - _set(both, reads),
            refuses_writing=self.refuses_writing - written,
            misreads=_set(misreads),
            miswrites=_set(miswrites),
            undecided=_set(undecided),
            writes_unused=(self.writes_unused | _set(writes_unused)) - written,
            widenings=None if widenings is None else frozenset(widenings),
            crates=tuple(crates.split()),
            statistics=self.statistics if statistics is None else StatisticsUse.of(statistics),
            conditions=(),
            basis=Basis(basis) if basis else self.basis,
        )

    def reading(self, feature: str) -> Support:
        """Return the behavior when it reads a table that uses the feature."""
        if feature in self.misreads:
            return Support.WRONG
        if feature in self.undecided:
            return Support.UNKNOWN
        if feature in self.reads:
            return Support.YES
        if BY_VERSION in feature:
            return self.reading(feature.removesuffix(BY_VERSION))
        return Support.NO if self.lists_all or feature in self.refuses_reading else Support.UNKNOWN

    def writing(self, feature: str, *, unused: bool = False) -> Support:
        """Return the behavior when it writes a table with the feature.

        :param unused: whether the table is known not to use it
        """
        if feature in self.writes & self.undecided:
            return Support.UNKNOWN
        if feature in self.writes or (unused and feature in self.writes_unused):
            return Support.YES
        if feature in self.writes_unused & self.undecided:
            return Support.UNKNOWN
        if feature in self.miswrites:
            return Support.WRONG
        if BY_VERSION in feature:
            return self.writing(feature.removesuffix(BY_VERSION), unused=unused)
        refuses = self.lists_all or feature in self.refuses_writing or feature in self.writes_unused
        return Support.NO if refuses else Support.UNKNOWN


class VersionScheme(Enum):
    """The meaning of an engine's versions."""

    RELEASES = "releases"
    """A release between two records that agree behaves like both; after the last record nothing is known."""
    DAYS = "days"
    """A service: each record is valid from its day until that of the next one."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """An engine.

    :param name: name in ``domain/delta/commit.py``, if the engine signs its commits
    :param label: common name
    :param releases: records of its releases, oldest first
    :param read_only: whether it never writes Delta tables
    :param compares_metadata: place in its source that refuses tables whose metadata uses a feature that the protocol
        does not list; empty if it does not refuse them, or if that is unknown
    :param no_reader: source that says that it reads no Delta tables; empty if it reads some
    :param remark: further information for users, a sentence
    :param aliases: other common names
    :param keeps_features: whether a release after the last record supports at least what that record supports
    """

    name: str
    label: str
    releases: tuple[Release, ...]
    read_only: bool = False
    versions: VersionScheme = VersionScheme.RELEASES
    compares_metadata: str = ""
    no_reader: str = ""
    remark: str = ""
    aliases: tuple[str, ...] = ()
    keeps_features: bool = False

    @property
    def has_releases(self) -> bool:
        """Return True if more than one release of it is known; a service has none."""
        return self.versions is VersionScheme.RELEASES and len(self.releases) > 1

    def around(self, version: str | None) -> tuple[Release, ...] | None:
        """Return the records that cover a version: it behaves as they agree. None if nothing is known about it.

        A version without a patch release, such as ``1.5``, stands for all records within it.

        :param version: the version; None if unknown: a service as of today, or any release
        """
        if version is None:
            return self.releases[-1:] if self.versions is VersionScheme.DAYS else self.releases
        by_crate = tuple(release for release in self.releases if version in release.crates)
        if by_crate:
            return by_crate + tuple(release for release in self.releases if release.version == version)
        number = _number(version)
        dated = [(_number(release.version), release) for release in self.releases]
        before = [release for at, release in dated if at <= number]
        after = [release for at, release in dated if at > number]
        if self.versions is VersionScheme.DAYS or not all(at for at, _ in dated):
            return tuple(before[-1:]) or None
        if number and (within := [release for at, release in dated if at[: len(number)] == number]):
            starts = not any(version_of(within[0].version)[len(number) :])
            return (*(() if starts else before[-1:]), *within)
        if not number or not before:
            return None
        if not after and _longer(number, dated[-1][0]):
            return (_at_least(self.releases[-1]),) if self.keeps_features else None
        exact = not _longer(number, version_of(before[-1].version))
        return (before[-1],) if exact else (before[-1], after[0])

    def that_writes(self, version: str | None) -> Profile:
        """Return the profile of an engine that has written: an unknown version must be a release that writes tables."""
        return self if version else replace(self, releases=tuple(r for r in self.releases if r.writes))

    def support(self, version: str | None, asked: Callable[[Release], Support]) -> Support:
        """Return the answer on which all records that cover a version agree; otherwise UNKNOWN."""
        found = {asked(release) for release in self.around(version) or ()}
        if len(found) != 1:
            return Support.UNKNOWN
        support = found.pop()
        unversioned = self.versions is VersionScheme.RELEASES and not self.releases[-1].version
        return Support.UNKNOWN if unversioned and support is Support.YES else support

    def relies(self, version: str | None, use: Reliance, of: str, *, is_field: bool) -> tuple[bool | None, bool]:
        """Return True if the engine relies on statistics of files in this way, and True if all its releases agree.

        None if it is unknown. Without a version, one release that does is enough. Parameters as in
        :meth:`StatisticsUse.relies`.
        """
        found = [
            None if release.statistics is None else release.statistics.relies(use, of, is_field=is_field)
            for release in self.around(version) or ()
        ]
        return answer(found, any_release=version is None), len(set(found)) == 1

    def conditions(self, version: str | None) -> dict[Condition, bool]:
        """Return the conditions of the records that cover a version: True if all of them have it."""
        around = self.around(version) or ()
        every = dict.fromkeys(condition for release in around for condition in release.conditions)
        return {each: all(each in release.conditions for release in around) for each in every}

    def since(self, asked: Callable[[Release], Support]) -> str | None:
        """Return the first version since which all records answer YES; None if the newest does not."""
        first = None
        for release in reversed(self.releases):
            if asked(release) is not Support.YES:
                break
            first = release.version
        return first


def _at_least(release: Release) -> Release:
    """Return the record of a later release: what this one does not support may be supported."""
    nothing: frozenset[str] = frozenset()
    return replace(release, lists_all=False, refuses_reading=nothing, refuses_writing=nothing, widenings=None)


def _number(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, or of a day."""
    return version_of(version.replace("-", "."))


def _longer(number: tuple[int, ...], known: tuple[int, ...]) -> bool:
    """Return True if a version is later than a known one; fourth numbers of vendors are ignored."""
    return number[: len(known)] > known


def _set(*words: Words) -> frozenset[str]:
    return frozenset(" ".join(words).split())


def read_own_profiles(wire: Iterable[Mapping[str, Any]]) -> dict[str, Profile]:
    """Read the profiles of this package, by name: see ``profiles.json``."""
    profiles: dict[str, Profile] = {}
    for each in wire:
        name = each["engine"]
        if contained := each.get("contains"):
            profiles[name] = _derived(profiles[contained], each)
            continue
        releases: dict[str, Release] = {}
        for given in each["releases"]:
            fields = {key: value for key, value in given.items() if key != "comment"}
            version, date = fields.pop("version"), fields.pop("date")
            if (changes := fields.pop("type_changes", None)) is not None:
                fields["widenings"] = [_change((name, version, "type_changes"), change) for change in changes]
            earlier = fields.pop("adds_to", None)
            if earlier is None:
                releases[version] = Release.of(version, date, lists_all=fields.pop("lists_all", False), **fields)
                continue
            engine, _, number = earlier.rpartition(" ")
            known = releases.values() if not engine else profiles[engine].releases
            base = next(release for release in known if release.version == number)
            releases[version] = base.then(version, date, **fields)
        profiles[name] = Profile(
            name=name,
            label=each.get("label", name),
            releases=_with_conditions(tuple(releases.values()), each.get("conditions", ()), (name, "conditions")),
            read_only=each.get("read_only", False),
            versions=VersionScheme(each.get("versions", VersionScheme.RELEASES.value)),
            compares_metadata=each.get("compares_metadata", ""),
            no_reader=each.get("no_reader", ""),
            remark=each.get("remark", ""),
            aliases=tuple(each.get("aliases", ())),
            keeps_features=each.get("keeps_features", False),
        )
    return profiles


def _derived(contained: Profile, each: Mapping[str, Any]) -> Profile:
    """Return the profile of a product whose releases contain an engine's releases of the same numbers."""
    origin = f"derived from {contained.name} of the same number: {each['source']}"

    def derive(release: Release) -> Release:
        conditions = (replace(stated, source=f"{origin}; {stated.source}") for stated in release.conditions)
        source = f"{origin}; {release.source}"
        return replace(release, source=source, basis=Basis.DERIVED, conditions=tuple(conditions))

    return replace(
        contained,
        name=each["engine"],
        label=each.get("label", each["engine"]),
        releases=tuple(map(derive, contained.releases)),
        remark=each.get("remark", ""),
        aliases=tuple(each.get("aliases", ())),
    )


_CONDITION_KEYS = ("since", "until", "outcome", "if", "effect", "remedy", "source", "date")


def _with_conditions(releases: tuple[Release, ...], wire: Any, where: tuple[str | int, ...]) -> tuple[Release, ...]:
    """Return releases with the conditions that a profile states for ranges of them.

    :raises FleetError: if a condition is invalid
    """
    if not isinstance(wire, (list, tuple)):
        raise FleetError(where, f"it is {wire!r}; it has to be a list of conditions.")
    for index, entry in enumerate(wire):
        given = mapping_of((*where, index), entry, _CONDITION_KEYS)
        try:
            condition = read_condition(given)
        except ConditionError as error:
            raise FleetError((*where, index, *error.where), str(error)) from error
        since, until = (_end((*where, index, key), given.get(key), releases) for key in ("since", "until"))
        releases = tuple(
            replace(release, conditions=(*release.conditions, condition))
            if (since is None or since <= _number(release.version))
            and (until is None or _number(release.version) <= until)
            else release
            for release in releases
        )
    return releases


def _end(where: tuple[str | int, ...], value: Any, releases: tuple[Release, ...]) -> tuple[int, ...] | None:
    """Return an end of a range of releases; None if it is open. It has to be a release of the profile."""
    if value is None:
        return None
    known = [release.version for release in releases]
    if value not in known:
        raise FleetError(where, f"{value!r} is not a release of the profile: it has {', '.join(known)}.")
    return _number(value)


_KEYS = ("engine", "label", "read_only", "remark", "releases", "conditions")
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
_RELEASE_KEYS = ("version", "date", "source", *_LISTS, "type_changes", "lists_all", "statistics")


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
        releases=_with_conditions(
            tuple(sorted(releases, key=lambda release: version_of(release.version))),
            given.get("conditions", ()),
            (*where, "conditions"),
        ),
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
        statistics=_statistics((*where, "statistics"), given.get("statistics")),
    )


def _statistics(where: tuple[str | int, ...], value: Any) -> Mapping[str, Any] | None:
    if value is None:
        return None
    given = mapping_of(where, value, _STATISTICS_KEYS)
    try:
        StatisticsUse.of(given)
    except ValueError as error:
        raise FleetError(where, f"{error}.") from None
    return given


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


PROFILES: dict[str, Profile] = read_own_profiles(json.loads(get_data(__package__, "profiles.json") or b""))


def engine_of(writer: str, profiles: Mapping[str, Profile] = PROFILES) -> tuple[Profile, str | None] | None:
    """Return the profile of a writer such as ``Delta Spark 4.4.0``, with its version if it has one; None if unknown.

    :param writer: name and version, as in ``domain/delta/commit.py``
    """
    for name, profile in profiles.items():
        if writer == name:
            return profile, None
        if writer.startswith(f"{name} "):
            return profile, writer[len(name) + 1 :]
    return None


def profile_named(name: str, profiles: Mapping[str, Profile] = PROFILES) -> Profile | None:
    """Return the profile with a name, label or alias, ignoring case; None if there is none."""
    folded = name.casefold()
    for profile in profiles.values():
        if folded in (known.casefold() for known in (profile.name, profile.label, *profile.aliases)):
            return profile
    return None


def release_with(features: Collection[str]) -> str | None:
    """Return the first release since which Delta Spark writes tables with all the features; None if unknown."""
    since = [PROFILES["Delta Spark"].since(methodcaller("writing", name)) for name in features]
    known = [version for version in since if version]
    return max(known, key=version_of) if known and len(known) == len(since) else None
