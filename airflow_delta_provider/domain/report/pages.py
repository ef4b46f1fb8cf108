"""The part of a report that Airflow's UI shows: as much as fits into XCom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from airflow_delta_provider.domain.report.report import JobReport, ReportPlace, TableReport, Verdict, open_first

#: Key of the XCom.
REPORT_KEY = "delta_report"
#: Limit in bytes of JSON.
MAX_BYTES = 48 * 1024
#: Tables of a report, and findings, that are considered at all: more would never fit.
_MAX_TABLES, _MAX_FINDINGS = 200, 4000


@dataclass(frozen=True)
class Excerpt:
    """A report, cut to the size limit.

    :param report: the report, worst tables first
    :param counts: number of tables of the whole report, by verdict
    :param left_out: parts that were cut, as phrases
    :param place: place of the whole report
    :param dry_run: True if the job only made a plan
    """

    report: JobReport
    counts: Mapping[Verdict, int]
    left_out: tuple[str, ...] = ()
    place: ReportPlace | None = None
    dry_run: bool = False

    @classmethod
    def of(cls, report: JobReport, place: ReportPlace | None = None, *, dry_run: bool = False) -> Excerpt:
        """Cut a report to ``MAX_BYTES`` bytes: first the least useful parts, last the best tables."""
        counts = Counter(table.verdict for table in report.tables)
        ranked = sorted(report.tables, key=lambda table: -table.verdict.rank)
        named = ranked[:_MAX_TABLES]
        most = max(20, _MAX_FINDINGS // max(1, len(named)))
        left = (f"findings beyond {most:,} of a table",) if any(len(table.findings) > most for table in named) else ()
        tables = tuple(_shown(table, most) for table in named)
        shown = cls(replace(report, tables=tables), counts, left, place, dry_run)
        for phrase, cut in _CUTS:
            if shown._size <= MAX_BYTES:
                break
            tables = tuple(map(cut, shown.report.tables))
            if tables != shown.report.tables:
                shown = replace(shown._with(tables), left_out=(*shown.left_out, phrase))
        while shown.report.tables and shown._size > MAX_BYTES:
            shown = shown._with(shown.report.tables[: -max(1, len(shown.report.tables) // 10)])
        missing = len(ranked) - len(shown.report.tables)
        return replace(shown, left_out=(f"{missing:,} tables", *shown.left_out)) if missing else shown

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: plain JSON without tuples, which Airflow would serialise in its own way."""
        wire = json.loads(json.dumps(self.report.to_json()))
        return {
            **wire,
            "tables": [{k: v for k, v in table.items() if v not in (None, [], {})} for table in wire["tables"]],
            "counts": {verdict.value: number for verdict, number in self.counts.items()},
            "left_out": list(self.left_out),
            "dry_run": self.dry_run,
            **(self.place.to_json() if self.place else {}),
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Excerpt:
        """Read the JSON form.

        :raises ValueError: if an incompatible version wrote it; KeyError, TypeError and AttributeError if it is not an
            excerpt
        """
        known = "report_path" in wire
        return cls(
            JobReport.from_json(wire),
            {Verdict(verdict): int(number) for verdict, number in wire["counts"].items()},
            tuple(map(str, wire["left_out"])),
            ReportPlace(wire["report_path"], wire.get("report_error")) if known else None,
            bool(wire["dry_run"]),
        )

    @property
    def _size(self) -> int:
        return len(json.dumps(self.to_json()))

    def _with(self, tables: Sequence[TableReport]) -> Excerpt:
        return replace(self, report=replace(self.report, tables=tuple(tables)))


def _shown(table: TableReport, most: int) -> TableReport:
    """Return a table without the parts that are never shown.

    These are the facts, which the sentences contain anyway, and schemas as JSON.

    :param most: maximum number of findings
    """
    detail = table.detail and {k: v for k, v in table.detail.items() if k not in ("schema", "data_schema")}
    # The message of a finding is composed of its evidence and the rule's texts.
    first = open_first(table.findings)[:most]
    findings = (replace(f, facts=None, message="" if f.evidence else f.message) for f in first)
    return replace(table, findings=tuple(findings), detail=detail, receipt=None)


def _without_actions(table: TableReport) -> TableReport:
    return replace(table, findings=tuple(replace(finding, action=None) for finding in table.findings))


def _few_findings(number: int, table: TableReport) -> TableReport:
    return replace(table, findings=table.findings[:number])


def _few_events(number: int, table: TableReport) -> TableReport:
    events = (table.history or {}).get("events", ())
    if len(events) <= number:
        return table
    history = {**(table.history or {}), "events": events[-number:]}
    return replace(table, history={**history, "omitted": history["omitted"] + len(events) - number})


def _without_columns(table: TableReport) -> TableReport:
    detail = table.detail and {k: v for k, v in table.detail.items() if k not in ("columns", "configuration")}
    history = table.history and {**table.history, "columns": None}
    return replace(table, detail=detail, history=history, spec=None)


def _short_plan(table: TableReport) -> TableReport:
    plan = table.plan and {key: value for key, value in table.plan.items() if key not in ("spec", "diff")}
    return replace(table, plan=plan and {**plan, "steps": [{**step, "sql": None} for step in plan["steps"]]})


def _without_plan(table: TableReport) -> TableReport:
    return replace(table, plan=None, evidence=None)


_CUTS: tuple[tuple[str, Callable[[TableReport], TableReport]], ...] = (
    ("the actions that broke rules", _without_actions),
    ("findings beyond 20 of a table", partial(_few_findings, 20)),
    ("events beyond the newest 30 of a table", partial(_few_events, 30)),
    ("columns and properties", _without_columns),
    ("findings beyond 5 of a table", partial(_few_findings, 5)),
    ("SQL and differences of plans", _short_plan),
    ("events beyond the newest 5 of a table", partial(_few_events, 5)),
    ("plans, and what was looked at", _without_plan),
)


#: Key of the XCom.
TABLES_KEY = "delta_tables"
#: Limit in bytes of JSON: a page reads the rows of many tasks.
MAX_BYTES_OF_ROWS = 8 * 1024


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
        while sizes and sum(sizes) > MAX_BYTES_OF_ROWS - 100:
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
class LatestResult:
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
class LatestResults:
    """The latest results of tables.

    :param latest: latest result for each table and kind of job: a plan does not replace an audit
    :param tasks: number of tasks that were read
    :param oldest: time of the oldest of these tasks; None if there are none
    :param crowded: True if some tasks had no room for all their tables
    """

    latest: tuple[LatestResult, ...] = ()
    tasks: int = 0
    oldest: datetime | None = None
    crowded: bool = False

    @classmethod
    def of(cls, results: Iterable[tuple[Origin, TableRows]]) -> LatestResults:
        """Combine the results of tasks.

        :param results: rows of tasks, newest first; each is dropped once it has been read
        """
        first: dict[tuple[str, str], tuple[TableRow, Origin]] = {}
        since: dict[tuple[str, str], datetime] = {}
        ended: set[tuple[str, str]] = set()
        tasks, oldest, crowded = 0, None, False
        for origin, rows in results:
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
        latest = (LatestResult(*known, key[1], since[key], key not in ended) for key, known in first.items())
        return cls(tuple(latest), tasks, oldest, crowded)

    def and_older(self, results: Iterable[tuple[Origin, TableRows]]) -> LatestResults:
        """Return a copy with the tables that occur only in older tasks.

        Some of the older tasks may be missing, so their earlier verdicts are not used.

        :param results: rows of older tasks, newest first
        """
        known = {(result.row.table, result.kind) for result in self.latest}
        older = LatestResults.of(results)
        new = (result for result in older.latest if (result.row.table, result.kind) not in known)
        added = (replace(result, since=result.origin.at, always=True) for result in new)
        return replace(self, latest=(*self.latest, *added), crowded=self.crowded or older.crowded)
