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
