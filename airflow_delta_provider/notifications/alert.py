"""What is known of a task run, and what an alert says of that, before it is written in any format."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.problem import by_cause
from airflow_delta_provider.domain.rendering.timeline import Mark, Timeline
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.report.verdict import Severity, Verdict
from airflow_delta_provider.domain.visible import visible

#: Severities from worst to least: warnings do not count for a verdict.
SEVERITIES = (Severity.ERROR, Severity.UNDECIDED, Severity.WARNING)
#: Findings that an alert names; beyond them, they are counted.
MAX_NAMED = 1000
#: Tables whose timeline an alert has, and what each says in words.
MAX_TIMELINES, MAX_MARKS = 3, 12
_RANKS = {severity: rank for rank, severity in enumerate(SEVERITIES)}


class News(str, Enum):
    """Why a finding is sent, in the order in which findings are listed."""

    NEW = "new"
    CHANGED = "changed"
    REMINDER = "reminder"
    RESOLVED = "resolved"


@dataclass(frozen=True)
class TableFinding:
    """A finding with the table that it is about."""

    table: str
    finding: Finding


@dataclass(frozen=True)
class Item(TableFinding):
    """A finding that is sent, and why.

    :param led_to: codes of its consequences, which are sent with it
    """

    news: News
    led_to: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the rule calls it; empty for a code that this version does not know."""
        rule = RULES.get(self.finding.code)
        return rule.title if rule else ""

    @property
    def remedy(self) -> str:
        """What to do; empty where the finding weighs less than its rule, since less may be to be done."""
        rule, own = RULES.get(self.finding.code), self.finding.remedy
        if own is not None or rule is None or rule.severity is not self.finding.severity:
            return own or ""
        return rule.remedy

    def to_json(self) -> dict[str, Any]:
        """Return the finding as in a report, with its table and why it is sent."""
        return {"news": self.news.value, "table": self.table, "title": self.title, **self.finding.to_json()}


@dataclass(frozen=True)
class Group:
    """Findings of one rule and severity that are sent for the same reason.

    :param items: one or more, as :func:`worst_first` sorts them
    :param in_full: those of them whose messages are written out
    """

    items: tuple[Item, ...]
    in_full: frozenset[Item]

    @property
    def first(self) -> Item:
        """The first of them: what they have in common is the same of each."""
        return self.items[0]

    @property
    def tables(self) -> int:
        """How many tables they are about."""
        return len({item.table for item in self.items})


@dataclass(frozen=True)
class TableTimeline:
    """What commits did to a table that findings are about: as it is drawn, and for those who do not see that."""

    table: str
    timeline: Timeline

    @property
    def title(self) -> str:
        """Which versions of which table it shows."""
        return f"{self.timeline.title} of {visible(self.table)}"

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What commits did, in words, oldest first."""
        return self.timeline.newest_marks(MAX_MARKS)

    @property
    def rest(self) -> str:
        """How much of it is left out; empty for nothing."""
        left = len(self.timeline.marks) - MAX_MARKS
        return f"… and {left:,} more" if left > 0 else ""


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
    """What is known of a task run when its callback is called.

    :param verdict: of the report; None where there is none
    :param findings: of the report
    :param looked_at: tables whose findings are all there
    :param truncated: whether findings were left out, and could not be read
    :param failure: why the task failed, where the findings do not say it
    :param missing: how many were left out, as far as that is known
    :param place: where the whole report is kept, if that was tried
    :param reports: what is known of the tables, by name
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
        """Return the same without findings of other severities."""
        reports = {
            table: replace(report, findings=tuple(f for f in report.findings if f.severity in wanted))
            for table, report in self.reports.items()
        }
        findings = tuple(found for found in self.findings if found.finding.severity in wanted)
        return replace(self, findings=findings, reports=reports)


@dataclass(frozen=True)
class Alert(Outcome):
    """What is sent about one task run: of its outcome, the findings that are news.

    :param items: the findings that are sent, see :func:`worst_first`
    :param unchanged: how many open findings were sent before
    :param limit: how many findings are written out in full; the others are named
    """

    items: tuple[Item, ...] = ()
    unchanged: int = 0
    limit: int = 20

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to send."""
        return not self.items and self.failure is None and not self.truncated

    @property
    def named(self) -> tuple[Item, ...]:
        """The findings that are named at least, with their tables."""
        return self.items[:MAX_NAMED]

    @property
    def sent(self) -> tuple[Item, ...]:
        """The findings that readers learn of: those that are named, and the others where the whole report is kept."""
        return self.items if self.place is not None and self.place.path else self.named

    @cached_property
    def shown(self) -> tuple[Item, ...]:
        """The findings that are written out in full: the first of each group before the second of any."""
        firsts = {items[0] for items in self._grouped()}
        ranked = sorted(range(len(self.named)), key=lambda index: (self.named[index] not in firsts, index))
        return tuple(self.named[index] for index in sorted(ranked[: self.limit]))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The findings that are named, by their rule: the worst group first."""
        shown = set(self.shown)
        return tuple(Group(items, frozenset(shown.intersection(items))) for items in self._grouped())

    @cached_property
    def timelines(self) -> tuple[TableTimeline, ...]:
        """The timelines of the tables that come first, if they show more than a finding says itself."""
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
        """How many findings are sent, by reason, including those that are not written out."""
        found = Counter(item.news for item in self.items)
        return {news.value: found[news] for news in News if found[news]}

    @property
    def subject(self) -> str:
        """One line, without anything that a table or a commit says of itself."""
        said = ", ".join(f"{count} {news}" for news, count in self.counts.items())
        if self.missing:
            said = ", ".join(filter(None, (said, f"{self.missing} cut off")))
        if not said:
            said = "the task failed" if self.failure is not None else "nothing new"
        return visible(f"Delta {self.verdict or 'NO REPORT'}: {self._violated}{said} in {self.origin.task}")

    @property
    def _violated(self) -> str:
        """The number of violated tables, as the beginning of a list, if the verdict does not say it."""
        number = sum(report.verdict is Verdict.VIOLATED for report in self.reports.values())
        return f"{counted(number, 'table')} VIOLATED, " if number and self.verdict != Verdict.VIOLATED.value else ""


def worst_first(items: Iterable[Item]) -> tuple[Item, ...]:
    """Sort findings: open ones before resolved ones, the worst severity first, then the newest news.

    A consequence of another finding is sent with that one.
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
