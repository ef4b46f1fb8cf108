"""The rules of row tracking about one commit and the state before it: RT13 to RT18."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.checks.row_tracking.state import added_without_ids
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.row_tracking import PRESERVED_TAG, RowTracking, row_tracking_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Operations that move rows into other files.
_REWRITES = frozenset({"UPDATE", "MERGE", "DELETE", "OPTIMIZE"})


def check_transition(transition: Transition, earlier_paths: Collection[str]) -> Iterator[Finding]:
    """Yield what a commit did wrong to row tracking.

    :param earlier_paths: of :func:`suspicious_paths`, those that an earlier commit added: a RESTORE brings
        files back, whose ids are then old, and their own
    """
    tracking = row_tracking_of(transition.after)
    if tracking.state is FeatureState.ABSENT:
        return
    for rule in _RULES:
        yield from rule(transition, tracking, earlier_paths)


def moves_rows(commit: Commit) -> bool:
    """Whether a commit calls itself one that moves rows, or says that it kept their ids."""
    return commit.operation in _REWRITES or str(commit.tags.get(PRESERVED_TAG)).lower() == "true"


def suspicious_paths(transition: Transition) -> list[str]:
    """Return the added paths that break RT15 or RT16, unless an earlier commit added them already."""
    mark = row_tracking_of(transition.before).high_water_mark
    return [
        file.path
        for file in transition.new_files
        if (mark is not None and file.base_row_id is not None and file.base_row_id <= mark)
        or file.default_row_commit_version not in (None, transition.commit.version)
    ]


def _without_ids(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del earlier
    if tracking.enabled or not tracking.assigns:  # RT05 says it where row tracking is enabled
        return
    when = "Row tracking is supported and not suspended, but in what this commit added"
    yield from added_without_ids(rules.ADDED_WITHOUT_ROW_IDS, transition, when)


def _reassigned(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del earlier
    if row_tracking_of(transition.before).state is FeatureState.ABSENT:
        return  # ids of an earlier life of the feature
    if not tracking.relied_upon:
        return  # Delta 4.4.0 itself does so where RESTORE goes back to before row tracking was enabled
    for file in transition.commit.adds:
        before = transition.before_files.get(file.path)
        if before is None:
            continue
        changed = [
            f"{name} from {old} to {new}"
            for name, old, new in (
                ("baseRowId", before.base_row_id, file.base_row_id),
                ("defaultRowCommitVersion", before.default_row_commit_version, file.default_row_commit_version),
            )
            if old is not None and new is not None and old != new  # RT05 says it where they were taken away
        ]
        if changed:
            yield rules.REASSIGNED_BASE.finding(
                f"The commit adds {file.path} again and changes its {' and its '.join(changed)}: its rows now have "
                "other ids or commit versions than before, though nobody touched them. RESTORE the table to the "
                "version before.",
                path=file.path,
                **transition.commit.provenance,
            )


def _reissued(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del tracking
    mark = row_tracking_of(transition.before).high_water_mark
    if mark is None:
        return
    for file in transition.new_files:
        if file.base_row_id is not None and file.base_row_id <= mark and file.path not in earlier:
            yield rules.REISSUED_ROW_IDS.finding(
                f"Row ids up to {mark} were given out before this commit, but it adds the new file {file.path} with "
                f"baseRowId {file.base_row_id}: the ids from there on are, or once were, other rows'. RESTORE the "
                "table to the version before and write the rows again.",
                path=file.path,
                **transition.commit.provenance,
            )


def _other_commit_version(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del tracking
    version = transition.commit.version
    for file in transition.new_files:
        if file.default_row_commit_version not in (None, version) and file.path not in earlier:
            yield rules.OTHER_COMMIT_VERSION.finding(
                f"The commit of version {version} adds the new file {file.path} with the defaultRowCommitVersion "
                f"{file.default_row_commit_version}: whoever reads changes by row commit version sees its rows too "
                "early or too late.",
                path=file.path,
                **transition.commit.provenance,
            )


def _names_changed(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del earlier
    before = row_tracking_of(transition.before)
    if not before.relied_upon or transition.replaces_all or transition.restores:
        return
    for what, old, new in (
        ("row ids", before.row_id_column, tracking.row_id_column),
        ("row commit versions", before.commit_version_column, tracking.commit_version_column),
    ):
        if old and new and old != new:
            yield rules.MATERIALIZED_NAMES_CHANGED.finding(
                f"The commit moves the materialized {what} from the column {old!r} to {new!r}: rows in files that were "
                "written before lose those that were kept for them. Restore the property.",
                **transition.commit.provenance,
            )


def _not_preserved(transition: Transition, tracking: RowTracking, earlier: Collection[str]) -> Iterator[Finding]:
    del earlier
    commit = transition.commit
    if not (tracking.relied_upon and row_tracking_of(transition.before).relied_upon):
        return
    if commit.operation not in _REWRITES or not (commit.adds and commit.removes):
        return
    preserved = commit.tags.get(PRESERVED_TAG)
    if str(preserved).lower() != "true":
        yield rules.NOT_PRESERVED.finding(
            f"{commit.operation} moved rows without vouching for their ids (tag {PRESERVED_TAG} of its commitInfo is "
            f"{'absent' if preserved is None else preserved!r}): whoever follows row ids may take them for "
            "other rows. Let an engine write the table that preserves row ids.",
            **commit.provenance,
        )


_RULES: tuple[Callable[[Transition, RowTracking, Collection[str]], Iterator[Finding]], ...] = (
    _without_ids,
    _reassigned,
    _reissued,
    _other_commit_version,
    _names_changed,
    _not_preserved,
)
