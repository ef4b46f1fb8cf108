"""The saved state of an audit: the last audited version, the table's state, and the open findings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.audit.history_facts import (
    HistoryFacts,
    StandingViolation,
    state_from_json,
    state_to_json,
)
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH
from airflow_delta_provider.domain.checks.log.checkpoint_form import INCOMPLETE_CHECKPOINT
from airflow_delta_provider.domain.checks.log.damaged_files import UNREAD
from airflow_delta_provider.domain.checks.log.file_names import MALFORMED_NAME, UNREADABLE_COMMITS, WITHOUT_COMMIT
from airflow_delta_provider.domain.checks.log.history import GAP, HISTORY_NOT_KEPT
from airflow_delta_provider.domain.checks.log.pointer import WRONG_POINTER
from airflow_delta_provider.domain.checks.registry import UNKNOWN, rule_of
from airflow_delta_provider.domain.checks.row_tracking.commits import MATERIALIZED_NAMES_CHANGED
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.confirmation import Reported
from airflow_delta_provider.domain.report.finding import Finding, Status
from airflow_delta_provider.domain.report.verdict import Severity

SCHEMA_VERSION = 1
#: Codes that are reported once, although the finding stays open.
REPORTED_ONCE = frozenset({HISTORY_NOT_KEPT.code})
#: Codes of findings about log file names and the pointer. Every audit checks these again.
_LOOKED_AT_EACH_TIME = frozenset(
    rule.code
    for rule in (WRONG_POINTER, MALFORMED_NAME, WITHOUT_COMMIT, UNREADABLE_COMMITS, INCOMPLETE_CHECKPOINT, UNREAD)
)


class BrokenStateError(ValueError):
    """A saved audit state that cannot be used; the message gives the reason."""


@dataclass(frozen=True)
class AuditState:
    """The saved state of an audit. The next audit of the table resumes with it.

    :param state: state of the last audited version, without files
    :param commit_info: ``commitInfo`` of that version
    :param findings: findings that were open then, waived or not
    :param level: level of the audit
    :param reported: findings that are known to have been received; the other fields hold regardless of who received
        them
    :param facts: further facts from the commits; None if an older release did not save them
    """

    state: TableState
    commit_info: Mapping[str, Any]
    findings: tuple[Finding, ...]
    level: str
    reported: Reported = field(default_factory=Reported)
    facts: HistoryFacts | None = None

    @property
    def version(self) -> int:
        """The last audited version."""
        return self.state.version

    @classmethod
    def of(
        cls,
        state: TableState,
        commit_info: Mapping[str, Any],
        findings: Iterable[Finding],
        level: str,
        facts: HistoryFacts | None = None,
    ) -> AuditState:
        """Return the state to save after an audit, with the open findings.

        HISTORY_NOT_KEPT is left out: it does not concern the next audit.
        """
        told = (finding for finding in findings if finding.code != HISTORY_NOT_KEPT.code)
        standing = (f for f in told if f.healed_version is None and f.status is not Status.RESOLVED)
        kept = tuple(replace(finding, status=None, waiver=None) for finding in standing)
        return cls(replace(state, files=None), commit_info, kept, level, facts=facts)

    @property
    def standing(self) -> tuple[StandingViolation, ...]:
        """The violations that were open: those saved with all details, then those known only from their findings."""
        known = () if self.facts is None else self.facts.standing
        one_by_one = {violation.finding.fingerprint for violation in known}
        others = (StandingViolation.of(f) for f in self.findings if f.fingerprint not in one_by_one)
        return tuple(v for v in (*known, *others) if v.finding.code != HISTORY_NOT_KEPT.code)

    def begin(self, earliest: int) -> int:
        """Return the version after which to audit again, at most the saved version.

        Findings about files, and errors, depend on more than they record, such as other files with the same fault.
        Their commits are audited again to find out whether they are still open.

        :param earliest: the first version that the log can reconstruct; older versions are known only from their
            findings
        """
        found = (violation.finding for violation in self.standing)
        versions = [f.version - 1 for f in found if f.version is not None and _is_judged_anew(f)]
        return min((version for version in versions if version >= earliest), default=self.version)

    def recalled(self, begin: int, names: Collection[str]) -> list[StandingViolation]:
        """Return the violations that auditing again does not report, but that may still be open.

        :param begin: version after which commits are audited
        :param names: file names in the log
        """
        kept = (v for v in self.standing if _is_older(v.finding, begin) and v.finding.code not in _LOOKED_AT_EACH_TIME)
        return [violation for violation in kept if _may_stand(violation.finding, names)]

    def may_stand(self, names: Collection[str]) -> bool:
        """Return True if all findings may still be open, according to the names of the files in the log."""
        return all(_may_stand(finding, names) for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "table_id": self.state.metadata.id,
            "level": self.level,
            **state_to_json(self.state),
            "commit_info": dict(self.commit_info),
            "findings": [finding.to_json() for finding in self.findings],
            "reported": self.reported.to_json(),
            **({} if self.facts is None else {"facts": self.facts.to_json()}),
        }

    @classmethod
    def from_json(cls, wire: Any) -> AuditState:
        """Read a saved state.

        :raises BrokenStateError: if it has another schema version or is damaged
        """
        try:
            if wire["schema_version"] != SCHEMA_VERSION:
                raise BrokenStateError(f"it has schema version {wire['schema_version']}, not {SCHEMA_VERSION}")
            state = state_from_json(wire)
            findings = tuple(map(Finding.from_json, wire["findings"]))
            facts = None if "facts" not in wire else HistoryFacts.from_json(wire["facts"])
            # States from before receipts existed count as received.
            known = wire.get("reported")
            reported = Reported.of(findings) if known is None else Reported.from_json(known)
            return cls(state, dict(wire["commit_info"]), findings, str(wire["level"]), reported, facts)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, BrokenStateError):
                raise
            raise BrokenStateError(f"it is damaged: {error!r}") from error


def _is_older(finding: Finding, begin: int) -> bool:
    if begin < 0 and finding.code == REUSED_PATH.code:
        return False  # audited again with all commits before it
    return finding.version is None or finding.version <= begin or _needs_more(finding)


def _needs_more(finding: Finding) -> bool:
    """Return True if the finding depends on more than its commit and the state before it."""
    rule = rule_of(finding)
    return rule in (UNKNOWN, REUSED_PATH) or rule.scope is Scope.DATA


def _may_stand(finding: Finding, names: Collection[str]) -> bool:
    """Return True if a finding about a log file may still hold.

    A file that was missing must still be missing; any other file must still exist.
    """
    directory, _, name = (finding.path or "").rpartition("/")
    return directory != "_delta_log" or (name in names) != (finding.code == GAP.code)


def _is_judged_anew(finding: Finding) -> bool:
    if finding.at_or_before or _needs_more(finding):
        return False
    return (
        finding.severity is Severity.ERROR
        or finding.path is not None
        or finding.code == MATERIALIZED_NAMES_CHANGED.code
    )
