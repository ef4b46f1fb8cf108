"""Short results of a report's tables, for the list of all tables in Airflow's UI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.verdict import Verdict

#: Key of the XCom.
TABLES_KEY = "delta_tables"
#: Limit in bytes of JSON: a page reads the rows of many tasks.
MAX_BYTES = 8 * 1024


@dataclass(frozen=True)
class TableRow:
    """The short result of one table.

    :param open: number of open findings
    """

    table: str
    verdict: Verdict
    version: int | None = None
    open: int = 0


@dataclass(frozen=True)
class TableRows:
    """The short results of a report's tables.

    :param kind: kind of the job
    :param rows: rows of the tables, worst first
    :param omitted: number of tables that did not fit
    """

    kind: str
    rows: tuple[TableRow, ...] = ()
    omitted: int = 0

    @classmethod
    def of(cls, report: JobReport) -> TableRows:
        """Return the rows of a report, in at most ``MAX_BYTES`` bytes."""
        ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
        rows = tuple(
            TableRow(t.table, t.verdict, t.version, sum(finding.is_open for finding in t.findings)) for t in ranked
        )
        sizes = [len(json.dumps(_row_to_json(row))) + 2 for row in rows]
        while sizes and sum(sizes) > MAX_BYTES - 100:
            sizes.pop()
        return cls(report.kind, rows[: len(sizes)], len(rows) - len(sizes))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; a row is a list."""
        return {"kind": self.kind, "tables": list(map(_row_to_json, self.rows)), "omitted": self.omitted}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TableRows:
        """Read the JSON form.

        :raises ValueError: if it is not one; KeyError, TypeError and AttributeError likewise
        """
        rows = [
            TableRow(str(table), Verdict(verdict), None if version is None else int(version), int(number))
            for table, verdict, version, number in wire["tables"]
        ]
        return cls(str(wire["kind"]), tuple(rows), int(wire["omitted"]))


def _row_to_json(row: TableRow) -> list[Any]:
    return [row.table, row.verdict.value, row.version, row.open]


@dataclass(frozen=True)
class Origin:
    """The task that checked or changed tables.

    :param at: time of its result
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    at: datetime


@dataclass(frozen=True)
class LatestLook:
    """The latest result of a table, from one kind of job.

    :param row: result of the table
    :param origin: task that reported it
    :param since: time of the first of the consecutive results with this verdict
    :param always: True if no earlier result with another verdict is known
    """

    row: TableRow
    origin: Origin
    kind: str
    since: datetime
    always: bool = True


@dataclass(frozen=True)
class Looks:
    """The latest results of tables.

    :param latest: latest result for each table and kind of job: a plan does not replace an audit
    :param tasks: number of tasks that were read
    :param oldest: time of the oldest of these tasks; None if there are none
    :param crowded: True if some tasks had no room for all their tables
    """

    latest: tuple[LatestLook, ...] = ()
    tasks: int = 0
    oldest: datetime | None = None
    crowded: bool = False

    @classmethod
    def of(cls, looked: Iterable[tuple[Origin, TableRows]]) -> Looks:
        """Combine the results of tasks.

        :param looked: rows of tasks, newest first; each is dropped once it has been read
        """
        first: dict[tuple[str, str], tuple[TableRow, Origin]] = {}
        since: dict[tuple[str, str], datetime] = {}
        ended: set[tuple[str, str]] = set()
        tasks, oldest, crowded = 0, None, False
        for origin, rows in looked:
            tasks, oldest, crowded = tasks + 1, origin.at, crowded or rows.omitted > 0
            for row in rows.rows:
                key = row.table, rows.kind
                known = first.setdefault(key, (row, origin))
                if key in ended:
                    continue
                if row.verdict is known[0].verdict:
                    since[key] = origin.at
                else:
                    ended.add(key)
        latest = (LatestLook(*known, key[1], since[key], key not in ended) for key, known in first.items())
        return cls(tuple(latest), tasks, oldest, crowded)

    def and_older(self, looked: Iterable[tuple[Origin, TableRows]]) -> Looks:
        """Return a copy with the tables that occur only in older tasks.

        Some of the older tasks may be missing, so their earlier verdicts are not used.

        :param looked: rows of older tasks, newest first
        """
        known = {(look.row.table, look.kind) for look in self.latest}
        older = Looks.of(looked)
        new = (look for look in older.latest if (look.row.table, look.kind) not in known)
        added = (replace(look, since=look.origin.at, always=True) for look in new)
        return replace(self, latest=(*self.latest, *added), crowded=self.crowded or older.crowded)
