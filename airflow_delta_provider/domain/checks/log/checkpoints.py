"""Checkpoints, compared with the commits, and the pointer to the last one: LG05, LG07 and LG11."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log.family import CHECKPOINTS, FAMILY
from airflow_delta_provider.domain.checks.rule import ANY_COMMIT, Need, Scope
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.delta.table_state import TableState, differences
from airflow_delta_provider.domain.formats.json_values import integer_of, parse_json
from airflow_delta_provider.domain.report.finding import Finding

_history = FAMILY.of(Scope.HISTORY, CHECKPOINTS)

DOMAIN_NOT_IN_CHECKPOINT = _history.warning(
    5,
    "checkpoint lacks domain metadata",
    effect="Readers and writers that start from the checkpoint, as most do, lose the domain: without that of row "
    "tracking they assign row ids twice.",
    remedy="Delete the checkpoint while the commits are still kept, and update the engine that wrote it.",
    threads=("delta-io/delta-kernel-rs#1716",),
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)
CONTRADICTING_CHECKPOINT = _history.error(
    7,
    "checkpoint contradicts the commits that it replaces",
    effect="Readers that start from the checkpoint see another table than those that replay the commits.",
    remedy="Find out which is right. If it is the commits, delete the checkpoint; otherwise restore them from a backup "
    "or another replica of the log.",
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)


@on_demand(DOMAIN_NOT_IN_CHECKPOINT, CONTRADICTING_CHECKPOINT)
def check_checkpoint(checkpointed: TableState, replayed: TableState, segment: LogSegment) -> Iterator[Finding]:
    """Yield how a checkpoint contradicts the commits that it replaces.

    :param checkpointed: what it leads to, with files
    :param replayed: what the commits add up to, with files
    :param segment: what ``checkpointed`` was read from
    """
    version, path = segment.checkpoint_version, f"_delta_log/{segment.checkpoint_files[0]}"
    if found := list(differences(checkpointed, replayed)):
        yield CONTRADICTING_CHECKPOINT.found(
            "The checkpoint of version {version} and the commits that it replaces differ: of checkpoint and commits, "
            "{differences}.",
            version=version,
            path=path,
            differences=found,
        )
    if lost := sorted(replayed.domains.keys() - checkpointed.domains.keys()):
        yield DOMAIN_NOT_IN_CHECKPOINT.found(
            "The checkpoint of version {version} lacks the domainMetadata {domains}, which the commits have.",
            version=version,
            path=path,
            subject=lost[0],
            domains=lost,
        )


WRONG_POINTER = FAMILY.of(Scope.STATE).warning(
    11,
    "_last_checkpoint damaged, or without its checkpoint",
    effect="Some readers fail; others list the whole log, which is slow.",
    remedy="Delete _last_checkpoint: engines write it again with the next checkpoint.",
    source="PROTOCOL.md, Last Checkpoint File",
)


@on_demand(WRONG_POINTER)
def check_pointer(content: bytes, checkpoints: Collection[int]) -> Iterator[Finding]:
    """Yield what is wrong with ``_last_checkpoint``.

    :param checkpoints: versions that have a whole checkpoint
    """
    path = "_delta_log/_last_checkpoint"
    try:
        version = integer_of(parse_json(content), "version")
    except (ValueError, KeyError, TypeError):
        yield WRONG_POINTER.found("_last_checkpoint cannot be read.", path=path)
        return
    if version not in checkpoints:
        yield WRONG_POINTER.found(
            "_last_checkpoint points to version {pointed_to}, which has no complete checkpoint.",
            path=path,
            pointed_to=version,
        )
