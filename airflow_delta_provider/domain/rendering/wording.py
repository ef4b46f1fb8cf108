"""The message of a finding: its own evidence, with the effect and remedy of its rule."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.finding import Finding


@dataclass(frozen=True)
class Wording:
    """The parts of a finding's message.

    :param title: title of the rule; empty for a code that this version does not know
    :param evidence: the problem, the number of further cases, and an expired waiver; for a finding without evidence,
        its whole message, which may have several lines
    :param effect: effect on readers or writers; empty if the message contains it, or if it is unknown
    :param remedy: advice; empty if the message contains it, or if it is unknown
    """

    title: str
    evidence: str
    effect: str = ""
    remedy: str = ""

    @classmethod
    def of(cls, finding: Finding) -> Wording:
        """Return the wording of a finding."""
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
        """The same wording with labels before effect and remedy."""
        effect = f"Effect: {self.effect}" if self.effect else ""
        return replace(self, effect=effect, remedy=f"Remedy: {self.remedy}" if self.remedy else "")

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Evidence, effect and remedy, without empty ones."""
        return tuple(filter(None, (self.evidence, self.effect, self.remedy)))
