"""Whether a release of an engine can read and write a table: what the table demands, against the engine's profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from operator import methodcaller

from airflow_delta_provider.domain.engine.profiles.profile import BY_VERSION, Profile, Release, Support

_NOT_AROUND = "no release around this one is known"


class Outcome(str, Enum):
    """What becomes of an engine on a table, the first that holds."""

    READ_LOCKED = "READ_LOCKED"
    """It refuses to read the table, so it cannot write it, either."""
    SILENT_WRONG_RESULTS = "SILENT_WRONG_RESULTS"
    """It reads wrong values, or breaks the table when it writes, and reports nothing."""
    WRITE_LOCKED = "WRITE_LOCKED"
    """It reads the table, or may, and refuses to write it."""
    UNKNOWN = "UNKNOWN"
    """No source says."""
    OK = "OK"
    """It reads the table, and writes it if it writes Delta tables at all."""


class Access(str, Enum):
    """What an engine does with a table."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, kw_only=True)
class Demands:
    """What a table demands of those that read and write it.

    :param reader: features that readers have to support
    :param writer: features that writers have to support, those of readers among them
    :param implied_reader: those of ``reader`` that only the protocol's version implies
    :param implied_writer: those of ``writer`` that only the protocol's version implies
    :param unused: those that the table is known to make no use of
    :param type_changes: by names of types, from and to
    :param widening: the feature that the type changes belong to
    :param unlisted: features that the metadata makes use of, and that the protocol's lists lack
    :param is_readable: whether the protocol says which features it has
    """

    reader: frozenset[str] = frozenset()
    writer: frozenset[str] = frozenset()
    implied_reader: frozenset[str] = frozenset()
    implied_writer: frozenset[str] = frozenset()
    unused: frozenset[str] = frozenset()
    type_changes: tuple[tuple[str, str], ...] = ()
    widening: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    is_readable: bool = True


@dataclass(frozen=True)
class Reason:
    """Why an engine cannot do something, or why that is not known.

    :param subject: a feature, or a type change; empty where neither the protocol nor the engine's release is known
    :param source: where that is from, and of when
    """

    access: Access
    support: Support
    subject: str
    source: str

    def __str__(self) -> str:
        return f"{self.access.value} {self.subject}: {self.support.value} ({self.source})"


@dataclass(frozen=True)
class Assessment:
    """The outcome for one engine.

    :param version: of the engine; None where that is not known
    :param reasons: why it is not OK, in the order of the features
    """

    profile: Profile
    version: str | None
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        engine = " ".join(filter(None, (self.profile.name, self.version)))
        return f"{engine}: {self.outcome.value}"


def assess(profile: Profile, version: str | None, demands: Demands) -> Assessment:
    """Return what becomes of an engine on a table.

    :param version: of the engine; None for a service of today, and where it is not known
    """
    if not demands.is_readable:
        unreadable = Reason(Access.READ, Support.UNKNOWN, "", "the protocol does not say which features it has")
        return Assessment(profile, version, Outcome.UNKNOWN, (unreadable,))
    reasons = tuple(_reasons(profile, version, demands))
    if not reasons and profile.around(version) is None:
        reasons = (Reason(Access.READ, Support.UNKNOWN, "", _NOT_AROUND),)
    return Assessment(profile, version, outcome_of(reasons), reasons)


def outcome_of(reasons: Iterable[Reason]) -> Outcome:
    """Return what the reasons add up to."""
    found = {(reason.access, reason.support) for reason in reasons}
    if (Access.READ, Support.NO) in found:
        return Outcome.READ_LOCKED
    locked_for_writing = (Access.WRITE, Support.NO) in found
    if (Access.READ, Support.WRONG) in found or ((Access.WRITE, Support.WRONG) in found and not locked_for_writing):
        return Outcome.SILENT_WRONG_RESULTS
    if locked_for_writing:
        return Outcome.WRITE_LOCKED
    return Outcome.UNKNOWN if found else Outcome.OK


def _reasons(profile: Profile, version: str | None, demands: Demands) -> Iterator[Reason]:
    source = _source(profile.around(version))
    for feature in sorted(demands.unlisted) if profile.compares_metadata else ():
        yield Reason(
            Access.READ, Support.NO, f"a table that uses {feature} without listing it", profile.compares_metadata
        )
    for feature in sorted(demands.reader):
        name = _keyed(feature, demands.implied_reader)
        found = profile.support(version, methodcaller("reading", name))
        if found is Support.WRONG and feature in demands.unused:
            continue
        if found is not Support.YES:
            yield Reason(Access.READ, found, feature, source)
        if found is not Support.NO and feature in demands.widening:
            for old, new in demands.type_changes:
                taken = _takes(profile, version, name, (old, new))
                if taken is not Support.YES:
                    yield Reason(Access.READ, taken, f"{feature}: {old} to {new}", source)
                    if not profile.read_only:
                        yield Reason(Access.WRITE, taken, f"{feature}: {old} to {new}", source)
    if profile.read_only:
        return
    for feature in sorted(demands.writer):
        name, unused = _keyed(feature, demands.implied_writer), feature in demands.unused
        found = profile.support(version, methodcaller("writing", name, unused=unused))
        if found is not Support.YES:
            yield Reason(Access.WRITE, found, feature, source)


def _source(releases: tuple[Release, ...] | None) -> str:
    """Return where the records of releases are from: each source once, with the days of its records."""
    if releases is None:
        return _NOT_AROUND
    dates: dict[str, list[str]] = {}
    for release in releases:
        dates.setdefault(release.source, []).append(release.date)
    said = []
    for source, days in dates.items():
        period = " to ".join(dict.fromkeys(day for day in (min(days), max(days)) if day))
        said.append(", ".join(filter(None, (source, period))))
    return "; ".join(said)


def _keyed(feature: str, implied: frozenset[str]) -> str:
    return f"{feature}{BY_VERSION}" if feature in implied else feature


def _takes(profile: Profile, version: str | None, feature: str, change: tuple[str, str]) -> Support:
    """Return whether an engine reads a table with a type change, where it may read tables with the feature."""

    def of(release: Release) -> Support:
        limited = release.widenings is not None and change not in release.widenings
        return Support.NO if limited else release.reading(feature)

    return profile.support(version, of)
