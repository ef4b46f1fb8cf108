"""Obstacles to comparing a table with an earlier version: RT30, and the refusal of a version that does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.row_tracking.family import FAMILY, SPEC
from airflow_delta_provider.domain.checks.row_tracking.row_moves import RowMoves, tracked
from airflow_delta_provider.domain.checks.rule import Rule, Scope
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of commits that one rule names one by one.
MOST_COMMITS = 10

NOT_COMPARABLE = FAMILY.of(Scope.HISTORY, SPEC).undecided(
    30,
    "stability cannot be decided",
    effect="It is unknown whether rows kept their ids since the version that they are compared with.",
    remedy="Compare with a later version, or by columns that identify rows.",
)


def no_such_version(version: int, newest: int) -> Finding:
    return requests.NO_SUCH_VERSION.found(
        "There is no version {requested}; the newest version of the table is {newest}.",
        requested=version,
        newest=newest,
    )


@on_demand(NOT_COMPARABLE)
def lost_version(version: int, error: Exception, earliest: int | None) -> Finding:
    """Return the finding that the log no longer leads from a version to the newest one.

    :param error: error that names the missing part
    :param earliest: first version that the log can reconstruct, if known and later than ``version``
    """
    hint = "" if earliest is None else " The earliest version that can be compared is {earliest}."
    return NOT_COMPARABLE.found(
        f"The log no longer leads from version {{version}} to the newest one: {{problem}}.{hint}",
        remedy="Compare with a later version.",
        version=version,
        earliest=Prose(earliest),
        problem=Prose(error),
    )


@on_demand(NOT_COMPARABLE)
def untracked(since: int, transitions: Sequence[Transition]) -> Iterator[Finding]:
    """Yield a finding if row tracking was not enabled all the time since a version.

    :param transitions: all commits after ``since``, up to a version at which it is enabled
    """
    enabled = max((t.commit.version for t in transitions if not tracked(t)), default=None)
    if enabled is not None:
        yield NOT_COMPARABLE.found(
            "Row tracking has been enabled without a break only since version {version}. Before that, writers did not "
            "have ids to keep, so rows cannot be compared with version {since}.",
            remedy=f"Compare with version {enabled} or later.",
            version=enabled,
            since=since,
        )


@on_demand(NOT_COMPARABLE)
def unplaced_files(moves: RowMoves) -> Iterator[Finding]:
    """Yield a finding if it is unknown whether some files of a commit are new."""
    if moves.unplaced:
        yield NOT_COMPARABLE.found(
            "The log no longer shows whether {files:file} that the commit adds, the first one {path}, were new or "
            "restored from an earlier version.",
            effect="It is unknown which ids their rows should have.",
            remedy="Compare with this version or a later one.",
            path=moves.unplaced[0].path,
            files=len(moves.unplaced),
            made_by=moves.transition.commit.provenance,
        )


@on_demand(NOT_COMPARABLE)
def unread_files(moves: RowMoves, path: str, count: int, why: str) -> Finding:
    """Return the finding that files of a commit can no longer be read.

    :param path: path of the first file
    :param why: reason why that file cannot be read
    """
    return NOT_COMPARABLE.found(
        "{files:file} that the commit added or removed cannot be read, the first one {path}: {problem}.",
        effect="It is unknown whether the rows that the commit moved kept their ids.",
        remedy=f"VACUUM deletes the files of earlier versions; compare with version {moves.version} or a later one.",
        path=path,
        files=count,
        problem=Prose(why),
        made_by=moves.transition.commit.provenance,
    )


def bounded(rule: Rule, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings of a rule about one commit each; those beyond :data:`MOST_COMMITS` are merged into one."""
    yield from findings[:MOST_COMMITS]
    more = findings[MOST_COMMITS:]
    if more:
        versions = [finding.version for finding in more if finding.version is not None]
        yield rule.found(
            "{commits:more commit has|more commits have} the same problem"
            + (", in versions {first} to {last}." if versions else "."),
            commits=len(more),
            first=min(versions, default=None),
            last=max(versions, default=None),
        )
