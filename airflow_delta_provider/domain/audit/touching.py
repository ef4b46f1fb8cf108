"""Detection of commits that affect older files: those files must be read again to check the commits."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.audit.audit_state import AuditState
from airflow_delta_provider.domain.delta.clustering import CLUSTERING
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.features.row_tracking import DOMAIN
from airflow_delta_provider.domain.delta.file_path import is_absolute
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.row_tracking import high_water_mark_of
from airflow_delta_provider.domain.report.verdict import Severity


class Touching:
    """Takes commits, oldest first, until one affects older files.

    :param memory: saved state of the version before them
    """

    def __init__(self, memory: AuditState) -> None:
        files = None if memory.facts is None else memory.facts.files
        self._live = None if files is None else files.paths
        # An open error may affect files that no finding names.
        self._broken = any(v.finding.severity is Severity.ERROR for v in memory.standing)
        self._mark = memory.state.row_tracking.high_water_mark

    def take(self, actions: Sequence[Action]) -> bool:
        """Record a commit. Return True if it can only be checked with the files of earlier versions.

        :raises BrokenLogError: if an action is malformed
        """
        if self._broken or self._live is None:
            return True
        if any(action.get(kind) for action in actions for kind in ("remove", "protocol", "metaData")):
            return True
        commit = Commit.from_actions(0, actions)
        if any(map(self._is_about_older, commit.adds)):
            return True
        for domain in commit.domains:
            if domain.domain == CLUSTERING:
                return True
            if domain.domain == DOMAIN:
                mark = None if domain.removed else high_water_mark_of(domain.configuration)
                if mark is None or mark < (self._mark or 0):
                    return True
                self._mark = mark
        return False

    def _is_about_older(self, file: LiveFile) -> bool:
        """Return True if a file may have been live before, or have ids that were assigned before."""
        given_before = file.base_row_id is not None and (self._mark is None or file.base_row_id <= self._mark)
        was_live = self._live is None or is_absolute(file.path) or self._live.may_have(file.path)
        return file.deletion_vector is not None or given_before or was_live
