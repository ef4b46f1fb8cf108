"""The versions of a table as a timeline: changes, broken rules, and fixes.

Each format draws it in its own way, with the same content and words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.history_events import HistoryEvent, HistoryEventKind
from airflow_delta_provider.domain.rendering.html import Markup, element, wide_table
from airflow_delta_provider.domain.rendering.report_document import Wording, by_cause
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.text import counted, visible

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
_MAX_RULES, _MAX_FINDINGS, _MAX_EVENTS, _MAX_DESCRIBED = 8, 40, 200, 20
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
        texts = [f"version {event.version} {event.text}" for event in self.events[-_MAX_DESCRIBED:]]
        more = len(self.events) - _MAX_DESCRIBED
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
        first = period_text(self.findings[0])
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


def period_text(finding: Finding) -> str:
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


#: Maximum number of commits that are drawn one by one.
_MAX_COMMITS = 80
#: Heights in pixels: a row with its label, the line within the row, the axis.
_LANE, _LINE, _AXIS = 36, 24, 26
#: SVG path of the mark for each kind of event.
_PATHS = {
    HistoryEventKind.CREATED: "M-5,-5 H5 V5 H-5 Z",
    HistoryEventKind.PROTOCOL: "M0,-6 6,0 0,6 -6,0 Z",
    HistoryEventKind.ADDED: "M-5,0 H5 M0,-5 V5",
    HistoryEventKind.WIDENED: "M-7,0 H7 M-3,-4 -7,0 -3,4 M3,-4 7,0 3,4",
    HistoryEventKind.RENAMED: "M-5,-3 H5 M-5,3 H5",
    HistoryEventKind.DROPPED: "M-5,0 H5",
    HistoryEventKind.CHANGED: "M-5,0 A5,5 0 1,0 5,0 A5,5 0 1,0 -5,0",
}


def timeline(table: TableReport) -> Markup | None:
    """Return the picture of a table; None if it has no timeline.

    Widths are percentages and heights are pixels, so text has the same size on a phone.
    """
    shown = Timeline.of(table)
    if shown is None:
        return None
    height = (len(shown.changes) + len(shown.violations)) * _LANE + _AXIS
    rows = [_change_marks(line, shown, row * _LANE) for row, line in enumerate(shown.changes)]
    rows += [_violation_marks(line, shown, row * _LANE) for row, line in enumerate(shown.violations, len(rows))]
    return element(
        "svg",
        *rows,
        _axis_line(shown, height - _AXIS),
        class_="timeline",
        role="img",
        width="100%",
        height=height,
        aria_label=shown.in_words,
    )


def event_table(table: TableReport) -> Markup | None:
    """Return the events of a table, newest first, as an HTML table; None if there are none."""
    history = table.history or {}
    events: Sequence[Mapping[str, Any]] = history.get("events", ())
    if not events:
        return None
    columns = ("Version", "Change", "What", "Operation", "Writer", "Time")
    rows = [
        element(
            "tr",
            element("th", str(event["version"]), scope="row"),
            element("td", str(event["kind"])),
            (element("td", str(event.get(key) or "")) for key in ("text", "operation", "writer", "timestamp")),
        )
        for event in reversed(events)
    ]
    omitted = history.get("omitted", 0)
    caption = f"Changes of protocol and columns{f', without {omitted:,} older ones' if omitted else ''}"
    return element(
        "details",
        element("summary", counted(len(events), "change"), " of protocol and columns"),
        wide_table("Changes", caption, columns, rows),
        class_="events",
    )


def _change_marks(line: Changes, shown: Timeline, top: int) -> Markup:
    marks = [
        element(
            "g",
            element("title", f"version {event.version}: {event.text}"),
            _mark(_PATHS[event.kind], _at(shown, event.version), top + _LINE),
        )
        for event in line.events
    ]
    return element("g", element("text", line.legend, x="2%", y=top + 12), *marks, class_="event")


def _violation_marks(line: Violations, shown: Timeline, top: int) -> Markup:
    label = element("text", line.in_words, x="2%", y=top + 12)
    below, above = [f for f in line.findings if not f.is_open], [f for f in line.findings if f.is_open]
    return element("g", label, [_course(finding, shown, top + _LINE) for finding in (*below, *above)])


def _course(finding: Finding, shown: Timeline, y: int) -> Markup:
    """Return a finding: a mark at the commit that broke the rule, and a line to its fix or to the end."""
    assert finding.version is not None
    begin, kind = _at(shown, finding.version), finding.severity.value.lower() if finding.is_open else "aside"
    ended = finding.healed_version
    end = _at(shown, shown.last if ended is None else ended)
    parts = [element("line", x1=begin, x2=end, y1=y, y2=y)]
    if finding.at_or_before:
        parts.append(element("line", x1="0%", x2=begin, y1=y, y2=y, class_="before"))
    parts.append(_mark("M-5,-5 5,5M-5,5 5,-5", begin, y))
    if ended is not None:
        parts.append(_mark("M-5,0 -1,4 6,-5", end, y, "fixed"))
    return element("g", element("title", period_text(finding)), *parts, class_=kind)


def _at(shown: Timeline, version: int) -> str:
    """Return the position of a version, as a percentage of the width."""
    share = (version - shown.first) / (shown.last - shown.first) if shown.last > shown.first else 0.5
    return f"{2 + 96 * share:.2f}%"


def _mark(path: str, x: str, y: int, kind: str | None = None) -> Markup:
    """Return a mark, as an SVG of its own: a path cannot be placed by a percentage."""
    return element("svg", element("path", d=path), x=x, y=y, overflow="visible", class_=kind)


def _axis_line(shown: Timeline, y: int) -> Markup:
    parts = [element("line", x1="2%", x2="98%", y1=y, y2=y)]
    if shown.last - shown.first <= _MAX_COMMITS:
        versions = range(shown.first, shown.last + 1)
        parts += [element("line", x1=_at(shown, at), x2=_at(shown, at), y1=y - 3, y2=y + 3) for at in versions]
    return element("g", *parts, *_labels(shown, y), class_="axis")


def _labels(shown: Timeline, y: int) -> Iterator[Markup]:
    for version in shown.ticks:
        side = "middle"
        if shown.last > shown.first and version in (shown.first, shown.last):
            side = "start" if version == shown.first else "end"
        yield element("text", str(version), x=_at(shown, version), y=y + 18, text_anchor=side)
