"""Effects of a commit on row tracking, from its own actions and the state before it: RT13 to RT18, and RT33."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.checks.check import on_tracked
from airflow_delta_provider.domain.checks.row_tracking import FAMILY, TRACKING, WRITE_AGAIN, live_files
from airflow_delta_provider.domain.checks.row_tracking.live_files import FILL_IN, NO_IDS, lacking
from airflow_delta_provider.domain.checks.rule import Healing, Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.log import lacks_row_ids
from airflow_delta_provider.domain.delta.live_file import RowIds
from airflow_delta_provider.domain.delta.row_tracking import PRESERVED_TAG, RowTracking
from airflow_delta_provider.domain.delta.table_properties import ROW_TRACKING_SUSPENDED
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

#: Operations that move rows into other files.
_REWRITES = frozenset({"UPDATE", "MERGE", "DELETE", "OPTIMIZE"})
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)


def check_commit(transition: Transition, earlier_paths: Collection[str]) -> Iterator[Finding]:
    """Yield findings about a commit's effects on row tracking.

    :param earlier_paths: paths from :func:`suspicious_paths` that an earlier commit added: a RESTORE brings back files
        with their old ids
    """
    tracking = transition.after.row_tracking
    if not tracking.supported:
        return
    for check in (
        _without_ids,
        _reassigned,
        _reissued,
        _other_commit_version,
        _names_changed,
        _not_preserved,
        _while_suspended,
    ):
        for finding in check(transition, tracking, earlier_paths):
            yield replace(finding, **transition.commit.provenance)


def moves_rows(commit: Commit) -> bool:
    """Return True if a commit's operation moves rows, or its tag says that it kept their ids."""
    return commit.operation in _REWRITES or str(commit.tags.get(PRESERVED_TAG)).lower() == "true"


def suspicious_paths(transition: Transition) -> list[str]:
    """Return the added paths that break RT15 or RT16, unless an earlier commit added them already."""
    mark = transition.before.row_tracking.high_water_mark
    return [
        file.path
        for file in transition.new_files
        if (mark is not None and file.base_row_id is not None and file.base_row_id <= mark)
        or file.default_row_commit_version not in (None, transition.commit.version)
    ]


ADDED_WITHOUT_ROW_IDS = _commit.error(
    13,
    "file added without row ids",
    name="file-added-without-row-ids",
    effect=NO_IDS,
    remedy=FILL_IN,
    about_live_files=True,
    repairs=(RepairMethod.ROW_IDS, RepairMethod.EARLIER_VALUES, RepairMethod.COPY),
)


@on_tracked(ADDED_WITHOUT_ROW_IDS, reads=(*TRACKING, "add.path", "add.baseRowId", "add.defaultRowCommitVersion"))
def _without_ids(transition: Transition, tracking: RowTracking, _: Collection[str]) -> Iterator[Finding]:
    if tracking.enabled or not tracking.assigns:  # RT05 reports it if row tracking is enabled
        return
    for file in transition.commit.adds:
        if lacks_row_ids(file):
            yield ADDED_WITHOUT_ROW_IDS.found(
                "Row tracking is supported and not suspended, but the commit adds {path} without {lacking}.",
                path=file.path,
                lacking=" and ".join(lacking(file)),
            )


REASSIGNED_BASE = _pair.error(
    14,
    "row ids of a file changed",
    name="row-ids-of-file-changed",
    effect="Rows that were not touched have other ids or commit versions than before.",
    remedy="Drop row tracking and enable it again, which assigns every row a new id; RESTORE leaves alone a file that "
    "is live in both versions.",
    healing=Healing(live_files.ids_are_others, live_files.ids_before, needs_details=True, by_files=True),
    needs=(Need.STATE, Need.FILES),
    about_live_files=True,
    repairs=(RepairMethod.COPY,),
)


@on_tracked(
    REASSIGNED_BASE,
    reads=(
        *TRACKING,
        "add.path",
        "add.deletionVector",
        "add.baseRowId",
        "add.defaultRowCommitVersion",
        "files",
        "past",
    ),
)
def _reassigned(transition: Transition, tracking: RowTracking, _: Collection[str]) -> Iterator[Finding]:
    if not tracking.assigns or not transition.before.row_tracking.supported:
        return  # ids from before the feature was dropped and added again
    past = transition.past
    if not tracking.relied_upon and (past.row_ids is None or past.restored_row_ids is not None):
        return  # Delta 4.4.0 itself does so if RESTORE goes back to before row tracking was enabled
    if not (transition.before_files or past.row_ids):
        return
    for file in transition.commit.adds:
        before = live_files.earlier_ids(transition, file.path)
        if before is None or not (changed := _changed_ids(before, file.row_ids)):
            continue
        if past.restored_row_ids is not None:
            # Rows get back the ids that they had in that version; if they had none, Delta Spark assigns new ones.
            then = past.restored_row_ids().get(file.path, (None, None))
            if not _changed_ids(then, file.row_ids):
                continue
        how = " and its ".join(f"{name} from {{{name}[0]}} to {{{name}[1]}}" for name in changed)
        yield REASSIGNED_BASE.found(f"The commit adds {{path}} again and changes its {how}.", path=file.path, **changed)


def _changed_ids(before: RowIds, after: RowIds) -> dict[str, Any]:
    """Return the ids that differ; removed ids are left to RT05."""
    named = zip(("baseRowId", "defaultRowCommitVersion"), before, after)
    return {name: [old, new] for name, old, new in named if old is not None and new is not None and old != new}


REISSUED_ROW_IDS = _pair.error(
    15,
    "row ids assigned a second time",
    name="row-ids-assigned-twice",
    effect="The ids of the new rows already belong, or once belonged, to other rows.",
    remedy=WRITE_AGAIN,
    needs=(Need.STATE, Need.PATHS, Need.HIGH_WATER_MARK),
    about_live_files=True,
    repairs=(RepairMethod.COPY,),
)


@on_tracked(REISSUED_ROW_IDS, reads=(*TRACKING, "add.path", "add.stats", "add.baseRowId", "files", "past"))
def _reissued(transition: Transition, _: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    mark = transition.before.row_tracking.high_water_mark
    if mark is None:
        return
    for file in transition.new_files:
        if file.base_row_id is not None and file.base_row_id <= mark and file.path not in earlier:
            # PROTOCOL.md lets writers reserve ids in an earlier commit, and demands ids above the mark.
            reserved = transition.past.assigned is not None and not transition.past.assigned(file)
            yield REISSUED_ROW_IDS.found(
                "Row ids up to {mark} were assigned "
                + ("or reserved " if reserved else "")
                + "before this commit, but it adds the new file {path} with baseRowId {base}"
                + (". No kept commit assigned its ids." if reserved else "."),
                severity=Severity.UNDECIDED if reserved else None,
                effect="None, if an earlier commit raised the high water mark to reserve the ids. PROTOCOL.md allows "
                "that, but also demands ids above the mark. Otherwise, the ids once belonged to other rows."
                if reserved
                else None,
                remedy="Find out whether the engine that wrote the commit reserves row ids." if reserved else None,
                path=file.path,
                mark=mark,
                base=file.base_row_id,
            )


OTHER_COMMIT_VERSION = _commit.error(
    16,
    "new file with another commit's defaultRowCommitVersion",
    name="row-commit-version-of-other-commit",
    effect="Consumers that read changes by row commit version see these rows too early or too late.",
    remedy=Restore(" if changes are read that way, and write the rows again"),
    needs=(Need.STATE, Need.PATHS),
    about_live_files=True,
    repairs=(RepairMethod.COPY,),
)


@on_tracked(
    OTHER_COMMIT_VERSION, reads=(*TRACKING, "add.path", "add.defaultRowCommitVersion", "files", "past", "version")
)
def _other_commit_version(transition: Transition, _: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    version = transition.commit.version
    for file in transition.new_files:
        if file.default_row_commit_version not in (None, version) and file.path not in earlier:
            yield OTHER_COMMIT_VERSION.found(
                "The commit of version {version} adds the new file {path} with defaultRowCommitVersion "
                "{commit_version}.",
                version=version,
                path=file.path,
                commit_version=file.default_row_commit_version,
            )


MATERIALIZED_NAMES_CHANGED = _pair.warning(
    17,
    "names of the materialized columns changed",
    name="materialized-column-names-changed",
    effect="Rows in older files lose the ids or commit versions that were stored for them.",
    remedy="Drop row tracking and enable it again, which assigns every row a new id: no engine sets the property.",
    healing=Healing(live_files.names_are_others, live_files.names_before, needs_details=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)


@on_tracked(MATERIALIZED_NAMES_CHANGED, reads=(*TRACKING, "files"))
def _names_changed(transition: Transition, tracking: RowTracking, _: Collection[str]) -> Iterator[Finding]:
    before = transition.before.row_tracking
    if not before.relied_upon or transition.keeps_no_file or transition.restores:
        return
    for what, old, new in (
        ("row ids", before.row_id_column, tracking.row_id_column),
        ("row commit versions", before.commit_version_column, tracking.commit_version_column),
    ):
        if old and new and old != new:
            yield MATERIALIZED_NAMES_CHANGED.found(
                "The commit moves the materialized {what} from the column {before!r} to {after!r}.",
                what=what,
                before=old,
                after=new,
            )


NOT_PRESERVED = _commit.warning(
    18,
    "row ids not preserved by a rewrite",
    name="row-ids-not-preserved-by-rewrite",
    effect="Consumers that follow row ids may mistake the rows that were moved for others.",
    remedy="Write the table with an engine that preserves row ids.",
    shows="commitInfo",
)


@on_tracked(
    NOT_PRESERVED, reads=(*TRACKING, "add.dataChange", "remove.dataChange", "commitInfo.operation", "commitInfo.tags")
)
def _not_preserved(transition: Transition, tracking: RowTracking, _: Collection[str]) -> Iterator[Finding]:
    commit = transition.commit
    if not (tracking.relied_upon and transition.before.row_tracking.relied_upon):
        return
    if not (commit.adds and commit.removes) or not (commit.operation in _REWRITES or _only_moves(commit)):
        return
    preserved = commit.tags.get(PRESERVED_TAG)
    if str(preserved).lower() != "true":
        yield NOT_PRESERVED.found(
            f"{'{rewrite}' if commit.operation else 'The commit'} moved rows, but its commitInfo does not confirm that "
            "they kept their ids: the tag {tag} is " + ("missing." if preserved is None else "{preserved!r}."),
            rewrite=commit.operation,
            tag=PRESERVED_TAG,
            preserved=preserved,
        )


def _only_moves(commit: Commit) -> bool:
    """Return True if a commit only writes the same rows into other files, whatever its operation."""
    return not (any(file.data_change for file in commit.removes) or any(file.data_change for file in commit.adds))


ASSIGNED_WHILE_SUSPENDED = _commit.warning(
    33,
    "row ids assigned while row tracking is suspended",
    name="row-ids-assigned-while-suspended",
    effect="Files with and without row ids get mixed, and the ids cannot be relied upon.",
    remedy="If row tracking is to be dropped, drop it again with ALTER TABLE … DROP FEATURE; otherwise unset "
    "delta.rowTrackingSuspended.",
    healing=Healing(live_files.is_suspended),
    needs=(Need.STATE,),
    about_live_files=True,
    repairs=(RepairMethod.UNSET_PROPERTY,),
)


@on_tracked(
    ASSIGNED_WHILE_SUSPENDED,
    reads=(*TRACKING, "add.path", "add.baseRowId", "add.defaultRowCommitVersion", "files", "version"),
)
def _while_suspended(transition: Transition, tracking: RowTracking, _: Collection[str]) -> Iterator[Finding]:
    if not tracking.suspended or tracking.enabled:
        return  # RT02 reports it if both are set
    version = transition.commit.version
    for file in transition.new_files:
        if file.base_row_id is not None and file.default_row_commit_version in (None, version):
            yield ASSIGNED_WHILE_SUSPENDED.found(
                "{property} is true, but the commit adds the new file {path} with baseRowId {base}.",
                path=file.path,
                property=ROW_TRACKING_SUSPENDED,
                base=file.base_row_id,
            )
