"""A rule: the stable code of one kind of finding."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


class Scope(Enum):
    """What a rule looks at."""

    STATE = "state"
    COMMIT = "commit"
    PAIR = "pair"
    HISTORY = "history"
    DATA = "data"
    OUTCOME = "outcome"
    REQUEST = "request"
    PLATFORM = "platform"

    @property
    def meaning(self) -> str:
        """What is looked at, in one phrase."""
        return _MEANINGS[self]

    @property
    def is_table(self) -> bool:
        """Whether the rule is about a table, and not about a request or what carries it out."""
        return self not in (Scope.REQUEST, Scope.PLATFORM)


_MEANINGS = {
    Scope.STATE: "one version of a table, as its log tells it",
    Scope.COMMIT: "what one commit writes",
    Scope.PAIR: "what one commit changes of the version before it",
    Scope.HISTORY: "commits and checkpoints further back than that",
    Scope.DATA: "data files: that they are there, their footers, their rows",
    Scope.OUTCOME: "a table after a job has changed it, against what was asked for",
    Scope.REQUEST: "what a job was asked for, on this table and with this engine",
    Scope.PLATFORM: "storage, credentials, the engine, the provider itself",
}


@dataclass(frozen=True)
class Rule:
    """One entry of the catalogue.

    :param code: stable code
    :param severity: severity of its findings, where they do not say another
    :param title: what is wrong, in a few words
    :param scope: what it looks at
    :param remedy: what to do about it, in a sentence
    :param effect: what it can do to readers or writers of the table, in a sentence
    :param source: where it comes from: sections of PROTOCOL.md
    :param threads: public threads about it, as ``owner/repository#number``
    """

    code: str
    severity: Severity
    title: str
    scope: Scope
    remedy: str
    effect: str = ""
    source: str = ""
    threads: tuple[str, ...] = ()

    def finding(self, message: str, **where: Any) -> Finding:
        """Return a finding of this rule; ``where`` as in :class:`Finding`."""
        return Finding(self.code, self.severity, message, **where)


@dataclass(frozen=True)
class RuleFamily:
    """Rules whose codes begin alike.

    :param prefix: what their codes begin with
    :param title: what they are about, in a few words
    :param about: the same, in a sentence or two
    :param source: where those come from that name no source of their own
    """

    prefix: str
    title: str
    about: str
    source: str = ""

    def of(self, scope: Scope, source: str | None = None) -> RuleGroup:
        """Return what makes those rules of the family that look at ``scope``."""
        return RuleGroup(self.prefix, scope, self.source if source is None else source)


@dataclass(frozen=True)
class RuleGroup:
    """Makes the rules of a family that look at one scope: ``group.error(1, "title", effect="…", remedy="…")``."""

    prefix: str
    scope: Scope
    source: str

    @property
    def error(self) -> RuleMaker:
        """Makes rules whose findings are errors."""
        return RuleMaker(self, Severity.ERROR)

    @property
    def warning(self) -> RuleMaker:
        """Makes rules whose findings are warnings."""
        return RuleMaker(self, Severity.WARNING)

    @property
    def undecided(self) -> RuleMaker:
        """Makes rules whose findings say that something could not be decided."""
        return RuleMaker(self, Severity.UNDECIDED)


@dataclass(frozen=True)
class RuleMaker:
    """Makes the rules of a group that have one severity."""

    group: RuleGroup
    severity: Severity

    def __call__(
        self,
        number: int,
        title: str,
        *,
        remedy: str,
        effect: str = "",
        source: str | None = None,
        threads: tuple[str, ...] = (),
    ) -> Rule:
        """Return the rule of that number in its family; the rest as in :class:`Rule`."""
        code = f"{self.group.prefix}{number:02d}"
        source = self.group.source if source is None else source
        return Rule(code, self.severity, title, self.group.scope, remedy, effect, source, threads)
