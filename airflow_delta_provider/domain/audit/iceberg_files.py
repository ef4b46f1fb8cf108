"""Checks whether a live file had to be written for Iceberg; older files may lack values that were optional then.

PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.audit.past_log import FirstAdd, PastLog
from airflow_delta_provider.domain.audit.shown_action import shown_action
from airflow_delta_provider.domain.audit.violation import worded
from airflow_delta_provider.domain.checks.data_files.iceberg_files import IcebergFiles
from airflow_delta_provider.domain.checks.protocol.outcomes import NOT_WRITTEN_FOR_ICEBERG
from airflow_delta_provider.domain.delta.features.owners import ICEBERG_COMPAT_V1
from airflow_delta_provider.domain.delta.file_path import is_absolute
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

_UNKNOWN = " The log does not show whether {compat} was enabled when it was written; before, that was allowed."
_OLDER = (
    " It is older than the commit that enabled {compat}, which applies to all files; Delta Spark does not check it."
)


def weigh(found: Sequence[Finding], state: TableState, log: PastLog) -> Iterator[Finding]:
    """Yield findings about live files. Findings about Iceberg are kept only if the file had to be written for it.

    IcebergCompatV1 also applies to older files: values that they lack are a warning about the commit that enabled it.

    :param found: findings about files under the state
    """
    paths = {finding.path or "" for finding in found if finding.code == NOT_WRITTEN_FOR_ICEBERG.code}
    added = log.first_adds(state.version, paths) if paths else {}
    required: dict[int, IcebergFiles] = {}
    for finding in found:
        if finding.code != NOT_WRITTEN_FOR_ICEBERG.code:
            yield finding
            continue
        first = added.get(finding.path or "")
        if first is not None and id(first.metadata) not in required:
            required[id(first.metadata)] = IcebergFiles(first.metadata, first.protocol or state.protocol)
        weighed = _weighed(finding, first, None if first is None else required[id(first.metadata)])
        if weighed is not None and weighed.severity is Severity.WARNING:
            weighed = _placed(weighed, state, log)
        if weighed is not None:
            yield weighed


def _weighed(finding: Finding, first: FirstAdd | None, required: IcebergFiles | None) -> Finding | None:
    if first is not None and required is not None and not is_absolute(finding.path or "") and required.bound(finding):
        return finding
    if finding.subject == ICEBERG_COMPAT_V1.name:
        evidence, severity = _OLDER, Severity.WARNING
    elif first is None:
        evidence, severity = _UNKNOWN, Severity.UNDECIDED
    else:
        return None
    text = f"{finding.evidence}{evidence.format(compat=finding.subject)}"
    return worded(replace(finding, severity=severity, evidence=text))


def _placed(finding: Finding, state: TableState, log: PastLog) -> Finding:
    commit = log.commit_that_enabled(state.version, str(ICEBERG_COMPAT_V1.enabling_property))
    if commit is None:
        return finding
    actions = [action for action in log.actions_at(commit.version) if "metaData" in action]
    return replace(finding, action=shown_action(finding, actions), **commit.provenance)
