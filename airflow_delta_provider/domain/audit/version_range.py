"""The versions that an audit checks, according to the names of the files in the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from airflow_delta_provider.domain.checks.log.history import gap, not_kept
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    LogSegment,
    commit_versions,
    earliest_version,
    select_segment,
)
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of gaps that are reported, the last ones: a log with more is hopeless.
_MOST_GAPS = 20


@dataclass(frozen=True)
class VersionRange:
    """The versions that an audit checks.

    :param base: version whose state it starts from; None for the whole history
    :param last: last version that it checks
    :param findings: findings from the file names alone, including those about versions that cannot be checked
    """

    base: LogSegment | None
    last: int
    findings: tuple[Finding, ...] = ()

    @property
    def first(self) -> int:
        """The first version that is checked as a commit."""
        return 0 if self.base is None else self.base.version + 1


def find_version_range(names: Iterable[str], newest: int, since: int | None = None) -> VersionRange:
    """Return the versions of a log up to ``newest`` that can be checked.

    :param since: version after which commits are checked; None for all
    :raises BrokenLogError: if no state can be made of the log at all
    """
    names = [name for name in names if name[:20].isdecimal() and int(name[:20]) <= newest]
    commits = commit_versions(names)
    gaps = _gaps(commits)
    # If no checkpoint spans a gap, the versions before the gap can still be checked.
    ends = [newest, *(first - 1 for first, _ in reversed(gaps[-_MOST_GAPS:]))]
    last, readable = next(
        ((end, first) for end in ends if (first := _readable(names, end)) is not None), (newest, None)
    )
    if readable is None:
        raise _broken(names, newest)
    findings = [gap(first, end, unreadable=last < newest and first == last + 1) for first, end in gaps[-_MOST_GAPS:]]
    if since is not None and readable <= since <= last:
        base: LogSegment | None = select_segment(names, since)
    elif readable == 0 and 0 in commits and (since is None or since < 0):
        base = None
    else:
        base = select_segment(names, readable)
        findings.append(not_kept(readable, since))
    return VersionRange(base, last, tuple(findings))


def _readable(names: list[str], newest: int) -> int | None:
    """Return the first version that the log connects to ``newest`` without a gap; None if there is none."""
    found = earliest_version([name for name in names if int(name[:20]) <= newest])
    return found if found is not None and found <= newest else None


def _broken(names: list[str], newest: int) -> BrokenLogError:
    try:
        select_segment(names, newest)
    except BrokenLogError as error:
        return error
    return BrokenLogError(f"there is no way to version {newest}")


def _gaps(commits: list[int]) -> list[tuple[int, int]]:
    """Return the first and the last missing version of each gap."""
    return [(one + 1, other - 1) for one, other in pairwise(commits) if other != one + 1]
