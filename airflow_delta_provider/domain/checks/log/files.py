"""Files of the log itself, by their names and their damage: LG09, LG10, LG16 to LG18, LG20 and LG21."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log import BRING_BACK, CHECKPOINTS, FAMILY, HISTORY
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.log_files import (
    MalformedActionError,
    UnreadCheckpointError,
    checkpoint_versions,
    commit_name,
    commit_versions,
    derived_versions,
    malformed_names,
)
from airflow_delta_provider.domain.report.report import Finding

MALFORMED_NAME = HISTORY.error(
    16,
    "file of the log has a malformed name",
    name="log-file-name-malformed",
    effect="Some engines read it as a file of the version in its name, others ignore it, so they can see different "
    "tables.",
    remedy="Find out which program wrote it. If the version has a file with a correct name, delete this one; otherwise "
    "rename it.",
    source="PROTOCOL.md, Delta Log Entries; PROTOCOL.md, Checkpoints; PROTOCOL.md, Log Compaction Files",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(MALFORMED_NAME)
def check_names(names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about log files with malformed names."""
    for name in malformed_names(names):
        yield MALFORMED_NAME.found(
            "{name} is not named like a file of the log: a version has 20 digits, the number of a part has 10, and the "
            "last version of a log compaction file is greater than its first.",
            version=int(name.partition(".")[0]),
            path=f"_delta_log/{name}",
            name=name,
        )


AHEAD_OF_COMMITS = HISTORY.error(
    17,
    "file of the log is ahead of the commits",
    name="log-file-ahead-of-commits",
    effect="Readers take its version for the newest one, and fail or show data that was never committed. Writers may "
    "skip the version.",
    remedy="If the commit was lost, restore it from a backup or another replica of the log; otherwise delete the file.",
    source=f"{CHECKPOINTS}; PROTOCOL.md, Version Checksum File",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(AHEAD_OF_COMMITS)
def check_ahead(names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about log files of versions after the newest commit."""
    newest = max(commit_versions(names), default=None)
    if newest is None:
        return
    for version, name in derived_versions(names):
        if version > newest:
            yield AHEAD_OF_COMMITS.found(
                "{name} is for version {version}, but the newest commit is version {newest}.",
                version=version,
                path=f"_delta_log/{name}",
                name=name,
                newest=newest,
            )


OLDEST_WITHOUT_CHECKPOINT = HISTORY.warning(
    18,
    "oldest commits are kept without a checkpoint",
    name="oldest-commits-without-checkpoint",
    effect="The versions up to the next checkpoint can no longer be read. Streams and change feeds fail on them.",
    remedy="Update the engine that cleans up the log: it has to keep the checkpoint that the oldest commits build on.",
    source="PROTOCOL.md, Metadata Cleanup",
)


@on_demand(OLDEST_WITHOUT_CHECKPOINT)
def check_oldest(names: Collection[str]) -> Iterator[Finding]:
    """Yield a finding if the oldest commits cannot be read, because the first checkpoint is newer.

    Without any checkpoint the table itself cannot be read, which its audit reports instead.
    """
    commits, checkpoints = commit_versions(names), checkpoint_versions(names)
    oldest = min(commits, default=0)
    first = min(checkpoints, default=None)
    if oldest > 0 and first is not None and first > oldest:
        yield OLDEST_WITHOUT_CHECKPOINT.found(
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


#: Remedy if the engine wrote the file like this, so that backups have the same fault.
_CORRECT = (
    "A backup does not help, because the engine wrote the file like this. Stop all writers, keep a copy of the file, "
    "and correct the action in it. Update the engine that wrote the commit."
)


@on_demand(DAMAGED_COMMIT)
def damaged_commit(version: int, error: Exception) -> Finding:
    """Return the finding about a commit that cannot be read.

    :param error: the damage; readers of the log may wrap the error about a malformed action in one with the file's name
    """
    is_malformed = isinstance(error, MalformedActionError) or isinstance(error.__cause__, MalformedActionError)
    text = str(error)
    return DAMAGED_COMMIT.found(
        "{error}. The changes of the commit are not checked.",
        remedy=_CORRECT if is_malformed else None,
        version=version,
        path=f"_delta_log/{commit_name(version)}",
        error=Prose(text[:1].upper() + text[1:]),
    )


UNREAD = HISTORY.undecided(
    20,
    "log file not read",
    name="log-file-not-read",
    effect="Readers expect the file to agree with the commits, which could not be checked.",
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
    effect="Readers fail, or use an older checkpoint as long as the later commits are kept.",
    remedy="If the log still has the commits up to its version, delete it, and let an engine write it again. Otherwise "
    "restore it from a backup or another replica of the log.",
    source=CHECKPOINTS,
    repairs=(RepairMethod.DERIVED_FILE,),
)


UNREAD_CHECKPOINT = HISTORY.undecided(
    21,
    "checkpoint not read",
    name="checkpoint-not-read",
    effect="The checkpoint may be undamaged, but was not compared with the commits.",
    remedy="Use the engine spark, or install the package that the message names.",
    source=CHECKPOINTS,
)


@on_demand(DAMAGED_CHECKPOINT, UNREAD_CHECKPOINT)
def damaged_checkpoint(version: int, name: str, error: Exception) -> Finding:
    """Return the finding about a checkpoint that is damaged, or that this job cannot read.

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
