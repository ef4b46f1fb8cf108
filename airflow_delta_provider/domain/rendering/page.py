"""The page of a report: totals, findings by rule, tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider.domain.rendering.html import (
    ENTRY,
    PART,
    SCRIPT,
    Document,
    Markup,
    element,
    joined,
    lines,
    text,
)
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.page_parts import at_table, badge, by_rule, plan_section
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.report_blocks import answers
from airflow_delta_provider.domain.rendering.report_document import (
    by_cause,
    decisive_codes,
    problems,
    set_aside,
    took,
    versions,
)
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.rendering.timeline import event_table, timeline
from airflow_delta_provider.domain.report.report import Finding, JobReport, TableReport, Verdict
from airflow_delta_provider.domain.text import counted, counted_codes

#: Maximum number of findings of a table that are shown in full.
_MAX_FINDINGS_OF_TABLE = 20
_WIDTH = 120


class Later:
    """The contents of tables that the script shows when a table is opened.

    They are one text, which the browser need not parse: the pieces of all contents, each once, and the numbers of each
    content's pieces.
    """

    #: Begins a piece.
    _PIECE = re.compile(r"(?=<(?:article|d[dt]|/dl|p|pre|svg|t[dhext]+)[ >])")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._contents: list[str] = []

    def add(self, content: Markup) -> int:
        """Add the content of a table, and return its place."""
        numbers = self._numbers
        pieces = self._PIECE.split(content)
        self._contents.append(" ".join(f"{numbers.setdefault(piece, len(numbers)):x}" for piece in pieces))
        return len(self._contents) - 1

    @property
    def markup(self) -> Markup:
        """The text, for a script element."""
        return Markup(f"{ENTRY.join(self._numbers)}{PART}{ENTRY.join(self._contents)}")


def row(
    table: TableReport,
    kind: str,
    identifier: str,
    links: RuleLinks,
    *,
    room: int,
    opened: bool,
    later: Later | None = None,
) -> tuple[Markup, int]:
    """Return the row of a table, and the number of findings in it.

    :param links: links to rules
    :param room: number of findings that the page still has room for
    :param opened: True if the row is open from the beginning
    :param later: receives the content of a row that is not open; None to return it in the row
    """
    roots = by_cause(table.findings)
    shown = min(len(roots), _MAX_FINDINGS_OF_TABLE, room)
    body = joined(_body(table, kind, shown, links))
    head = joined(
        badge(table.verdict.value),
        " ",
        element("h3", table.table),
        " ",
        element("span", f"version {known}", class_="version") if (known := versions(table)) else "",
        " ",
        element("span", counted_codes(decisive_codes(table), 6), class_="codes"),
    )
    place = later.add(body) if later is not None and body and not opened else None
    inside = element("div", body if place is None else "", class_="body", data_later=place)
    content = (
        element("details", element("summary", head), inside, open=opened)
        if body
        else element("div", head, class_="row")
    )
    return element("li", content, id=identifier, data_verdict=table.verdict.value), shown


def _body(table: TableReport, kind: str, shown: int, links: RuleLinks) -> Iterator[Markup]:
    picture = timeline(table)
    if picture is not None:
        yield element("figure", element("figcaption", "Versions"), picture)
    yield from filter(None, (event_table(table), state_section(table)))
    if table.plan is not None:
        yield plan_section(table.plan, done=table.changed)
    answered = "\n".join(line.removeprefix("    ") for line in answers(replace(table, plan=None), _WIDTH, much=True))
    if answered:
        yield element("pre", lines(answered), tabindex=0, role="region", aria_label="Answer")
    ranked = sorted(by_cause(table.findings), key=lambda root: not _is_open(*root))
    ranked, rest = ranked[:shown], ranked[shown:]
    counting = [at_table(finding, follows, kind, links) for finding, follows in ranked if _is_open(finding, follows)]
    others = [at_table(finding, follows, kind, links) for finding, follows in ranked if not _is_open(finding, follows)]
    yield joined(*counting)
    if others:
        summary = element("summary", f"Fixed, accepted or resolved ({len(others)})")
        yield element("details", summary, *others, open=not counting, class_="others")
    if rest:
        codes = counted_codes((finding.code for finding, _ in rest), 20)
        left = counted(len(rest), "more finding" if shown else "finding")
        yield element("p", f"… and {left}, which the report as JSON has: {codes}")


def _is_open(finding: Finding, follows: Iterable[Finding]) -> bool:
    return finding.is_open or any(other.is_open for other in follows)


#: Maximum number of features that are listed.
_MAX_FEATURES = 100


def state_section(table: TableReport) -> Markup | None:
    """Return protocol and features, as far as the report has them; None if it has no protocol."""
    known: Mapping[str, Any] = table.history or table.detail or {}
    protocol = known.get("protocol") or (table.protocol_after if table.changed else table.protocol_before)
    if not protocol:
        return None
    features = known.get("features")
    if features is None:
        features = dict.fromkeys(sorted(_listed(protocol)), "in the protocol")
    rows = [
        element("tr", element("th", name, scope="row"), element("td", str(state)))
        for name, state in list(features.items())[:_MAX_FEATURES]
    ]
    after = None if table.changed or table.protocol_after == protocol else table.protocol_after
    head = element("tr", element("th", "Feature", scope="col"), element("th", "State", scope="col"))
    listed = element(
        "table",
        element("caption", "Table features"),
        element("thead", head),
        element("tbody", *rows),
        class_="features",
    )
    title = "Protocol" if table.version is None else f"Protocol at version {table.version}"
    return element(
        "details",
        element(
            "summary", f"{title}: {_versions(protocol)}", f", {counted(len(features), 'feature')}" if features else ""
        ),
        element("p", "The plan leads to ", _versions(after), _added(protocol, after)) if after else "",
        listed if rows else "",
        class_="state-of-table",
    )


def _versions(protocol: Mapping[str, Any]) -> str:
    return f"reader version {protocol['minReaderVersion']}, writer version {protocol['minWriterVersion']}"


def _listed(protocol: Mapping[str, Any]) -> set[str]:
    return {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}


def _added(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the listed features that the plan adds and removes, as the end of a sentence."""
    changes = (("with", _listed(after) - _listed(before)), ("without", _listed(before) - _listed(after)))
    return "".join(f", {word} {', '.join(sorted(names))}" for word, names in changes if names) + "."


#: Maximum number of tables with a row.
_MAX_TABLES = 10_000
#: Maximum number of findings in full; the others are named by their codes.
_MAX_FINDINGS = 3000
#: Up to this number of tables with content, all are open from the beginning.
_MAX_OPEN = 2
#: Up to this number, tables need no filter, and so no script.
_MAX_UNFILTERED = 5
#: Number of tables whose rows are drawn at once, with their contents if there are no more.
_MAX_DRAWN = 200
_WITHOUT_SCRIPTS = "Opening a table needs scripts, which are off here. The report as JSON or as text has the same."
#: Title of a tab.
_TITLE = "Delta {kind}: {verdict}"


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    return document(report, presentation or Presentation()).html


def document(
    report: JobReport,
    shown_as: Presentation,
    *,
    counts: Mapping[Verdict, int] | None = None,
    above: Markup | None = None,
    head_scripts: tuple[str, ...] = (),
) -> Document:
    """Return the page of a report.

    :param counts: number of tables by verdict; None if the report contains all tables
    :param above: content above the findings
    :param head_scripts: scripts that run before anything is shown
    """
    counts = Counter(table.verdict for table in report.tables) if counts is None else counts
    body = joined(_header(report, counts, above), element("main", _sections(report, shown_as, sum(counts.values()))))
    scripts = (SCRIPT,) if len(report.tables) > _MAX_UNFILTERED else ()
    return Document(_TITLE.format(kind=report.kind, verdict=report.verdict.value), body, head_scripts, scripts)


def _header(report: JobReport, counts: Mapping[Verdict, int], above: Markup | None) -> Markup:
    engine = " ".join(f"{name} {version}" for name, version in report.engine.items() if version)
    about = " · ".join(filter(None, (_time(report.started_at), took(report), engine)))
    return element(
        "header",
        element("h1", f"Delta {report.kind} ", badge(report.verdict.value)),
        element("p", about, class_="dim"),
        element("ul", _tiles(report, counts), class_="tiles"),
        above or "",
        element("nav", element("a", "Go to the tables", href="#tables")) if len(report.tables) > 1 else "",
    )


def _time(text: str) -> str:
    """Return a time for people, to the minute; text that is not a time stays as it is."""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return text
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _tiles(report: JobReport, counts: Mapping[Verdict, int]) -> Iterator[Markup]:
    number = sum(counts.values())
    yield element("li", element("b", f"{number:,}"), "table" if number == 1 else "tables")
    for verdict in reversed(Verdict):
        if counts.get(verdict):
            word = verdict.value.lower()
            yield element("li", element("b", f"{counts[verdict]:,}"), word, class_=word)
    if changed := sum(table.changed for table in report.tables):
        yield element("li", element("b", f"{changed:,}"), "changed")


def _sections(report: JobReport, shown_as: Presentation, total: int) -> Iterator[Markup]:
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    ids: dict[str, str] = {}
    for number, table in enumerate(ranked[:_MAX_TABLES], 1):
        ids.setdefault(table.table, f"table-{number}")
    left = total - min(len(ranked), _MAX_TABLES)
    found = problems(ranked)
    if found and len(ranked) > 1:
        rules = [by_rule(problem, shown_as.rules, ids) for problem in found]
        heading = element("h2", f"Findings by rule ({len(rules):,})", id="rules")
        yield element("section", heading, *rules, class_="rules", aria_labelledby="rules")
    if aside := set_aside(report):
        yield element("p", f"Not counted: {aside}.")
    if ranked:
        later = Later() if len(ranked) > _MAX_DRAWN else None
        rows = list(_rows(ranked[:_MAX_TABLES], report.kind, shown_as.rules, later))
        yield element(
            "section",
            element("h2", f"Tables ({total:,})", id="tables", tabindex=-1),
            _filter(ranked) if len(ranked) > _MAX_UNFILTERED else "",
            "" if later is None else element("noscript", element("p", _WITHOUT_SCRIPTS)),
            _list(rows[:_MAX_DRAWN], later),
            "" if later is None else _drawn_later(rows[_MAX_DRAWN:], later),
            element("p", f"… and {counted(left, 'more table')}, none worse") if left > 0 else "",
            aria_labelledby="tables",
        )
    else:
        yield element("p", "The report has no tables.")
    yield from _notes(report, shown_as)


def _filter(tables: list[TableReport]) -> Markup:
    """Return the form that the script shows and reads."""
    verdicts = [verdict for verdict in reversed(Verdict) if any(table.verdict is verdict for table in tables)]
    boxes = [
        element(
            "label",
            element("input", type="checkbox", name="verdict", value=verdict.value, checked=True),
            f" {verdict.value}",
        )
        for verdict in verdicts
    ]
    return element(
        "form",
        element("label", "Filter by name or rule ", element("input", type="search", name="words"), class_="words"),
        element("fieldset", *boxes, aria_label="Verdicts"),
        element("button", "Open all", type="button", id="open"),
        element("button", "Close all", type="button", id="close"),
        element("output", id="shown", aria_live="polite"),
        id="filter",
        hidden=True,
    )


def _list(rows: Iterable[Markup], later: Later | None) -> Markup:
    return element("ul", Markup("\n"), rows, class_="tables" if later is None else "tables many", role="list")


def _drawn_later(rows: Iterable[Markup], later: Later) -> Markup:
    """Return further rows, a button that shows more of them, and the contents of tables.

    To a browser that runs scripts, the rows are a text, from which the script draws some. Other browsers list them.
    """
    return joined(
        element("noscript", _list(rows, later), id="left"),
        element("button", "Show more tables", type="button", id="more", hidden=True),
        element("script", later.markup, type="text/plain", id="later"),
    )


def _rows(tables: list[TableReport], kind: str, links: RuleLinks, later: Later | None) -> Iterator[Markup]:
    """Yield a row per table. With ``later``, each is one line, except the open ones."""
    room = _MAX_FINDINGS
    full = [bool(table.findings or table.plan or table.detail or table.usage) for table in tables]
    opened = sum(full) <= _MAX_OPEN
    for number, (table, is_full) in enumerate(zip(tables, full), 1):
        is_open = opened and (later is None or (is_full and number <= _MAX_DRAWN))
        markup, written = row(table, kind, f"table-{number}", links, room=room, opened=is_open, later=later)
        room -= written
        yield joined(markup, Markup("\n"))


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[Markup]:
    if phrases := not_checked(report.tables, 100):
        yield element("p", text(" ".join(map(str.strip, phrases))), class_="dim")
    if shown_as.place is not None:
        yield element("p", shown_as.place.shown, class_="dim")
