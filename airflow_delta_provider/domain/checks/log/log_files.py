"""What lies beside the commits, and commits that cannot be read: checkpoints and the pointer to the last one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.log import rules
from airflow_delta_provider.domain.delta.log_files import LogSegment, commit_name
from airflow_delta_provider.domain.delta.table_state import TableState, differences
from airflow_delta_provider.domain.formats.json_values import integer_of, parse_json
from airflow_delta_provider.domain.report.finding import Finding

_BACKUP = "from a backup or another replica of the log"


def check_checkpoint(checkpointed: TableState, replayed: TableState, segment: LogSegment) -> Iterator[Finding]:
    """Yield how a checkpoint contradicts the commits that it stands for: LG05 and LG07.

    :param checkpointed: what it leads to, with files
    :param replayed: what the commits add up to, with files
    :param segment: what ``checkpointed`` was read from
    """
    version = segment.checkpoint_version
    where: dict[str, Any] = {"version": version, "path": f"_delta_log/{segment.checkpoint_files[0]}"}
    if found := list(differences(checkpointed, replayed)):
        yield rules.CONTRADICTING_CHECKPOINT.finding(
            f"The checkpoint of version {version} and the commits that it stands for tell two different "
            f"tables. Of checkpoint and commits, {'; '.join(found)}. Readers that start from the checkpoint see the "
            "first, those that replay the commits the second. Find out which is right; where it is the commits, delete "
            f"the checkpoint, else bring them back {_BACKUP}.",
            **where,
        )
    if lost := sorted(replayed.domains.keys() - checkpointed.domains.keys()):
        yield rules.DOMAIN_NOT_IN_CHECKPOINT.finding(
            f"The checkpoint of version {version} lacks the domainMetadata {', '.join(lost)}, which the "
            "commits have: whoever starts from it, as most do, loses them, and gives out row ids twice where it is "
            "delta.rowTracking. Delete the checkpoint while the commits are still kept, and update the engine that "
            "wrote it.",
            subject=lost[0],
            **where,
        )


def check_pointer(content: bytes, checkpoints: Collection[int]) -> Iterator[Finding]:
    """Yield what is wrong with ``_last_checkpoint``: LG11.

    :param checkpoints: versions that have a whole checkpoint
    """
    try:
        version = integer_of(parse_json(content), "version")
        problem = None if version in checkpoints else f"points to version {version}, which has no whole checkpoint"
    except (ValueError, KeyError, TypeError):
        problem = "cannot be read"
    if problem is not None:
        yield rules.WRONG_POINTER.finding(
            f"_last_checkpoint {problem}: some readers fail, others list the whole log, which is slow. Delete it; the "
            "next checkpoint writes it anew.",
            path="_delta_log/_last_checkpoint",
        )


def damaged_commit(version: int, error: Exception) -> Finding:
    """Return the finding about a commit that cannot be read: LG09."""
    return rules.DAMAGED_COMMIT.finding(
        f"{_sentence(error)}. Engines fail on this version and on later ones, unless they start from a later "
        "checkpoint, or leave out without a word what they cannot read, as Delta Spark does with an empty commit or an "
        f"action that lacks path or size. What the commit did is not judged. Restore the file {_BACKUP}.",
        version=version,
        path=f"_delta_log/{commit_name(version)}",
    )


def damaged_checkpoint(version: int, name: str, error: Exception) -> Finding:
    """Return the finding about a checkpoint that cannot be read: LG10.

    :param name: of its first file
    """
    return rules.DAMAGED_CHECKPOINT.finding(
        f"The checkpoint of version {version} cannot be read: {error}. Readers fail, or take an older one as long as "
        "the commits since are kept. Where the commits that it stands for are kept, delete it, and let an engine write "
        f"it again; else restore it {_BACKUP}.",
        version=version,
        path=f"_delta_log/{name}",
    )


def not_remembered(version: int, codes: Sequence[str]) -> Finding:
    """Return the finding about an audit that goes on from what an older release remembered: LG01.

    :param version: the last one that was judged then
    :param codes: of the rules that need more of the past
    """
    return rules.HISTORY_NOT_KEPT.finding(
        f"An older release of this package audited the table up to version {version} and remembered too little for "
        f"{', '.join(codes)}, and the log no longer has what those rules need of earlier commits: whether later "
        "commits broke them cannot be told by this audit. The next ones have what they need.",
        version=version,
    )


def out_of_time(version: int, last: int, seconds: float | None) -> Finding:
    """Return the finding about an audit that was given up: LG13."""
    return rules.OUT_OF_TIME.finding(
        f"The audit of this table took more than {seconds:g} seconds and was given up before version {version}; "
        f"its newest is {last}. What was judged until then stands. Give it more seconds_per_table, or a state_path, so "
        "that the next audits judge new commits only.",
        version=version,
    )


def out_of_time_reading(version: int, read: str, files: int, seconds: float | None) -> Finding:
    """Return the finding about an audit that was given up after its last commit: LG13.

    :param read: what was read of the files
    :param files: how many there are
    """
    return rules.OUT_OF_TIME.finding(
        f"The audit of this table took more than {seconds:g} seconds and was given up while it read data files: of "
        f"{files} files it read {read}. All commits were judged, and what was found until then stands. Give it more "
        "seconds_per_table, or a lower level.",
        version=version,
    )


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
