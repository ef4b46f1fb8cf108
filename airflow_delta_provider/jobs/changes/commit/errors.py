"""Why a step that has no SQL was not done."""

from __future__ import annotations

from airflow_delta_provider.domain.report.finding import Finding


class TableMovedError(Exception):
    """Another writer changed protocol or metadata, so the plan no longer holds."""


class CommitRefusedError(Exception):
    """The step must not be done; carries the refusals that say why."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__(" ".join(finding.message for finding in findings))
        self.findings = findings
