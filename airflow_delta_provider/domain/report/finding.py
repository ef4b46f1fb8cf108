"""A finding: one coded statement about a table or a request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.digest import short_digest
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.report.wire import NOT_EMPTY, NOT_NEGATIVE, TIME


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
        said = (self.severity.value, self.facts or {}, self.alike or 0, self.alike_until)
        text = json.dumps(said, sort_keys=True, ensure_ascii=False)
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
