"""Files of the log that cannot be read: LG09, LG10 and LG21."""

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
    effect="Engines fail on this version and on later ones, unless they start from a later checkpoint, or silently "
    "skip what they cannot read, as Delta Spark does with an empty commit.",
    remedy=BRING_BACK,
)


@on_demand(DAMAGED_COMMIT)
def damaged_commit(version: int, error: Exception) -> Finding:
    """Return the finding about a commit that cannot be read."""
    text = str(error)
    return DAMAGED_COMMIT.found(
        "{error}. What the commit did is not checked.",
        version=version,
        path=f"_delta_log/{commit_name(version)}",
        error=Prose(text[:1].upper() + text[1:]),
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
    effect="Whether the checkpoint agrees with the commits is unknown. It may be whole.",
    remedy="Use the engine spark, or install the package that the message names.",
    source=CHECKPOINTS,
)


@on_demand(DAMAGED_CHECKPOINT, UNREAD_CHECKPOINT)
def damaged_checkpoint(version: int, name: str, error: Exception) -> Finding:
    """Return the finding about a checkpoint that is damaged, or that cannot be read here.

    :param name: of its first file
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
