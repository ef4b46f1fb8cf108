"""The outcome of a task run, and the content of its alert, independent of the format."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.report_document import by_cause
from airflow_delta_provider.domain.rendering.timeline import Timeline
from airflow_delta_provider.domain.report.report import Finding, ReportPlace, Severity, TableReport, Verdict
from airflow_delta_provider.domain.text import counted, visible

#: Severities from worst to least: warnings do not count for a verdict.
SEVERITIES = (Severity.ERROR, Severity.UNDECIDED, Severity.WARNING)
#: Maximum number of findings that an alert names; further ones are only counted.
MAX_NAMED = 1000
#: Maximum number of timelines in an alert, and of marks that each describes in words.
MAX_TIMELINES, MAX_MARKS = 3, 12
_RANKS = {severity: rank for rank, severity in enumerate(SEVERITIES)}


class News(str, Enum):
    """Reason to send a finding, in the order of the list of findings."""

    NEW = "new"
    CHANGED = "changed"
    REMINDER = "reminder"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class TableFinding:
    """A finding and its table."""

    table: str
    finding: Finding


@dataclass(frozen=True)
class Item(TableFinding):
    """A finding to send, and the reason.

    :param led_to: codes of its consequences, which are sent with it
    """

    news: News
    led_to: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the finding's rule; empty for a code that this version does not know."""
        rule = RULES.get(self.finding.code)
        return rule.title if rule else ""

    @property
    def remedy(self) -> str:
        """The finding's own remedy, or else its rule's.

        The rule's remedy is left out if the severities differ, since less may have to be done.
        """
        rule, own = RULES.get(self.finding.code), self.finding.remedy
        if own is not None or rule is None or rule.severity is not self.finding.severity:
            return own or ""
        return rule.remedy

    def to_json(self) -> dict[str, Any]:
        """Return the finding as in a report, with its table and the reason to send it."""
        return {"news": self.news.value, "table": self.table, "title": self.title, **self.finding.to_json()}


@dataclass(frozen=True)
class Group:
    """Findings of one rule and severity that are sent for the same reason.

    :param items: one or more findings, as sorted by :func:`worst_first`
    :param in_full: items whose messages are written out
    """

    items: tuple[Item, ...]
    in_full: frozenset[Item]

    @property
    def first(self) -> Item:
        """The first item, for the facts that all items share."""
        return self.items[0]

    @property
    def tables(self) -> int:
        """Number of tables in the group."""
        return len({item.table for item in self.items})


@dataclass(frozen=True)
class TableTimeline:
    """The changes that commits made to a table with findings: a drawing, and words for readers who cannot see it."""

    table: str
    timeline: Timeline

    @property
    def title(self) -> str:
        """The versions and the table that it shows."""
        return f"{self.timeline.title} of {visible(self.table)}"


@dataclass(frozen=True)
class Origin:
    """The task run that an alert is about."""

    dag_id: str
    task_id: str
    run_id: str | None = None
    map_index: int = -1
    try_number: int | None = None
    log_url: str | None = None

    @property
    def source(self) -> str:
        """DAG and task."""
        return f"{self.dag_id}.{self.task_id}"

    @property
    def task(self) -> str:
        """DAG and task, with the map index of a mapped one."""
        index = f"[{self.map_index}]" if self.map_index >= 0 else ""
        return f"{self.source}{index}"


@dataclass(frozen=True)
class Outcome:
    """State of a task run when its callback is called.

    :param verdict: verdict of the report; None if there is no report
    :param findings: findings of the report
    :param looked_at: tables whose findings are complete
    :param truncated: True if findings were left out, and could not be read
    :param failure: reason of the task's failure, if the findings do not give it
    :param missing: number of findings left out, as far as known
    :param place: place of the whole report, if the task tried to keep it
    :param reports: reports of the tables, by name
    """

    origin: Origin
    verdict: str | None = None
    findings: tuple[TableFinding, ...] = ()
    looked_at: frozenset[str] = frozenset()
    truncated: bool = False
    failure: str | None = None
    missing: int = 0
    place: ReportPlace | None = None
    reports: Mapping[str, TableReport] = field(default_factory=dict)

    def of_severity(self, wanted: Collection[Severity]) -> Outcome:
        """Return the outcome without findings of other severities."""
        reports = {
            table: replace(report, findings=tuple(f for f in report.findings if f.severity in wanted))
            for table, report in self.reports.items()
        }
        findings = tuple(found for found in self.findings if found.finding.severity in wanted)
        return replace(self, findings=findings, reports=reports)


@dataclass(frozen=True)
class Alert(Outcome):
    """The content of an alert about one task run: its outcome, and the findings that are news.

    :param items: findings to send, see :func:`worst_first`
    :param unchanged: number of open findings that were sent before
    :param limit: largest number of findings that are written out in full; the others are named
    :param most: largest number of findings that are named; None for as many as an alert names
    """

    items: tuple[Item, ...] = ()
    unchanged: int = 0
    limit: int = 20
    most: int | None = None

    @property
    def quiet(self) -> bool:
        """True if there is nothing to send."""
        return not self.items and self.failure is None and not self.truncated

    @property
    def named(self) -> tuple[Item, ...]:
        """The findings that are at least named, with their tables."""
        return self.items[: MAX_NAMED if self.most is None else self.most]

    @property
    def unnamed(self) -> tuple[Item, ...]:
        """The findings that are only counted."""
        return self.items[len(self.named) :]

    @property
    def sent(self) -> tuple[Item, ...]:
        """The findings that reach readers: the named ones, or all of them if the whole report is kept."""
        return self.items if self.place is not None and self.place.path else self.named

    @cached_property
    def shown(self) -> tuple[Item, ...]:
        """The findings that are written out in full: the first of each group comes before the second of any group."""
        firsts = {items[0] for items in self._grouped()}
        ranked = sorted(range(len(self.named)), key=lambda index: (self.named[index] not in firsts, index))
        return tuple(self.named[index] for index in sorted(ranked[: self.limit]))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The named findings by rule, the worst group first."""
        shown = set(self.shown)
        return tuple(Group(items, frozenset(shown.intersection(items))) for items in self._grouped())

    @cached_property
    def timelines(self) -> tuple[TableTimeline, ...]:
        """The timelines of the first tables, if they show more than the findings themselves."""
        reports = map(self.reports.get, dict.fromkeys(item.table for item in self.shown))
        drawn = ((report.table, Timeline.of(report)) for report in reports if report is not None)
        found = (TableTimeline(table, drawn) for table, drawn in drawn if drawn is not None and len(drawn.marks) > 1)
        return tuple(islice(found, MAX_TIMELINES))

    def _grouped(self) -> list[tuple[Item, ...]]:
        groups: defaultdict[tuple[News, Severity, str], list[Item]] = defaultdict(list)
        for item in self.named:
            groups[item.news, item.finding.severity, item.finding.code].append(item)
        return list(map(tuple, groups.values()))

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of findings to send, by reason, including findings that are not written out."""
        found = Counter(item.news for item in self.items)
        return {news.value: found[news] for news in News if found[news]}

    @property
    def subject(self) -> str:
        """One line, which quotes no text from a table or a commit."""
        parts = [f"{count} {news}" for news, count in self.counts.items()]
        if self.missing:
            parts.append(f"{self.missing} cut off")
        if not parts:
            parts = ["the task failed" if self.failure is not None else "nothing new"]
        return visible(f"Delta {self.verdict or 'NO REPORT'}: {self._violated}{', '.join(parts)} in {self.origin.task}")

    @property
    def _violated(self) -> str:
        """The number of violated tables, as the start of a list; empty if the verdict already says VIOLATED."""
        number = sum(report.verdict is Verdict.VIOLATED for report in self.reports.values())
        return f"{counted(number, 'table')} VIOLATED, " if number and self.verdict != Verdict.VIOLATED.value else ""


def worst_first(items: Iterable[Item]) -> tuple[Item, ...]:
    """Sort findings: open ones before resolved ones, the worst severity first, then by the reason to send them.

    A consequence of another finding is sent with that finding.
    """
    news = list(News)
    return tuple(
        sorted(
            _with_causes(items),
            key=lambda item: (
                item.news is News.RESOLVED,
                _RANKS[item.finding.severity],
                news.index(item.news),
                item.table,
                item.finding.version or 0,
                item.finding.code,
            ),
        )
    )


def _with_causes(items: Iterable[Item]) -> Iterator[Item]:
    by_table: defaultdict[tuple[str, News], list[Finding]] = defaultdict(list)
    for item in items:
        by_table[item.table, item.news].append(item.finding)
    for (table, news), findings in by_table.items():
        for finding, follows in by_cause(findings):
            yield Item(table, finding, news, tuple(other.code for other in follows))
