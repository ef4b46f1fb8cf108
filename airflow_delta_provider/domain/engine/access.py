"""Access of an engine's release to a table: the table's demands, compared with the engine's profile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from operator import methodcaller

from airflow_delta_provider.domain.engine.conditions import Behavior, Clause, ClauseState, Traits
from airflow_delta_provider.domain.engine.profile import BY_VERSION, PROFILES, Profile, Release, Support, engine_of
from airflow_delta_provider.domain.engine.spark_library import version_of

_NOT_AROUND = "no release around this one is known"


class Outcome(str, Enum):
    """The outcome for an engine on a table; the first that applies."""

    READ_LOCKED = "READ_LOCKED"
    """It refuses to read the table, so it cannot write it either."""
    SILENT_WRONG_RESULTS = "SILENT_WRONG_RESULTS"
    """It reads wrong values, or breaks the table when it writes, and reports nothing."""
    WRITE_LOCKED = "WRITE_LOCKED"
    """It reads the table, or may, and refuses to write it."""
    UNKNOWN = "UNKNOWN"
    """No source covers it."""
    OK = "OK"
    """It reads the table, and writes it if it writes Delta tables at all."""


class Access(str, Enum):
    """A kind of access to a table."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, kw_only=True)
class Demands:
    """A table's demands on its readers and writers.

    :param reader: features that readers must support
    :param writer: features that writers must support, including those for readers
    :param implied_reader: features in ``reader`` that only the protocol's version implies
    :param implied_writer: features in ``writer`` that only the protocol's version implies
    :param unused: features that the table is known not to use
    :param type_changes: type changes as names of types, from and to
    :param widening: feature that the type changes belong to
    :param unlisted: features that the metadata uses and that the protocol's lists lack
    :param is_readable: whether the protocol shows the table's features
    :param traits: the table's traits that conditions of engines are about; None if they are not known
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
    traits: Traits | None = None


@dataclass(frozen=True)
class Reason:
    """The reason why an engine cannot do something, or why that is unknown.

    :param subject: a feature or a type change; empty if the protocol or the engine's release is unknown. For a
        condition, the cause of its being met or undecided
    :param source: source of the information, with its date
    :param effect: for a condition, the behavior of the engine
    :param remedy: for a condition, a way to avoid that
    :param misreads: True for a condition under which the engine returns wrong rows
    """

    access: Access
    support: Support
    subject: str
    source: str
    effect: str = ""
    remedy: str = ""
    misreads: bool = False

    def __str__(self) -> str:
        return f"{self.access.value} {self.subject}: {self.support.value} ({self.source})"

    @property
    def key(self) -> tuple[Access, Support, str]:
        """The identity of a reason: a condition may hold because of more columns and be the same."""
        return self.access, self.support, self.effect or f"{self.subject} {self.source}"


@dataclass(frozen=True)
class Assessment:
    """The outcome for one engine.

    :param version: version of the engine; None if unknown
    :param reasons: reasons why the outcome is not OK, in the order of the features
    """

    profile: Profile
    version: str | None
    outcome: Outcome
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        engine = " ".join(filter(None, (self.profile.name, self.version)))
        return f"{engine}: {self.outcome.value}"


def assess(profile: Profile, version: str | None, demands: Demands) -> Assessment:
    """Return the outcome for an engine on a table.

    :param version: version of the engine; None for a service as of today, and if it is unknown
    """
    if not demands.is_readable:
        unreadable = Reason(Access.READ, Support.UNKNOWN, "", "the protocol does not say which features it has")
        return Assessment(profile, version, Outcome.UNKNOWN, (unreadable,))
    if profile.no_reader:
        refused = Reason(Access.READ, Support.NO, "any Delta table", profile.no_reader)
        return Assessment(profile, version, outcome_of([refused]), (refused,))
    reasons = tuple(_reasons(profile, version, demands))
    if profile.around(version) is None:
        open_ones = set(Access if not profile.read_only else [Access.READ]) - {reason.access for reason in reasons}
        reasons += tuple(Reason(access, Support.UNKNOWN, "", _NOT_AROUND) for access in sorted(open_ones))
    return Assessment(profile, version, outcome_of(reasons), reasons)


def outcome_of(reasons: Iterable[Reason]) -> Outcome:
    """Return the outcome that follows from reasons."""
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
    yield from _of_conditions(profile, version, demands.traits)
    if profile.read_only:
        return
    for feature in sorted(demands.writer):
        name, unused = _keyed(feature, demands.implied_writer), feature in demands.unused
        found = profile.support(version, methodcaller("writing", name, unused=unused))
        if found is not Support.YES:
            yield Reason(Access.WRITE, found, feature, source)


_BEHAVIORS = {
    Behavior.MISREADS: (Access.READ, Support.WRONG),
    Behavior.MISWRITES: (Access.WRITE, Support.WRONG),
    Behavior.REFUSES_READING: (Access.READ, Support.NO),
    Behavior.REFUSES_WRITING: (Access.WRITE, Support.NO),
    Behavior.UNDECIDED: (Access.READ, Support.UNKNOWN),
}


def _of_conditions(profile: Profile, version: str | None, traits: Traits | None) -> Iterator[Reason]:
    for condition, everywhere in profile.conditions(version).items():
        access, support = _BEHAVIORS[condition.behavior]
        found = condition.decide(traits)
        if found.met is ClauseState.NO or (profile.read_only and access is Access.WRITE):
            continue
        known = everywhere and found.met is ClauseState.YES
        source = ", ".join(filter(None, (condition.source, condition.date)))
        yield Reason(
            access,
            support if known else Support.UNKNOWN,
            found.why,
            source,
            condition.effect,
            condition.remedy,
            misreads=condition.behavior is Behavior.MISREADS,
        )


def undecided_clauses(
    engines: Iterable[tuple[Profile, str | None]], demands: Demands, before: Demands | None = None
) -> Iterator[Clause]:
    """Yield the clauses of conditions that a table's metadata does not decide.

    :param engines: profiles with versions
    :param before: demands before a change; conditions that were undecided then are left out
    """
    for profile, version in engines:
        for condition in profile.conditions(version):
            was_undecided = before is not None and condition.decide(before.traits).met is ClauseState.UNKNOWN
            if not was_undecided and condition.decide(demands.traits).met is ClauseState.UNKNOWN:
                yield from condition.clauses


def known_misreaders(demands: Demands) -> Iterator[str]:
    """Yield the engines that are known to misread a table without an error, with their releases."""
    for profile in PROFILES.values():
        bad = [release.version for release in profile.releases if _misreads(profile, release.version or None, demands)]
        if bad:
            ends = bad[0] if len(bad) == 1 else f"{bad[0]} to {bad[-1]}"
            yield " ".join(filter(None, (profile.label, ends)))


def _misreads(profile: Profile, version: str | None, demands: Demands) -> bool:
    found = assess(profile, version, demands)
    return found.outcome is Outcome.SILENT_WRONG_RESULTS and any(
        reason.access is Access.READ and reason.support is Support.WRONG for reason in found.reasons
    )


def _source(releases: tuple[Release, ...] | None) -> str:
    """Return the sources of release records: each source once, with the days of its records."""
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
    """Return the engine's support for a type change, if it may read tables with the feature."""

    def of(release: Release) -> Support:
        limited = release.widenings is not None and change not in release.widenings
        return Support.NO if limited else release.reading(feature)

    return profile.support(version, of)


def who_is_locked_out(feature: str, writers: Iterable[str]) -> str:
    """Return a sentence that names the engines that can no longer write a table with ``feature``.

    :param writers: recent writers of the table
    """
    engines = ", ".join(known_lockouts(Access.WRITE, [feature]))
    known = f"known are {engines}" if engines else "which those are is not known"
    sentence = f"Writers that do not know {feature} are locked out; {known}."
    hit = sorted({writer for writer in writers if _is_locked_out(feature, writer)})
    return f"Recent writers that would be locked out: {', '.join(hit)}. {sentence}" if hit else sentence


def known_lockouts(access: Access, features: Collection[str], unlisted: Collection[str] = ()) -> Iterator[str]:
    """Yield the engines that are known to refuse tables with the features, and the release that ends this.

    Engines that write a feature as long as the table does not use it are left out.

    :param unlisted: features that the metadata uses and that the protocol's lists lack
    """
    for profile in PROFILES.values():
        if access is Access.WRITE and profile.read_only:
            continue
        if unlisted and profile.compares_metadata:
            yield profile.label
            continue
        refused = [name for name in features if any(_asked(access, name)(r) is Support.NO for r in profile.releases)]
        since = [profile.since(_asked(access, name)) for name in refused]
        known = [version for version in since if version]
        if refused:
            last = f" before {max(known, key=version_of)}" if len(known) == len(since) else ""
            yield f"{profile.label}{last}"


def _asked(access: Access, feature: str) -> Callable[[Release], Support]:
    if access is Access.READ:
        return lambda release: release.reading(feature)
    return lambda release: release.writing(feature, unused=True)


def _is_locked_out(feature: str, writer: str) -> bool:
    found = engine_of(writer)
    if found is None:
        return False
    profile, version = found
    return profile.support(version, _asked(Access.WRITE, feature)) is Support.NO
