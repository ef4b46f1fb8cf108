"""What a report says of a table besides its findings, as lines: what was done, and the answers that were asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.rendering.visible import visible
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Pieces of evidence of an answer beyond these are counted.
_MAX_PIECES = 20


def versions(table: TableReport) -> str:
    """Return the version that the verdict is about, and whether the job changed it; empty where none is known."""
    if table.version is None:
        return ""
    if table.changed:
        return f"{table.version_before} -> {table.version}"
    asked_to_change = table.plan is not None or table.verdict is Verdict.REFUSED
    return f"{table.version}{', nothing changed' if asked_to_change else ''}"


def heading(verdict: str, name: str, table: TableReport) -> str:
    """Return a table's row: its verdict and name, as they are given, and its version."""
    known = versions(table)
    return "  ".join(filter(None, (verdict, name, known and f"version {known}")))


def answers(table: TableReport, width: int) -> Iterator[str]:
    """Yield the plan, the metadata and the usage of column mapping, as far as the job was asked for them."""
    for step in (table.plan or {}).get("steps", ()):
        yield f"    {visible(step['explanation'])}"
    for note in (table.plan or {}).get("notes", ()):
        yield from _wrapped(note, width, 4, 6, bullet="- ")
    yield from _detail(table.detail or {}, width)
    yield from _usage(table.usage, width)


def times(table: TableReport) -> Iterator[str]:
    """Yield the phases that took long enough to be seen."""
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"


def _detail(detail: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the metadata of a table, in short."""
    for name, value in detail.items():
        if isinstance(value, Mapping) and name in ("columns", "features", "configuration"):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        elif isinstance(value, (list, tuple)):
            value = ", ".join(map(str, value))
        if isinstance(value, str) and value:
            yield from _wrapped(f"{name.replace('_', ' ')}: {value}", width, 4, 8)


def _usage(usage: Mapping[str, Any] | None, width: int) -> Iterator[str]:
    """Yield whether columns were renamed or dropped, and what that rests on."""
    if usage is None:
        return
    yield f"    usage of column mapping: {usage['answer']}  mode {usage['mode']}"
    for piece in usage["evidence"][:_MAX_PIECES]:
        yield from _wrapped(piece["text"], width, 8, 10)
    if len(usage["evidence"]) > _MAX_PIECES:
        yield f"        … and {len(usage['evidence']) - _MAX_PIECES} more pieces of evidence"


def _wrapped(text: str, width: int, first: int, rest: int, bullet: str = "") -> Iterator[str]:
    text = " ".join(text.splitlines())
    yield from textwrap.wrap(
        visible(text.expandtabs(1)), width, initial_indent=" " * first + bullet, subsequent_indent=" " * rest
    )
