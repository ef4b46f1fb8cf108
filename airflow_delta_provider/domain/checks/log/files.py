"""Files that are added, removed or live twice: LG03 and LG04."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_commit, on_demand, on_tracked, on_transition
from airflow_delta_provider.domain.checks.log import BRING_BACK, CHECKPOINTS, FAMILY, HISTORY, RECONCILIATION
from airflow_delta_provider.domain.checks.rule import Need, Prose, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import (
    MalformedActionError,
    UnreadCheckpointError,
    checkpoint_versions,
    commit_name,
    commit_versions,
    derived_versions,
    malformed_names,
)
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding

MALFORMED_NAME = HISTORY.error(
    16,
    "file of the log has a malformed name",
    name="log-file-name-malformed",
    effect="Some engines take it for a file of its version, others ignore it, so they can see different tables.",
    remedy="Find out what wrote it. If its version has a file of the right name, delete this one; otherwise rename it.",
    source="PROTOCOL.md, Delta Log Entries; PROTOCOL.md, Checkpoints; PROTOCOL.md, Log Compaction Files",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(MALFORMED_NAME)
def check_names(names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about log files with malformed names."""
    for name in malformed_names(names):
        yield MALFORMED_NAME.found(
            "{name} is not named like a file of the log: versions have 20 digits, numbers of parts 10, and a log "
            "compaction file ends after the version that it begins with.",
            version=int(name.partition(".")[0]),
            path=f"_delta_log/{name}",
            name=name,
        )


WITHOUT_COMMIT = HISTORY.error(
    17,
    "file of the log is ahead of the commits",
    name="log-file-ahead-of-commits",
    effect="Readers take its version for the newest one, and fail or show data that was never committed; writers may "
    "skip the version.",
    remedy="If the commit was lost, restore it from a backup or another replica of the log; otherwise delete the file.",
    source=f"{CHECKPOINTS}; PROTOCOL.md, Version Checksum File",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(WITHOUT_COMMIT)
def check_versions(names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about files of versions after the newest commit."""
    newest = max(commit_versions(names), default=None)
    if newest is None:
        return
    for version, name in derived_versions(names):
        if version > newest:
            yield WITHOUT_COMMIT.found(
                "{name} is for version {version}, but the newest commit is version {newest}.",
                version=version,
                path=f"_delta_log/{name}",
                name=name,
                newest=newest,
            )


UNREADABLE_COMMITS = HISTORY.warning(
    18,
    "oldest commits are kept without a checkpoint",
    name="oldest-commits-without-checkpoint",
    effect="The versions up to the next checkpoint can no longer be read; readers that follow the table fail on them.",
    remedy="Update the engine that cleans up the log: it has to keep the checkpoint that the oldest commits build on.",
    source="PROTOCOL.md, Metadata Cleanup",
)


@on_demand(UNREADABLE_COMMITS)
def check_oldest(names: Collection[str]) -> Iterator[Finding]:
    """Yield a finding if the oldest commits cannot be used, because the first checkpoint is newer."""
    commits, checkpoints = commit_versions(names), checkpoint_versions(names)
    oldest = min(commits, default=0)
    first = min(checkpoints, default=None)
    if oldest > 0 and first is not None and first > oldest:
        yield UNREADABLE_COMMITS.found(
            "The oldest commit is version {version}, but the oldest checkpoint is for version {first}.",
            version=oldest,
            first=first,
        )


DAMAGED_COMMIT = FAMILY.of(Scope.COMMIT).error(
    9,
    "commit damaged",
    name="commit-damaged",
    effect="Engines fail on this version and on later ones, unless they start from a later checkpoint. Some silently "
    "skip unreadable parts, as Delta Spark does with an empty commit.",
    remedy=BRING_BACK,
)


#: Remedy if the file is as its writer wrote it.
_CORRECT = (
    "Every copy of the file is the same, because its writer wrote it so. Stop all writers, keep a copy of the file, "
    "and correct the action in it. Update the engine that wrote the commit."
)


@on_demand(DAMAGED_COMMIT)
def damaged_commit(version: int, error: Exception) -> Finding:
    text = str(error)
    return DAMAGED_COMMIT.found(
        "{error}. The changes of the commit are not checked.",
        remedy=_CORRECT if any(isinstance(e, MalformedActionError) for e in (error, error.__cause__)) else None,
        version=version,
        path=f"_delta_log/{commit_name(version)}",
        error=Prose(text[:1].upper() + text[1:]),
    )


UNREAD = HISTORY.undecided(
    20,
    "log file not read",
    name="log-file-not-read",
    effect="It is unknown whether the file agrees with the commits, as readers expect.",
    remedy="Give the job access to the file, or add its location to [delta_provider] allowed_locations "
    "(--allowed-location).",
)


@on_demand(UNREAD)
def unread_file(path: str, problem: str, remedy: str | None, version: int | None = None) -> Finding:
    """Return the finding about a log file that the job cannot or must not read.

    :param path: path relative to the table
    """
    return UNREAD.found(
        "{path} was not read: {problem}.", remedy=remedy, version=version, path=path, problem=Prose(problem)
    )


DAMAGED_CHECKPOINT = HISTORY.error(
    10,
    "checkpoint damaged",
    name="checkpoint-damaged",
    effect="Readers fail, or use an older checkpoint as long as the commits since are kept.",
    remedy="If the commits that it replaces are kept, delete it, and let an engine write it again; otherwise restore "
    "it from a backup or another replica of the log.",
    source=CHECKPOINTS,
    repairs=(RepairMethod.DERIVED_FILE,),
)


UNREAD_CHECKPOINT = HISTORY.undecided(
    21,
    "checkpoint not read",
    name="checkpoint-not-read",
    effect="It is unknown whether the checkpoint agrees with the commits. It may be undamaged.",
    remedy="Use the engine spark, or install the package that the message names.",
    source=CHECKPOINTS,
)


@on_demand(DAMAGED_CHECKPOINT, UNREAD_CHECKPOINT)
def damaged_checkpoint(version: int, name: str, error: Exception) -> Finding:
    """Return the finding about a checkpoint that is damaged, or that cannot be read here.

    :param name: name of its first file
    """
    if isinstance(error, UnreadCheckpointError):
        return UNREAD_CHECKPOINT.found(
            "The checkpoint of version {version} was not read: {error}.",
            remedy=error.remedy,
            version=version,
            path=f"_delta_log/{name}",
            error=Prose(error),
        )
    return DAMAGED_CHECKPOINT.found(
        "The checkpoint of version {version} cannot be read: {error}.",
        version=version,
        path=f"_delta_log/{name}",
        error=Prose(error),
    )


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
    if len(commit.added) == len(commit.adds) and not commit.removes:
        return
    keys = [file.key for file in commit.adds] + [file.key for file in commit.removes]
    if len(set(keys)) == len(keys):
        return
    adds = Counter(file.key for file in commit.adds)
    for (path, vector), times in Counter(keys).items():
        if times == 1:
            continue
        added = adds[path, vector]
        what = "both adds and removes {path}" if 0 < added < times else "adds {path} {times} times"
        if not added:
            what = "removes {path} {times} times"
        yield FILE_TWICE.found(
            f"The commit {what}{' with the same deletion vector' if vector else ''}.", path=path, times=times
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
    added: dict[str, LiveFile] = {}
    twice = {file.path: file for file in adds if added.setdefault(file.path, file).key != file.key}
    yield from map(_live_twice, twice.values())


@on_tracked(TWO_DELETION_VECTORS, reads=("add.path", "add.deletionVector", "files"))
def check_live_vectors(live: Sequence[LiveFile]) -> Iterator[Finding]:
    """Yield a finding for each file that a commit makes live twice.

    :param live: files that are live after it with another deletion vector, under a path that it adds
    """
    yield from map(_live_twice, {file.path: file for file in live}.values())


def _live_twice(file: LiveFile) -> Finding:
    return TWO_DELETION_VECTORS.found(
        "The commit adds {path} with a deletion vector while the file is live with another one, or without.",
        path=file.path,
    )
