"""Lines about a table in addition to its findings: completed changes, and answers to requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.rendering.plan_lines import outlook, plan_lines, wrapped
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Maximum number of pieces of evidence of an answer; the rest is counted.
_MAX_PIECES = 20


def versions(table: TableReport) -> str:
    """Return the version of the verdict; empty if unknown.

    If the job changed the table, the version before is included.
    """
    if table.version is None:
        return ""
    if table.changed:
        return f"{table.version_before} -> {table.version}"
    asked_to_change = table.plan is not None or table.verdict is Verdict.REFUSED
    return f"{table.version}{', nothing changed' if asked_to_change else ''}"


def heading(verdict: str, name: str, table: TableReport) -> str:
    """Return a table's row: the given verdict and name, and its version."""
    known = versions(table)
    return "  ".join(filter(None, (verdict, name, known and f"version {known}")))


def answers(table: TableReport, width: int) -> Iterator[str]:
    """Yield the results that the job was asked for.

    They are the plan, the spec, the metadata, the usage of column mapping, and the engines.
    """
    yield from plan_lines(table.plan or {}, width)
    if not table.changed:
        yield from outlook(table.plan or {}, width)
    yield from _spec(table.spec)
    yield from _detail(table.detail or {}, width)
    yield from _usage(table.usage, width)
    yield from _engines(table.evidence or {}, width)


def times(table: TableReport) -> Iterator[str]:
    """Yield the phases that took at least 0.05 s."""
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in table.timings.items() if seconds >= 0.05)
    if spent:
        yield f"    time: {spent}"


def _detail(detail: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the metadata of a table, in short form."""
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
    """Yield the answer on usage of column mapping, with its evidence."""
    if usage is None:
        return
    yield f"    usage of column mapping: {usage['answer']}  mode {usage['mode']}"
    for piece in usage["evidence"][:_MAX_PIECES]:
        yield from wrapped(piece["text"], width, 8, 10)
    if len(usage["evidence"]) > _MAX_PIECES:
        yield f"        … and {len(usage['evidence']) - _MAX_PIECES} more pieces of evidence"


def _engines(evidence: Mapping[str, Any], width: int) -> Iterator[str]:
    """Yield the outcome for each engine that uses a table, and the other engines that are locked out."""
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
