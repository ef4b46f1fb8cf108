"""Which findings were sent to which notifier: each is sent once, and none is forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.problem import is_about_table
from airflow_delta_provider.domain.report.finding import Finding, Status
from airflow_delta_provider.notifications.alert import News, TableFinding

#: Where nothing is remembered of an open finding, why it is sent, by its status.
_OVER = "{table} has been checked again."
_BY_STATUS = {Status.KNOWN: None, Status.CHANGED: News.CHANGED}


@dataclass(frozen=True)
class Trace:
    """What is remembered of one finding.

    :param source: the task that reported it
    :param sent_at: when it was last sent, or first seen as known; None if it has to be sent once it is open
    :param was_open: whether it was open then
    :param says: digest of what it said
    :param code: rule of a finding that is not about a table, so that its end can be sent
    """

    table: str
    source: str
    sent_at: datetime | None
    was_open: bool
    says: str
    code: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what is kept in a file."""
        return {
            **({} if self.code is None else {"code": self.code}),
            "table": self.table,
            "source": self.source,
            "told": None if self.sent_at is None else self.sent_at.isoformat(),
            "standing": self.was_open,
            "says": self.says,
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Trace:
        """Read what is kept in a file."""
        sent_at = None if wire["told"] is None else datetime.fromisoformat(wire["told"])
        return cls(wire["table"], wire["source"], sent_at, wire["standing"], wire["says"], wire.get("code"))

    def is_like(self, other: Trace) -> bool:
        """Return True if both lead to the same alerts; the times at which they were sent may differ."""
        return (self.sent_at is None) is (other.sent_at is None) and replace(self, sent_at=other.sent_at) == other


#: New traces by the keys of findings; None removes a trace.
Changes = Mapping[str, "Trace | None"]


@dataclass(frozen=True)
class Remembered:
    """Traces of findings, for each notifier.

    :param traces: by the keys of findings, see :func:`key_of`
    :param missed: by notifier, the traces that replace those for it: it failed when others did not
    """

    traces: Mapping[str, Trace] = field(default_factory=dict)
    missed: Mapping[str, Mapping[str, Trace]] = field(default_factory=dict)

    def of(self, notifier: str) -> Mapping[str, Trace]:
        """Return the traces that hold for a notifier."""
        return {**self.traces, **self.missed.get(notifier, {})}

    def changes(self, by_notifier: Mapping[str, Changes], failed: Collection[str]) -> dict[str | None, Changes]:
        """Return the changes of :attr:`missed` by notifier, and those of :attr:`traces` under None.

        :param by_notifier: changes of the traces that hold for each notifier of an alert
        :param failed: the notifiers that failed
        """
        after = {name: _updated(self.of(name), changes) for name, changes in by_notifier.items()}
        lead = after[min(after, key=lambda name: (name in failed, len(self.missed.get(name, {}))))]
        keys = {key for name in after for key in (*by_notifier[name], *self.missed.get(name, {}))}
        changes: dict[str | None, Changes] = {
            None: {key: lead.get(key) for key in keys if lead.get(key) != self.traces.get(key)}
        }
        for name, own in after.items():
            missed = {key: own[key] for key in keys & own.keys() if not (key in lead and own[key].is_like(lead[key]))}
            before = self.missed.get(name, {})
            changes[name] = {key: missed.get(key) for key in keys if missed.get(key) != before.get(key)}
        return changes

    def updated(self, changes: Mapping[str | None, Changes]) -> Remembered:
        """Return the same with changes applied. A finding that is forgotten is forgotten for every notifier."""
        traces = _updated(self.traces, changes.get(None, {}))
        names = {name for name in (*self.missed, *changes) if name is not None}
        missed = {name: _updated(self.missed.get(name, {}), changes.get(name, {})) for name in sorted(names)}
        return Remembered(traces, missed).only(traces)

    def only(self, keys: Collection[str]) -> Remembered:
        """Return the traces of some findings."""
        keys = frozenset(keys)
        missed = {name: {key: trace for key, trace in own.items() if key in keys} for name, own in self.missed.items()}
        traces = {key: trace for key, trace in self.traces.items() if key in keys}
        return Remembered(traces, {name: own for name, own in missed.items() if own})


class Memory:
    """The traces that hold for a notifier, compared and updated by one task run.

    :param traces: by the keys of findings, see :func:`key_of`; empty without a memory
    """

    def __init__(self, traces: Mapping[str, Trace], source: str, now: datetime) -> None:
        self._traces = traces
        self._source = source
        self._now = now

    def news_of(self, found: TableFinding, remind_after: timedelta | None = None) -> News | None:
        """Return why a finding is to be sent, or None if it is not."""
        finding, trace = found.finding, self._traces.get(key_of(found))
        if not finding.is_open:
            return News.RESOLVED if _is_good_news(finding, trace) else None
        if trace is None:
            return _BY_STATUS.get(finding.status, News.NEW) if finding.status else News.NEW
        if trace.sent_at is None or not trace.was_open:
            return News.CHANGED if finding.status is Status.CHANGED else News.NEW
        if finding.status is Status.CHANGED and trace.says != _says(finding):
            return News.CHANGED
        if remind_after is not None and self._now - trace.sent_at >= remind_after:
            return News.REMINDER
        return None

    def ended(self, findings: Iterable[TableFinding], looked_at: Collection[str]) -> list[TableFinding]:
        """Return the refusals and faults that were sent, of tables that have been checked now, as resolved.

        :param findings: all of the report
        :param looked_at: tables that have been checked
        """
        found = set(map(key_of, findings))
        ended = []
        for key, trace in self._traces.items():
            if (
                trace.code is None
                or trace.code not in RULES
                or trace.table not in looked_at
                or key in found
                or not trace.was_open
            ):
                continue
            over = RULES[trace.code].found(_OVER, table=trace.table, effect="", remedy="")
            each = TableFinding(trace.table, replace(over, status=Status.RESOLVED))
            if trace.source == self._source and trace.sent_at is not None and key_of(each) == key:
                ended.append(each)
        return ended

    def changes(
        self,
        findings: Iterable[TableFinding],
        sent: Collection[str],
        looked_at: Collection[str],
        *,
        delivered: bool,
        left_out: Collection[str] = (),
    ) -> Changes:
        """Return the changes to remember.

        Findings that this task reported earlier and no longer finds in a table that it has checked are dropped.

        :param findings: all of the report
        :param sent: keys of those that were sent
        :param looked_at: tables whose findings are all among ``findings``
        :param delivered: True if the notifier succeeded; otherwise what was to be sent is sent the next time
        :param left_out: keys of those that there was no room for; those that are open are sent the next time
        """
        found = {key_of(each): each for each in findings}
        wanted = {
            key: self._after(
                key, each, sent=key in sent or key in left_out, delivered=delivered and key not in left_out
            )
            for key, each in found.items()
        }
        gone = (
            key
            for key, trace in self._traces.items()
            if trace.source == self._source and trace.table in looked_at and key not in found
        )
        return {
            **{key: trace for key, trace in wanted.items() if trace != self._traces.get(key)},
            **dict.fromkeys(gone),
        }

    def _after(self, key: str, found: TableFinding, *, sent: bool, delivered: bool) -> Trace:
        finding, before = found.finding, self._traces.get(key)
        code = None if is_about_table(finding) else finding.code
        seen = Trace(found.table, self._source, self._now, finding.is_open, _says(finding), code)
        if sent and delivered:
            return seen
        if sent:
            # A resolved finding that was not sent stays as it was: it may be reported again.
            unsent = replace(seen, sent_at=None, was_open=True)
            return unsent if finding.is_open or before is None else before
        if finding.is_open:
            return before or seen
        # Accepted or fixed: if it is open again, that is news.
        return before if before and not before.was_open else replace(seen, sent_at=None)


def _updated(traces: Mapping[str, Trace], changes: Changes) -> dict[str, Trace]:
    return {key: trace for key, trace in {**traces, **changes}.items() if trace is not None}


def key_of(found: TableFinding) -> str:
    """Return the key of a finding: its fingerprint, or else its code and place within the table."""
    finding = found.finding
    named = (finding.code, finding.version, finding.path, finding.column)
    key = "\0".join([found.table, *([finding.fingerprint] if finding.fingerprint else map(str, named))])
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _is_good_news(finding: Finding, trace: Trace | None) -> bool:
    """Whether a finding that is no longer open is sent: only if it was sent while it was open."""
    if finding.status is not Status.RESOLVED and (finding.waiver or finding.healed_version is None):
        return False
    return trace.was_open if trace else finding.status in (Status.RESOLVED, Status.CHANGED)


def _says(finding: Finding) -> str:
    return f"{finding.digest} {finding.version}"
