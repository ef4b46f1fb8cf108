"""A rule: the stable code of one kind of finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


@dataclass(frozen=True)
class Rule:
    """One entry of the catalogue.

    :param code: stable code
    :param severity: severity of its findings
    :param title: what is wrong, in a few words
    :param source: where it comes from: a section of PROTOCOL.md, a spec, a public thread
    """

    code: str
    severity: Severity
    title: str
    source: str = ""

    def finding(self, message: str, **where: Any) -> Finding:
        """Return a finding of this rule; ``where`` as in :class:`Finding`."""
        return Finding(self.code, self.severity, message, **where)


@dataclass(frozen=True)
class RuleFamily:
    """Rules whose codes begin alike; makes them.

    :param prefix: what their codes begin with
    :param source: where those come from that name no source of their own
    """

    prefix: str
    source: str = ""

    def error(self, number: int, title: str, source: str | None = None) -> Rule:
        """Return a rule whose findings are errors."""
        return self._rule(Severity.ERROR, number, title, source)

    def warning(self, number: int, title: str, source: str | None = None) -> Rule:
        """Return a rule whose findings are warnings."""
        return self._rule(Severity.WARNING, number, title, source)

    def undecided(self, number: int, title: str, source: str | None = None) -> Rule:
        """Return a rule whose findings say that something could not be decided."""
        return self._rule(Severity.UNDECIDED, number, title, source)

    def _rule(self, severity: Severity, number: int, title: str, source: str | None) -> Rule:
        return Rule(f"{self.prefix}{number:02d}", severity, title, self.source if source is None else source)
