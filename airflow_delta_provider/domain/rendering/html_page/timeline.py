"""The history of a table as a picture: what commits did to it, which of them broke a rule, and which fixed it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.rendering.consequences import by_cause
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport

#: Rules of a table that are drawn, and findings of each.
_MAX_RULES, _MAX_FINDINGS = 8, 40
#: Events that are drawn, and those that the picture says in words.
_MAX_EVENTS, _MAX_SAID = 200, 20
#: Commits that are drawn one by one.
_MAX_COMMITS = 80
#: Steps between the versions that are written at the axis.
_STEPS = 4
#: Heights in pixels: of a rule's label with its line, of the line within, and of the axis.
_LANE, _LINE, _AXIS = 36, 24, 26
#: Kinds of events by the label of their line, and the sign of each: in its legend, and in the picture.
_EVENTS = {"Protocol": ("created", "protocol"), "Columns": ("added", "widened", "renamed", "dropped", "changed")}
_SIGNS = {
    "created": ("□", "M-5,-5 H5 V5 H-5 Z"),
    "protocol": ("◇", "M0,-6 6,0 0,6 -6,0 Z"),
    "added": ("+", "M-5,0 H5 M0,-5 V5"),
    "widened": ("↔", "M-7,0 H7 M-3,-4 -7,0 -3,4 M3,-4 7,0 3,4"),
    "renamed": ("=", "M-5,-3 H5 M-5,3 H5"),
    "dropped": ("−", "M-5,0 H5"),
    "changed": ("○", "M-5,0 A5,5 0 1,0 5,0 A5,5 0 1,0 -5,0"),
}
#: What kinds of events are called, where not as in the report.
_CALLED = {"changed": "other", "protocol": "changed"}


@dataclass(frozen=True)
class Axis:
    """The versions that are drawn.

    :param first: the oldest
    :param last: the newest
    """

    first: int
    last: int

    def at(self, version: int) -> str:
        """Return where a version is, in per cent of the width."""
        share = (version - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return f"{2 + 96 * share:.2f}%"

    @property
    def ticks(self) -> list[int]:
        """The versions that are written: the first, the last, and a few between them."""
        step = max(1, -(-(self.last - self.first) // _STEPS))
        between = range(self.first, self.last - step // 2, step)
        return [*between, self.last]


def timeline(table: TableReport) -> Markup | None:
    """Return the picture of a table; None where neither a finding nor an event is about a version.

    Widths are shares of what there is and heights are pixels, so that its text is as large on a phone.
    """
    lanes, events = _lanes(table), _event_lanes(table)
    if not (lanes or events) or table.version is None:
        return None
    axis = _axis(table, lanes, [event for _, found in events for event in found])
    height = (len(lanes) + len(events)) * _LANE + _AXIS
    rows = [_event_lane(label, found, axis, row * _LANE) for row, (label, found) in enumerate(events)]
    rows += [_lane(findings, axis, row * _LANE) for row, (_, findings) in enumerate(lanes, len(events))]
    said = [_events_told(found) for _, found in events] + [_told(findings) for _, findings in lanes]
    return element(
        "svg",
        *rows,
        _axis_line(axis, height - _AXIS),
        class_="timeline",
        role="img",
        width="100%",
        height=height,
        aria_label=f"Versions {axis.first} to {axis.last}: {'; '.join(said)}",
    )


def event_table(table: TableReport) -> Markup | None:
    """Return the events of a table, newest first, as a table of text; None where there are none."""
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
    head = element("thead", element("tr", *(element("th", column, scope="col") for column in columns)))
    return element(
        "details",
        element("summary", counted(len(events), "change"), " of protocol and columns"),
        element(
            "div",
            element("table", element("caption", caption), head, element("tbody", *rows)),
            class_="wide",
            tabindex=0,
            role="region",
            aria_label="Changes",
        ),
        class_="events",
    )


def _lanes(table: TableReport) -> list[tuple[str, list[Finding]]]:
    found: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding, _ in by_cause(table.findings):
        if finding.version is not None:
            found[finding.code].append(finding)
    for findings in found.values():
        findings.sort(key=lambda finding: not finding.is_open)
    ranked = sorted(found.items(), key=lambda lane: (not lane[1][0].is_open, lane[0]))
    return [(code, findings[:_MAX_FINDINGS]) for code, findings in ranked[:_MAX_RULES]]


def _event_lanes(table: TableReport) -> list[tuple[str, list[Mapping[str, Any]]]]:
    events = (table.history or {}).get("events", ())[-_MAX_EVENTS:]
    lanes = ((label, [event for event in events if event["kind"] in kinds]) for label, kinds in _EVENTS.items())
    return [(label, found) for label, found in lanes if found]


def _axis(
    table: TableReport, lanes: Sequence[tuple[str, Sequence[Finding]]], events: Sequence[Mapping[str, Any]]
) -> Axis:
    drawn = {version for _, findings in lanes for f in findings for version in (f.version, f.healed_version)} - {None}
    checked = (table.evidence or {}).get("first_version")
    known = [version for version in (*drawn, checked, table.version) if isinstance(version, int)]
    known += [event["version"] for event in events]
    return Axis(min(known), max(known))


def _event_lane(label: str, events: Sequence[Mapping[str, Any]], axis: Axis, top: int) -> Markup:
    kinds = {event["kind"] for event in events}
    marks = [
        element(
            "g",
            element("title", f"version {event['version']}: {event['text']}"),
            _mark(_SIGNS[event["kind"]][1], axis.at(event["version"]), top + _LINE),
        )
        for event in events
    ]
    legend = "  ".join(f"{_SIGNS[kind][0]} {_CALLED.get(kind, kind)}" for kind in _SIGNS if kind in kinds)
    return element("g", element("text", f"{label}: {legend}", x="2%", y=top + 12), *marks, class_="event")


def _lane(findings: Sequence[Finding], axis: Axis, top: int) -> Markup:
    label = element("text", _told(findings), x="2%", y=top + 12)
    below, above = [f for f in findings if not f.is_open], [f for f in findings if f.is_open]
    return element("g", label, [_course(finding, axis, top + _LINE) for finding in (*below, *above)])


def _course(finding: Finding, axis: Axis, y: int) -> Markup:
    """Return a finding: a mark at the commit that made it, and a line to the one that fixed it, or to the end."""
    assert finding.version is not None
    begin, kind = axis.at(finding.version), finding.severity.value.lower() if finding.is_open else "aside"
    ended = finding.healed_version
    end = axis.at(axis.last if ended is None else ended)
    parts = [element("line", x1=begin, x2=end, y1=y, y2=y)]
    if finding.at_or_before:
        parts.append(element("line", x1="0%", x2=begin, y1=y, y2=y, class_="before"))
    parts.append(_mark("M-5,-5 5,5M-5,5 5,-5", begin, y))
    if ended is not None:
        parts.append(_mark("M-5,0 -1,4 6,-5", end, y, "fixed"))
    return element("g", element("title", _said(finding)), *parts, class_=kind)


def _mark(path: str, x: str, y: int, kind: str | None = None) -> Markup:
    """Return a sign; a picture within the picture, since a path takes no per cent."""
    return element("svg", element("path", d=path), x=x, y=y, overflow="visible", class_=kind)


def _axis_line(axis: Axis, y: int) -> Markup:
    parts = [element("line", x1="2%", x2="98%", y1=y, y2=y)]
    if axis.last - axis.first <= _MAX_COMMITS:
        versions = range(axis.first, axis.last + 1)
        parts += [element("line", x1=axis.at(at), x2=axis.at(at), y1=y - 3, y2=y + 3) for at in versions]
    return element("g", *parts, *_labels(axis, y), class_="axis")


def _labels(axis: Axis, y: int) -> Iterator[Markup]:
    for version in axis.ticks:
        side = "middle"
        if axis.last > axis.first and version in (axis.first, axis.last):
            side = "start" if version == axis.first else "end"
        yield element("text", str(version), x=axis.at(version), y=y + 18, text_anchor=side)


def _told(findings: Sequence[Finding]) -> str:
    first = _said(findings[0])
    return first if len(findings) == 1 else f"{first}, and {len(findings) - 1} more"


def _events_told(events: Sequence[Mapping[str, Any]]) -> str:
    texts = [f"version {event['version']} {event['text']}" for event in events[-_MAX_SAID:]]
    return "; ".join([*texts, *([f"and {len(events) - _MAX_SAID} older changes"] if len(events) > _MAX_SAID else [])])


def _said(finding: Finding) -> str:
    before = " or before" if finding.at_or_before else ""
    if finding.healed_version is None:
        return f"{finding.code} since version {finding.version}{before}"
    return f"{finding.code} in version {finding.version}{before}, fixed in version {finding.healed_version}"
