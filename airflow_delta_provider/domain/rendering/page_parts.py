"""Findings on the page: by rule, and by table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.document import Block, Code, Facts, Listing, Prose
from airflow_delta_provider.domain.rendering.html import Markup, element, joined, lines
from airflow_delta_provider.domain.rendering.links import RuleLinks, commit_path
from airflow_delta_provider.domain.rendering.report_blocks import plan_document
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    Wording,
    facts,
)
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import counted, shortened

#: Maximum number of linked tables of a rule, and of consequences of a finding.
_MAX_TABLES, _MAX_CONSEQUENCES = 100, 10
#: Maximum number of characters of an action, and of a paragraph.
_MAX_ACTION, _MAX_TEXT = 4000, 4000


def badge(word: str) -> Markup:
    """Return a verdict or a severity as a coloured word."""
    return element("span", word, class_=f"badge {word.lower()}")


def by_rule(problem: Problem, links: RuleLinks, ids: dict[str, str]) -> Markup:
    """Return a section about a rule, with links to its tables.

    :param ids: ids of the tables that have a row, by name
    """
    first, names = problem.first, list(problem.tables)
    shown = [
        element("li", element("a", name, href=f"#{ids[name]}") if name in ids else name) for name in names[:_MAX_TABLES]
    ]
    if len(names) > _MAX_TABLES:
        shown.append(element("li", f"… and {counted(len(names) - _MAX_TABLES, 'more table')}"))
    example = element("p", "For example, in ", element("code", first.table.table), ":") if len(names) > 1 else ""
    extent = element("span", problem.extent, class_="extent")
    return element(
        "details",
        element("summary", _heading(problem.severity, problem.code, "h3"), " ", extent),
        element("div", example, _wording(Wording.of(first.finding)), _about(problem.code, links), class_="said"),
        element("ul", *shown, class_="names"),
        id=f"rule-{problem.code.lower()}-{problem.severity.value.lower()}",
    )


def at_table(finding: Finding, follows: Sequence[Finding], kind: str, links: RuleLinks) -> Markup:
    """Return a finding with all its facts.

    :param kind: kind of the job
    :param links: links to rules
    """
    known = [joined(element("dt", label), element("dd", value)) for label, value in _facts(finding, kind)]
    action = finding.action and element(
        "details",
        element("summary", "Action"),
        element("pre", shortened(finding.action, _MAX_ACTION), tabindex=0, role="region", aria_label="Action"),
        class_="action",
    )
    return element(
        "article",
        element("div", _heading(finding.severity, finding.code, "h4"), _states(finding), class_="head"),
        _wording(Wording.of(finding)),
        element("dl", *known, class_="facts"),
        action or "",
        _consequences(follows),
        _link(finding.code, links),
        class_="finding",
    )


def _heading(severity: Severity, code: str, level: str) -> Markup:
    rule = RULES.get(code)
    return joined(badge(severity.value), " ", element(level, element("b", code), f" {rule.title}" if rule else ""))


def _wording(wording: Wording) -> Markup:
    named = (("Effect: ", wording.effect), ("Remedy: ", wording.remedy))
    return joined(
        element("p", lines(shortened(wording.evidence, _MAX_TEXT)), class_="evidence"),
        (element("p", element("b", label), lines(shortened(text, _MAX_TEXT))) for label, text in named if text),
    )


def _about(code: str, links: RuleLinks) -> Markup:
    rule = RULES.get(code)
    source = element("p", element("b", "Source: "), rule.source) if rule and rule.source else ""
    return joined(source, _link(code, links))


def _link(code: str, links: RuleLinks) -> Markup:
    url = links.url(code)
    return element("p", element("a", f"Documentation of {code}", href=url, rel="noreferrer")) if url else Markup("")


def _states(finding: Finding) -> Iterator[Markup]:
    """Yield the marks of a finding that is not simply new and open."""
    if finding.status is not None:
        yield element("span", finding.status.value.lower(), class_="state")
    if finding.healed_version is not None:
        yield element("span", f"fixed in version {finding.healed_version}", class_="state good")
    if finding.waiver is not None:
        waiver = finding.waiver
        yield element("span", f"accepted by {waiver.owner} until {waiver.expires}: {waiver.reason}", class_="state")


def _facts(finding: Finding, kind: str) -> Iterator[tuple[str, str | Markup]]:
    known = [(label.capitalize(), value) for label, value in facts(finding)]
    if finding.version is not None:
        known.append(("Commit", commit_path(finding.version, kind)))
    if finding.fingerprint is not None:
        known.append(("Fingerprint", finding.fingerprint))
    for label, value in known:
        yield label, value if label in ("Version", "Time") else element("code", value)


def _consequences(follows: Sequence[Finding]) -> Markup:
    if not follows:
        return Markup("")
    entries = [
        element("li", element("b", finding.code), f" {shortened(Wording.of(finding).evidence, _MAX_TEXT // 4)}")
        for finding in follows[:_MAX_CONSEQUENCES]
    ]
    if len(follows) > _MAX_CONSEQUENCES:
        entries.append(element("li", f"… and {len(follows) - _MAX_CONSEQUENCES} more"))
    return joined(element("p", "Consequences:"), element("ul", *entries))


#: Maximum number of lines of code, of characters of a text, and of entries of a list.
_MAX_LINES, _MAX_LINE, _MAX_ENTRIES = 400, 4000, 200
_SIGNS = {"+": "added", "-": "removed", "@": "place"}


def plan_section(plan: Mapping[str, Any], *, done: bool) -> Markup:
    """Return a plan as a section.

    :param plan: JSON of the plan: see ``report.schema.json``
    :param done: True if it was carried out
    """
    content = blocks(plan_document(plan, done=done))
    return element("section", element("h4", "Plan"), content, class_="plan", aria_label="Plan")


def blocks(document: Iterable[Block]) -> Iterator[Markup]:
    """Yield the blocks of a plan as HTML."""
    for block in document:
        match block:
            case Prose():
                label = element("b", f"{_capital(block.label)}: ") if block.label else ""
                yield element("p", label, lines(shortened(block.text, _MAX_LINE)))
            case Facts():
                known = (joined(element("dt", _capital(k)), element("dd", element("code", v))) for k, v in block.facts)
                yield element("dl", *known, class_="facts")
            case Listing():
                yield _bold(block.title)
                yield _entries(block)
            case Code():
                yield _bold(block.title)
                yield _code(block)


def _bold(title: str) -> Markup:
    return element("p", element("b", _capital(title))) if title else Markup("")


def _entries(listing: Listing) -> Markup:
    shown = [
        element(
            "li",
            element("b", f"{entry.label} ") if entry.label else "",
            shortened(entry.text, _MAX_LINE),
            (joined(f", {label} ", element("code", value)) for label, value in entry.facts),
            _entries(Listing(entry.entries)) if entry.entries else "",
        )
        for entry in listing.entries[:_MAX_ENTRIES]
    ]
    return element("ol" if listing.numbered else "ul", *shown)


def _code(block: Code) -> Markup:
    signs = _SIGNS if block.language == "diff" else {}
    shown = [
        element("span", shortened(line, _MAX_LINE) or " ", class_=signs.get(line[:1]))
        for line in block.lines[:_MAX_LINES]
    ]
    if len(block.lines) > _MAX_LINES:
        shown.append(element("span", f"… and {len(block.lines) - _MAX_LINES} more lines"))
    content = Markup("\n".join(shown))
    return element("pre", content, class_=block.language, tabindex=0, role="region", aria_label=_capital(block.title))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
