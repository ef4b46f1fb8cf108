"""The history of a table as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.history_events import HistoryEventKind
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element
from airflow_delta_provider.domain.rendering.timeline import Changes, Timeline, Violations, said
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.table_report import TableReport

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
    rows = [_changes(line, shown, row * _LANE) for row, line in enumerate(shown.changes)]
    rows += [_violations(line, shown, row * _LANE) for row, line in enumerate(shown.violations, len(rows))]
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


def _changes(line: Changes, shown: Timeline, top: int) -> Markup:
    marks = [
        element(
            "g",
            element("title", f"version {event.version}: {event.text}"),
            _mark(_PATHS[event.kind], _at(shown, event.version), top + _LINE),
        )
        for event in line.events
    ]
    return element("g", element("text", line.legend, x="2%", y=top + 12), *marks, class_="event")


def _violations(line: Violations, shown: Timeline, top: int) -> Markup:
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
    return element("g", element("title", said(finding)), *parts, class_=kind)


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
