"""The versions of a table as a timeline: changes, broken rules, and fixes.

Each format draws it in its own way, with the same content and words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.history_events import HistoryEvent, HistoryEventKind
from airflow_delta_provider.domain.rendering.problem import by_cause
from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.visible import visible

#: Signs for each kind of event, for a commit that broke a rule, and for a commit that fixed it.
SIGNS = {
    HistoryEventKind.CREATED: "□",
    HistoryEventKind.PROTOCOL: "◇",
    HistoryEventKind.ADDED: "+",
    HistoryEventKind.WIDENED: "↔",
    HistoryEventKind.RENAMED: "=",
    HistoryEventKind.DROPPED: "−",
    HistoryEventKind.CHANGED: "○",
}
BROKEN, FIXED = "✕", "✓"

#: Kinds of events by the label of their line.
_LINES = {
    "Protocol": (HistoryEventKind.CREATED, HistoryEventKind.PROTOCOL),
    "Columns": (
        HistoryEventKind.ADDED,
        HistoryEventKind.WIDENED,
        HistoryEventKind.RENAMED,
        HistoryEventKind.DROPPED,
        HistoryEventKind.CHANGED,
    ),
}
#: Names of kinds of events, if they differ from the report's.
_CALLED = {HistoryEventKind.CHANGED: "other", HistoryEventKind.PROTOCOL: "changed"}
#: Maximum number of drawn rules of a table, of findings per rule, of drawn events, and of events described in words.
_MAX_RULES, _MAX_FINDINGS, _MAX_EVENTS, _MAX_SAID = 8, 40, 200, 20
#: Maximum number of steps between the labelled versions of the axis.
_STEPS = 4


@dataclass(frozen=True)
class Mark:
    """An event of a commit, in words.

    :param sign: sign from ``SIGNS``, or ``BROKEN`` or ``FIXED``
    """

    version: int
    sign: str
    text: str

    @property
    def is_change(self) -> bool:
        """True if it is a change of the table, and not about a rule."""
        return self.sign not in (BROKEN, FIXED)


@dataclass(frozen=True)
class Changes:
    """Changes of the protocol, or of columns: one line of the timeline.

    :param events: one or more, oldest first
    """

    label: str
    events: tuple[HistoryEvent, ...]

    @property
    def legend(self) -> str:
        kinds = {event.kind for event in self.events}
        signs = (f"{sign} {_CALLED.get(kind, kind.value)}" for kind, sign in SIGNS.items() if kind in kinds)
        return f"{self.label}: {', '.join(signs)}"

    @property
    def in_words(self) -> str:
        """The newest changes, in words."""
        texts = [f"version {event.version} {event.text}" for event in self.events[-_MAX_SAID:]]
        more = len(self.events) - _MAX_SAID
        return "; ".join([*texts, *([f"and {more} older changes"] if more > 0 else [])])


@dataclass(frozen=True)
class Violations:
    """Findings of one rule: one line of the timeline.

    :param findings: one or more, open ones first; each has a version
    """

    findings: tuple[Finding, ...]

    @property
    def in_words(self) -> str:
        """The first finding in words, and the number of further ones."""
        first = said(self.findings[0])
        return first if len(self.findings) == 1 else f"{first}, and {len(self.findings) - 1} more"


@dataclass(frozen=True)
class Timeline:
    """The content of a timeline.

    :param first: oldest version
    :param last: newest version
    """

    first: int
    last: int
    changes: tuple[Changes, ...]
    violations: tuple[Violations, ...]

    @classmethod
    def of(cls, table: TableReport) -> Timeline | None:
        """Return the timeline of a table.

        None if the table's version is unknown, or if no finding and no event has a version.
        """
        changes, violations = _changes(table), _violations(table)
        if not (changes or violations) or table.version is None:
            return None
        versions = [table.version, *(event.version for line in changes for event in line.events)]
        checked = (table.evidence or {}).get("first_version")
        drawn = (version for line in violations for f in line.findings for version in (f.version, f.healed_version))
        versions += [version for version in (table.version_before, checked, *drawn) if isinstance(version, int)]
        return cls(min(versions), max(versions), changes, violations)

    @property
    def title(self) -> str:
        """The range of versions, in words."""
        return f"Versions {self.first} to {self.last}"

    @property
    def in_words(self) -> str:
        """The whole content, in one line."""
        lines = [*(line.in_words for line in self.changes), *(line.in_words for line in self.violations)]
        return f"{self.title}: {'; '.join(lines)}"

    @property
    def ticks(self) -> list[int]:
        """The labelled versions: the first, the last, and a few between them."""
        step = max(1, -(-(self.last - self.first) // _STEPS))
        between = range(self.first, self.last - step // 2, step)
        return [*between, self.last]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, oldest first."""
        events = (event for line in self.changes for event in line.events)
        marks = [Mark(event.version, SIGNS[event.kind], visible(event.text)) for event in events]
        marks += [mark for line in self.violations for mark in _marks(line.findings)]
        return tuple(sorted(marks, key=lambda mark: mark.version))

    def newest_marks(self, most: int) -> tuple[Mark, ...]:
        """Return at most ``most`` marks, oldest first: marks about rules, then the newest changes."""
        marks = self.marks
        ranked = sorted(range(len(marks)), key=lambda index: (marks[index].is_change, -index))
        return tuple(marks[index] for index in sorted(ranked[:most]))


def said(finding: Finding) -> str:
    """Return since when a rule is broken, or when it was broken, in words."""
    before = " or before" if finding.at_or_before else ""
    if finding.healed_version is None:
        return f"{finding.code} since version {finding.version}{before}"
    return f"{finding.code} in version {finding.version}{before}, fixed in version {finding.healed_version}"


def _changes(table: TableReport) -> tuple[Changes, ...]:
    wire = (table.history or {}).get("events", ())[-_MAX_EVENTS:]
    events = list(_readable(wire))
    lines = (Changes(label, tuple(e for e in events if e.kind in kinds)) for label, kinds in _LINES.items())
    return tuple(line for line in lines if line.events)


def _readable(wire: Iterable[Mapping[str, Any]]) -> Iterator[HistoryEvent]:
    """Yield the events that this version knows: a report of another version must not prevent an alert."""
    for event in wire:
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            yield HistoryEvent.from_json(event)


def _violations(table: TableReport) -> tuple[Violations, ...]:
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding, _ in by_cause(table.findings):
        if finding.version is not None:
            found[finding.code].append(finding)
    for findings in found.values():
        findings.sort(key=lambda finding: not finding.is_open)
    ranked = sorted(found.items(), key=lambda line: (not line[1][0].is_open, line[0]))
    return tuple(Violations(tuple(findings[:_MAX_FINDINGS])) for _, findings in ranked[:_MAX_RULES])


def _marks(findings: Iterable[Finding]) -> Iterator[Mark]:
    """Yield a mark for each commit that broke a rule, and for each commit that fixed it."""
    broken: Counter[tuple[int, str]] = Counter()
    fixed: Counter[tuple[int, str]] = Counter()
    for finding in findings:
        assert finding.version is not None
        before = ", in this version or before" if finding.at_or_before else ""
        accepted = ", accepted" if finding.waiver else ""
        title = " ".join(filter(None, (finding.code, Wording.of(finding).title)))
        broken[finding.version, f"{title}{before}{accepted}"] += 1
        if finding.healed_version is not None:
            fixed[finding.healed_version, f"{finding.code} fixed"] += 1
    for sign, counts in ((BROKEN, broken), (FIXED, fixed)):
        for (version, text), number in counts.items():
            yield Mark(version, sign, text if number == 1 else f"{text} ({number:,} findings)")
