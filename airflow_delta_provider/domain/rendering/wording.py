"""What a finding says: its own evidence, and what its rule adds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.finding import Finding


@dataclass(frozen=True)
class Wording:
    """The parts of a finding's message.

    :param title: what the rule calls it; empty for a code that this version does not know
    :param evidence: what is wrong, how many more have the same problem, and whether a waiver has expired; the whole
        message of a finding that has no evidence, and may then have several lines
    :param effect: what it does to readers or writers; empty where the message says it, or it is not known
    :param remedy: what to do; empty as the effect
    """

    title: str
    evidence: str
    effect: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, finding: Finding) -> Wording:
        """Return what a finding says."""
        rule = RULES.get(finding.code)
        if rule is None:
            return cls("", finding.message)
        if finding.evidence is None:
            return cls(rule.title, finding.message)
        return cls(
            rule.title,
            " ".join(filter(None, (finding.evidence, finding.alike_text, finding.expired_text))),
            rule.effect if finding.effect is None else finding.effect,
            rule.remedy if finding.remedy is None else finding.remedy,
        )

    @property
    def labelled(self) -> Wording:
        """The same with words that say what effect and remedy are."""
        effect = f"Effect: {self.effect}" if self.effect else ""
        return replace(self, effect=effect, remedy=f"Remedy: {self.remedy}" if self.remedy else "")

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Evidence, effect and remedy, as far as there are any."""
        return tuple(filter(None, (self.evidence, self.effect, self.remedy)))
