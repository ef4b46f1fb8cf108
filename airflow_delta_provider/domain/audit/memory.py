"""What an audit remembers of a table: how far it came, what the table was then, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding, Status
from airflow_delta_provider.domain.rules.log import HISTORY_NOT_KEPT

SCHEMA_VERSION = 1


class BrokenMemoryError(ValueError):
    """What was remembered cannot be used; the message says why."""


@dataclass(frozen=True)
class AuditMemory:
    """What the next audit of a table goes on from.

    :param state: of the last version that was judged, without files
    :param commit_info: ``commitInfo`` of that version
    :param findings: what stood then, waived or not
    :param level: of the audit
    """

    state: TableState
    commit_info: Mapping[str, Any]
    findings: tuple[Finding, ...]
    level: str

    @property
    def version(self) -> int:
        """The last version that was judged."""
        return self.state.version

    @classmethod
    def of(
        cls, state: TableState, commit_info: Mapping[str, Any], findings: Iterable[Finding], level: str
    ) -> AuditMemory:
        """Remember what stands after an audit; that older commits were not kept does not concern the next one."""
        told = (finding for finding in findings if finding.code != HISTORY_NOT_KEPT.code)
        standing = (f for f in told if f.healed_version is None and f.status is not Status.RESOLVED)
        kept = tuple(replace(finding, status=None, waiver=None) for finding in standing)
        return cls(replace(state, files=None), commit_info, kept, level)

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        state = self.state
        return {
            "schema_version": SCHEMA_VERSION,
            "table_id": state.metadata.id,
            "version": state.version,
            "level": self.level,
            "protocol": state.protocol.to_json(),
            "metadata": state.metadata.to_json(),
            "domains": dict(state.domains),
            "commit_info": dict(self.commit_info),
            "findings": [finding.to_json() for finding in self.findings],
        }

    @classmethod
    def from_json(cls, wire: Any) -> AuditMemory:
        """Read the wire form.

        :raises BrokenMemoryError: if it is not of this version, or damaged
        """
        try:
            if wire["schema_version"] != SCHEMA_VERSION:
                raise BrokenMemoryError(f"it has schema version {wire['schema_version']}, not {SCHEMA_VERSION}")
            protocol, metadata = Protocol.from_json(wire["protocol"]), Metadata.from_json(wire["metadata"])
            state = TableState(int(wire["version"]), protocol, metadata, dict(wire["domains"]))
            findings = tuple(map(Finding.from_json, wire["findings"]))
            return cls(state, dict(wire["commit_info"]), findings, str(wire["level"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, BrokenMemoryError):
                raise
            raise BrokenMemoryError(f"it is damaged: {error!r}") from error


def with_status(findings: Iterable[Finding], before: AuditMemory | None) -> list[Finding]:
    """Return the findings of an audit, each with how it stands to those of the audit before, and those that are gone.

    A finding is known by its fingerprint; a known one that weighs or says something else has changed.
    """
    known = {} if before is None else {finding.fingerprint: finding for finding in before.findings}
    told = []
    for finding in findings:
        earlier = known.pop(finding.fingerprint, None)
        if earlier is None:
            status = Status.NEW
        elif finding.healed_version is not None:
            status = Status.RESOLVED
        else:
            same = (earlier.severity, earlier.message) == (finding.severity, finding.message)
            status = Status.KNOWN if same else Status.CHANGED
        told.append(replace(finding, status=status))
    return told + [replace(finding, status=Status.RESOLVED) for finding in known.values()]
