"""Data files that a commit adds or removes twice, or that are live twice: LG03 and LG04."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_commit, on_tracked, on_transition
from airflow_delta_provider.domain.checks.log import FAMILY, RECONCILIATION
from airflow_delta_provider.domain.checks.rule import Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

FILE_TWICE = FAMILY.of(Scope.COMMIT).error(
    3,
    "file added or removed twice in a commit",
    name="file-twice-in-commit",
    effect="Readers may apply either of the actions, so they can see different tables.",
    remedy=Restore(", write the data again, and update the engine that wrote the commit"),
    repairs=(RepairMethod.ONE_PATH,),
)


@on_commit(FILE_TWICE, reads=("add.path", "add.deletionVector", "remove.path", "remove.deletionVector"))
def _file_twice(commit: Commit) -> Iterator[Finding]:
    """Yield a finding for each logical file, a path with a deletion vector or none, that has several actions."""
    if len(commit.added) == len(commit.adds) and not commit.removes:
        return
    keys = [file.key for file in commit.adds] + [file.key for file in commit.removes]
    if len(set(keys)) == len(keys):
        return
    adds = Counter(file.key for file in commit.adds)
    for (path, vector), times in Counter(keys).items():
        if times == 1:
            continue
        match adds[path, vector]:
            case 0:
                actions = "removes {path} {times} times"
            case added if added < times:
                actions = "both adds and removes {path}"
            case _:
                actions = "adds {path} {times} times"
        yield FILE_TWICE.found(
            f"The commit {actions}{' with the same deletion vector' if vector else ''}.", path=path, times=times
        )


@on_transition(FILE_TWICE, reads=("remove.path", "remove.deletionVector", "files"))
def _removed_twice(transition: Transition) -> Iterator[Finding]:
    """Yield a finding about a file that is removed with several deletion vectors.

    A file that was live with all of them has to be removed with each.
    """
    if not transition.not_live:
        return
    keys = {file.key for file in transition.commit.removes}
    if len({path for path, _ in keys}) == len(keys):
        return
    times = Counter(path for path, _ in keys)
    for path in sorted({path for path, _ in transition.not_live if times[path] > 1}):
        yield FILE_TWICE.found(
            "The commit removes {path} {times} times, with different deletion vectors.",
            path=path,
            subject="remove",
            times=times[path],
        )


TWO_DELETION_VECTORS = FAMILY.of(Scope.STATE).error(
    4,
    "file live with two deletion vectors",
    name="file-live-with-two-deletion-vectors",
    effect="Rows of the file are read twice, with the same row ids.",
    remedy=Restore(", write the change again, and update the engine that wrote the commit"),
    source=RECONCILIATION,
    needs=(Need.FILES,),
    about_live_files=True,
    repairs=(RepairMethod.ONE_PATH,),
)


@on_transition(TWO_DELETION_VECTORS, reads=("add.path", "add.deletionVector"))
def _two_vectors(transition: Transition) -> Iterator[Finding]:
    """Yield findings about files that the commit itself adds with several deletion vectors."""
    adds = transition.commit.adds
    if len({file.path for file in adds}) == len(adds):
        return
    first: dict[str, LiveFile] = {}
    again = {file.path: file for file in adds if first.setdefault(file.path, file).key != file.key}
    yield from map(_live_twice, again.values())


@on_tracked(TWO_DELETION_VECTORS, reads=("add.path", "add.deletionVector", "files"))
def check_live_vectors(added: Sequence[LiveFile]) -> Iterator[Finding]:
    """Yield a finding for each file that a commit makes live twice.

    :param added: its ``add`` actions of files that stay live with another deletion vector, or without one
    """
    yield from map(_live_twice, {file.path: file for file in added}.values())


def _live_twice(added: LiveFile) -> Finding:
    if added.deletion_vector is None:
        message = "The commit adds {path} without a deletion vector while the file is live with one."
    else:
        message = "The commit adds {path} with a deletion vector while the file is live with another one, or without."
    return TWO_DELETION_VECTORS.found(message, path=added.path)
