"""What a report says of a table in addition to its findings, as lines: what was done, and answers to questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.rendering.plan_lines import outlook, plan_lines, wrapped
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
    yield from plan_lines(table.plan or {}, width)
    if not table.changed:
        yield from outlook(table.plan or {}, width)
    yield from _spec(table.spec)
    yield from _detail(table.detail or {}, width)
    yield from _usage(table.usage, width)
    yield from _engines(table.evidence or {}, width)


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
            yield from wrapped(f"{name.replace('_', ' ')}: {value}", width, 4, 8)


def _spec(spec: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines of a spec file."""
    if spec is not None:
        # Imported late: most reports have none.
        from airflow_delta_provider.domain.spec.writing import Written, file_text

        yield from (f"    {line}" for line in file_text([Written(spec)], head=False).splitlines())


def _usage(usage: Mapping[str, Any] | None, width: int) -> Iterator[str]:
    """Yield whether columns were renamed or dropped, and what that rests on."""
    if usage is None:
        return
    yield f"    usage of column mapping: {usage['answer']}  mode {usage['mode']}"
    for piece in usage["evidence"][:_MAX_PIECES]:
        yield from wrapped(piece["text"], width, 8, 10)
    if len(usage["evidence"]) > _MAX_PIECES:
        yield f"        … and {len(usage['evidence']) - _MAX_PIECES} more pieces of evidence"


def _engines(evidence: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield what becomes of the engines that use a table, and which others are locked out."""
    for engine in evidence.get("engines", ()):
        wrote = f", {engine['commits']:,} commits" if engine["commits"] else ""
        yield from wrapped(f"{engine['engine']} ({engine['uses']}{wrote}): {engine['outcome']}", width, 4, 8)
    known = evidence.get("known_lockouts", {})
    for access, engines in known.items():
        if engines:
            yield from wrapped(f"known not to {access} such tables: {', '.join(engines)}", width, 4, 8)
    probe = evidence.get("probe")
    if probe is not None:
        said = {True: "reads the table", False: "does not read the table", None: "could not be tried"}[probe["reads"]]
        tried = " ".join(filter(None, (probe["engine"], probe["version"])))
        yield from wrapped(f"tried: {tried} {said}", width, 4, 8)
