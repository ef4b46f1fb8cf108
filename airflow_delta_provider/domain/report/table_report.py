"""The report of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Verdict, judge
from airflow_delta_provider.domain.report.wire import LATER, NOT_EMPTY, SECONDS, TIME, VERSION, defined


@dataclass(frozen=True)
class TableReport:
    """The result of a job for one table.

    ``report.schema.json`` is generated from these parameters and the fields' metadata.

    :param table: name of the table in the request
    :param retryable: true if another try may end differently (lost race, infrastructure fault)
    :param version: version that the verdict is about; null if the table could not be read
    :param changed: true if this run committed anything
    :param version_before: version that the plan was made for
    :param protocol_before: protocol at version_before
    :param protocol_after: protocol afterwards; for a dry run or a refusal, the protocol that the plan leads to
    :param plan: planned or completed changes, for jobs that change tables
    :param evidence: things that a check examined, by name, for jobs that check tables
    :param usage: answer of ``column-mapping-usage``, with its evidence
    :param timings: seconds by phase
    :param spec: spec of the table as it is, from ``init-spec``
    :param history: state of the table at that version, and the events that led to its protocol and columns, for audits
        and changes
    :param earliest: earliest time at which another run can do the work that this run postponed: the latest time of its
        findings
    :param detail: description of the table at that version, for jobs that are asked for it
    :param receipt: receipt from the request, if a later job must confirm that this report was received; until then,
        later jobs report the findings again
    :param withheld: true if a change was not made because something about it could not be decided
    """

    table: str = field(metadata=NOT_EMPTY)
    verdict: Verdict
    retryable: bool = False
    version: int | None = field(default=None, metadata=VERSION)
    changed: bool = False
    version_before: int | None = field(default=None, metadata=VERSION)
    protocol_before: Mapping[str, Any] | None = field(default=None, metadata=defined("protocol"))
    protocol_after: Mapping[str, Any] | None = field(default=None, metadata=defined("protocol"))
    plan: Mapping[str, Any] | None = field(default=None, metadata=defined("plan"))
    findings: tuple[Finding, ...] = ()
    evidence: Mapping[str, Any] | None = field(default=None, metadata={**defined("evidence"), **LATER})
    usage: Mapping[str, Any] | None = field(default=None, metadata={**defined("usage"), **LATER})
    timings: Mapping[str, float] = field(default_factory=dict, metadata={"additionalProperties": SECONDS})
    detail: Mapping[str, Any] | None = field(default=None, metadata={**defined("detail"), **LATER})
    spec: Mapping[str, Any] | None = field(default=None, metadata={**defined("spec"), **LATER})
    history: Mapping[str, Any] | None = field(default=None, metadata={**defined("history"), **LATER})
    earliest: str | None = field(default=None, metadata={"oneOf": [TIME, {"type": "null"}], **LATER})
    receipt: str | None = field(default=None, metadata=LATER)
    withheld: bool = field(default=False, metadata=LATER)

    @classmethod
    def refused(cls, table: str, *findings: Finding, retryable: bool = False, **known: Any) -> TableReport:
        """Return the report of a table whose request was wrong or unsafe.

        Nothing was changed unless ``changed`` is set.
        """
        return cls(table, Verdict.REFUSED, retryable=retryable, findings=findings, **known)

    @classmethod
    def judged(cls, table: str, *findings: Finding, **known: Any) -> TableReport:
        """Return the report of a checked table; its verdict follows from the severities of the open findings."""
        return cls(table, judge(f.severity for f in findings if f.is_open), findings=findings, **known)

    def brief(self) -> TableReport:
        """Return only the parts needed for totals, exit codes and receipts.

        A table with a spec is returned whole.
        """
        if self.spec is not None:
            return self
        findings = tuple(map(Finding.brief, self.findings))
        return TableReport(
            self.table,
            self.verdict,
            changed=self.changed,
            version=self.version,
            findings=findings,
            receipt=self.receipt,
            withheld=self.withheld,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **{known.name: getattr(self, known.name) for known in fields(self)},
            "verdict": self.verdict.value,
            "findings": [finding.to_json() for finding in self.findings],
            "timings": {phase: round(seconds, 3) for phase, seconds in self.timings.items()},
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TableReport:
        """Read the JSON form. Keys of later schema versions are ignored."""
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        known["verdict"] = Verdict(wire["verdict"])
        known["findings"] = tuple(Finding.from_json(finding) for finding in wire.get("findings", ()))
        return cls(**known)
