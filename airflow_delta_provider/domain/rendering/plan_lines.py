"""The plan of a change as lines: steps, their commits, and changes of the declared state."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.visible import visible

#: Maximum number of diff lines; the rest is counted.
_MAX_DIFF = 60


def plan_lines(plan: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the steps and notes of a plan.

    For a migration, also yield its diff and the options needed to apply it.
    """
    by_commit = steps_by_commit(plan)
    for number, steps in by_commit.items():
        texts = [f"{visible(step['explanation'])}{done_mark(step)}" for step in steps]
        if number is None:
            yield from (f"    {text}" for text in texts)
        elif len(texts) == 1:
            yield from wrapped(texts[0], width, 4, 7, bullet=f"{number}. ")
        else:
            yield f"    {number}. in one commit:"
            for step in steps:
                text = f"{visible(without_commits(step['explanation']))}{done_mark(step)}"
                yield from wrapped(text, width, 7, 9, bullet="- ")
    for note in plan.get("notes", ()):
        yield from wrapped(note, width, 4, 6, bullet="- ")
    diff = plan.get("diff", ())
    if diff:
        yield "    what is declared:"
        yield from (f"      {visible(line)}" for line in diff[:_MAX_DIFF])
        if len(diff) > _MAX_DIFF:
            yield f"      … and {len(diff) - _MAX_DIFF} more lines"
    if permissions := plan.get("permissions"):
        yield visible(f"    to apply it, set: {', '.join(permissions)}")


def outlook(plan: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the downstream effects of a migration's plan, and why it needs approval."""
    breaks = dict.fromkeys(text for step in plan.get("steps", ()) for text in step.get("breaks", ()))
    if breaks:
        yield "    what breaks:"
        for text in breaks:
            yield from wrapped(text, width, 6, 8, bullet="- ")
    if plan.get("steps") and "approval" in plan:
        why = " ".join(plan["approval"])
        text = f"needs approval: {why}" if why else "needs no approval: the policy lets it be applied"
        yield from wrapped(text, width, 4, 6)


def steps_by_commit(plan: Mapping[str, Any]) -> dict[int | None, list[Mapping[str, Any]]]:
    """Return the steps grouped by their commit number; plans without numbers are under None."""
    found: dict[int | None, list[Mapping[str, Any]]] = {}
    for step in plan.get("steps", ()):
        found.setdefault(step.get("step"), []).append(step)
    return found


def done_mark(step: Mapping[str, Any]) -> str:
    """Return the end of a step's text if an earlier attempt of the run did it, else an empty string."""
    return ", done by an earlier try" if step.get("done_earlier") else ""


def without_commits(explanation: str) -> str:
    return explanation.rpartition(" (")[0] or explanation


def wrapped(text: str, width: int, first: int, rest: int, bullet: str = "") -> Iterator[str]:
    """Yield the lines of a text, wrapped and indented.

    :param first: indentation of the first line
    :param rest: indentation of the other lines
    """
    text = " ".join(text.splitlines()).expandtabs(1)
    blanks = " " * rest
    yield from textwrap.wrap(visible(text), width, initial_indent=" " * first + bullet, subsequent_indent=blanks)
