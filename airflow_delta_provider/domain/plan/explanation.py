"""Steps as sentences, for the task log and for refusals."""

from __future__ import annotations

from functools import singledispatch

from airflow_delta_provider.domain.delta.column import quote
from airflow_delta_provider.domain.plan.step import SetProperties, Step, WidenColumns


@singledispatch
def explain(step: Step) -> str:
    """Return one line that says what ``step`` does."""
    raise TypeError(f"no explanation for {step!r}")


@explain.register
def _(step: SetProperties) -> str:
    properties = ", ".join(f"{name}={value}" for name, value in step.properties)
    enables = f", which switches on {', '.join(step.enables)}" if step.enables else ""
    return f"set {properties}{enables} ({_commits(step.commits)})"


@explain.register
def _(step: WidenColumns) -> str:
    columns = ", ".join(f"{_path(column.parts)} {column.old} -> {column.new}" for column in step.columns)
    return f"widen {columns} ({_commits(step.commits)})"


def _path(parts: tuple[str, ...]) -> str:
    return ".".join(quote(part) if "." in part or "`" in part else part for part in parts)


def _commits(number: int) -> str:
    return "1 commit" if number == 1 else f"about {number} commits"
