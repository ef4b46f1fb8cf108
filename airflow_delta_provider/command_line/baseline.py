"""An earlier report as a baseline: only new findings count."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

from airflow_delta_provider.command_line.project_folder import ProjectFolder
from airflow_delta_provider.command_line.usage_error import UsageError
from airflow_delta_provider.domain.report.confirmation import Reported
from airflow_delta_provider.domain.report.job_report import DamagedReportError, JobReport
from airflow_delta_provider.domain.report.table_report import TableReport

#: Keys of a table's report that are compared; every report has them.
_COMPARED = ("table", "verdict", "findings")


class Baseline:
    """The open findings of a report, by table.

    :param report: report of an earlier run of the same kind
    :param project: start of relative table names
    """

    def __init__(self, report: JobReport, project: ProjectFolder) -> None:
        self._project = project
        self._tables: Mapping[Hashable, Reported] = {
            project.place(table.table): Reported.of(finding for finding in table.findings if finding.is_open)
            for table in report.tables
        }

    @classmethod
    def read(cls, content: bytes, kind: str, place: str, project: ProjectFolder) -> Baseline:
        """Read a report.

        :param place: name of the file, for messages
        :raises UsageError: if it is not a report of this kind, or this version cannot read it
        """
        try:
            wire = json.loads(content, object_hook=_compared_part)
            report = JobReport.from_json(wire)
        except (DamagedReportError, UnicodeDecodeError, json.JSONDecodeError):
            raise UsageError(
                f"--baseline {place} is not a JSON report. Write one with --format json --output FILE."
            ) from None
        except ValueError as error:
            raise UsageError(f"--baseline {place} cannot be used. {error}") from None
        if report.kind != kind:
            raise UsageError(f"--baseline {place} is a report of {report.kind}, not of {kind}. Write one with {kind}.")
        return cls(report, project)

    def compared(self, table: TableReport) -> TableReport:
        """Return a table's report with the status of each finding: new, known or changed since the baseline."""
        known = self._tables.get(self._project.place(table.table), Reported())
        comparison = known.compare(table.findings, whole=False)
        return replace(table, findings=tuple(comparison.with_status(table.findings)))


def _compared_part(wire: dict[str, Any]) -> dict[str, Any]:
    """Return only the compared keys of a table's report, which is a small part; leave other objects as they are."""
    return {key: wire[key] for key in _COMPARED} if wire.keys() >= set(_COMPARED) else wire
