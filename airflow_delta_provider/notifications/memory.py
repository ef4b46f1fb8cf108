"""Memory of the findings sent to each notifier: each finding is sent once, and none is forgotten."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.report_document import is_about_table
from airflow_delta_provider.domain.report.report import Finding, Status
from airflow_delta_provider.notifications.alert import News, TableFinding
from airflow_delta_provider.report_store import read_regular, replace_file

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath


_OVER = "{table} has been checked again."
#: Reason to send an open finding that is not remembered, by its status; None if it is not sent.
_BY_STATUS = {Status.KNOWN: None, Status.CHANGED: News.CHANGED}


@dataclass(frozen=True)
class SentFinding:
    """The remembered state of one finding.

    :param source: task that reported it
    :param sent_at: time when it was last sent, or first seen as known; None if it was not delivered, or was accepted or
        fixed: it is sent as soon as it is open
    :param was_open: True if it was open when it was last sent or seen, or if it could not be sent
    :param says: digest of its content
    :param code: code of a refusal or fault, so that its end can be sent; None for a finding about a table
    """

    table: str
    source: str
    sent_at: datetime | None
    was_open: bool
    says: str
    code: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form for the state file."""
        return {
            **({} if self.code is None else {"code": self.code}),
            "table": self.table,
            "source": self.source,
            "told": None if self.sent_at is None else self.sent_at.isoformat(),
            "standing": self.was_open,
            "says": self.says,
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> SentFinding:
        """Read the form in the state file."""
        sent_at = None if wire["told"] is None else datetime.fromisoformat(wire["told"])
        return cls(wire["table"], wire["source"], sent_at, wire["standing"], wire["says"], wire.get("code"))

    def is_like(self, other: SentFinding) -> bool:
        """Compare everything but the time of sending; of that, only whether there is one."""
        return (self.sent_at is None) is (other.sent_at is None) and replace(self, sent_at=other.sent_at) == other


#: New traces by the keys of findings; None removes a trace.
Changes = Mapping[str, "SentFinding | None"]


@dataclass(frozen=True)
class SentFindings:
    """Traces of findings, for each notifier.

    :param traces: traces by the keys of findings, see :func:`key_of`
    :param missed: traces of a notifier that failed when others did not, by notifier; they replace the common ones
    """

    traces: Mapping[str, SentFinding] = field(default_factory=dict)
    missed: Mapping[str, Mapping[str, SentFinding]] = field(default_factory=dict)

    def of(self, notifier: str) -> Mapping[str, SentFinding]:
        """Return the traces for a notifier."""
        return {**self.traces, **self.missed.get(notifier, {})}

    def changes(self, by_notifier: Mapping[str, Changes], failed: Collection[str]) -> dict[str | None, Changes]:
        """Return the changes of :attr:`missed` by notifier, and the changes of :attr:`traces` under None.

        :param by_notifier: changes of the traces for each notifier of an alert
        :param failed: notifiers that failed
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

    def updated(self, changes: Mapping[str | None, Changes]) -> SentFindings:
        """Return a copy with changes applied. A finding is forgotten for every notifier at once."""
        traces = _updated(self.traces, changes.get(None, {}))
        names = {name for name in (*self.missed, *changes) if name is not None}
        missed = {name: _updated(self.missed.get(name, {}), changes.get(name, {})) for name in sorted(names)}
        return SentFindings(traces, missed).only(traces)

    def only(self, keys: Collection[str]) -> SentFindings:
        """Return the traces of some findings."""
        keys = frozenset(keys)
        missed = {name: {key: trace for key, trace in own.items() if key in keys} for name, own in self.missed.items()}
        traces = {key: trace for key, trace in self.traces.items() if key in keys}
        return SentFindings(traces, {name: own for name, own in missed.items() if own})


class Memory:
    """Decides for one task run which findings a notifier is sent, and which traces change.

    :param traces: traces by the keys of findings, see :func:`key_of`; empty without a ``state_path``
    """

    def __init__(self, traces: Mapping[str, SentFinding], source: str, now: datetime) -> None:
        self._traces = traces
        self._source = source
        self._now = now

    def news_of(self, found: TableFinding, remind_after: timedelta | None = None) -> News | None:
        """Return the reason to send a finding, or None if it is not sent."""
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
        """Return RESOLVED findings for refusals and faults that were sent earlier, if their tables are checked now.

        :param findings: all findings of the report
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

        Findings that this task reported earlier and no longer finds in a checked table are dropped.

        :param findings: all findings of the report
        :param sent: keys of the findings that were sent
        :param looked_at: tables whose findings are all among ``findings``
        :param delivered: True if the notifier succeeded; otherwise the findings in ``sent`` are sent the next time
        :param left_out: keys of findings that did not fit into the alert; the open ones are sent the next time
        """
        found = {key_of(each): each for each in findings}
        wanted = {
            key: self._after(
                key, each, sent=key in sent or key in left_out, delivered=delivered and key not in left_out
            )
            for key, each in found.items()
        }
        ended = (
            key
            for key, trace in self._traces.items()
            if trace.source == self._source and trace.table in looked_at and key not in found
        )
        return {
            **{key: trace for key, trace in wanted.items() if trace != self._traces.get(key)},
            **dict.fromkeys(ended),
        }

    def _after(self, key: str, found: TableFinding, *, sent: bool, delivered: bool) -> SentFinding:
        finding, before = found.finding, self._traces.get(key)
        code = None if is_about_table(finding) else finding.code
        seen = SentFinding(found.table, self._source, self._now, finding.is_open, _says(finding), code)
        if sent and delivered:
            return seen
        if sent:
            # A resolved finding that could not be sent keeps its trace, so that the next run sends it.
            unsent = replace(seen, sent_at=None, was_open=True)
            return unsent if finding.is_open or before is None else before
        if finding.is_open:
            return before or seen
        # Accepted or fixed: if it opens again, that is news.
        return before if before and not before.was_open else replace(seen, sent_at=None)


def _updated(traces: Mapping[str, SentFinding], changes: Changes) -> dict[str, SentFinding]:
    return {key: trace for key, trace in {**traces, **changes}.items() if trace is not None}


def key_of(found: TableFinding) -> str:
    """Return the key of a finding: its fingerprint, or else its code and place within the table."""
    finding = found.finding
    named = (finding.code, finding.version, finding.path, finding.column)
    key = "\0".join([found.table, *([finding.fingerprint] if finding.fingerprint else map(str, named))])
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _is_good_news(finding: Finding, trace: SentFinding | None) -> bool:
    """Return True if a finding that is no longer open is sent.

    It is, if it was sent while it was open, or if it has no trace and its status is RESOLVED or CHANGED.
    """
    if finding.status is not Status.RESOLVED and (finding.waiver or finding.healed_version is None):
        return False
    return trace.was_open if trace else finding.status in (Status.RESOLVED, Status.CHANGED)


def _says(finding: Finding) -> str:
    return f"{finding.digest} {finding.version}"


log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
#: Most findings that are kept; beyond that, the ones sent longest ago are forgotten.
MAX_TRACES = 5000


class StateFile:
    """A small JSON file in Airflow's object storage. Every call blocks.

    Two tasks that end at the same moment may overwrite each other's changes. At worst, an alert is sent twice.

    :param path: a path, a URI or an ``ObjectStoragePath``
    """

    def __init__(self, path: str | ObjectStoragePath) -> None:
        # This import takes seconds the first time, so it is not at the top: DAG files would have to wait for it.
        from airflow.providers.common.compat.sdk import ObjectStoragePath

        self._path = ObjectStoragePath(path)
        _ = self._path.fs  # raises for an unknown scheme; Airflow 3.1 itself raises only when it opens the file

    def load(self) -> SentFindings:
        """Return the traces in the file; none if the file is missing or has another format.

        :raises OSError: if the storage cannot be reached
        """
        try:
            kept = json.loads(self._content())
            if kept["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema version {kept['schema_version']!r}")
            missed = {name: _traces(wire) for name, wire in kept.get("missed", {}).items()}
            return SentFindings(_traces(kept["findings"]), missed)
        except FileNotFoundError:
            return SentFindings()
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            log.warning(
                "%s is not a state file of this notifier (%s). It is overwritten, and findings may be sent again",
                self._path,
                error,
            )
            return SentFindings()

    def _content(self) -> bytes:
        if self._path.protocol not in ("", "file"):
            content: bytes = self._path.read_bytes()
            return content
        return read_regular(self._path.path)

    def apply(self, changes: Mapping[str | None, Changes]) -> None:
        """Apply the changes of :meth:`SentFindings.changes` to the current file.

        :raises OSError: if the storage cannot be reached
        """
        if not any(changes.values()):
            return
        remembered = self.load().updated(changes)
        kept = remembered.traces
        if len(kept) > MAX_TRACES:
            log.warning(
                "%s remembers the %d findings that were sent last; %d older ones may be sent again",
                self._path,
                MAX_TRACES,
                len(kept) - MAX_TRACES,
            )
        oldest_first = sorted(kept, key=lambda key: sent_at.timestamp() if (sent_at := kept[key].sent_at) else 0)
        newest = remembered.only(oldest_first[-MAX_TRACES:])
        document: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "findings": _wire(newest.traces)}
        if newest.missed:
            document["missed"] = {name: _wire(own) for name, own in newest.missed.items()}
        self._write(json.dumps(document, indent=1))

    def _write(self, content: str) -> None:
        """Replace the file atomically: if the process is killed, the old file stays.

        Object stores write atomically anyway.
        """
        if self._path.protocol not in ("", "file"):
            self._path.write_text(content, encoding="utf-8")
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(self._path.path, content.encode())


def _traces(wire: Mapping[str, Any]) -> dict[str, SentFinding]:
    return {key: SentFinding.from_json(trace) for key, trace in wire.items()}


def _wire(traces: Mapping[str, SentFinding]) -> dict[str, Any]:
    return {key: trace.to_json() for key, trace in traces.items()}
