"""A rule: the stable code of one kind of finding, and all that the package knows about it."""

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
    """What a rule looks at."""

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
        """What is looked at, in one phrase."""
        return _MEANINGS[self]

    @property
    def is_table(self) -> bool:
        """Whether the rule is about a table, and not about a request or what carries it out."""
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
    """What a rule needs of the past, in addition to the commit that it checks.

    An audit that begins at a version has the past from its commits. One that resumes from the state of an earlier
    audit must not judge by less.
    """

    STATE = auto()
    """Protocol, metadata and domains of the version before: saved."""
    COMMIT = auto()
    """What the commit before says of itself: saved."""
    FILES = auto()
    """The live files: read again where a commit may be about one of them."""
    PATHS = auto()
    """Whether a file was ever part of the table: read again where the commit alone would break the rule."""
    VERSIONS = auto()
    """Whether the table was like this in an earlier version: read again where the commit would break the rule."""
    COLUMN_IDS = auto()
    """Which columns each physical path has led to: saved."""
    USED_FEATURES = auto()
    """Features that some version used: saved."""
    EVER_DROPPED = auto()
    """Whether some version said that columns had been dropped: saved."""
    HIGH_WATER_MARK = auto()
    """The last high water mark of row ids that was there: saved."""
    LOG = auto()
    """Files of the log in addition to the new commits: looked at where they are new since."""


class FileAspect(Enum):
    """What is wrong with a file: the first action that said so of it is to blame."""

    PATH = "path"
    ROW_IDS = "row ids"
    ROW_COUNT = "row count"
    DELETION_VECTOR = "deletion vector"


@dataclass(frozen=True)
class Causes:
    """The rules that a violation may be a mere consequence of: it is shown below the finding that caused it.

    :param rules: the likeliest first; of the rule's own family also by code, for those that are defined later
    :param later: whether it shows in later commits than the cause, too
    :param earlier: whether it is wrong with files that were right before the cause
    :param same_file: whether it follows only where both are about the same file
    :param any_commit: whether it follows from any error in a commit
    :param afterwards: more rules, from which it follows in later commits only
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
    """Return causes; the parameters as in :class:`Causes`."""
    return Causes(rules, later, earlier, same_file, afterwards=afterwards)


#: What follows from any error in a commit, as a file does that was derived from the commits.
ANY_COMMIT = Causes(later=True, any_commit=True)

#: Shown with a finding: the action whose kind its subject names.
OF_SUBJECT = "subject"


@dataclass(frozen=True, eq=False)
class Rule:
    """One entry of the catalogue.

    :param family: that its code begins with
    :param code: stable code
    :param severity: severity of its findings, where they do not say another
    :param title: what is wrong, in a few words
    :param scope: what it looks at
    :param remedy: what to do about it, in a sentence
    :param effect: what it can do to readers or writers of the table, in a sentence
    :param source: where it comes from: sections of PROTOCOL.md
    :param threads: public threads about it, as ``owner/repository#number``
    :param follows_from: what its violations may be consequences of
    :param leads_to: rules of families below whose violations may be consequences of this one
    :param healing: until when it stays broken, where later commits can decide it; else until its files are gone, or
        until the state is right again
    :param needs: of the past
    :param shows: kind of the action that is shown with a finding; ``remove``: of a file, its ``remove`` action first;
        None: as its family
    :param about_live_files: whether its findings name a file that is live as long as they are open
    :param about_older_files: whether a change back to what was before the damage breaks it for what was written in
        the meantime
    :param survives_replacement: whether replacing all of the table does not heal it
    :param reported_once: whether it is reported once, though it stays true
    :param of_all_columns: whether its findings are about all columns of a table, of which they name one
    :param blames: what is wrong with the file that its findings name: they belong to the commit that wrote that first;
        None: as its family
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

        The facts of the evidence, and where it is, decide whether a later finding says the same: a value of which that
        must not depend is given as :class:`~.evidence.Prose`.

        :param evidence: what is wrong, with names and numbers: a sentence, in which ``{name}`` stands for a fact
        :param severity: if it is another than the rule's
        :param effect: what it does to readers or writers, if it is something else than the rule says
        :param remedy: what to do about it, if it is something else than the rule says
        :param made_by: fields of the finding that say which commit it is about, if what runs the check does not know it
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
        """Return a finding of this rule with the message composed again; one that has no evidence stays as it is."""
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
    """Rules whose codes begin alike.

    :param prefix: what their codes begin with
    :param title: what they are about, in a few words
    :param about: the same, in a sentence or two
    :param source: where those come from that name no source of their own
    :param shows: kind of the action that is shown with findings
    :param compares: whether its rules are about protocol and metadata, so that later commits can be compared with the
        state before a violation
    :param blames: what is wrong with files that findings name
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
        """All rules of the family, by code."""
        return tuple(rule for _, rule in sorted(self._rules.items()))

    def of(self, scope: Scope, source: str | None = None, **shared: Any) -> RuleGroup:
        """Return what makes those rules of the family that look at ``scope``.

        :param shared: what the rules have that do not say otherwise, such as ``remedy`` or ``needs``
        """
        return RuleGroup(self, scope, {"source": self.source if source is None else source, **shared})

    def register(self, rule: Rule) -> Rule:
        """Take a rule into the family, and return it.

        :raises ValueError: if the family has its code already
        """
        if rule.code in self._rules:
            raise ValueError(f"There are two rules with the code {rule.code}.")
        self._rules[rule.code] = rule
        return rule


@dataclass(frozen=True)
class RuleGroup:
    """Makes the rules of a family that look at one scope: ``group.error(1, "title", effect="…", remedy="…")``.

    The rest of what a rule has, such as ``healing`` or ``shows``, as in :class:`Rule`.

    :param shared: what its rules have that do not say otherwise
    """

    family: RuleFamily
    scope: Scope
    shared: Mapping[str, Any]

    def error(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule of that number, whose findings are errors."""
        return self._register(Severity.ERROR, number, title, known)

    def warning(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule of that number, whose findings are warnings."""
        return self._register(Severity.WARNING, number, title, known)

    def undecided(self, number: int, title: str, **known: Any) -> Rule:
        """Register and return the rule of that number, whose findings say that something could not be decided."""
        return self._register(Severity.UNDECIDED, number, title, known)

    def _register(self, severity: Severity, number: int, title: str, known: Mapping[str, Any]) -> Rule:
        code = f"{self.family.prefix}{number:02d}"
        return self.family.register(Rule(self.family, code, severity, title, self.scope, **{**self.shared, **known}))
