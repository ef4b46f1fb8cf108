"""The rules of row tracking that a whole history is judged by, commit after commit: RT05, RT07 to RT09, RT11, RT12.

Of the files they look at what a commit adds and removes only: what was there before was judged before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.checks.row_tracking import rules
from airflow_delta_provider.domain.checks.row_tracking.state import added_without_ids
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.features.state import FeatureState
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import RowTracking, row_tracking_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_ids.fresh_ids import in_order, last_id, overlaps

_RESTORE = "RESTORE the table to the version before"


@dataclass(frozen=True)
class _Step:
    """A commit, with row tracking before and after it."""

    transition: Transition
    before: RowTracking
    after: RowTracking


def check_history(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit did wrong to row tracking that stays wrong, whatever its files become."""
    step = _Step(transition, row_tracking_of(transition.before), row_tracking_of(transition.after))
    if step.after.state is FeatureState.ABSENT:
        return
    for rule in _RULES:
        yield from rule(step)


def _without_ids(step: _Step) -> Iterator[Finding]:
    if not (step.before.relied_upon and step.after.relied_upon):
        return  # RT05 of the state, with all files, where row tracking is enabled just now
    when = "Row tracking is enabled, but in what this commit added"
    yield from added_without_ids(rules.MISSING_ROW_IDS, step.transition, when)


def _above_mark(step: _Step) -> Iterator[Finding]:
    transition = step.transition
    mark = step.after.high_water_mark
    if mark is None:
        return  # RT10
    above = [file for file in transition.commit.adds if (last := last_id(file)) is not None and last > mark]
    # Files that lay above a lowered mark before are RT11's.
    known = [file for file in above if file.path in transition.before_files]
    if above and len(known) < len(above):
        yield _finding(
            rules.ABOVE_HIGH_WATER_MARK,
            transition,
            above,
            f"gives out row ids up to {max(last_id(file) or 0 for file in above)}, while it leaves the high water "
            f"mark at {mark}: the next insert gives the ids above it out again. Stop writing to the table; {_RESTORE}",
        )


def _overlapping(step: _Step) -> Iterator[Finding]:
    """RT08 among the files of the commit; those of earlier ones have their ids below the mark: RT15."""
    transition = step.transition
    before = transition.before_files
    numbered = [
        file
        for file in transition.commit.adds
        if file.path not in before or file.base_row_id != before[file.path].base_row_id
    ]
    for overlap in overlaps(in_order(numbered), lambda file: file.num_records):
        one, other = overlap.one, overlap.other
        yield rules.OVERLAPPING_ROW_IDS.finding(
            f"The commit gives out the row ids from {overlap.first} to {overlap.last} twice, to {one.path} (baseRowId "
            f"{one.base_row_id}) and {other.path} (baseRowId {other.base_row_id}): whatever joins on row ids mixes "
            f"their rows up. {_RESTORE}.",
            path=other.path,
            **transition.commit.provenance,
        )


def _commit_version_in_future(step: _Step) -> Iterator[Finding]:
    transition = step.transition
    version = transition.commit.version
    for file in transition.commit.adds:
        if (file.default_row_commit_version or 0) > version:
            yield _finding(
                rules.COMMIT_VERSION_IN_FUTURE,
                transition,
                [file],
                f"has the defaultRowCommitVersion {file.default_row_commit_version}, though it was added by version "
                f"{version}: its rows seem to be of a commit that did not exist yet. {_RESTORE}",
            )


def _mark_lowered(step: _Step) -> Iterator[Finding]:
    transition = step.transition
    old, new = step.before.high_water_mark, step.after.high_water_mark
    if old is None or new is None or new >= old or (transition.replaces_all and transition.commit.metadata):
        return
    yield rules.HIGH_WATER_MARK_LOWERED.finding(
        f"The commit lowers the high water mark of row ids from {old} to {new}: ids from {new + 1} on were given out "
        "before, and the next insert gives them out again, to other rows. Stop writing to the table and "
        f"{_RESTORE}; where rows were inserted since, drop row tracking and enable it again, which gives every row a "
        "new id.",
        **transition.commit.provenance,
    )


def _removed_with_other_base(step: _Step) -> Iterator[Finding]:
    transition = step.transition
    if step.before.state is FeatureState.ABSENT:
        return
    for removed in transition.commit.removes:
        live = transition.removed_files.get(removed.path)
        if live is None:
            continue
        for name, now, was in (
            ("baseRowId", removed.base_row_id, live.base_row_id),
            ("defaultRowCommitVersion", removed.default_row_commit_version, live.default_row_commit_version),
        ):
            if None in (now, was) or now == was:
                continue
            yield rules.REMOVED_WITH_OTHER_BASE.finding(
                f"The commit removes {removed.path} with {name} {now}, while the file was live with {was}: whoever "
                "reads changes takes the rows that went away for other rows, or of another version. The log cannot be "
                "mended; read changes from a version after this one.",
                path=removed.path,
                **transition.commit.provenance,
            )
            return


_RULES: tuple[Callable[[_Step], Iterator[Finding]], ...] = (
    _without_ids,
    _above_mark,
    _overlapping,
    _commit_version_in_future,
    _mark_lowered,
    _removed_with_other_base,
)


def _finding(rule: Rule, transition: Transition, files: Sequence[LiveFile], what: str) -> Finding:
    more = f" (and {len(files) - 1} more)" if len(files) > 1 else ""
    return rule.finding(f"{files[0].path}{more} {what}.", path=files[0].path, **transition.commit.provenance)
