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
        rows = (
            TableRow(str(table), Verdict(verdict), None if version is None else int(version), int(open_))
            for table, verdict, version, open_ in wire["tables"]
        )
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
    kind: str
    origin: Origin
    since: datetime
    always: bool = True


def latest_looks(looked: Iterable[tuple[Origin, TableRows]]) -> list[LatestLook]:
    """Return what is known last of each table, from each kind of job: a plan says nothing of an audit.

    :param looked: the newest first
    """
    found: dict[tuple[str, str], LatestLook] = {}
    for origin, rows in looked:
        for row in rows.rows:
            known = found.get((row.table, rows.kind))
            if known is None:
                found[row.table, rows.kind] = LatestLook(row, rows.kind, origin, origin.at)
            elif known.always:
                same = row.verdict is known.row.verdict
                found[row.table, rows.kind] = replace(known, since=origin.at) if same else replace(known, always=False)
    return list(found.values())
