"""Checks the rows of live files against the conditions in the table's metadata, at level data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.audit.condition_origins import ConditionOrigins, condition_origins
from airflow_delta_provider.domain.audit.shown_action import shown_action
from airflow_delta_provider.domain.checks.data_files.row_conditions import broken_condition, not_evaluated
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, commit_name, earliest_version, select_segment
from airflow_delta_provider.domain.delta.row_condition import RowCondition, row_conditions
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.log.kept_log import KeptLog, adds_of
from airflow_delta_provider.jobs.delta.log.table_log import TableLog
from airflow_delta_provider.jobs.row_tracking.row_proofs import ConditionProof, PartitionValues, RowProofs
from airflow_delta_provider.jobs.storage.missing_file import MissingFileError


class RowConditions:
    """Checks the rows of one version of a table.

    :param log: log of the table
    """

    def __init__(self, log: TableLog, state: TableState) -> None:
        self._log = log
        self._state = state
        self.conditions: Sequence[RowCondition] = tuple(row_conditions(state.metadata, state.protocol))
        """What rows have to satisfy."""

    def check(self, proofs: RowProofs, data: DeltaFiles, files: Sequence[LiveFile]) -> Iterator[Finding]:
        """Yield the files with rows that do not satisfy a condition, and conditions that cannot be decided.

        :param files: readable files
        """
        proof = proofs.conditions(data, files, self._state.metadata, self.conditions, self._partition_values)
        if not (proof.broken or proof.problems):
            return
        origins = self._origins(proof)
        for broken in proof.broken:
            since = origins.newer(broken.condition, broken.path)
            yield self._placed(broken_condition(broken, since))
        for condition, problem in proof.problems:
            found = not_evaluated(condition, problem)
            yield self._placed(replace(found, version=origins.conditions.get(condition.holder)))

    def _placed(self, finding: Finding) -> Finding:
        """Return a finding with the commit of its version.

        Without a version, the commit that added its file is blamed later.
        """
        if finding.version is None:
            return finding
        log = KeptLog(self._log)
        commit, actions = log.commit_at(finding.version), log.actions_at(finding.version)
        return (
            finding if commit is None else replace(finding, action=shown_action(finding, actions), **commit.provenance)
        )

    def _origins(self, proof: ConditionProof) -> ConditionOrigins:
        try:
            base, commits = self._log.commits_from_start(self._state.version)
            first, before = (0, None) if base is None else (base.version + 1, base.metadata)
            return condition_origins(commits, first, before, {broken.path for broken in proof.broken})
        except (BrokenLogError, MissingFileError):
            return ConditionOrigins({}, {})

    def _partition_values(self) -> PartitionValues:
        """Return the partition values of the live files, by path, as logged."""
        names, version = self._log.list_names(), self._state.version
        base = None if commit_name(0) in names else select_segment(names, earliest_version(names))
        adds = adds_of(self._log, (self._state.files or {}).keys(), base, version)
        return {path: add.get("partitionValues") or {} for (path, _), add in adds.items()}
