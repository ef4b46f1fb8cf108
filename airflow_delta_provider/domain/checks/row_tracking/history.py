"""The rules of row tracking about states, applied commit by commit: RT05, RT07 to RT09, RT11 and RT12.

They check only files that a commit adds or removes: older files were checked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.check import on_demand, on_tracked
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, MARK_IS_LOST, SPEC, TRACKING
from airflow_delta_provider.domain.checks.row_tracking.fresh_ids import are_apart, in_order, last_id, overlaps
from airflow_delta_provider.domain.checks.row_tracking.live_files import (
    ABOVE_HIGH_WATER_MARK,
    COMMIT_VERSION_IN_FUTURE,
    MISSING_ROW_IDS,
    OVERLAPPING_ROW_IDS,
    lacking,
    mark_before,
    mark_is_too_low,
)
from airflow_delta_provider.domain.checks.row_tracking.moved_rows import RowMoves, tracked
from airflow_delta_provider.domain.checks.rule import Healing, Need, Prose, RepairMethod, Rule, Scope
from airflow_delta_provider.domain.delta.features.log import lacks_row_ids
from airflow_delta_provider.domain.delta.row_tracking import RowTracking
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

_pair = FAMILY.of(Scope.PAIR)


class _Step(NamedTuple):
    """A commit, with row tracking before and after it."""

    transition: Transition
    before: RowTracking
    after: RowTracking


def check_history(transition: Transition) -> Iterator[Finding]:
    """Yield findings about a commit that stay open regardless of its files."""
    step = _Step(transition, transition.before.row_tracking, transition.after.row_tracking)
    if not step.after.supported:
        return
    for check in (
        _without_ids,
        _above_mark,
        _overlapping,
        _commit_version_in_future,
        _mark_lowered,
        _removed_with_other_base,
    ):
        yield from check(step)


@on_tracked(MISSING_ROW_IDS, reads=(*TRACKING, "add.path", "add.baseRowId", "add.defaultRowCommitVersion"))
def _without_ids(step: _Step) -> Iterator[Finding]:
    if not (step.before.relied_upon and step.after.relied_upon):
        return  # RT05 of the state checks all files when row tracking has just been enabled
    for file in step.transition.commit.adds:
        if lacks_row_ids(file):
            yield MISSING_ROW_IDS.found(
                "Row tracking is enabled, but the commit adds {path} without {lacking}.",
                path=file.path,
                lacking=" and ".join(lacking(file)),
            )


@on_tracked(ABOVE_HIGH_WATER_MARK, reads=(*TRACKING, "add.path", "add.stats", "add.baseRowId", "files"))
def _above_mark(step: _Step) -> Iterator[Finding]:
    mark = step.after.high_water_mark
    if mark is None:
        return  # RT10 reports it
    adds = step.transition.commit.adds
    if all((file.base_row_id or 0) + (file.num_records or 1) - 1 <= mark for file in adds):
        return
    above = [(file, last) for file in adds if (last := last_id(file)) is not None and last > mark]
    # RT11 reports files that were already above a lowered mark.
    known = [file for file, _ in above if file.path in step.transition.before_files]
    if above and len(known) < len(above):
        more = len(above) - 1
        yield ABOVE_HIGH_WATER_MARK.found(
            "{path} " + ("and {more:more file} assign" if more else "assigns") + " row ids up to {highest}, but the "
            "commit leaves the high water mark at {mark}.",
            path=above[0][0].path,
            more=more,
            highest=max(last for _, last in above),
            mark=mark,
        )


@on_tracked(OVERLAPPING_ROW_IDS, reads=(*TRACKING, "add.path", "add.stats", "add.baseRowId", "files"))
def _overlapping(step: _Step) -> Iterator[Finding]:
    """Compare the files of the commit; older files have ids below the mark, which RT15 checks."""
    if are_apart(step.transition.commit.adds):
        return
    before = step.transition.before_files
    numbered = [
        file
        for file in step.transition.commit.adds
        if file.path not in before or file.base_row_id != before[file.path].base_row_id
    ]
    for overlap in overlaps(in_order(numbered), lambda file: file.num_records):
        yield OVERLAPPING_ROW_IDS.found(
            "The commit assigns the row ids from {first} to {last} twice, to {other} (baseRowId {other_base}) and "
            "{path} (baseRowId {base}).",
            path=overlap.other.path,
            base=overlap.other.base_row_id,
            other=overlap.one.path,
            other_base=overlap.one.base_row_id,
            first=overlap.first,
            last=overlap.last,
        )


@on_tracked(COMMIT_VERSION_IN_FUTURE, reads=(*TRACKING, "add.path", "add.defaultRowCommitVersion", "version"))
def _commit_version_in_future(step: _Step) -> Iterator[Finding]:
    version = step.transition.commit.version
    for file in step.transition.commit.adds:
        if (file.default_row_commit_version or 0) > version:
            yield COMMIT_VERSION_IN_FUTURE.found(
                "{path} has the defaultRowCommitVersion {commit_version}, but version {version} added it.",
                version=version,
                path=file.path,
                commit_version=file.default_row_commit_version,
            )


HIGH_WATER_MARK_LOWERED = _pair.error(
    11,
    "row id high water mark lowered",
    name="row-id-high-water-mark-lowered",
    effect="The next insert assigns ids again that were assigned before, to other rows.",
    remedy=MARK_IS_LOST,
    healing=Healing(mark_is_too_low, mark_before, needs_details=True, by_restore=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.HIGH_WATER_MARK),
    shows="domainMetadata",
    repairs=(RepairMethod.HIGH_WATER_MARK, RepairMethod.EARLIER_VALUES),
)


@on_tracked(HIGH_WATER_MARK_LOWERED, reads=(*TRACKING, "files"))
def _mark_lowered(step: _Step) -> Iterator[Finding]:
    transition = step.transition
    old, new = step.before.high_water_mark, step.after.high_water_mark
    if old is None or new is None or new >= old or (transition.replaces_all and transition.commit.metadata):
        return
    yield HIGH_WATER_MARK_LOWERED.found(
        "The commit lowers the high water mark of row ids from {before} to {after}.", before=old, after=new
    )


REMOVED_WITH_OTHER_BASE = _pair.error(
    12,
    "file removed with other row ids than it had",
    name="file-removed-with-other-row-ids",
    effect="Consumers that read changes mistake the removed rows for others, or for rows of another version.",
    remedy="The log cannot be repaired; read changes from a later version.",
    needs=(Need.STATE, Need.FILES),
    shows="remove",
)


@on_tracked(
    REMOVED_WITH_OTHER_BASE,
    reads=(
        *TRACKING,
        "add.baseRowId",
        "add.defaultRowCommitVersion",
        "remove.path",
        "remove.baseRowId",
        "remove.defaultRowCommitVersion",
        "files",
    ),
)
def _removed_with_other_base(step: _Step) -> Iterator[Finding]:
    if not step.before.supported:
        return
    keeps = step.before.assigns and step.after.assigns
    for removed in step.transition.commit.removes:
        live = step.transition.removed_files.get(removed.path)
        if live is None:
            continue
        for field, now, was in (
            ("baseRowId", removed.base_row_id, live.base_row_id),
            ("defaultRowCommitVersion", removed.default_row_commit_version, live.default_row_commit_version),
        ):
            if was is None or now == was or (now is None and not keeps):
                continue
            yield REMOVED_WITH_OTHER_BASE.found(
                "The commit removes {path} "
                + ("without {field}" if now is None else "with {field} {removed}")
                + ", but the file was live with {live}.",
                path=removed.path,
                field=field,
                removed=now,
                live=was,
            )
            return


#: Maximum number of commits that one rule names one by one.
MOST_COMMITS = 10

NOT_COMPARABLE = FAMILY.of(Scope.HISTORY, SPEC).undecided(
    30,
    "stability cannot be decided",
    name="row-id-stability-undecided",
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
    """Return the finding for a log that no longer has all commits since a version.

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
