"""The size-limited form of a report for XCom, with the place of the whole report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.report.report import SCHEMA_VERSION, JobReport, ReportPlace, TableReport, Verdict

#: Limit of the summary, in bytes of JSON.
MAX_BYTES = 48 * 1024
#: Maximum number of tables in a summary.
MAX_TABLES = 100


class CutSummaryError(LookupError):
    """A summary that does not list all requested tables.

    :param missing: number of requested tables that are not listed
    :param total: number of requested tables
    """

    def __init__(self, missing: int, total: int, verdicts: str) -> None:
        super().__init__(f"XCom has room for {total - missing} of the {total} tables that are {verdicts}")
        self.missing = missing
        self.total = total


def summarise(report: JobReport, place: ReportPlace | None = None, *, dry_run: bool = False) -> dict[str, Any]:
    """Return the summary of ``report``: at most ``MAX_TABLES`` tables and ``MAX_BYTES`` bytes.

    The worst tables come first, so the best are cut (then ``truncated`` is true). ``counts`` covers all tables.

    :param place: place of the whole report
    :param dry_run: True if the job only made plans. The rows then contain the plans; their steps and notes are the
        first to be cut (each cut plan has ``truncated``)
    """
    ranked = _ranked(report)
    rows = [_row(table) | (_planned(table) if dry_run else {}) for table in ranked[:MAX_TABLES]]
    summary: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": report.kind,
        "verdict": report.verdict.value,
        "changed": report.changed,
        "counts": dict(Counter(table.verdict.value for table in report.tables)),
        "tables": rows,
        "truncated": len(rows) < len(report.tables),
        **({"dry_run": True} if dry_run else {}),
        **(place.to_json() if place else {}),
    }
    if _size(summary) > MAX_BYTES:
        _shorten_plans(rows, _size(summary) - MAX_BYTES)
    while rows and _size(summary) > MAX_BYTES:
        del rows[-max(1, len(rows) // 10) :]
        summary["truncated"] = True
    return summary


def findings_of(report: JobReport, place: ReportPlace | None = None) -> dict[str, Any]:
    """Return the findings of ``report``, each with its table, within the same limits as the summary.

    If findings are cut, ``omitted`` is their number, and the place of the whole report is included.
    """
    found = all_findings_of(report)
    shown = found[: 10 * MAX_TABLES]
    bounded: dict[str, Any] = {"findings": shown, "truncated": False}
    while len(shown) < len(found) or _size(bounded) > MAX_BYTES:
        bounded = {"findings": shown, **_omitted(len(found) - len(shown), place)}
        if not shown or _size(bounded) <= MAX_BYTES:
            break
        del shown[-max(1, len(shown) // 10) :]
    return bounded


def all_findings_of(report: JobReport) -> list[dict[str, Any]]:
    """Return all findings of ``report``, each with its table, worst tables first."""
    return [{"table": table.table, **finding.to_json()} for table in _ranked(report) for finding in table.findings]


def details_of(report: JobReport, place: ReportPlace | None = None) -> dict[str, Any]:
    """Return the details of the tables by name, each with its version, in at most ``MAX_BYTES`` bytes.

    Parts that do not fit are cut (then ``truncated`` is true). First the schemas and then the columns of all tables
    become None. Last, whole tables are cut from the end; ``omitted`` is their number. The place of the whole report,
    which has all details, is included.
    """
    known = {t.table: {"version": t.version, **t.detail} for t in report.tables if t.detail is not None}
    bounded: dict[str, Any] = {"tables": known, "truncated": False}
    for keys in (("schema", "data_schema"), ("columns",)):
        if _size(bounded) > MAX_BYTES:
            bounded = {
                "tables": {table: {**detail, **dict.fromkeys(keys)} for table, detail in bounded["tables"].items()},
                **_omitted(0, place),
            }
    while bounded["tables"] and _size(bounded) > MAX_BYTES:
        names = list(bounded["tables"])
        for table in names[-max(1, len(names) // 10) :]:
            del bounded["tables"][table]
        bounded["omitted"] = len(known) - len(bounded["tables"])
    return bounded


def tables_with(summary: Mapping[str, Any], *verdicts: Verdict | str) -> list[str]:
    """Return the tables of a summary that ended with one of ``verdicts``.

    :raises CutSummaryError: if the summary does not list all of them
    """
    wanted = {Verdict(verdict).value for verdict in verdicts}
    listed = [row["table"] for row in summary["tables"] if row["verdict"] in wanted]
    total = sum(summary["counts"].get(verdict, 0) for verdict in wanted)
    if len(listed) < total:
        raise CutSummaryError(total - len(listed), total, " or ".join(sorted(wanted)))
    return listed


def all_tables_with(report: JobReport, *verdicts: Verdict | str) -> list[str]:
    """Return the tables of a whole report that ended with one of ``verdicts``, in the order of a summary."""
    wanted = {Verdict(verdict) for verdict in verdicts}
    return [table.table for table in _ranked(report) if table.verdict in wanted]


def violated_tables(report: Mapping[str, Any]) -> list[str]:
    """Return the tables of a summary that broke a rule.

    :raises CutSummaryError: if the summary does not list all of them
    """
    return tables_with(report, Verdict.VIOLATED)


def _ranked(report: JobReport) -> list[TableReport]:
    return sorted(report.tables, key=lambda table: -table.verdict.rank)


def _row(table: TableReport) -> dict[str, Any]:
    row = {
        "table": table.table,
        "verdict": table.verdict.value,
        "version": table.version,
        "changed": table.changed,
        "findings": len(table.findings),
    }
    usage = None if table.usage is None else table.usage["answer"]
    return row | {key: value for key, value in (("usage", usage), ("earliest", table.earliest)) if value is not None}


def _planned(table: TableReport) -> dict[str, Any]:
    """Return a table's plan and its protocol before and after; empty if it has no plan."""
    if table.plan is None:
        return {}
    return {"plan": dict(table.plan), "protocol_before": table.protocol_before, "protocol_after": table.protocol_after}


def _shorten_plans(rows: list[dict[str, Any]], excess: int) -> None:
    """Remove steps and notes, from the longest plans first. The digest and the number of commits stay.

    :param excess: number of bytes to save
    """
    planned = [row for row in rows if row.get("plan")]
    for row in sorted(planned, key=lambda row: -_size(row["plan"])):
        if excess <= 0:
            return
        before = _size(row["plan"])
        row["plan"] = {**row["plan"], "steps": [], "notes": [], "truncated": True}
        excess -= before - _size(row["plan"])


def _omitted(number: int, place: ReportPlace | None) -> dict[str, Any]:
    """Return the keys that mark a cut."""
    return {"truncated": True, "omitted": number, **(place.to_json() if place else {})}


def _size(document: Any) -> int:
    return len(json.dumps(document).encode())
