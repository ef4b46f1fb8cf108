"""The page of a report: totals, findings by rule, tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.html_page.document import Document
from airflow_delta_provider.domain.rendering.html_page.findings import badge, by_rule
from airflow_delta_provider.domain.rendering.html_page.look import SCRIPT
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined, text
from airflow_delta_provider.domain.rendering.html_page.tables import row
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.problem import problems
from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.rendering.text import not_checked
from airflow_delta_provider.domain.rendering.totals import set_aside, took
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Maximum number of tables with a row.
_MAX_TABLES = 5000
#: Maximum number of findings in full; the others are named by their codes.
_MAX_FINDINGS = 3000
#: Up to this number of tables with content, all are open from the beginning.
_MAX_OPEN = 2
#: Up to this number, tables need no filter, and so no script.
_MAX_UNFILTERED = 5
#: Up to this number, tables are all drawn at once.
_MAX_DRAWN = 200
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
        yield element(
            "section",
            element("h2", f"Tables ({total:,})", id="tables", tabindex=-1),
            _filter(ranked) if len(ranked) > _MAX_UNFILTERED else "",
            element(
                "ul",
                _rows(ranked[:_MAX_TABLES], report.kind, shown_as.rules),
                class_="tables" if len(ranked) <= _MAX_DRAWN else "tables many",
                role="list",
            ),
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


def _rows(tables: list[TableReport], kind: str, links: RuleLinks) -> Iterator[Markup]:
    room = _MAX_FINDINGS
    opened = sum(bool(table.findings or table.plan or table.detail or table.usage) for table in tables) <= _MAX_OPEN
    for number, table in enumerate(tables, 1):
        markup, written = row(table, kind, f"table-{number}", links, room=room, opened=opened)
        room -= written
        yield joined(markup, Markup("\n"))


def _notes(report: JobReport, shown_as: Presentation) -> Iterator[Markup]:
    if phrases := not_checked(report.tables, 100):
        yield element("p", text(" ".join(map(str.strip, phrases))), class_="dim")
    if shown_as.place is not None:
        yield element("p", shown_as.place.shown, class_="dim")
