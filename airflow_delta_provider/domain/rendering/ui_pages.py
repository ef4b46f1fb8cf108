"""The page "Delta tables": recently checked tables, with the latest result for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering import page
from airflow_delta_provider.domain.rendering.html import (
    THEME_SCRIPT,
    Document,
    Markup,
    breakable,
    element,
    joined,
    wide_table,
)
from airflow_delta_provider.domain.rendering.links import RuleRoutes
from airflow_delta_provider.domain.rendering.page_parts import badge
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.findings_table import OpenFinding
from airflow_delta_provider.domain.report.pages import Excerpt, LatestResult, Origin
from airflow_delta_provider.domain.report.report import Severity, Verdict
from airflow_delta_provider.domain.text import counted

PAGE_SIZE = 50
_TITLE = "Delta tables"
_SINCE = (
    "Since: the first of the consecutive checks with this verdict. “Or before” means that no other verdict is known "
    "from earlier, so the table may have been like this for longer."
)
#: Kinds of jobs whose verdict is about a plan, not about the current table.
_OF_PLANS = frozenset({"plan-migration"})
_COLUMNS = ("Verdict", "Table", "Job", "Version", "Since", "Last check", "DAG and task")


@dataclass(frozen=True)
class Search:
    """A search request of the page.

    :param words: words that must all be in the name of the table, the DAG or the task, in any case
    :param verdict: verdict to show; None for all
    :param kind: kind of job; empty for all
    :param page: page number, from 1
    """

    words: str = ""
    verdict: Verdict | None = None
    kind: str = ""
    page: int = 1

    def fits(self, result: LatestResult) -> bool:
        """Return True if a result matches the search."""
        names = f"{result.row.table}\n{result.origin.dag_id}\n{result.origin.task_id}".lower()
        return (
            (self.verdict is None or result.row.verdict is self.verdict)
            and (not self.kind or result.kind == self.kind)
            and all(word in names for word in self.words.lower().split())
        )

    def href(self, page: int) -> str:
        """Return the address of another page of the results."""
        verdict = "" if self.verdict is None else self.verdict.value
        asked = {"q": self.words, "verdict": verdict, "kind": self.kind, "page": str(page)}
        return f"?{urlencode({name: value for name, value in asked.items() if value})}"


@dataclass(frozen=True)
class ListExtent:
    """The time span and completeness of the list.

    :param days: maximum age of reports, in days
    :param cut: True if there are too many older reports, so only the last one of each task counts
    :param crowded: True if reports had no room for some of their tables
    """

    days: int
    cut: bool = False
    crowded: bool = False


def tables_page(
    results: Sequence[LatestResult], search: Search, reach: ListExtent, *, has_findings: bool = False
) -> Document:
    """Return the page: worst verdict first, then newest result first.

    :param has_findings: True if there is a page of open findings
    """
    found = sorted(
        filter(search.fits, results), key=lambda result: (-result.row.verdict.rank, -result.origin.at.timestamp())
    )
    last = max(1, -(-len(found) // PAGE_SIZE))
    number = min(max(search.page, 1), last)
    shown = found[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    body = joined(
        element(
            "header",
            element("h1", _TITLE),
            element("p", _about(results, reach), class_="dim"),
            element("p", element("a", "Open findings", href="findings")) if has_findings else "",
        ),
        element(
            "main",
            _form(results, search),
            element("p", f"{counted(len(found), 'row')} found", role="status"),
            _table(shown, number, last) if shown else "",
            element("p", _SINCE, class_="dim") if shown else "",
            element("nav", _pages(search, number, last), class_="pages", aria_label="Pages") if last > 1 else "",
        ),
    )
    return Document(_TITLE, body, (THEME_SCRIPT,), has_form=True)


_FINDINGS_TITLE = "Delta findings"
_FINDING_COLUMNS = ("Severity", "Rule", "Table", "Owner", "Since", "Version", "Engine", "Last check", "DAG and task")


def findings_page(findings: Sequence[OpenFinding], words: str = "", number: int = 1) -> Document:
    """Return the page of open findings: errors first, then the oldest first.

    :param findings: findings that the user may see, in the order of their age
    :param words: words that must all be in the rule, table, owner, engine, DAG or task, in any case
    :param number: page number, from 1
    """
    found = [each for each in findings if all(word in _words_of(each) for word in words.lower().split())]
    found.sort(key=lambda each: -Severity(each.severity).rank)
    last = max(1, -(-len(found) // PAGE_SIZE))
    search = Search(words, page=min(max(number, 1), last))
    shown = found[(search.page - 1) * PAGE_SIZE : search.page * PAGE_SIZE]
    caption = "Open findings, errors first, the oldest first"
    table = wide_table("Open findings", caption, _FINDING_COLUMNS, map(_finding_row, shown))
    asked = element("input", type="search", name="q", value=words)
    body = joined(
        element(
            "header",
            element("h1", _FINDINGS_TITLE),
            element("p", "Open findings of the last run that could check a table.", class_="dim"),
            element("p", element("a", _TITLE, href="tables")),
        ),
        element(
            "main",
            element(
                "form",
                element("label", "Rule, table, owner, engine, DAG or task", asked, class_="words"),
                element("button", "Search", type="submit"),
                method="get",
                role="search",
                class_="search",
            ),
            element("p", f"{counted(len(found), 'finding')} found", role="status"),
            table if shown else "",
            element("nav", _pages(search, search.page, last), class_="pages", aria_label="Pages") if last > 1 else "",
        ),
    )
    return Document(_FINDINGS_TITLE, body, (THEME_SCRIPT,), has_form=True)


def _words_of(found: OpenFinding) -> str:
    rule = RULES.get(found.code)
    parts = (found.code, rule and rule.title, found.table_name, found.owner, found.engine, found.dag_id, found.task_id)
    return "\n".join(part for part in parts if part).lower()


def _finding_row(found: OpenFinding) -> Markup:
    rule = RULES.get(found.code)
    named, task = breakable(found.table_name), ""
    if found.dag_id and found.run_id and found.task_id:
        index = -1 if found.map_index is None else found.map_index
        named = element(
            "a",
            breakable(found.table_name),
            href=report_href(Origin(found.dag_id, found.run_id, found.task_id, index, found.checked_at)),
        )
        task = f"{found.dag_id} · {found.task_id}{f' [{index}]' if index >= 0 else ''}"
    return element(
        "tr",
        element("td", found.severity),
        element("td", f"{found.code} {rule.title if rule else ''}".strip(), title=found.message or ""),
        element("th", named, scope="row", class_="name"),
        element("td", found.owner or ""),
        element("td", "" if found.since is None else _time(found.since)),
        element("td", "" if found.version is None else str(found.version)),
        element("td", found.engine or ""),
        element("td", _time(found.checked_at)),
        element("td", task, class_="name"),
    )


def report_href(origin: Origin) -> str:
    """Return the address of a task's report, relative to the list."""
    dag_id, run_id, task_id = (quote(part, safe="") for part in (origin.dag_id, origin.run_id, origin.task_id))
    index = f"?map_index={origin.map_index}" if origin.map_index >= 0 else ""
    return f"dags/{dag_id}/runs/{run_id}/tasks/{task_id}{index}"


def _about(results: Sequence[LatestResult], reach: ListExtent) -> str:
    text = f"Latest results of tasks of the last {reach.days} days, for each table and kind of job."
    if reach.cut:
        text += " There are very many reports: of the older ones, only the last of each task counts."
    if reach.crowded:
        text += " Of tasks with very many tables, only the worst are listed."
    return text if results else f"No task of the last {reach.days} days, of DAGs that you may read, checked a table."


def _form(results: Sequence[LatestResult], search: Search) -> Markup:
    verdicts = [verdict.value for verdict in reversed(Verdict)]
    chosen = "" if search.verdict is None else search.verdict.value
    kinds = sorted({result.kind for result in results} | ({search.kind} if search.kind else set()))
    words = element("input", type="search", name="q", value=search.words)
    return element(
        "form",
        element("label", "Table, DAG or task", words, class_="words"),
        _select("Verdict", "verdict", verdicts, chosen),
        _select("Job", "kind", kinds, search.kind),
        element("button", "Search", type="submit"),
        method="get",
        role="search",
        class_="search",
    )


def _select(label: str, name: str, values: Sequence[str], chosen: str) -> Markup:
    options = [element("option", "all", value="")]
    options += [element("option", value, value=value, selected=value == chosen) for value in values]
    return element("label", label, element("select", *options, name=name))


def _table(results: Sequence[LatestResult], number: int, last: int) -> Markup:
    pages = f", page {number} of {last}" if last > 1 else ""
    return wide_table("Tables", f"Tables, the worst first{pages}", _COLUMNS, map(_row, results))


def _row(result: LatestResult) -> Markup:
    row, origin = result.row, result.origin
    index = f" [{origin.map_index}]" if origin.map_index >= 0 else ""
    since = f"{_time(result.since)}{' or before' if result.always else ''}"
    return element(
        "tr",
        element("td", badge(row.verdict.value), " (plan)" if result.kind in _OF_PLANS else ""),
        element("th", element("a", breakable(row.table), href=report_href(origin)), scope="row", class_="name"),
        element("td", result.kind),
        element("td", "" if row.version is None else str(row.version)),
        element("td", since),
        element("td", _time(origin.at)),
        element("td", f"{origin.dag_id} · {origin.task_id}{index}", class_="name"),
    )


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _pages(search: Search, number: int, last: int) -> Iterator[Markup]:
    if number > 1:
        yield element("a", "Previous", href=search.href(number - 1), rel="prev")
    yield element("span", f"Page {number} of {last}", aria_current="page")
    if number < last:
        yield element("a", "Next", href=search.href(number + 1), rel="next")


_ISSUES = "https://github.com/{}/issues/{}"


def task_page(excerpt: Excerpt, *, rules: str, tables: str) -> Document:
    """Return the page of a report.

    :param rules: address of the pages of rules, relative to this page
    :param tables: address of the list of all tables, relative to this page
    """
    above = joined(element("p", element("a", "All Delta tables", href=tables)), _notices(excerpt))
    shown_as = Presentation(rules=RuleRoutes(folder=rules), place=excerpt.place)
    return page.document(excerpt.report, shown_as, counts=excerpt.counts, above=above, head_scripts=(THEME_SCRIPT,))


def message_page(title: str, *paragraphs: str, links: tuple[tuple[str, str], ...] = ()) -> Document:
    """Return a page that explains why there is nothing to show.

    :param links: (text, address) pairs
    """
    texts = (element("p", paragraph) for paragraph in paragraphs)
    leads = (element("p", element("a", words, href=href)) for words, href in links)
    return Document(title, element("main", element("h1", title), texts, leads), (THEME_SCRIPT,))


def rule_page(code: str) -> Document | None:
    """Return the page about a rule; None if this version does not know the rule."""
    rule: Any = RULES.get(code)
    if rule is None:
        return None
    known = (
        ("Effect", rule.effect),
        ("Remedy", rule.remedy),
        ("Checks", f"{rule.scope.value}: {rule.scope.meaning}"),
        ("Source", rule.source),
    )
    facts = [joined(element("dt", label), element("dd", value)) for label, value in known if value]
    # Not as links: within Airflow's frame they would lead to pages that refuse to be framed.
    threads = ", ".join(_ISSUES.format(*thread.split("#")) for thread in rule.threads)
    if threads:
        facts.append(joined(element("dt", "Threads"), element("dd", threads)))
    title = element("h1", badge(rule.severity.value), f" {code} {rule.title}")
    family = element("p", f"{rule.family.prefix}: {rule.family.title}", class_="dim")
    body = element("main", title, family, element("dl", *facts, class_="facts"))
    return Document(f"{code} {rule.title}", body, (THEME_SCRIPT,))


def _notices(excerpt: Excerpt) -> Iterator[Markup]:
    if excerpt.dry_run:
        yield element("p", "Planned only: nothing was changed.", class_="notice")
    if excerpt.left_out:
        notice = f"There is no room here for: {', '.join(excerpt.left_out)}."
        yield element("p", notice, class_="notice")
