"""The page: totals, findings by rule, tables."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterator

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.html_page.findings import badge, by_rule
from airflow_delta_provider.domain.rendering.html_page.look import STYLE_SHEET
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined, text
from airflow_delta_provider.domain.rendering.html_page.script import SCRIPT
from airflow_delta_provider.domain.rendering.html_page.tables import row
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.problem import problems
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.rendering.totals import set_aside, took
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Tables that have a row.
_MAX_TABLES = 5000
#: Findings that the page writes out; of the others it names the codes.
_MAX_FINDINGS = 3000
#: Tables and rules that are open from the beginning, if there are not more.
_MAX_OPEN = 2
#: Tables that need no filter, and so no script.
_MAX_UNFILTERED = 5
#: Title of a tab.
_TITLE = "Delta {kind}: {verdict}"


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return the page."""
    shown_as = presentation or Presentation()
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", _TITLE.format(kind=report.kind, verdict=report.verdict.value)),
        element("style", Markup(STYLE_SHEET)),
    )
    body = element(
        "body",
        _header(report),
        element("main", _sections(report, shown_as)),
        element("footer", element("p", f"delta-provider {__version__}", class_="dim")),
        element("script", Markup(SCRIPT)) if len(report.tables) > _MAX_UNFILTERED else "",
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _policy() -> str:
    """Return what the page may load and run: nothing but its own style sheet and script, whatever a name holds."""
    style, script = (
        base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in (STYLE_SHEET, SCRIPT)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _header(report: JobReport) -> Markup:
    engine = " ".join(f"{name} {version}" for name, version in report.engine.items() if version)
    about = " · ".join(filter(None, (report.started_at, took(report), engine)))
    return element(
        "header",
        element("h1", f"Delta {report.kind} ", badge(report.verdict.value)),
        element("p", about, class_="dim"),
        element("ul", _tiles(report), class_="tiles"),
        element("nav", element("a", "Go to the tables", href="#tables")) if len(report.tables) > 1 else "",
    )


def _tiles(report: JobReport) -> Iterator[Markup]:
    counts = Counter(table.verdict for table in report.tables)
    yield element("li", element("b", f"{len(report.tables):,}"), "table" if len(report.tables) == 1 else "tables")
    for verdict in reversed(Verdict):
        if counts[verdict]:
            word = verdict.value.lower()
            yield element("li", element("b", f"{counts[verdict]:,}"), word, class_=word)
    if changed := sum(table.changed for table in report.tables):
        yield element("li", element("b", f"{changed:,}"), "changed")


def _sections(report: JobReport, shown_as: Presentation) -> Iterator[Markup]:
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    ids: dict[str, str] = {}
    for number, table in enumerate(ranked[:_MAX_TABLES], 1):
        ids.setdefault(table.table, f"table-{number}")
    left = len(ranked) - _MAX_TABLES
    found = problems(ranked)
    if found and len(ranked) > 1:
        rules = [by_rule(problem, shown_as.rules, ids) for problem in found]
        heading = element("h2", f"Findings by rule ({len(rules):,})", id="rules")
        yield element("section", heading, *rules, class_="rules", aria_labelledby="rules")
    if aside := set_aside(report):
        yield element("p", f"Not counted: {aside}.")
    if ranked:
        yield element(
            "section",
            element("h2", f"Tables ({len(ranked):,})", id="tables", tabindex=-1),
            _filter(ranked) if len(ranked) > _MAX_UNFILTERED else "",
            element("ul", _rows(ranked[:_MAX_TABLES], report.kind), class_="tables", role="list"),
            element("p", f"… and {counted(left, 'more table')}, none worse") if left > 0 else "",
            aria_labelledby="tables",
        )
    else:
        yield element("p", "The report has no tables.")
    yield from _notes(report, shown_as)


def _filter(tables: list[TableReport]) -> Markup:
    """Return what the script shows and reads."""
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


def _rows(tables: list[TableReport], kind: str) -> Iterator[Markup]:
    room = _MAX_FINDINGS
    opened = sum(bool(table.findings or table.plan or table.detail or table.usage) for table in tables) <= _MAX_OPEN
    for number, table in enumerate(tables, 1):
        markup, written = row(table, kind, f"table-{number}", room=room, opened=opened)
        room -= written
        yield joined(markup, Markup("\n"))


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[Markup]:
    if phrases := not_checked(report.tables, 100):
        yield element("p", text(" ".join(map(str.strip, phrases))), class_="dim")
    if shown_as.place is not None:
        yield element("p", shown_as.place.shown, class_="dim")
