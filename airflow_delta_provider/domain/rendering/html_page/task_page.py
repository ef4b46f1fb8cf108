"""The tab "Delta" of a task instance: its report, as far as XCom has it; and its pages for rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.html_page import page
from airflow_delta_provider.domain.rendering.html_page.document import Document
from airflow_delta_provider.domain.rendering.html_page.findings import badge
from airflow_delta_provider.domain.rendering.html_page.look import THEME_SCRIPT
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.rule_link import RuleRoutes
from airflow_delta_provider.domain.report.excerpt import Excerpt

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
    said = (element("p", paragraph) for paragraph in paragraphs)
    leads = (element("p", element("a", words, href=href)) for words, href in links)
    return Document(title, element("main", element("h1", title), said, leads), (THEME_SCRIPT,))


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
        said = f"There is no room here for: {', '.join(excerpt.left_out)}."
        yield element("p", said, class_="notice")
