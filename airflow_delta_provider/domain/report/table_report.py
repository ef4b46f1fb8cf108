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
    """How one table ended.

    The parameters, and the metadata of fields, are also what ``report.schema.json`` is written from.

    :param table: the table as the request named it
    :param retryable: whether another try may end otherwise: lost race, infrastructure fault
    :param version: version that the verdict is about; null where the table could not be read
    :param changed: whether this run committed anything
    :param version_before: version that the plan was made on
    :param protocol_before: protocol at version_before
    :param protocol_after: protocol afterwards; of a dry run or a refusal, the one that the plan leads to
    :param plan: what would be, or was, done, for jobs that change tables
    :param evidence: what a check looked at, by name, for jobs that check tables
    :param usage: of ``column-mapping-usage``, the answer and its evidence
    :param timings: seconds by phase
    :param spec: of ``init-spec``, what declares the table as it is
    :param history: of audits and changes, what the table is at that version, and how its protocol and columns became so
    :param earliest: when another run can do what this one had to leave undone: the latest of its findings
    :param detail: what the table is at that version, for jobs that are asked for it
    :param receipt: that of the request, if a later job has to confirm that this report was received: until then it
        reports the findings again
    :param withheld: whether a change was not carried out because something about it could not be decided
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
        """A table whose request was wrong or unsafe; nothing was changed unless ``changed`` says so."""
        return cls(table, Verdict.REFUSED, retryable=retryable, findings=findings, **known)

    @classmethod
    def judged(cls, table: str, *findings: Finding, **known: Any) -> TableReport:
        """A table that was looked at: the severities of the open findings decide."""
        return cls(table, judge(f.severity for f in findings if f.is_open), findings=findings, **known)

    def brief(self) -> TableReport:
        """Return what totals, exit codes and receipts rest on; of a table with a spec, all."""
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
        """Return the wire form."""
        return {
            **{known.name: getattr(self, known.name) for known in fields(self)},
            "verdict": self.verdict.value,
            "findings": [finding.to_json() for finding in self.findings],
            "timings": {phase: round(seconds, 3) for phase, seconds in self.timings.items()},
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TableReport:
        """Read the wire form; keys of later schema versions are ignored."""
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        known["verdict"] = Verdict(wire["verdict"])
        known["findings"] = tuple(Finding.from_json(finding) for finding in wire.get("findings", ()))
        return cls(**known)
