"""Files that are added, removed or live twice: LG03 and LG04."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_commit, on_demand, on_transition
from airflow_delta_provider.domain.checks.log.family import FAMILY, RECONCILIATION
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Need, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

FILE_TWICE = FAMILY.of(Scope.COMMIT).error(
    3,
    "file added or removed twice in a commit",
    effect="Readers may apply either of the actions, so they can see different tables.",
    remedy=Restore(", write the data again, and update the engine that wrote the commit"),
)


@on_commit(FILE_TWICE)
def _file_twice(commit: Commit) -> Iterator[Finding]:
    if len(commit.added) == len(commit.adds) and not commit.removes:
        return
    keys = [file.key for file in commit.adds] + [file.key for file in commit.removes]
    if len(set(keys)) == len(keys):
        return
    path, vector = next(key for key, times in Counter(keys).items() if times > 1)
    added = sum(1 for file in commit.adds if file.key == (path, vector))
    removed = keys.count((path, vector)) - added
    what = "both adds and removes {path}" if added and removed else "adds {path} {times} times"
    if not added:
        what = "removes {path} {times} times"
    yield FILE_TWICE.found(
        f"The commit {what}{' with the same deletion vector' if vector else ''}.", path=path, times=added + removed
    )


@on_transition(FILE_TWICE)
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
    for path, _ in sorted(transition.not_live):
        if times[path] > 1:
            yield FILE_TWICE.found(
                "The commit removes {path} {times} times, with different deletion vectors.",
                path=path,
                subject="remove",
                times=times[path],
            )
            return


TWO_DELETION_VECTORS = FAMILY.of(Scope.STATE).error(
    4,
    "file live with two deletion vectors",
    effect="Rows of the file are read twice, with the same row ids.",
    remedy=Restore(", write the change again, and update the engine that wrote the commit"),
    source=RECONCILIATION,
    needs=(Need.FILES,),
    about_live_files=True,
)


@on_transition(TWO_DELETION_VECTORS)
def _two_vectors(transition: Transition) -> Iterator[Finding]:
    """Yield a finding about a file that the commit itself adds with several deletion vectors."""
    adds = transition.commit.adds
    if len({file.path for file in adds}) == len(adds):
        return
    added: dict[str, LiveFile] = {}
    for file in adds:
        other = added.setdefault(file.path, file)
        if other.key != file.key:
            yield _live_twice(file)
            return


@on_demand(TWO_DELETION_VECTORS)
def check_live_vectors(live: Sequence[LiveFile]) -> Iterator[Finding]:
    """Yield a finding if a commit makes a file live twice.

    :param live: files that are live after it with another deletion vector, under a path that it adds
    """
    for file in live[:1]:
        yield _live_twice(file)


def _live_twice(file: LiveFile) -> Finding:
    return TWO_DELETION_VECTORS.found(
        "The commit adds {path} with a deletion vector while the file is live with another one, or without.",
        path=file.path,
    )
