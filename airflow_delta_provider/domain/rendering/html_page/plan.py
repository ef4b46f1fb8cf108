"""The plan of a change on the page: steps with their SQL, the diff, effects downstream, lock-outs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.rendering.counts import shortened
from airflow_delta_provider.domain.rendering.html_page.findings import at_table
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined, lines
from airflow_delta_provider.domain.rendering.plan_lines import done_mark, steps_by_commit, without_commits
from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of diff lines, of characters of a text, of findings and of steps.
_MAX_LINES, _MAX_TEXT, _MAX_FINDINGS, _MAX_STEPS = 400, 4000, 40, 200
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
        element("pre", lines(shortened(sql, _MAX_TEXT)), tabindex=0, role="region", aria_label="SQL"),
    )
    return joined(shortened(text, _MAX_TEXT), done_mark(step), cost, statement if sql else "")


def _difference(diff: Sequence[str]) -> Markup:
    shown = [
        element("span", shortened(line, _MAX_TEXT) or " ", class_=_SIGNS.get(line[:1])) for line in diff[:_MAX_LINES]
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
        yield element("ul", *(element("li", shortened(text, _MAX_TEXT)) for text in found[:_MAX_STEPS]))


def _findings(title: str, found: Sequence[Mapping[str, Any]], kind: str, links: RuleLinks) -> Iterator[Markup]:
    if not found:
        return
    yield element("p", element("b", f"{title} ({len(found)})"))
    yield joined(*(at_table(Finding.from_json(wire), (), kind, links) for wire in found[:_MAX_FINDINGS]))
    if len(found) > _MAX_FINDINGS:
        yield element("p", f"… and {len(found) - _MAX_FINDINGS} more")
