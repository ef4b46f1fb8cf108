"""Findings on the page: by rule, and by table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.html import Markup, element, joined, lines
from airflow_delta_provider.domain.rendering.links import RuleLinks, commit_path
from airflow_delta_provider.domain.rendering.presentation import counted, shortened
from airflow_delta_provider.domain.rendering.report_document import (
    Problem,
    Wording,
    done_mark,
    facts,
    steps_by_commit,
    without_commits,
)
from airflow_delta_provider.domain.report.report import Finding, Severity

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
        element("div", example, _said(Wording.of(first.finding)), _about(problem.code, links), class_="said"),
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
        _said(Wording.of(finding)),
        element("dl", *known, class_="facts"),
        action or "",
        _consequences(follows),
        _link(finding.code, links),
        class_="finding",
    )


def _heading(severity: Severity, code: str, level: str) -> Markup:
    rule = RULES.get(code)
    return joined(badge(severity.value), " ", element(level, element("b", code), f" {rule.title}" if rule else ""))


def _said(wording: Wording) -> Markup:
    named = (("Effect: ", wording.effect), ("Remedy: ", wording.remedy))
    return joined(
        element("p", lines(shortened(wording.evidence, _MAX_TEXT)), class_="evidence"),
        (element("p", element("b", label), lines(shortened(said, _MAX_TEXT))) for label, said in named if said),
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


#: Maximum number of diff lines, of characters of a text, of findings and of steps.
_MAX_LINES, _MAX_PLAN_TEXT, _MAX_FINDINGS, _MAX_STEPS = 400, 4000, 40, 200
_SIGNS = {"+": "added", "-": "removed", "@": "place"}


def plan_section(plan: Mapping[str, Any], kind: str, links: RuleLinks) -> Markup:
    """Return a plan as a section.

    :param plan: JSON of the plan: see ``report.schema.json``
    :param kind: kind of the job
    """
    return element("section", _parts(plan, kind, links), class_="plan", aria_label="Plan")


def _parts(plan: Mapping[str, Any], kind: str, links: RuleLinks) -> Iterator[Markup]:
    steps: Sequence[Mapping[str, Any]] = plan.get("steps", ())
    yield element("h4", "Plan")
    if digest := plan.get("digest"):
        yield element("p", f"Digest {digest}", class_="dim digest")
    if plan.get("truncated"):
        yield element("p", "There is no room for its steps here.")
    elif not steps:
        yield element("p", "Nothing to do.")
    else:
        yield element("ol", _steps(plan), class_="steps")
    if diff := plan.get("diff"):
        yield _difference(diff)
    yield from _listed("What breaks", (text for step in steps for text in step.get("breaks", ())))
    yield from _findings("Who is locked out, or may be", plan.get("locked_out", ()), kind, links)
    yield from _findings("Lint", plan.get("lint", ()), kind, links)
    yield from _listed("How it is undone", (step["undo"] for step in steps if step.get("undo")))
    yield from _listed("Notes", plan.get("notes", ()))
    if permissions := plan.get("permissions"):
        yield element("p", "To apply it, set: ", element("code", ", ".join(permissions)))
    if approval := plan.get("approval"):
        yield element("p", element("b", "Needs approval. "), " ".join(approval))


def _steps(plan: Mapping[str, Any]) -> Iterator[Markup]:
    for number, steps in list(steps_by_commit(plan).items())[:_MAX_STEPS]:
        if number is None:
            yield from (element("li", _step(step)) for step in steps[:_MAX_STEPS])
        elif len(steps) == 1:
            yield element("li", _step(steps[0]))
        else:
            inner = element("ul", *(element("li", _step(step)) for step in steps[:_MAX_STEPS]))
            yield element("li", "in one commit:", inner)


def _step(step: Mapping[str, Any]) -> Markup:
    text = step["explanation"] if "step" not in step else without_commits(step["explanation"])
    cost = "" if step.get("metadata_only", True) else " — reads all rows, or writes files"
    sql: str = step.get("sql") or ""
    statement = element(
        "details",
        element("summary", "SQL"),
        element("pre", lines(shortened(sql, _MAX_PLAN_TEXT)), tabindex=0, role="region", aria_label="SQL"),
    )
    return joined(shortened(text, _MAX_PLAN_TEXT), done_mark(step), cost, statement if sql else "")


def _difference(diff: Sequence[str]) -> Markup:
    shown = [
        element("span", shortened(line, _MAX_PLAN_TEXT) or " ", class_=_SIGNS.get(line[:1]))
        for line in diff[:_MAX_LINES]
    ]
    if len(diff) > _MAX_LINES:
        shown.append(element("span", f"… and {len(diff) - _MAX_LINES} more lines"))
    content = Markup("\n".join(shown))
    return joined(
        element("p", element("b", "What is declared")),
        element("pre", content, class_="diff", tabindex=0, role="region", aria_label="Difference"),
    )


def _listed(title: str, texts: Iterator[str] | Sequence[str]) -> Iterator[Markup]:
    if found := list(dict.fromkeys(texts)):
        yield element("p", element("b", title))
        yield element("ul", *(element("li", shortened(text, _MAX_PLAN_TEXT)) for text in found[:_MAX_STEPS]))


def _findings(title: str, found: Sequence[Mapping[str, Any]], kind: str, links: RuleLinks) -> Iterator[Markup]:
    if not found:
        return
    yield element("p", element("b", f"{title} ({len(found)})"))
    yield joined(*(at_table(Finding.from_json(wire), (), kind, links) for wire in found[:_MAX_FINDINGS]))
    if len(found) > _MAX_FINDINGS:
        yield element("p", f"… and {len(found) - _MAX_FINDINGS} more")
