"""Rules: the stable codes of the kinds of findings, with all facts about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

from airflow_delta_provider.domain.checks.evidence import comparable, sentence
from airflow_delta_provider.domain.checks.healing import Healing
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity


class Scope(Enum):
    """The object that a rule checks."""

    STATE = "state"
    COMMIT = "commit"
    PAIR = "pair"
    HISTORY = "history"
    DATA = "data"
    OUTCOME = "outcome"
    PLAN = "plan"
    SPEC = "spec"
    REQUEST = "request"
    PLATFORM = "platform"

    @property
    def meaning(self) -> str:
        """The checked object in one phrase."""
        return _MEANINGS[self]

    @property
    def is_table(self) -> bool:
        """Return True if the rule is about a table, not about a request or the platform that carries it out."""
        return self not in (Scope.REQUEST, Scope.PLATFORM)


_MEANINGS = {
    Scope.STATE: "one version of a table, as its log describes it",
    Scope.COMMIT: "what one commit writes",
    Scope.PAIR: "what one commit changes of the version before it",
    Scope.HISTORY: "commits and checkpoints further back than that",
    Scope.DATA: "data files: that they are there, their footers, their rows",
    Scope.OUTCOME: "a table after a job has changed it, against what was asked for",
    Scope.PLAN: "a migration of a table, before anything is changed",
    Scope.SPEC: "a table, against the spec that declares it",
    Scope.REQUEST: "what a job was asked for, on this table and with this engine",
    Scope.PLATFORM: "storage, credentials, the engine, the provider itself",
}


class Need(Enum):
    """Data about the past that a rule needs in addition to the commit that it checks.

    An audit that begins at a version has the past from its commits. An audit that resumes from a saved state must not
    check with less.
    """

    STATE = auto()
    """Protocol, metadata and domains of the version before: saved."""
    COMMIT = auto()
    """The ``commitInfo`` of the commit before: saved."""
    FILES = auto()
    """The live files: read again if a commit may be about one of them."""
    PATHS = auto()
    """True if a file was ever part of the table: read again if the commit alone would break the rule."""
    VERSIONS = auto()
    """True if the table was like this in an earlier version: read again if the commit would break the rule."""
    COLUMN_IDS = auto()
    """Ids of the columns that each physical path has referred to: saved."""
    USED_FEATURES = auto()
    """Features that some version used: saved."""
    EVER_DROPPED = auto()
    """True if some version recorded that columns had been dropped: saved."""
    HIGH_WATER_MARK = auto()
    """The last high water mark of row ids: saved."""
    LOG = auto()
    """Log files in addition to the new commits: checked if they are newer than the last audit."""


class FileAspect(Enum):
    """The faulty aspect of a file: a finding is attributed to the first action that recorded the present value."""

    PATH = "path"
    ROW_IDS = "row ids"
    ROW_COUNT = "row count"
    DELETION_VECTOR = "deletion vector"


@dataclass(frozen=True)
class Causes:
    """The rules that may have caused a violation: it is shown below the finding that caused it.

    :param rules: the likeliest first; rules of the same family that are defined later are given by code
    :param later: whether it can also appear in later commits than the cause
    :param earlier: whether files that were right before the cause can be wrong through it
    :param same_file: whether it follows only if both are about the same file
    :param any_commit: whether it follows from any error in a commit
    :param afterwards: further rules that can cause it only in later commits
    """

    rules: tuple[Rule | str, ...] = ()
    later: bool = False
    earlier: bool = False
    same_file: bool = False
    any_commit: bool = False
    afterwards: tuple[Rule | str, ...] = ()


def causes(
    *rules: Rule | str,
    later: bool = False,
    earlier: bool = False,
    same_file: bool = False,
    afterwards: tuple[Rule | str, ...] = (),
) -> Causes:
    """Return causes; see :class:`Causes` for the parameters."""
    return Causes(rules, later, earlier, same_file, afterwards=afterwards)


#: Causes of violations that follow from any error in a commit, such as those in files derived from the commits.
ANY_COMMIT = Causes(later=True, any_commit=True)

#: Value of ``shows``: the action whose kind is the finding's subject is shown.
OF_SUBJECT = "subject"


@dataclass(frozen=True, eq=False)
class Rule:
    """One entry of the catalogue.

    :param family: family with the prefix of its code
    :param code: stable code
    :param severity: severity of its findings, unless they have their own
    :param title: the fault in a few words
    :param scope: the object that it checks
    :param remedy: the fix, in a sentence
    :param effect: the effect on readers or writers of the table, in a sentence
    :param source: its source: sections of PROTOCOL.md
    :param threads: public threads about it, as ``owner/repository#number``
    :param follows_from: possible causes of its violations
    :param leads_to: rules of families below that a violation may cause to be broken
    :param healing: condition for it to stay broken, if later commits can decide that; otherwise it stays broken until
        its files are removed, or until the state is right again
    :param needs: data about the past that it needs
    :param shows: kind of the action that is shown with a finding; ``remove`` prefers the ``remove`` action of the file;
        None: as in its family
    :param about_live_files: whether its findings name a file that is live as long as they are open
    :param about_older_files: whether undoing the damage breaks it for files that were written in the meantime
    :param survives_replacement: whether replacing the whole table does not fix it
    :param reported_once: whether it is reported only once, even if it stays true
    :param of_all_columns: whether its findings are about all columns of a table, although they name only one
    :param blames: faulty aspect of the file that its findings name: they belong to the commit that first wrote it so;
        None: as in its family
    """

    family: RuleFamily
    code: str
    severity: Severity
    title: str
    scope: Scope
    remedy: str = ""
    effect: str = ""
    source: str = ""
    threads: tuple[str, ...] = ()
    follows_from: Causes = Causes()
    leads_to: tuple[Rule, ...] = ()
    healing: Healing | None = None
    needs: tuple[Need, ...] = ()
    shows: str | None = None
    about_live_files: bool = False
    about_older_files: bool = False
    survives_replacement: bool = False
    reported_once: bool = False
    of_all_columns: bool = False
    blames: FileAspect | None = None

    def found(
        self,
        evidence: str,
        *,
        severity: Severity | None = None,
        effect: str | None = None,
        remedy: str | None = None,
        version: int | None = None,
        path: str | None = None,
        column: object = None,
        subject: str | None = None,
        made_by: Mapping[str, Any] = MappingProxyType({}),
        **facts: Any,
    ) -> Finding:
        """Return a finding of this rule.

        The facts of the evidence and the place decide whether a later finding counts as the same. Pass a value as
        :class:`~.evidence.Prose` if it must not affect this.

        :param evidence: the fault with names and numbers: a sentence with ``{name}`` as the placeholder of a fact
        :param severity: severity, if it differs from the rule's
        :param effect: effect on readers or writers, if it differs from the rule's
        :param remedy: the fix, if it differs from the rule's
        :param made_by: fields of the finding that identify its commit, if the caller of the check does not know it
        :param facts: plain values, which the evidence may name
        """
        finding = Finding(
            self.code,
            severity or self.severity,
            "",
            version=version,
            path=path,
            column=None if column is None else str(column),
            subject=subject,
            facts=comparable(facts) or None,
            effect=effect,
            remedy=remedy,
        )
        where = {"version": version, "path": path, "column": finding.column, "subject": subject}
        return self.worded(replace(finding, evidence=sentence(evidence, {**where, **facts}), **made_by))

    def worded(self, finding: Finding) -> Finding:
        """Return a finding of this rule with its message composed again; without evidence, it is unchanged."""
        if finding.evidence is None:
            return finding
        parts = (
            finding.evidence,
            finding.alike_text,
            finding.expired_text,
            self.effect if finding.effect is None else finding.effect,
            self.remedy if finding.remedy is None else finding.remedy,
        )
        return replace(finding, message=" ".join(part for part in parts if part))


@dataclass(frozen=True, eq=False)
class RuleFamily:
    """Rules with a common prefix of their codes.

    :param prefix: prefix of their codes
    :param title: their topic in a few words
    :param about: their topic in a sentence or two
    :param source: source of rules that name none of their own
    :param shows: kind of the action that is shown with findings
    :param compares: whether its rules are about protocol and metadata, so that later commits can be compared with the
        state before a violation
    :param blames: faulty aspect of the files that findings name
    """

    prefix: str
    title: str
    about: str
    source: str = ""
    shows: str = "metaData"
    compares: bool = False
    blames: FileAspect = FileAspect.PATH
    _rules: dict[str, Rule] = field(default_factory=dict, repr=False)

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for _, rule in sorted(self._rules.items()))

    def of(self, scope: Scope, source: str | None = None, **shared: Any) -> RuleGroup:
        """Return a group that makes the rules of the family that check ``scope``.

        :param shared: values for all rules of the group that do not have their own, such as ``remedy`` or ``needs``
        """
        return RuleGroup(self, scope, {"source": self.source if source is None else source, **shared})

    def register(self, rule: Rule) -> Rule:
        """Add a rule to the family and return it.

        :raises ValueError: if the family already has its code
        """
        if rule.code in self._rules:
            raise ValueError(f"There are two rules with the code {rule.code}.")
        self._rules[rule.code] = rule
        return rule


@dataclass(frozen=True)
class RuleGroup:
    """A factory of rules of a family that check one scope: ``group.error(1, "title", effect="…", remedy="…")``.

    Other fields of a rule, such as ``healing`` or ``shows``, are passed by name as in :class:`Rule`.

    :param shared: values for all its rules that do not have their own
    """

    family: RuleFamily
    scope: Scope
    shared: Mapping[str, Any]

    def error(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings are errors."""
        return self._register(Severity.ERROR, number, title, known)

    def warning(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings are warnings."""
        return self._register(Severity.WARNING, number, title, known)

    def undecided(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings report something that could not be decided."""
        return self._register(Severity.UNDECIDED, number, title, known)

    def _register(self, severity: Severity, number: int, title: str, known: Mapping[str, Any]) -> Rule:
        code = f"{self.family.prefix}{number:02d}"
        return self.family.register(Rule(self.family, code, severity, title, self.scope, **{**self.shared, **known}))
