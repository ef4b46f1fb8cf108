"""Change data files of a commit: AC25 and AC26.

PROTOCOL.md, Change Data Files and Add CDC File.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.checks.actions.family import FAMILY, UPDATE
from airflow_delta_provider.domain.checks.check import on_commit, on_demand, on_transition
from airflow_delta_provider.domain.checks.rule import Need, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.commits import CHANGE_DATA_FEED
from airflow_delta_provider.domain.delta.live_file import RemovedFile
from airflow_delta_provider.domain.delta.table_properties import ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Operations that update rows, or delete some rows of a file, when they write files.
_CHANGE_ROWS = frozenset({"UPDATE", "MERGE", "DELETE"})

CHANGE_DATA_AS_DATA = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Add CDC File").warning(
    25,
    "change data file marked as changing data",
    effect="Readers that do not know change data may mistake it for rows of the table.",
    remedy=UPDATE,
    shows="cdc",
)
NO_CHANGE_DATA = FAMILY.of(Scope.PAIR, "PROTOCOL.md, Writer Requirements for AddCDCFile").error(
    26,
    "rows changed without change data",
    effect="Readers of the change data feed see every row of the rewritten files deleted and inserted again.",
    remedy="Update the engine that wrote the commit; consumers of the feed have to read the table again.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    shows="remove",
)


@on_commit(CHANGE_DATA_AS_DATA)
def _as_data(commit: Commit) -> Iterator[Finding]:
    for body in commit.change_data:
        path = body.get("path") if isinstance(body, Mapping) else None
        if not isinstance(path, str):
            continue  # AC16 reports it
        if body.get("dataChange") is True:
            yield CHANGE_DATA_AS_DATA.found("The change data file {path} has dataChange true.", path=path)
            return


@on_transition(NO_CHANGE_DATA)
def _no_change_data(transition: Transition) -> Iterator[Finding]:
    if _rewrites_rows(transition) and (_says_so(transition.commit) or not may_replace_partitions(transition)):
        yield _without_change_data(transition)


@on_demand(NO_CHANGE_DATA)
def check_partial_rewrite(transition: Transition) -> Finding:
    """Return the finding about a commit that may replace partitions but keeps some of their files."""
    return _without_change_data(transition)


def may_replace_partitions(transition: Transition) -> bool:
    """Return True if a commit without change data rewrites rows, unless it removes all files of some partitions."""
    return (
        bool(transition.before.metadata.partition_columns)
        and not _says_so(transition.commit)
        and _rewrites_rows(transition)
    )


def _rewrites_rows(transition: Transition) -> bool:
    """Return True if a commit removes files and adds others without change data, and does not replace the table."""
    commit, before = transition.commit, transition.before
    if commit.change_data or not commit.removes or not before.metadata.properties.change_data_feed:
        return False
    if not before.protocol.supports(CHANGE_DATA_FEED):
        return False
    if not _says_so(commit) and (transition.restores or transition.keeps_no_file):
        return False
    return bool(_removed(transition)) and any(file.data_change for file in transition.new_files)


def _says_so(commit: Commit) -> bool:
    return commit.operation in _CHANGE_ROWS


def _removed(transition: Transition) -> list[RemovedFile]:
    removes = transition.commit.removes
    return [file for file in removes if file.data_change and file.path in transition.removed_files]


def _without_change_data(transition: Transition) -> Finding:
    """Return the finding; undecided unless the operation changes rows: it may remove rows and insert others."""
    commit, removed = transition.commit, _removed(transition)
    known: dict[str, Any] = {"path": removed[0].path, "property": ENABLE_CHANGE_DATA_FEED, "files": len(removed)}
    if _says_so(commit):
        return NO_CHANGE_DATA.found(
            "{property} is true, and the commit rewrites {files:data file} for {changing}, for example {path}, but "
            "has no cdc action.",
            **known,
            changing=commit.operation,
        )
    return NO_CHANGE_DATA.found(
        "{property} is true, and the commit removes {files:data file}, for example {path}, and adds {added:other}, "
        "but has no cdc action. It is unknown whether it changes rows or replaces them.",
        severity=Severity.UNDECIDED,
        **known,
        added=sum(file.data_change for file in transition.new_files),
    )
