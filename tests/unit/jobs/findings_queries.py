"""The queries of the guide about the table of findings, and a history of runs that they are tried on."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "findings-table.md").read_text(encoding="utf-8")
BOARD = ROOT / "docs" / "grafana" / "delta-findings.json"
QUERIES: dict[str, str] = dict(re.findall(r"<!-- query: ([\w-]+) -->\n\n```sql\n(.*?)\n```", GUIDE, re.DOTALL))

_DAY = timedelta(days=1)
TODAY = datetime.now(timezone.utc).replace(hour=6, minute=0, second=0, microsecond=0)


def _run(days_ago: int, table: str, verdict: str, *findings: dict[str, Any], owner: str | None = None) -> list[Any]:
    common = {
        "run": f"{days_ago} {table}",
        "checked_at": TODAY - days_ago * _DAY,
        "job": "audit",
        "table_name": table,
        "verdict": verdict,
        "owner": owner,
    }
    return [{**common, "record": "table"}, *({**common, "record": "finding", **finding} for finding in findings)]


def _finding(key: str, code: str, days_ago: int, **known: Any) -> dict[str, Any]:
    found = {"finding_key": key, "code": code, "severity": "ERROR", "version": 4, "since": TODAY - days_ago * _DAY}
    return {**found, "is_open": True, "writer": "delta-rs 0.17", **known}


_A, _B, _C = _finding("a", "AC08", 20), _finding("b", "RT05", 10, writer=None), _finding("c", "AC08", 3)
_FIXED = {"is_open": False, "healed_version": 9}
#: Runs of ten days: one finding is fixed at a known time, one at an unknown time, one is still open.
ROWS: list[dict[str, Any]] = [
    *_run(9, "orders", "VIOLATED", _A, _B, owner="sales"),
    *_run(5, "orders", "VIOLATED", {**_A, **_FIXED, "healed_at": TODAY - 6 * _DAY}, _B, owner="sales"),
    *_run(4, "orders", "PASS", {**_B, "is_open": False, "status": "RESOLVED"}, owner="sales"),
    *_run(2, "stock", "VIOLATED", _C),
    *_run(1, "stock", "FAULT"),
    *_run(1, "orders", "PASS", owner="sales"),
]
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "open-findings": [("nobody", "stock", "AC08", "ERROR")],
    "time-to-heal": [("AC08", 1, 14.0, 14), ("RT05", 1, 6.0, 6)],
    "verdicts": [
        ("VIOLATED", 1),
        ("VIOLATED", 1),
        ("PASS", 1),
        ("VIOLATED", 1),
        ("FAULT", 1),
        ("PASS", 1),
    ],
    "engines": [("delta-rs 0.17", "AC08", 2, 2), ("unknown", "RT05", 1, 1)],
}


def without_times(name: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a row that do not depend on the day of the test."""
    return {"open-findings": row[:4], "verdicts": row[1:], "engines": row[:4]}.get(name, row)
