"""Steps as sentences, for the task log and for refusals."""

from __future__ import annotations

from functools import singledispatch

from airflow_delta_provider.domain.delta.column import quote
from airflow_delta_provider.domain.plan.step import (
    DropFeature,
    RemoveMapping,
    RewriteUnmapped,
    SetProperties,
    Step,
    WidenColumns,
)


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


@explain.register
def _(step: RemoveMapping) -> str:
    proof = {"history": "the history", "footers": "the footers of all live files"}[step.rests_on]
    return f"take column mapping out of the metadata and touch no data, as {proof} allows ({_commits(step.commits)})"


@explain.register
def _(step: RewriteUnmapped) -> str:
    files = "1 data file" if step.files == 1 else f"{step.files} data files"
    return f"rewrite {files} ({size_text(step.size)}) without column mapping ({_commits(step.commits)})"


def size_text(size: int) -> str:
    """Return a number of bytes as people read it."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


@explain.register
def _(step: DropFeature) -> str:
    rewrites = f", which rewrites {counted(step.files, step.size)}" if step.files else ""
    truncates = ", and truncate the history that has traces of it" if step.truncate_history else ""
    return f"drop {step.feature}{rewrites}{truncates} ({_commits(step.commits)})"


def counted(files: int, size: int) -> str:
    """Return how many data files, and how large they are together, for people."""
    return f"{'1 data file' if files == 1 else f'{files:,} data files'} ({size_text(size)})"


def _path(parts: tuple[str, ...]) -> str:
    return ".".join(quote(part) if "." in part or "`" in part else part for part in parts)


def _commits(number: int) -> str:
    return "1 commit" if number == 1 else f"about {number} commits"
