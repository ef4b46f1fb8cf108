"""The names of log files, and the versions that they belong to: LG16, LG17 and LG18."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log.family import CHECKPOINTS, HISTORY
from airflow_delta_provider.domain.delta.log_files import (
    checkpoint_versions,
    commit_versions,
    derived_versions,
    malformed_names,
)
from airflow_delta_provider.domain.report.finding import Finding

MALFORMED_NAME = HISTORY.error(
    16,
    "file of the log has a malformed name",
    effect="Some engines take it for a file of its version, others ignore it, so they can see different tables.",
    remedy="Find out what wrote it. If its version has a file of the right name, delete this one; otherwise rename it.",
    source="PROTOCOL.md, Delta Log Entries; PROTOCOL.md, Checkpoints; PROTOCOL.md, Log Compaction Files",
)


@on_demand(MALFORMED_NAME)
def check_names(names: Collection[str]) -> Iterator[Finding]:
    """Yield findings about log files with malformed names."""
    for name in malformed_names(names):
        yield MALFORMED_NAME.found(
            "{name} is not named like a file of the log: versions have 20 digits, numbers of parts 10, and a log "
            "compaction file ends after the version that it begins with.",
            path=f"_delta_log/{name}",
            name=name,
        )


WITHOUT_COMMIT = HISTORY.error(
    17,
    "file of the log is ahead of the commits",
    effect="Readers take its version for the newest one, and fail or show data that was never committed; writers may "
    "skip the version.",
    remedy="If the commit was lost, restore it from a backup or another replica of the log; otherwise delete the file.",
    source=f"{CHECKPOINTS}; PROTOCOL.md, Version Checksum File",
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
