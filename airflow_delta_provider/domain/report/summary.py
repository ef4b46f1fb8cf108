"""The bounded form of a report that goes to XCom, and helpers to use it in a DAG."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.report.job_report import SCHEMA_VERSION, JobReport
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Bound of the summary, in bytes of JSON.
MAX_BYTES = 48 * 1024
#: Bound of the tables that a summary lists.
MAX_TABLES = 100


def summarise(report: JobReport) -> dict[str, Any]:
    """Return the summary of ``report``: at most ``MAX_TABLES`` tables and ``MAX_BYTES`` bytes.

    The worst tables come first, so that what is cut (then ``truncated`` is true) is what went best.
    ``counts`` covers all tables.
    """
    ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
    rows = [_row(table) for table in ranked[:MAX_TABLES]]
    summary: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": report.kind,
        "verdict": report.verdict.value,
        "changed": report.changed,
        "counts": dict(Counter(table.verdict.value for table in report.tables)),
        "tables": rows,
        "truncated": len(rows) < len(report.tables),
    }
    while rows and _size(summary) > MAX_BYTES:
        del rows[-max(1, len(rows) // 10) :]
        summary["truncated"] = True
    return summary


def findings_of(report: JobReport) -> dict[str, Any]:
    """Return the findings of ``report``, each with its table, within the same bounds as the summary."""
    found = [
        {"table": table.table, **finding.to_json()}
        for table in sorted(report.tables, key=lambda table: -table.verdict.rank)
        for finding in table.findings
    ]
    bounded: dict[str, Any] = {"findings": found[: 10 * MAX_TABLES], "truncated": len(found) > 10 * MAX_TABLES}
    while bounded["findings"] and _size(bounded) > MAX_BYTES:
        del bounded["findings"][-max(1, len(bounded["findings"]) // 10) :]
        bounded["truncated"] = True
    return bounded


def details_of(report: JobReport) -> dict[str, Any]:
    """Return the details of the tables by name, each with its version, in at most ``MAX_BYTES`` bytes.

    What makes them too long is left out (then ``truncated`` is true): of all tables the schemas, which are
    None then, next the columns, and at last whole tables, from the end.
    """
    known = {t.table: {"version": t.version, **t.detail} for t in report.tables if t.detail is not None}
    bounded: dict[str, Any] = {"tables": known, "truncated": False}
    for keys in (("schema", "data_schema"), ("columns",)):
        if _size(bounded) > MAX_BYTES:
            bounded = {
                "tables": {table: {**detail, **dict.fromkeys(keys)} for table, detail in bounded["tables"].items()},
                "truncated": True,
            }
    while bounded["tables"] and _size(bounded) > MAX_BYTES:
        names = list(bounded["tables"])
        for table in names[-max(1, len(names) // 10) :]:
            del bounded["tables"][table]
    return bounded


def tables_with(summary: Mapping[str, Any], *verdicts: Verdict | str) -> list[str]:
    """Return the tables of a summary (the operator's XCom) that ended with one of ``verdicts``."""
    wanted = {Verdict(verdict).value for verdict in verdicts}
    return [row["table"] for row in summary["tables"] if row["verdict"] in wanted]


def violated_tables(report: Mapping[str, Any]) -> list[str]:
    """Return the tables that broke a rule, ready for ``.expand(table=…)``.

    :param report: the operator's ``return_value`` XCom
    """
    return tables_with(report, Verdict.VIOLATED)


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


def _size(document: Any) -> int:
    return len(json.dumps(document).encode())
