"""Log files that cannot be read: LG09, LG10, LG20 and LG21."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.family import BRING_BACK, CHECKPOINTS, FAMILY, HISTORY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.log_files import UnreadCheckpointError, commit_name
from airflow_delta_provider.domain.report.finding import Finding

DAMAGED_COMMIT = FAMILY.of(Scope.COMMIT).error(
    9,
    "commit damaged",
    effect="Engines fail on this version and on later ones, unless they start from a later checkpoint. Some silently "
    "skip unreadable parts, as Delta Spark does with an empty commit.",
    remedy=BRING_BACK,
)


@on_demand(DAMAGED_COMMIT)
def damaged_commit(version: int, error: Exception) -> Finding:
    text = str(error)
    return DAMAGED_COMMIT.found(
        "{error}. The changes of the commit are not checked.",
        version=version,
        path=f"_delta_log/{commit_name(version)}",
        error=Prose(text[:1].upper() + text[1:]),
    )


UNREAD = HISTORY.undecided(
    20,
    "log file not read",
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
    effect="Readers fail, or use an older checkpoint as long as the commits since are kept.",
    remedy="If the commits that it replaces are kept, delete it, and let an engine write it again; otherwise restore "
    "it from a backup or another replica of the log.",
    source=CHECKPOINTS,
)


UNREAD_CHECKPOINT = HISTORY.undecided(
    21,
    "checkpoint not read",
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
