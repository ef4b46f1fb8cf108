"""The part of a report that Airflow's UI shows: as much as fits into XCom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.job_report import JobReport
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Verdict

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

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all tables. Omitted tables are never worse than the rest."""
        return self.report.verdict

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
    first = _open_first(table.findings)[:most]
    findings = (replace(f, facts=None, message="" if f.evidence else f.message) for f in first)
    return replace(table, findings=tuple(findings), detail=detail, receipt=None)


def _open_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: not finding.is_open)


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
