"""The report of a job, its findings and verdicts: the contract with everything outside (see ``report.schema.json``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.text import short_digest, visible


class Severity(str, Enum):
    """The importance of a finding. ``UNDECIDED`` means that something could not be decided."""

    ERROR = "ERROR"
    WARNING = "WARNING"
    UNDECIDED = "UNDECIDED"

    @property
    def rank(self) -> int:
        """Position from least (0, ``WARNING``) to most serious (2, ``ERROR``)."""
        return ("WARNING", "UNDECIDED", "ERROR").index(self.value)


class Verdict(str, Enum):
    """The result of a table, or of a job over many tables; declared from best to worst."""

    PASS = "PASS"
    UNDETERMINED = "UNDETERMINED"
    VIOLATED = "VIOLATED"
    REFUSED = "REFUSED"
    FAULT = "FAULT"

    @property
    def rank(self) -> int:
        """Position from best (0, ``PASS``) to worst (``FAULT``)."""
        return _RANKS[self]


_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of ``verdicts``, or ``PASS`` if there are none."""
    return max(verdicts, key=lambda verdict: verdict.rank, default=Verdict.PASS)


def verdict_of(severities: Iterable[Severity]) -> Verdict:
    """Return the verdict that follows from the severities of findings.

    ``VIOLATED`` if there is at least one error, else ``UNDETERMINED`` if there is at least one undecided finding, else
    ``PASS``: warnings alone are allowed.
    """
    seen = set(severities)
    if Severity.ERROR in seen:
        return Verdict.VIOLATED
    if Severity.UNDECIDED in seen:
        return Verdict.UNDETERMINED
    return Verdict.PASS


TIME: Mapping[str, Any] = {"$ref": "#/$defs/time"}
#: A version, or null.
VERSION: Mapping[str, Any] = {"$ref": "#/$defs/version"}
NOT_NEGATIVE: Mapping[str, Any] = {"minimum": 0}
SECONDS: Mapping[str, Any] = {"type": "number", "minimum": 0}
NOT_EMPTY: Mapping[str, Any] = {"minLength": 1}
#: A key that reports of earlier versions do not have.
LATER: Mapping[str, Any] = {"required": False}


def defined(name: str) -> Mapping[str, Any]:
    """Return the keyword that refers to a definition of the schema."""
    return {"$ref": f"#/$defs/{name}"}


class Status(str, Enum):
    """The state of a finding compared with the reports received earlier.

    ``RESOLVED`` findings were open, or may have been open, in one of them and have ended since.
    """

    NEW = "NEW"
    KNOWN = "KNOWN"
    CHANGED = "CHANGED"
    RESOLVED = "RESOLVED"


#: Prefix of a digest of facts. Releases that compared sentences wrote only 16 or 32 hexadecimal digits.
DIGEST_OF_FACTS = "f:"
_WAIVERS = frozenset({"waiver", "expired_waiver"})


@dataclass(frozen=True)
class Waiver:
    """The acceptance of a finding, with owner, reason and end.

    :param expires: last day, ISO 8601
    """

    owner: str
    reason: str
    expires: str


@dataclass(frozen=True)
class Finding:
    """One statement about a table or a request, and its place if known.

    ``report.schema.json`` is generated from these parameters and the fields' metadata.

    :param code: stable code of the rule; RQ codes are refusals, FT codes faults
    :param severity: importance of the finding
    :param message: the problem, its effect on readers or writers, and the remedy: composed of the evidence and the
        texts of the rule
    :param version: table version that the finding is about; for a broken rule, the first version that broke it
    :param at_or_before: true if the log does not go back far enough to show whether an earlier version broke the rule
    :param path: data or log file, relative to the table
    :param column: column path, in the table's own spelling
    :param subject: subject that is neither a file nor a column: a feature, a property, a domain
    :param engine: writer of the commit, as it signed itself
    :param writer: name and version of that engine, if the signature is known
    :param operation: operation that the commit names
    :param user: user that the commit names
    :param timestamp: time of the commit, ISO 8601, UTC
    :param action: action that broke the rule, as JSON, shortened
    :param healed_version: version since which the rule holds again
    :param healed_at: time of that version's commit, ISO 8601, UTC
    :param caused_by: fingerprint of the finding that causes this one
    :param fingerprint: identifier that stays the same as long as the violation does, even if the message changes
    :param status: state compared with the reports received earlier, for jobs that remember them; a RESOLVED finding was
        in one of them and has ended since
    :param waiver: acceptance of the finding, with owner, reason and last day
    :param expired_waiver: last waiver of the finding, if it has expired
    :param earliest: earliest time for the action that the finding waits for
    :param evidence: the problem in one sentence, with names and numbers
    :param facts: names and numbers of the evidence, without the place, as plain JSON. A finding is CHANGED when its
        facts change
    :param effect: effect on readers or writers, if it differs from the rule's text
    :param remedy: remedy, if it differs from the rule's text
    :param alike: number of other files, or commits, with the same problem
    :param alike_until: last version of the other files or commits, if it is a different version
    """

    code: str = field(metadata={"pattern": r"^[A-Z]{2}\d{2}$"})
    severity: Severity
    message: str = field(metadata=NOT_EMPTY)
    version: int | None = field(default=None, metadata=NOT_NEGATIVE)
    path: str | None = None
    column: str | None = None
    engine: str | None = None
    operation: str | None = None
    timestamp: str | None = None
    subject: str | None = None
    at_or_before: bool | None = None
    writer: str | None = None
    user: str | None = None
    action: str | None = None
    healed_version: int | None = field(default=None, metadata=NOT_NEGATIVE)
    healed_at: str | None = None
    caused_by: str | None = None
    fingerprint: str | None = None
    status: Status | None = None
    waiver: Waiver | None = None
    expired_waiver: Waiver | None = None
    earliest: str | None = field(default=None, metadata=TIME)
    evidence: str | None = None
    facts: Mapping[str, Any] | None = field(default=None, hash=False)
    effect: str | None = None
    remedy: str | None = None
    alike: int | None = field(default=None, metadata={"minimum": 1})
    alike_until: int | None = None

    @property
    def is_open(self) -> bool:
        """Return True if the finding still applies to the table and is not accepted."""
        return self.healed_version is None and self.waiver is None and self.status is not Status.RESOLVED

    @property
    def is_new(self) -> bool:
        """Return True if the finding is open, and is new or has changed."""
        return self.is_open and self.status in (Status.NEW, Status.CHANGED)

    @property
    def alike_text(self) -> str:
        """A sentence with the number of others that have the same problem; empty if there are none."""
        if not self.alike:
            return ""
        until = "" if self.alike_until is None else f", most recently in version {self.alike_until}"
        what = "commit" if self.path is None else "file"
        who = f"1 more {what} has" if self.alike == 1 else f"{self.alike:,} more {what}s have"
        return f"{who} the same problem{until}."

    @property
    def expired_text(self) -> str:
        """A sentence about the expired waiver; empty if there is none."""
        expired = self.expired_waiver
        return "" if expired is None else f"The waiver of {expired.owner} expired on {expired.expires}."

    @property
    def digest(self) -> str:
        """A digest of the finding's facts, not its sentences: 18 characters."""
        content = (self.severity.value, self.facts or {}, self.alike or 0, self.alike_until)
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        return DIGEST_OF_FACTS + short_digest(text)

    def brief(self) -> Finding:
        """Return the finding without its texts."""
        return replace(self, message="", action=None, evidence=None, facts=None, effect=None, remedy=None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without unknown values."""
        wire = {known.name: getattr(self, known.name) for known in fields(self)}
        wire |= {name: value.value for name, value in wire.items() if isinstance(value, Enum)}
        for name in _WAIVERS:
            wire[name] = None if wire[name] is None else vars(wire[name])
        wire["facts"] = dict(self.facts) if self.facts else None
        return {key: value for key, value in wire.items() if value is not None}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Finding:
        """Read the JSON form. Keys of later schema versions are ignored."""
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        known["severity"] = Severity(wire["severity"])
        if "status" in known:
            known["status"] = Status(known["status"])
        for name in _WAIVERS & known.keys():
            known[name] = Waiver(*(known[name][part] for part in Waiver.__dataclass_fields__))
        return cls(**known)


_CONNECTION = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@]*@")


@dataclass(frozen=True)
class ReportPlace:
    """The file of a report.

    :param path: path, or URI that may contain a connection id before ``@``; None if the report could not be kept
    :param error: reason why the report could not be kept
    """

    path: str | None
    error: str | None = None

    @property
    def shown(self) -> str:
        """A sentence with the place of the whole report, or the reason why there is none."""
        if self.path is None:
            return visible(f"The whole report could not be kept ({self.error}).")
        return visible(f"The whole report: {self.bare}")

    @property
    def bare(self) -> str:
        """The path without the connection id, as other tools accept it; empty if there is none."""
        return _CONNECTION.sub(r"\1", self.path or "")

    def to_json(self) -> dict[str, Any]:
        """Return the place as keys for XCom."""
        return {"report_path": self.path, **({} if self.error is None else {"report_error": self.error})}


def open_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the open findings and their causes, then the others; the most serious of each first.

    A cause is as serious as the most serious open finding that follows from it.
    """
    findings = tuple(findings)
    worst: dict[str | None, int] = {}
    for finding in findings:
        if finding.is_open and finding.caused_by is not None:
            worst[finding.caused_by] = max(worst.get(finding.caused_by, 0), finding.severity.rank)

    def order(finding: Finding) -> tuple[bool, int]:
        follows = worst.get(finding.fingerprint)
        own = finding.severity.rank if finding.is_open or follows is None else 0
        return not finding.is_open and follows is None, -max(own, follows or 0)

    return sorted(findings, key=order)


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
    def of_findings(cls, table: str, *findings: Finding, **known: Any) -> TableReport:
        """Return the report of a checked table; its verdict follows from the severities of the open findings."""
        verdict = verdict_of(finding.severity for finding in findings if finding.is_open)
        return cls(table, verdict, findings=tuple(open_first(findings)), **known)

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
    :param warnings: problems of the run that do not affect the verdict, in sentences; absent if there are none
    """

    kind: str
    started_at: str = field(metadata=TIME)
    finished_at: str = field(metadata=TIME)
    tables: tuple[TableReport, ...]
    engine: Mapping[str, str | None] = field(metadata=defined("engine"))
    warnings: tuple[str, ...] = field(default=(), metadata=LATER)

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
            **({"warnings": list(self.warnings)} if self.warnings else {}),
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
                    warnings=tuple(wire.get("warnings", ())),
                )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedReportError(f"it is not a whole report ({error!r})") from error
        raise ValueError(
            f"The report has schema version {version!r}; this provider reads {SCHEMA_VERSION}. "
            "Use one version of the provider on both sides."
        )
