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
    """How a finding relates to the reports that were received before. ``RESOLVED`` ones were open in one, or may have
    been, and are gone since."""

    NEW = "NEW"
    KNOWN = "KNOWN"
    CHANGED = "CHANGED"
    RESOLVED = "RESOLVED"


#: What a digest of facts begins with. Releases that compared sentences wrote 16 or 32 hexadecimal digits alone.
DIGEST_OF_FACTS = "f:"
_WAIVERS = frozenset({"waiver", "expired_waiver"})


@dataclass(frozen=True)
class Waiver:
    """Who accepts a finding, why, and until when.

    :param expires: last day, ISO 8601
    """

    owner: str
    reason: str
    expires: str


@dataclass(frozen=True)
class Finding:
    """One statement, with where it applies as far as that is known.

    The parameters, and the metadata of fields, are also what ``report.schema.json`` is written from.

    :param code: stable code of the rule; RQ are refusals, FT faults
    :param severity: how much it weighs
    :param message: what is wrong, what it does to readers or writers, what to do: composed of the evidence and the
        texts of the rule
    :param version: table version that it is about; of a broken rule, the first that broke it
    :param at_or_before: the log does not go back far enough to show whether an earlier version broke it
    :param path: data or log file, relative to the table
    :param column: column path, in the table's own spelling
    :param subject: what it is about where that is neither file nor column: a feature, a property, a domain
    :param engine: writer of the commit, as it signed itself
    :param writer: name and version of that engine, where the signature is known
    :param operation: operation that the commit names
    :param user: who made the commit, as it says
    :param timestamp: time of the commit, ISO 8601, UTC
    :param action: the action that broke the rule, as JSON, shortened
    :param healed_version: version since which the rule holds again
    :param caused_by: fingerprint of the finding that this one only follows from
    :param fingerprint: the same as long as it is the same violation, regardless of the message
    :param status: against the reports that were received before, of jobs that remember; RESOLVED ones are of those, and
        gone since
    :param waiver: by whom the finding is accepted, why, and until which day
    :param expired_waiver: the last waiver of the finding, if it has expired
    :param earliest: when what it waits for may be done
    :param evidence: what is wrong, with names and numbers, in a sentence
    :param facts: the names and numbers of the evidence, without where it applies: plain JSON. A finding is CHANGED
        when these change
    :param effect: what it does to readers or writers, where that is not what the rule says
    :param remedy: what to do about it, where that is not what the rule says
    :param alike: how many more files, or commits, have the same problem
    :param alike_until: the last version of those, if it is another
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
        """Whether it still applies to the table, and was not accepted."""
        return self.healed_version is None and self.waiver is None and self.status is not Status.RESOLVED

    @property
    def is_new(self) -> bool:
        """Whether it applies, and was not known before, or said something else then."""
        return self.is_open and self.status in (Status.NEW, Status.CHANGED)

    @property
    def alike_text(self) -> str:
        """How many more have the same problem, as a sentence; empty for none."""
        if not self.alike:
            return ""
        until = "" if self.alike_until is None else f", most recently in version {self.alike_until}"
        what = "commit" if self.path is None else "file"
        who = f"1 more {what} has" if self.alike == 1 else f"{self.alike:,} more {what}s have"
        return f"{who} the same problem{until}."

    @property
    def expired_text(self) -> str:
        """A sentence about the waiver that has expired; empty if there is none."""
        expired = self.expired_waiver
        return "" if expired is None else f"The waiver of {expired.owner} expired on {expired.expires}."

    @property
    def digest(self) -> str:
        """The same as long as the finding says the same, 18 characters: of its facts, not of its sentences."""
        said = (self.severity.value, self.facts or {}, self.alike or 0, self.alike_until)
        text = json.dumps(said, sort_keys=True, ensure_ascii=False)
        return DIGEST_OF_FACTS + short_digest(text)

    def brief(self) -> Finding:
        """Return what it is and where, without its texts."""
        return replace(self, message="", action=None, evidence=None, facts=None, effect=None, remedy=None)

    def to_json(self) -> dict[str, Any]:
        """Return the wire form; what is not known is left out."""
        wire = {known.name: getattr(self, known.name) for known in fields(self)}
        wire |= {name: value.value for name, value in wire.items() if isinstance(value, Enum)}
        for name in _WAIVERS:
            wire[name] = None if wire[name] is None else vars(wire[name])
        wire["facts"] = dict(self.facts) if self.facts else None
        return {key: value for key, value in wire.items() if value is not None}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Finding:
        """Read the wire form; keys of later schema versions are ignored."""
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        known["severity"] = Severity(wire["severity"])
        if "status" in known:
            known["status"] = Status(known["status"])
        for name in _WAIVERS & known.keys():
            known[name] = Waiver(*(known[name][part] for part in Waiver.__dataclass_fields__))
        return cls(**known)
