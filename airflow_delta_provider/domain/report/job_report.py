"""The report of a job: the contract with everything outside (see ``report.schema.json``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict, worst
from airflow_delta_provider.domain.report.wire import TIME, defined

SCHEMA_VERSION = 1


class DamagedReportError(ValueError):
    """JSON that is not a complete report; the message gives the reason."""


@dataclass(frozen=True)
class JobReport:
    """The results of a job, one entry per table.

    ``make docs`` generates ``report.schema.json`` from these parameters and the fields' metadata.

    :param kind: kind of the job
    :param started_at: start of the job, ISO 8601, UTC
    :param finished_at: end of the job, ISO 8601, UTC
    :param tables: reports of the tables, in the order of the request
    :param engine: versions of the software that ran the job
    """

    kind: str
    started_at: str = field(metadata=TIME)
    finished_at: str = field(metadata=TIME)
    tables: tuple[TableReport, ...]
    engine: Mapping[str, str | None] = field(metadata=defined("engine"))

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the tables."""
        return worst(table.verdict for table in self.tables)

    @property
    def changed(self) -> bool:
        return any(table.changed for table in self.tables)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "verdict": self.verdict.value,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "engine": dict(self.engine),
            "tables": [table.to_json() for table in self.tables],
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> JobReport:
        """Read the JSON form.

        :raises DamagedReportError: if it is not a complete report
        :raises ValueError: if a later, incompatible schema version wrote it
        """
        try:
            version = wire.get("schema_version")
            if version == SCHEMA_VERSION:
                return cls(
                    kind=wire["kind"],
                    started_at=wire["started_at"],
                    finished_at=wire["finished_at"],
                    tables=tuple(TableReport.from_json(table) for table in wire["tables"]),
                    engine=wire.get("engine", {}),
                )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedReportError(f"it is not a whole report ({error!r})") from error
        raise ValueError(
            f"The report has schema version {version!r}; this provider reads {SCHEMA_VERSION}. "
            "Use one version of the provider on both sides."
        )
