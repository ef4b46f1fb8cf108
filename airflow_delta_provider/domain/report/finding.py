"""A finding: one coded statement about a table or a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow_delta_provider.domain.report.verdict import Severity


@dataclass(frozen=True)
class Finding:
    """One statement, with where it applies as far as that is known.

    :param code: stable code of the rule, for instance ``RT05`` or ``RQ06``
    :param severity: how much it weighs
    :param message: a sentence that names the thing and says what to do about it
    :param version: table version that the finding is about
    :param path: data or log file, relative to the table
    :param column: column path, in the table's own spelling
    :param engine: writer of the commit, as it signed itself
    :param operation: operation that the commit names
    :param timestamp: time of the commit, ISO 8601, UTC
    """

    code: str
    severity: Severity
    message: str
    version: int | None = None
    path: str | None = None
    column: str | None = None
    engine: str | None = None
    operation: str | None = None
    timestamp: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the wire form; what is not known is left out."""
        wire = {key: value for key, value in asdict(self).items() if value is not None}
        wire["severity"] = self.severity.value
        return wire

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Finding:
        """Read the wire form; keys of later schema versions are ignored."""
        known = {name: wire[name] for name in cls.__dataclass_fields__ if name in wire}
        return cls(**{**known, "severity": Severity(wire["severity"])})
