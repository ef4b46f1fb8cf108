"""The record of an engine: the features that its releases read and write, as far as a source covers them.

Anything without a source is unknown. Features are named as in ``readerFeatures`` and ``writerFeatures``;
``invariants@version`` is the feature if only the protocol's version implies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from airflow_delta_provider.domain.engine.engine import version_of

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
        **features: Words,
    ) -> Release:
        """Return a record made from words; ``both`` is read and written, ``refuses`` neither.

        :param features: any other field, by its name
        """
        named = {name: _set(words) for name, words in features.items()}
        for names, words in ((("reads", "writes"), both), (("refuses_reading", "refuses_writing"), refuses)):
            named |= {name: named.get(name, frozenset()) | _set(words) for name in names}
        return cls(
            version=version,
            date=date,
            source=source,
            widenings=None if widenings is None else frozenset(widenings),
            lists_all=lists_all,
            crates=tuple(crates.split()),
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
    ) -> Release:
        """Return a later release with additional features; ``without`` lists features that it no longer knows.

        Features that this release gets wrong, leaves undecided or limits are not carried over.
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
        if feature in self.miswrites:
            return Support.WRONG
        if BY_VERSION in feature:
            return self.writing(feature.removesuffix(BY_VERSION), unused=unused)
        refuses = self.lists_all or feature in self.refuses_writing or feature in self.writes_unused
        return Support.NO if refuses else Support.UNKNOWN


class Versions(Enum):
    """The meaning of an engine's versions."""

    RELEASES = "releases"
    """A release between two records that agree behaves like both; after the last record nothing is known."""
    DAYS = "days"
    """A service: each record is valid from its day until that of the next one."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """An engine.

    :param name: name in ``domain/delta/writer.py``, if the engine signs its commits
    :param label: common name
    :param releases: records of its releases, oldest first
    :param read_only: whether it never writes Delta tables
    :param compares_metadata: place in its source that refuses tables whose metadata uses a feature that the protocol
        does not list; empty if it does not refuse them, or if that is unknown
    :param remark: further information for users, a sentence
    :param aliases: other common names
    """

    name: str
    label: str
    releases: tuple[Release, ...]
    read_only: bool = False
    versions: Versions = Versions.RELEASES
    compares_metadata: str = ""
    remark: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def has_releases(self) -> bool:
        """Return True if more than one release of it is known; a service has none."""
        return self.versions is Versions.RELEASES and len(self.releases) > 1

    def around(self, version: str | None) -> tuple[Release, ...] | None:
        """Return the records that cover a version: it behaves as they agree. None if nothing is known about it.

        :param version: the version; None if unknown: a service as of today, or any release
        """
        if version is None:
            return self.releases[-1:] if self.versions is Versions.DAYS else self.releases
        by_crate = tuple(release for release in self.releases if version in release.crates)
        if by_crate:
            return by_crate + tuple(release for release in self.releases if release.version == version)
        number = version_of(version.replace("-", "."))
        dated = [(version_of(release.version.replace("-", ".")), release) for release in self.releases]
        before = [release for at, release in dated if at <= number]
        after = [release for at, release in dated if at > number]
        if self.versions is Versions.DAYS or not all(at for at, _ in dated):
            return tuple(before[-1:]) or None
        if not number or not before or (not after and _longer(number, dated[-1][0])):
            return None
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
        unversioned = self.versions is Versions.RELEASES and not self.releases[-1].version
        return Support.UNKNOWN if unversioned and support is Support.YES else support

    def since(self, asked: Callable[[Release], Support]) -> str | None:
        """Return the first version since which all records answer YES; None if the newest does not."""
        first = None
        for release in reversed(self.releases):
            if asked(release) is not Support.YES:
                break
            first = release.version
        return first


def _longer(number: tuple[int, ...], known: tuple[int, ...]) -> bool:
    """Return True if a version is later than a known one; fourth numbers of vendors are ignored."""
    return number[: len(known)] > known


def _set(*words: Words) -> frozenset[str]:
    return frozenset(" ".join(words).split())
