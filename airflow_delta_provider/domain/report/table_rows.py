"""How the tables of a report ended, in short: what the list of all tables in Airflow's UI is made of."""

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
#: Bound in bytes of JSON: a page reads those of many tasks.
MAX_BYTES = 8 * 1024


@dataclass(frozen=True)
class TableRow:
    """How a table ended, in short.

    :param open: number of findings that count
    """

    table: str
    verdict: Verdict
    version: int | None = None
    open: int = 0


@dataclass(frozen=True)
class TableRows:
    """The tables of a report, in short.

    :param kind: of the job
    :param rows: the worst first
    :param omitted: number of those that there was no room for
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
        """Return the wire form, in which a row is a list."""
        return {"kind": self.kind, "tables": list(map(_row_to_json, self.rows)), "omitted": self.omitted}

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> TableRows:
        """Read the wire form.

        :raises ValueError: if it is none; KeyError, TypeError and AttributeError likewise
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
    """The task that looked at tables.

    :param at: when it said so
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    at: datetime


@dataclass(frozen=True)
class LatestLook:
    """What is known last of a table, from one kind of job.

    :param row: how the table ended
    :param origin: the task that said so
    :param since: the first of the looks, one after the other, that ended like this
    :param always: whether no other verdict is known from before
    """

    row: TableRow
    origin: Origin
    kind: str
    since: datetime
    always: bool = True


@dataclass(frozen=True)
class Looks:
    """What is known last of tables.

    :param latest: of each table, from each kind of job: a plan says nothing of an audit
    :param tasks: number of tasks that said so
    :param oldest: when the first of them said so; None where there is none
    :param crowded: whether some had no room for all their tables
    """

    latest: tuple[LatestLook, ...] = ()
    tasks: int = 0
    oldest: datetime | None = None
    crowded: bool = False

    @classmethod
    def of(cls, looked: Iterable[tuple[Origin, TableRows]]) -> Looks:
        """Fold what tasks said.

        :param looked: the newest first; each is forgotten as soon as it was taken
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
        """Return these, and tables that only older tasks looked at, of which not all are known.

        :param looked: the newest first
        """
        known = {(look.row.table, look.kind) for look in self.latest}
        older = Looks.of(looked)
        new = (look for look in older.latest if (look.row.table, look.kind) not in known)
        added = (replace(look, since=look.origin.at, always=True) for look in new)
        return replace(self, latest=(*self.latest, *added), crowded=self.crowded or older.crowded)
