"""Checks of the changes that commits make to protocol and metadata."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property

from airflow_delta_provider.domain.audit.past import FirstAdd, PastLog
from airflow_delta_provider.domain.audit.restore_detection import RestoreResult
from airflow_delta_provider.domain.audit.saved_state import HistoryFacts
from airflow_delta_provider.domain.audit.violation import (
    Before,
    DetectedViolation,
    Violation,
    key_of,
    sound_before,
    worded,
)
from airflow_delta_provider.domain.audit.violations import called
from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.column_mapping.names import (
    REUSED_PATH,
    PhysicalPaths,
    until_path_of_column_is_free,
)
from airflow_delta_provider.domain.checks.protocol import FAMILY as PROTOCOL
from airflow_delta_provider.domain.checks.protocol.missing_features import used_features
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.checks.rule import StillOpen
from airflow_delta_provider.domain.checks.type_widening.changes import (
    LOST_TYPE_CHANGES,
    RECORD_LEFT_BY_DROP,
    changed_fields,
    records_of,
)
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import Column
from airflow_delta_provider.domain.delta.features.registry import with_requirements
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, is_absolute
from airflow_delta_provider.domain.delta.metadata import Metadata, PhysicalPath, physical_parts
from airflow_delta_provider.domain.delta.protocol import has_feature
from airflow_delta_provider.domain.delta.table_state import Past, TableState, Transition
from airflow_delta_provider.domain.formats.json_values import parse_json
from airflow_delta_provider.domain.report.report import Finding, Severity

_UNKNOWN = " The log does not show whether a live file still has an earlier type; an audit at level 'footers' does."


class WrittenTypes:
    """The types of the live files after a commit, according to the schemas that they were first added under.

    :param live: paths of those files
    """

    def __init__(self, transition: Transition, live: Iterable[str], log: PastLog) -> None:
        self._transition = transition
        self._live = live
        self._log = log

    def weigh(self, finding: Finding) -> Finding | None:
        """Return a finding about the commit; None for lost type changes that no live file needs.

        The finding is undecided if the log does not show whether a live file needs them.
        """
        if finding.code != LOST_TYPE_CHANGES.code:
            return finding
        needed = _holds_other_types(finding.column, self._transition, self._added, known=self._knows_all)
        if needed is None:
            evidence = f"{finding.evidence}{_UNKNOWN}"
            return worded(replace(finding, severity=Severity.UNDECIDED, evidence=evidence))
        return finding if needed else None

    @property
    def _knows_all(self) -> bool:
        return len(self._added) == len(self._paths)

    @cached_property
    def _paths(self) -> frozenset[str]:
        return frozenset(self._live)

    @cached_property
    def _added(self) -> Mapping[str, FirstAdd]:
        return self._log.first_adds(self._transition.commit.version, self._paths)


def _holds_other_types(
    column: str | None, transition: Transition, added: Mapping[str, FirstAdd], *, known: bool
) -> bool | None:
    """Return True if a live file has another type; None if the log does not show it.

    :param known: True if ``added`` has all live files
    """
    by_schema: dict[str, list[Column] | None] = {}
    for path, first in added.items():
        schema_string = first.metadata.schema_string
        if schema_string not in by_schema:
            try:
                pairs = changed_fields(first.metadata, transition.after.metadata)
            except BrokenLogError:
                by_schema[schema_string] = None
            else:
                by_schema[schema_string] = [old for old, new in pairs if str(new) == column]
        others = by_schema[schema_string]
        if others and _has(first, others[0]):
            return True
        known = known and others == [] and not _may_be_older(path, first)
    return False if known else None


def _may_be_older(path: str, first: FirstAdd) -> bool:
    """Return True if a file may be older than the schema that it was first added under, like the files of a clone.

    It belongs to another table, or was added together with type changes that the table did not have before.
    """
    return is_absolute(path) or _records(first.metadata) != _records(first.before)


def _records(metadata: Metadata | None) -> list[object]:
    try:
        return [] if metadata is None else [record.changes for record in records_of(metadata)]
    except BrokenLogError:
        return []


def _has(first: FirstAdd, column: Column) -> bool:
    """Return True if the statistics of a file show values of a column."""
    try:
        stats = parse_json(first.stats or "")
        here = stats["minValues"]
        for name in physical_parts(column, first.metadata.schema, first.metadata.properties.mapping_mode):
            here = here[name]
    except (ValueError, KeyError, TypeError):
        return False
    return here is not None


#: A rule about a commit's change of protocol and metadata. It is also applied to later commits, compared with the
#: state before the damage, to find out whether they still break it.
ChangeCheck = Callable[[Transition], Iterator[Finding]]

#: Text for a commit that says it restores a version that is no longer kept, so that the finding cannot be confirmed.
_UNTOLD = (
    " But the commit says that it restores version {}, which is not kept any more: if the table was like this in that "
    "version, nothing is wrong. Audit the table more often than its log is cleaned up."
)


class ChangeAudit:
    """Checks the commits that change protocol or metadata, oldest first."""

    def __init__(self, log: PastLog) -> None:
        self._log = log
        self._paths = PhysicalPaths()
        self.used_features: frozenset[str] = frozenset()
        """Features that some version used."""
        self.ever_dropped = False
        """True if a version before the last change recorded that columns had been dropped."""

    def begin(self, state: TableState) -> None:
        """Start from the state before the first commit, or from the state that the first commit created."""
        self.used_features |= used_features(state)

    @property
    def column_ids(self) -> Mapping[PhysicalPath, frozenset[int]]:
        """The ids of the columns that each physical path has referred to."""
        return self._paths.column_ids

    def go_on(self, facts: HistoryFacts) -> None:
        """Resume from the facts of an earlier audit that ended at the same version."""
        self._paths.restore_saved(facts.column_ids)
        self.used_features |= facts.used_features
        self.ever_dropped = facts.ever_dropped

    def possible_findings(self, transition: Transition) -> Iterator[Finding]:
        """Yield the possible violations of a commit, without recording the commit.

        :param transition: the commit, treated as if it restored no earlier version
        """
        yield from on_change.run(self._with_past(transition, RestoreResult()))
        yield from self._paths.check(transition)

    def check(
        self,
        transition: Transition,
        live: Collection[FileKey],
        restored: RestoreResult,
        healed: Sequence[Violation],
        *,
        written: bool,
    ) -> Iterator[DetectedViolation]:
        """Yield the violations of a commit.

        :param live: the keys of the files after it
        :param healed: violations that it fixes: a change that undoes damage is not a violation itself
        :param written: True if live files were written while something was broken
        """
        before, transition = transition.before, self._with_past(transition, restored)
        found = [
            (finding, _compared(check, finding, before, transition.past, transition.after.metadata))
            for check in on_change
            for finding in check(transition)
        ]
        sound = sound_before(healed)
        if found and sound is not None:
            direct = replace(transition, before=sound)
            still = {key_of(finding) for finding in on_change.run(direct)}
            found = [
                (finding, still_open)
                for finding, still_open in found
                if key_of(finding) in still or (written and RULES[finding.code].about_older_files)
            ]
        written_types = WrittenTypes(transition, (path for path, _ in live), self._log)
        found = [
            (weighed, still_open)
            for finding, still_open in found
            if (weighed := written_types.weigh(finding)) is not None
        ]
        found += [
            (finding, until_path_of_column_is_free(finding, transition.after))
            for finding in self._paths.apply_commit(transition)
        ]
        for finding, still_open in found:
            yield DetectedViolation(unless_restored(finding, restored), still_open, before)
        self.used_features |= used_features(transition.after)

    def recall(self, finding: Finding, base: TableState, before: Before | None) -> StillOpen | None:
        """Return the check that tells whether an old finding is still open; None if no later commit can tell.

        :param base: the current state
        :param before: returns the state before the change, if the log may still have it
        """
        if rule_of(finding) is REUSED_PATH:
            then = None if finding.at_or_before else self._log.state_at(finding.version or 0)
            return until_path_of_column_is_free(finding, then or base)
        return self._remembered(finding, before) if self.compares(finding) else None

    def _with_past(self, transition: Transition, restored: RestoreResult) -> Transition:
        was_true = transition.before.metadata.properties.has_dropped_or_renamed
        self.ever_dropped = not transition.replaces_all and (self.ever_dropped or was_true)
        past = Past(self.used_features, self.ever_dropped, restored.protocol, restored.identity)
        return replace(transition, past=past)

    def _past(self) -> Past:
        return Past(self.used_features, self.ever_dropped)

    @staticmethod
    def compares(finding: Finding) -> bool:
        """Return True if the finding is about a change of protocol or metadata.

        Such changes are compared with the state before.
        """
        return rule_of(finding).family.compares

    def before(self, finding: Finding, known: TableState | None) -> Before | None:
        """Return a function that returns the state before an old finding; it reads the state once, when first called.

        :param known: saved state before the finding; None if it was not saved
        """
        version = finding.version
        if known is not None:
            return lambda: known
        if not version or finding.at_or_before:
            return None
        return cache(lambda: self._log.state_at(version - 1))

    def _remembered(self, finding: Finding, before: Before | None) -> StillOpen:
        """Return the check that compares with the state before a finding, if the log still has that state."""

        def holds(later: Transition) -> bool:
            if not (later.commit.metadata or later.commit.protocols):
                return True
            state = None if before is None else before()
            return state is None or any(_compared(check, finding, state, self._past())(later) for check in on_change)

        return StillOpen(holds)


def _compared(
    check: ChangeCheck, finding: Finding, before: TableState, past: Past, then: Metadata | None = None
) -> StillOpen:
    """Return the check whether later states still differ from ``before`` in a way that breaks the rule.

    :param then: the metadata with the column names that the finding uses; None if unknown
    """
    key, broken = key_of(finding), rule_of(finding)
    of_protocol, of_removal = broken.family is PROTOCOL, broken is RECORD_LEFT_BY_DROP

    def holds(later: Transition) -> bool:
        commit = later.commit
        if later.replaces_all and commit.metadata and not broken.survives_replacement:
            listed = later.after.protocol.features
            needed = with_requirements(used_features(later.after) | listed)
            return of_protocol and any(not has_feature(listed, name) for name in needed)
        changes = commit.protocols if of_protocol else commit.metadata
        if not (changes or (of_removal and commit.protocols)):
            return True
        as_if = Commit(commit.version, commit.info, protocols=commit.protocols[-1:], metadata=commit.metadata[-1:])
        found = [key_of(finding) for finding in check(Transition(before, as_if, later.after, {}, past=past))]
        keys = key, called(key, then or before.metadata, later.after.metadata)
        return any(code == key[0] for code, *_ in found) if of_removal else not {*keys}.isdisjoint(found)

    return StillOpen(holds)


def unless_restored(finding: Finding, restored: RestoreResult) -> Finding:
    """Return a finding that does not hold for a restoring commit; undecided if that cannot be known."""
    if restored.unknown_version is None or finding.severity is not Severity.ERROR:
        return finding
    evidence = (finding.evidence or finding.message) + _UNTOLD.format(restored.unknown_version)
    return worded(replace(finding, severity=Severity.UNDECIDED, evidence=evidence))
