"""Engines that cannot read or write a table with a feature, as far as this is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from airflow_delta_provider.domain.engine.engine import version_of
from airflow_delta_provider.domain.engine.profiles.access import Access
from airflow_delta_provider.domain.engine.profiles.profile import Release, Support
from airflow_delta_provider.domain.engine.profiles.registry import PROFILES, engine_of


def who_is_locked_out(feature: str, writers: Iterable[str]) -> str:
    """Return a sentence that names the engines that can no longer write a table with ``feature``.

    :param writers: recent writers of the table
    """
    engines = ", ".join(known_lockouts(Access.WRITE, [feature]))
    known = f"known are {engines}" if engines else "which those are is not known"
    sentence = f"Writers that do not know {feature} are locked out; {known}."
    hit = sorted({writer for writer in writers if _is_locked_out(feature, writer)})
    return f"Recent writers that would be locked out: {', '.join(hit)}. {sentence}" if hit else sentence


def known_lockouts(access: Access, features: Collection[str]) -> Iterator[str]:
    """Yield the engines that are known to refuse tables with the features, and the release that ends this.

    Engines that write a feature as long as the table does not use it are left out.
    """
    for profile in PROFILES.values():
        if access is Access.WRITE and profile.read_only:
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
