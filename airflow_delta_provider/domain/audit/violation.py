"""Violations during an audit: their identity, their fix and their report."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from airflow_delta_provider.domain.checks.causes import causes_of
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.checks.rule import OF_SUBJECT, Details, Place, Restore, StillOpen
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.table_properties import DELETED_FILE_RETENTION
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import short_digest

#: Identity of a violation: the code of the rule, file, column and subject.
Key = tuple[str, str | None, str | None, str | None]
#: The same with the version of the commit; None for a violation of a state, whichever commit led to it.
Violated = tuple[Key, "int | None"]
#: Returns the state before a violation; None if the log no longer has it.
Before = Callable[[], "TableState | None"]


@dataclass(eq=False)
class Violation:
    """A broken rule.

    :param finding: finding about the commit that broke it
    :param still_open: check whether it is still open after a later commit; None if only the removal of its file can
        fix it
    :param before: returns the state that the commit found, if the rule compares with it
    :param paths: files that are still wrong, if it is about files: it is fixed when none is left
    :param files: number of files that were wrong
    :param healed: version that fixed it
    :param of_state: True if each state with its files shows it again
    :param cause: violation that it follows from
    """

    finding: Finding
    key: Violated
    still_open: StillOpen | None = None
    before: Before | None = None
    paths: set[str] = field(default_factory=set)
    files: int = 1
    healed: int | None = None
    of_state: bool = False
    cause: Violation | None = None

    @property
    def number(self) -> int:
        """Number of findings that it stands for: one for each file that is wrong, or that was wrong before the fix."""
        return self.files if self.healed is not None else max(len(self.paths), 1)

    @property
    def root(self) -> Violation:
        """The violation at the end of the chain of causes; itself if it has no cause."""
        return self if self.cause is None else self.cause.root


@dataclass(frozen=True)
class DetectedViolation:
    """A violation, as the check of a commit returns it.

    :param still_open: check whether it is still open after a later commit; None if only the removal of its file can
        fix it
    :param before: the state before, for a change of protocol or metadata
    """

    finding: Finding
    still_open: StillOpen | None = None
    before: TableState | None = None


def sound_before(healed: Sequence[Violation]) -> TableState | None:
    """Return the state before the oldest of these violations; None if unknown.

    A commit that fixes the violations returns to it.
    """
    states = [violation.before() for violation in healed if violation.before is not None]
    return min((state for state in states if state is not None), key=lambda state: state.version, default=None)


def group_of(finding: Finding) -> tuple[object, ...]:
    """Return the grouping key of a finding: one finding is reported for all with the same key."""
    return finding.code, finding.severity, finding.column, finding.subject


def key_of(finding: Finding) -> Key:
    """Return the identity of a finding."""
    return finding.code, finding.path, finding.column, finding.subject


def fingerprint(finding: Finding, table_id: str) -> str:
    """Return 16 hexadecimal digits that identify a violation as long as it is the same one."""
    # The oldest kept version changes from day to day, so it must not be part of the fingerprint.
    version = None if finding.at_or_before or rule_of(finding).reported_once else finding.version
    parts = (finding.code, table_id, finding.path, finding.column, finding.subject, version)
    text = "\0".join("" if part is None else str(part) for part in parts)
    return short_digest(text)


def worded(finding: Finding) -> Finding:
    """Return a finding with its message composed from its present fields."""
    rule = RULES.get(finding.code)
    if rule is None or finding.evidence is None:
        extra = [text for text in (finding.alike_text, finding.expired_text) if text not in finding.message]
        return replace(finding, message=" ".join((finding.message, *extra)))
    return rule.worded(finding)


def rank(violation: Violation) -> tuple[int, int, str]:
    """Return the sort key of violations: the worst first, then the oldest."""
    finding = violation.finding
    return -finding.severity.rank, finding.version or 0, finding.code


def cause_of(violation: Violation, others: list[Violation]) -> Violation | None:
    """Return the violation that caused this one, in the same commit or, if the rule allows it, an earlier one.

    None if no violation did.
    """
    finding = violation.finding
    how = causes_of(finding.code)
    if how.any_commit and (commit := next((other for other in others if _explains(other.finding, finding)), None)):
        return commit
    for code in how.all_codes:
        for other in others:
            cause = other.finding
            if other is violation or cause.code != code:
                continue
            is_later = (cause.version or 0) > (finding.version or 0)
            allowed = (how.earlier if is_later else how.later) or cause.version == finding.version
            columns = how.same_file or RULES[code].of_all_columns or _related(finding.column, cause.column)
            if code in how.afterwards:
                allowed, columns = (cause.version or 0) < (finding.version or 0), True
            elif code in how.once_fixed:
                allowed, columns = other.healed is not None and other.healed == finding.version, True
            if (how.same_file or how.any_commit) and cause.path != finding.path:
                continue
            if columns and allowed and _has_no_part_in(other, violation):
                return other
    return None


def _explains(cause: Finding, derived: Finding) -> bool:
    """Return True if ``cause`` explains why a file derived from the commits contradicts them."""
    from_commit = not causes_of(cause.code).any_commit and cause.severity is Severity.ERROR and cause.action is not None
    return from_commit and (cause.version or 0) <= (derived.version or 0)


def _related(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return True
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _has_no_part_in(cause: Violation, violation: Violation) -> bool:
    """Return True if ``cause`` does not itself follow from ``violation``."""
    seen: Violation | None = cause
    while seen is not None:
        if seen is violation:
            return False
        seen = seen.cause
    return True


#: Codes of rules whose violations can be fixed by a commit that changes only files.
HEALED_BY_FILES = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_files)
#: Codes of rules whose violations are fixed by a commit that returns to an earlier version.
HEALED_BY_RESTORE = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_restore)


def still_open_after(finding: Finding, transition: Transition) -> StillOpen | None:
    """Return the check whether a finding is still open; None if only the removal of its file can fix it.

    :param transition: the commit that the finding is about
    """
    healing = rule_of(finding).healing
    return None if healing is None else healing.after(finding, transition)


def still_open_by(finding: Finding, details: Details | None) -> StillOpen | None:
    """Return the check from the details that an earlier audit saved; None also if they are not sufficient.

    :param details: saved details; None if there are none
    """
    healing = rule_of(finding).healing
    if healing is None or (details is None and healing.needs_details):
        return None
    try:
        return healing.by(finding, dict(details or {}))
    except (KeyError, TypeError, ValueError):
        return None


#: Maximum numbers of characters of the action, and of a string in it.
_MOST, _MOST_TEXT = 800, 300
#: Kinds of actions to show if the commit has no action of the expected kind.
_REMOVE = "remove"
_OTHERWISE = ("metaData", "protocol", "domainMetadata")


def shown_action(finding: Finding, actions: Sequence[Action]) -> str | None:
    """Return the action of a commit that a finding is about, shortened; None if the commit has none.

    :param actions: actions of the commit, as in the log
    """
    chosen = next(_candidates(finding, actions), None)
    if chosen is None:
        return None
    if finding.column is not None and isinstance(chosen.get("metaData"), Mapping):
        chosen = {"metaData": _about_column(chosen["metaData"], finding.column)}
    text = json.dumps(_shortened(chosen), ensure_ascii=False)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _candidates(finding: Finding, actions: Sequence[Action]) -> Iterator[Action]:
    rule = rule_of(finding)
    shown = rule.shows or rule.family.shows
    if finding.path is not None:
        removed = shown == _REMOVE or finding.subject == _REMOVE
        for kind in ("remove", "add", "cdc") if removed else ("add", "remove", "cdc"):
            yield from (a for a in actions if isinstance(a.get(kind), Mapping) and a[kind].get("path") == finding.path)
    what = (finding.subject if shown == OF_SUBJECT else shown) or _OTHERWISE[0]
    if what == _REMOVE:
        what = rule.family.shows
    for kind in (what, *_OTHERWISE):
        found = [action for action in actions if kind in action]
        yield from (
            a for a in found if finding.subject and finding.subject in json.dumps(a[str(kind)], ensure_ascii=False)
        )
        yield from reversed(found)


def _about_column(metadata: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    """Return a metaData action that keeps only the top-level field that a finding is about in its schema."""
    try:
        fields = json.loads(metadata["schemaString"])["fields"]
        found = [field for field in fields if column == field["name"] or column.startswith(f"{field['name']}.")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return metadata
    if not found or len(found) == len(fields):
        return metadata
    field = max(found, key=lambda field: len(field["name"]))
    return {**metadata, "schemaString": f"…{json.dumps(field, ensure_ascii=False)}…"}


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return value[: _MOST_TEXT - 1] + "…"
    return value


_DEFAULT_RETENTION = "interval 1 week"
_INTERVAL = re.compile(r"(?:interval\s+)?(\d+)\s+(week|day|hour|minute|second)s?", re.IGNORECASE)


def followable(
    findings: Iterable[Finding],
    *,
    table: str,
    oldest: int | None,
    newest: int,
    properties: Mapping[str, Any],
    now: datetime,
) -> Iterator[Finding]:
    """Yield findings with remedies that can be followed; fixed findings keep the remedy of their rule.

    :param table: name of the table in SQL
    :param oldest: first version that the log can reconstruct; None if there is none
    :param newest: newest version of the table
    :param properties: table properties of that version
    :param now: time of the audit, with its offset
    """
    retention = str(properties.get(DELETED_FILE_RETENTION, _DEFAULT_RETENTION))
    for finding in findings:
        rule = RULES.get(finding.code)
        remedy = rule.remedy if finding.remedy is None and rule is not None else finding.remedy
        if rule is None or not isinstance(remedy, Restore) or finding.version is None or not finding.is_open:
            yield finding
            continue
        place = Place(
            finding.version,
            bool(finding.at_or_before),
            oldest,
            max(newest, finding.version),
            retention if _is_older(finding.timestamp, retention, now) else None,
            table,
        )
        yield rule.worded(replace(finding, remedy=remedy.at(place)))


def _is_older(timestamp: str | None, retention: str, now: datetime) -> bool:
    """Return True if a version is known to be older than an interval."""
    read = _INTERVAL.fullmatch(retention.strip())
    if timestamp is None:
        return False
    try:
        kept = timedelta(weeks=1) if read is None else timedelta(**{f"{read[2].lower()}s": int(read[1])})
        return now - datetime.fromisoformat(timestamp.replace("Z", "+00:00")) > kept
    except (ValueError, TypeError, OverflowError):
        return False
