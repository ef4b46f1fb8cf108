"""The plan of a migration as Markdown, for approval: changes, downstream effects, lock-outs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.rendering.counts import shortened
from airflow_delta_provider.domain.rendering.markdown_syntax import code, escape
from airflow_delta_provider.domain.rendering.plan_lines import done_mark, steps_by_commit, without_commits
from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.visible import printed, visible, visible_lines

#: Maximum number of characters of the whole: comments on GitHub may have 65,536.
_MAX = 60_000
#: Maximum number of characters of the diff and of a line, and of findings; the rest is counted.
_MAX_DIFF, _MAX_LINE, _MAX_FINDINGS = 20_000, 1500, 40


def render_plan(plan: Mapping[str, Any]) -> str:
    """Return the information that is needed to approve a plan.

    :param plan: JSON of a migration's plan: see ``report.schema.json``
    """
    whole = "\n".join(printed("\n\n".join(_parts(plan)).split("\n")))
    return whole if len(whole) <= _MAX else f"{whole[:_MAX]}\n\n… and more, which there is no room for.\n"


def _parts(plan: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Migration of {code(visible(plan['table']))}"
    if not plan["steps"]:
        yield "Nothing to do: the table is what its spec says."
        return
    yield f"Planned on version {plan['version']}. Digest {code(plan['digest'])}."
    yield from steps_and_diff(plan)
    if breaks := list(dict.fromkeys(text for step in plan["steps"] for text in step["breaks"])):
        yield "### What breaks"
        yield _list(breaks)
    yield from _findings("### Who is locked out, or may be", plan.get("locked_out", ()))
    yield from _findings("### Findings", plan.get("lint", ()))
    yield "### How it is undone"
    yield _list(list(dict.fromkeys(step["undo"] for step in plan["steps"])))
    if notes := plan.get("notes"):
        yield "### Notes"
        yield _list(notes)
    yield from what_it_takes(plan)
    yield from _sql(plan["steps"])


def what_it_takes(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options needed to apply a migration's plan, and why it needs approval, as blocks."""
    if permissions := plan.get("permissions"):
        yield f"To apply it, set: {', '.join(map(code, permissions))}."
    if approval := plan.get("approval"):
        yield f"**Needs approval.** {escape(' '.join(approval))}"
    elif plan["steps"] and approval is not None:
        yield "The policy lets it be applied without approval."


def steps_and_diff(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the steps of a migration's plan, and the changes of the declared state, as blocks."""
    yield "\n".join(_steps(plan))
    if diff := plan.get("diff"):
        yield "\n".join(["~~~~diff", *_diff(diff), "~~~~"])


def _diff(lines: Sequence[str]) -> Iterator[str]:
    left = _MAX_DIFF
    for number, line in enumerate(lines):
        shown = shortened(visible(line), _MAX_LINE).replace("~~~~", "~ ~ ~ ~")
        left -= len(shown) + 1
        if left < 0:
            yield f"… and {len(lines) - number} more lines"
            return
        yield shown


def _steps(plan: Mapping[str, Any]) -> Iterator[str]:
    for number, steps in steps_by_commit(plan).items():
        if len(steps) == 1:
            yield f"{number}. {_step(steps[0])}"
            continue
        yield f"{number}. in one commit:"
        yield from (f"   - {_step(step)}" for step in steps)


def _sql(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the SQL of a plan, with comments for steps without SQL."""
    found = [step.get("sql") for step in steps]
    if not any(found):
        return
    yield "### SQL"
    said = (
        f"{sql};" if sql else f"-- without SQL: {without_commits(step['explanation'])}"
        for sql, step in zip(found, steps)
    )
    lines = [line for text in said for line in visible_lines(text)]
    yield "\n".join(["~~~~sql", *_diff(lines), "~~~~"])


def _step(step: Mapping[str, Any]) -> str:
    text = escape(shortened(visible(without_commits(step["explanation"])), _MAX_LINE)) + done_mark(step)
    return text if step["metadata_only"] else f"{text} — reads all rows, or writes files"


def _findings(title: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not found:
        return
    yield title
    lines = [_finding(Finding.from_json(wire)) for wire in found[:_MAX_FINDINGS]]
    if len(found) > _MAX_FINDINGS:
        lines.append(f"- … and {len(found) - _MAX_FINDINGS} more")
    yield "\n".join(lines)


def _finding(finding: Finding) -> str:
    wording = Wording.of(finding)
    said = " ".join(wording.paragraphs)
    accepted = f" Accepted by {finding.waiver.owner}: {finding.waiver.reason}" if finding.waiver else ""
    text = escape(shortened(visible(f"{said}{accepted}"), _MAX_LINE))
    return f"- **{finding.severity.value} {finding.code}** {text}"


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(shortened(visible(text), _MAX_LINE))}" for text in texts)
