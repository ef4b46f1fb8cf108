"""Rules: the stable codes of the kinds of findings, with all facts about them; and the evidence of a finding."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import visible

#: A value of a fact: JSON.
Fact = Any


class Prose(str):
    """A string in the sentence that is not a fact: changing it does not create a new finding."""

    __slots__ = ()


def sentence(template: str, facts: Mapping[str, Fact]) -> str:
    """Return the template with the facts filled in.

    Lists are joined by commas. A noun as format counts: ``{files:file}`` gives ``1 file`` or ``3 files``, and
    ``{keys:entry|entries}`` uses the second form unless the number is 1. In facts that are not prose, unprintable
    characters are escaped as in Python, so that a fact cannot start a new line.
    """
    return _Sentence().vformat(template, (), facts)


def comparable(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts as JSON, without prose."""
    return {name: _json(value) for name, value in facts.items() if not isinstance(value, Prose)}


class _Sentence(string.Formatter):
    def format_field(self, value: Fact, format_spec: str) -> str:
        if isinstance(value, (list, tuple)):
            return ", ".join(visible(str(item)) for item in value)
        if format_spec[:1].isalpha() and format_spec not in _NUMBER_FORMATS:
            one, _, many = format_spec.partition("|")
            return f"{_number(value)} {one if value == 1 else many or f'{one}s'}"
        text = str(super().format_field(value, format_spec))
        return text if isinstance(value, Prose) else visible(text)


_NUMBER_FORMATS = frozenset("bcdeEfFgGnoxX")


def _number(value: Fact) -> str:
    """Return a number of things, whole or not; None is an unknown number."""
    if value is None:
        return "an unknown number of"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, (int, float)) else visible(str(value))


def _json(value: Fact) -> Fact:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    return str(value)


#: Data that the condition needs in addition to the finding: plain JSON, which may change as commits are applied. A
#: later audit resumes from it.
Details = dict[str, Any]


class StillOpen(NamedTuple):
    """A check of later commits, applied in order, whether a violation is still open.

    :param holds: returns True if the violation is still open after a commit
    :param details: data that the check needs in addition to the finding, as far as it is known
    """

    holds: Callable[[Transition], bool]
    details: Details | None = None

    def __call__(self, later: Transition) -> bool:
        """Return True if the violation is still open after a commit."""
        return self.holds(later)


class Healing(NamedTuple):
    """The fix of a violation by later commits.

    :param still_open: returns True if the violation is still open after a later commit, given the finding and its
        details
    :param details: returns the details from the finding and the commit that broke the rule
    :param needs_details: True if details are required; a finding may get them from another place than ``details``
    :param by_files: True if a commit that changes only files can fix it
    :param by_restore: True if a commit that returns to an earlier version fixes it
    """

    still_open: Callable[[Transition, Finding, Details], bool]
    details: Callable[[Finding, Transition], Details] | None = None
    needs_details: bool = False
    by_files: bool = False
    by_restore: bool = False

    def after(self, finding: Finding, transition: Transition) -> StillOpen:
        """Return the check whether a finding is still open.

        :param transition: the commit that the finding is about
        """
        return self.by(finding, {} if self.details is None else self.details(finding, transition))

    def by(self, finding: Finding, details: Details) -> StillOpen:
        """Return the check from details that were taken before."""
        return StillOpen(partial(self._holds, finding=finding, details=details), details)

    def _holds(self, later: Transition, finding: Finding, details: Details) -> bool:
        return self.still_open(later, finding, details)


#: Remedy for a table that no engine opens, so that none can change it.
BY_COMMIT = "as the next commit of the log: Delta Spark and deltalake refuse the table"
#: Delta Spark opens such a table only if the versions of its protocol imply features.
OR_BY_COMMIT = "If Delta Spark refuses, list it in a protocol action, as the next commit."
#: The reason why RESTORE may be refused; the property is read from the current table.
_TOO_OLD = (
    "Delta Spark refuses to go back to a version older than delta.deletedFileRetentionDuration ({retention}): set that "
    "property higher first. The data files of the version must still exist."
)
_MAKE_AGAIN = (
    "write the rows to a new table, with CREATE TABLE … AS SELECT, or from the data files if no engine opens the table"
)


class Place(NamedTuple):
    """A finding's place in the history of its table.

    :param version: version of the finding
    :param at_or_before: True if the log does not go back to a version without the finding
    :param oldest: first version that the log can reconstruct; None if there is none
    :param newest: newest version of the table
    :param retention: ``delta.deletedFileRetentionDuration`` of the table if the version before the finding is older;
        otherwise None
    :param table: the table's name in SQL; None if it is unknown
    """

    version: int
    at_or_before: bool
    oldest: int | None
    newest: int
    retention: str | None = None
    table: str | None = None

    @property
    def sound(self) -> int | None:
        """The newest version without the finding; None if the log cannot reconstruct it."""
        known = self.oldest is not None and self.oldest < self.version and not self.at_or_before
        return self.version - 1 if known else None


class Restore(str):
    """A remedy that returns to the version before a finding.

    As a string, it is the remedy for any table, as on the page of rules. :meth:`at` returns the one for a finding.

    :param then: rest of the sentence, as in "RESTORE the table to the previous version<then>."
    :param first: sentence before that one
    :param instead: remedy that keeps the rows written since, or that needs no earlier version: a phrase that begins
        with a verb in lower case
    :param of_file: True if the version is the one before the file that the finding names was added
    """

    then: str
    first: str
    instead: str

    def __new__(cls, then: str = "", *, first: str = "", instead: str = "", of_file: bool = False) -> Restore:
        to = "a version before the file was added" if of_file else "the previous version"
        options = f"{_begun(instead)}, or RESTORE" if instead else "RESTORE"
        self = super().__new__(cls, _joined(first, f"{options} the table to {to}{then}.", "That loses later rows."))
        self.then, self.first, self.instead = then, first, instead
        return self

    def at(self, place: Place) -> str:
        """Return the remedy for a finding at this place."""
        if place.sound is None:
            missing = (
                "Version 0 has no version before it."
                if place.version == 0
                else f"The log leads to no version before {place.version}, so RESTORE cannot help."
            )
            return _joined(missing, self.first, f"{_begun(self.instead or _MAKE_AGAIN)}.")
        restore = f"RESTORE the table to version {place.sound}{self.then}."
        if self.instead:
            restore = f"{_begun(self.instead)}. Or {restore}"
        refused = "" if place.retention is None else _TOO_OLD.format(retention=place.retention)
        # Spark without a platform around it reads S3 as s3a only, and platforms know both.
        table = None if place.table is None else place.table.replace("`s3://", "`s3a://", 1)
        command = "" if table is None else f"Command: RESTORE TABLE {table} TO VERSION AS OF {place.sound}"
        return _joined(self.first, restore, _loss(place), refused, command)


def _loss(place: Place) -> str:
    if place.newest == place.version:
        return f"RESTORE removes the rows that version {place.version} wrote."
    return (
        f"RESTORE removes all rows that versions {place.version} to {place.newest} wrote, including good ones: copy "
        "those first."
    )


def _begun(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


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
    STATISTICS = "statistics"


class RepairMethod(Enum):
    """A way to repair a table by one commit, without a version to go back to; see ``domain/repair``."""

    EARLIER_VALUES = "earlier values"
    """Values of protocol, metadata and domains are set back to those before the commit that broke the rule."""
    LISTED_FEATURES = "listed features"
    """The protocol lists the features that the table has and uses."""
    UNSET_PROPERTY = "property removed"
    """The property that breaks the rule is removed."""
    GREATEST_COLUMN_ID = "greatest column id"
    """``maxColumnId`` is set to the greatest id of a column."""
    HIGH_WATER_MARK = "high water mark"
    """The high water mark of row ids is set to the highest id that was assigned."""
    REQUIRED_FIELDS = "required fields of the schema"
    """Fields that a schema requires get the values that readers assume."""
    TYPE_CHANGES = "type changes recorded"
    """``delta.typeChanges`` records the types that a column has had; if needed, type widening is enabled."""
    CLUSTERING_NAMES = "clustering columns by physical name"
    """The clustering columns are named as in data files."""
    TIMESTAMP_START = "start of in-commit timestamps"
    """The version and the time at which in-commit timestamps were enabled are recorded."""
    STATISTICS = "statistics of a file"
    """A file is committed again with right statistics, or without those that are wrong."""
    PARTITION_VALUES = "partition values of a file"
    """A file is committed again with partition values that are known to be right."""
    FILE_FIELDS = "fields of a file"
    """A file is committed again with the fields that the storage and its other fields show."""
    VECTOR_FIELDS = "fields of a deletion vector"
    """A file is committed again with a descriptor that fits its inline deletion vector."""
    ROW_IDS = "row ids of a file"
    """A file without row ids is committed again with fresh ones."""
    ONE_PATH = "one path of a file"
    """The second reference to a file is removed."""
    COPY = "copy of a file"
    """A data file is copied and committed as a new one, so that its rows get new row ids."""
    MISSING_FILE = "reference to a missing file"
    """The reference to a data file that is gone is removed."""
    IDENTITY_MARK = "high water mark of an identity column"
    """The high water mark of an identity column is set past all known values."""
    EARLIER_VERSION = "earlier version"
    """The table goes back to the version before the finding, as by RESTORE: rows written since are lost."""
    DERIVED_FILE = "derived file"
    """A file that the commits make dispensable is moved aside: a checkpoint, a checksum, a compaction."""


#: Value of ``shows``: the action whose kind is the finding's subject is shown.
OF_SUBJECT = "subject"


@dataclass(frozen=True, eq=False)
class Rule:
    """One entry of the catalogue.

    :param family: family with the prefix of its code
    :param code: stable code
    :param severity: severity of its findings, unless they have their own
    :param title: the fault in a few words
    :param name: unique, stable name for people, in kebab case: the fault in two to six words
    :param scope: the object that it checks
    :param remedy: the fix, in a sentence
    :param effect: the effect on readers or writers of the table, in a sentence
    :param source: its source: sections of PROTOCOL.md
    :param threads: public threads about it, as ``owner/repository#number``
    :param healing: condition for it to stay broken, if later commits can decide that; otherwise it stays broken until
        its files are removed, or until the state is right again
    :param needs: data about the past that it needs
    :param shows: kind of the action that is shown with a finding; ``remove`` prefers the ``remove`` action of the file;
        None: as in its family
    :param about_live_files: True if its findings name a file that is live as long as they are open
    :param about_older_files: True if undoing the damage breaks it for files that were written in the meantime
    :param survives_replacement: True if replacing the whole table does not fix it
    :param reported_once: True if it is reported only once, even if it stays true
    :param of_all_columns: True if its findings are about all columns of a table, although they name only one
    :param blames: faulty aspect of the file that its findings name: they belong to the commit that first wrote it so;
        None: as in its family
    :param since: first release that has it
    :param repairs: ways to repair the table, in the order in which they are tried; None: as in its family
    """

    family: RuleFamily
    code: str
    severity: Severity
    title: str
    name: str
    scope: Scope
    remedy: str = ""
    effect: str = ""
    source: str = ""
    threads: tuple[str, ...] = ()
    healing: Healing | None = None
    needs: tuple[Need, ...] = ()
    shows: str | None = None
    about_live_files: bool = False
    about_older_files: bool = False
    survives_replacement: bool = False
    reported_once: bool = False
    of_all_columns: bool = False
    blames: FileAspect | None = None
    since: str = "0.1.0"
    repairs: tuple[RepairMethod, ...] | None = None

    @property
    def all_repairs(self) -> tuple[RepairMethod, ...]:
        """Ways to repair the table, in the order in which they are tried."""
        own = self.family.repairs if self.repairs is None else self.repairs
        return (*own, RepairMethod.EARLIER_VERSION) if isinstance(self.remedy, Restore) else own

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
    :param compares: True if its rules are about protocol and metadata, so that later commits can be compared with the
        state before a violation
    :param blames: faulty aspect of the files that findings name
    :param repairs: ways to repair a table that breaks one of its rules
    """

    prefix: str
    title: str
    about: str
    source: str = ""
    shows: str = "metaData"
    compares: bool = False
    blames: FileAspect = FileAspect.PATH
    repairs: tuple[RepairMethod, ...] = ()
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


class RuleGroup(NamedTuple):
    """A factory of rules of a family that check one scope: ``group.error(1, "title", name="…", effect="…")``.

    Other fields of a rule, such as ``healing`` or ``shows``, are passed by name as in :class:`Rule`.

    :param shared: values for all its rules that do not have their own
    """

    family: RuleFamily
    scope: Scope
    shared: Mapping[str, Any]

    def error(self, number: int, title: str, *, name: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings are errors."""
        return self._register(Severity.ERROR, number, title, name, known)

    def warning(self, number: int, title: str, *, name: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings are warnings."""
        return self._register(Severity.WARNING, number, title, name, known)

    def undecided(self, number: int, title: str, *, name: str, **known: Any) -> Rule:
        """Register and return the rule with that number, whose findings report something that could not be decided."""
        return self._register(Severity.UNDECIDED, number, title, name, known)

    def _register(self, severity: Severity, number: int, title: str, name: str, known: Mapping[str, Any]) -> Rule:
        code = f"{self.family.prefix}{number:02d}"
        fields = {**self.shared, **known}
        return self.family.register(Rule(self.family, code, severity, title, name, self.scope, **fields))


_ROWS = "that deletion vectors can be read, that row ids in files are unique and were kept (level data)"
_CONDITIONS = "that rows satisfy constraints, NOT NULL and generation expressions (level data)"
_NOT_CHECKED = {
    "log": ("that data files exist and have the columns, types and row counts of the log (level footers)", _ROWS),
    "footers": (_ROWS,),
}


def not_checked(level: str, *, has_conditions: bool = False) -> list[str]:
    """Return the subjects that a check at this level leaves to a deeper level, in phrases.

    :param has_conditions: True if the table has conditions on its rows, which a deeper check would evaluate
    """
    return [*_NOT_CHECKED.get(level, ()), *([_CONDITIONS] if has_conditions and level in _NOT_CHECKED else [])]
