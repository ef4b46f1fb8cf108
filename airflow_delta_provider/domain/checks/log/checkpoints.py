"""Checkpoints, compared with the commits: LG05 and LG07."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log.family import CHECKPOINTS, FAMILY
from airflow_delta_provider.domain.checks.rule import Causes, Need, Scope
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import LogSegment
from airflow_delta_provider.domain.delta.snapshot_comparison import Originals, SnapshotComparison
from airflow_delta_provider.domain.delta.table_state import TableState, differences
from airflow_delta_provider.domain.report.finding import Finding

_checkpoints = FAMILY.of(
    Scope.HISTORY,
    CHECKPOINTS,
    # A missing or additional action may come from a fault in the commits or in the checkpoint's form.
    follows_from=Causes(("LG14",), later=True, any_commit=True),
    needs=(Need.LOG,),
)

DOMAIN_NOT_IN_CHECKPOINT = _checkpoints.error(
    5,
    "checkpoint lacks domain metadata",
    effect="Readers and writers that start from the checkpoint, as most do, lose the domain. Without the domain of "
    "row tracking they assign row ids twice.",
    remedy="Delete the checkpoint while the commits are still kept, and update the engine that wrote it.",
    threads=("delta-io/delta-kernel-rs#1716",),
)
CONTRADICTING_CHECKPOINT = _checkpoints.error(
    7,
    "checkpoint contradicts the commits that it replaces",
    effect="Readers that start from the checkpoint see another table than readers that replay the commits.",
    remedy="Find out which is right. If it is the commits, delete the checkpoint; otherwise restore them from a backup "
    "or another replica of the log.",
)


@on_demand(DOMAIN_NOT_IN_CHECKPOINT, CONTRADICTING_CHECKPOINT)
def check_checkpoint(checkpointed: TableState, replayed: TableState, segment: LogSegment) -> Iterator[Finding]:
    """Yield findings if the state from a checkpoint contradicts the commits that it replaces.

    :param checkpointed: state from the checkpoint, with files
    :param replayed: state from the commits, with files
    :param segment: log segment that ``checkpointed`` was read from
    """
    if found := list(differences(checkpointed, replayed)):
        yield _contradiction(segment, found)
    yield from _lost_domains(segment, replayed.domains, checkpointed.domains)


@on_demand(DOMAIN_NOT_IN_CHECKPOINT, CONTRADICTING_CHECKPOINT)
def check_comparison(
    compared: SnapshotComparison,
    segment: LogSegment,
    files: Container[FileKey],
    originals: Originals,
    retained_since: Callable[[], float],
) -> Iterator[Finding]:
    """Yield findings if the contents of a checkpoint contradict the commits that it replaces.

    :param segment: the checkpoint
    :param files: all files that it adds or removes
    :param retained_since: returns the time, in milliseconds since 1970, after which tombstones must be kept
    """
    if found := list(compared.differences(files, originals, retained_since)):
        yield _contradiction(segment, found)
    yield from _lost_domains(segment, compared.expected_domains, compared.domains)


def _contradiction(segment: LogSegment, found: list[str]) -> Finding:
    return CONTRADICTING_CHECKPOINT.found(
        "The checkpoint of version {version} and the commits that it replaces differ: {differences}.",
        version=segment.checkpoint_version,
        path=f"_delta_log/{segment.checkpoint_files[0]}",
        differences=found,
    )


def _lost_domains(segment: LogSegment, expected: Iterable[str], found: Iterable[str]) -> Iterator[Finding]:
    if lost := sorted(set(expected) - set(found)):
        yield DOMAIN_NOT_IN_CHECKPOINT.found(
            "The checkpoint of version {version} lacks the domainMetadata {domains}, which the commits have.",
            version=segment.checkpoint_version,
            path=f"_delta_log/{segment.checkpoint_files[0]}",
            subject=lost[0],
            domains=lost,
        )
