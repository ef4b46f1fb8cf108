"""Findings that were reported for a table, and confirmations that the reports were received.

A finding counts as known only once a report with it was received. A job may write its memory and then die before
anybody gets its report, so findings without a confirmation are reported again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_delta_provider.domain.report.report import DIGEST_OF_FACTS, Finding, Status
from airflow_delta_provider.domain.text import short_digest

#: Confirmed receipts, each with the findings that arrived. None stands for the whole report; otherwise a mapping by
#: table, to the identities of the findings or to None for all of them.
Receipts = Mapping[str, "Mapping[str, Sequence[str] | None] | None"]

#: Receipts per table that wait for a confirmation. Dropping one only means that a finding is reported twice.
MAX_RECEIPTS = 50
#: Closed findings per table that wait for a confirmation.
MAX_OVER = 1000
_ACCEPTED = "accepted "


def identity(finding: Finding) -> str:
    """Return the key of a finding: its fingerprint, or else a digest of its code and place."""
    named = (finding.code, finding.version, finding.path, finding.column, finding.subject)
    return finding.fingerprint or _digest(*map(str, named))


@dataclass(frozen=True)
class UnconfirmedReports:
    """Unconfirmed statements of reports about findings.

    :param receipts: receipts of the reports that made the same statements, oldest first
    :param digests: digest of each finding by its identity; None if the finding is closed
    """

    receipts: tuple[str, ...]
    digests: Mapping[str, str | None]


@dataclass(frozen=True)
class ReportedFindings:
    """Everything that was reported about one table.

    :param confirmed: digest, by identity, of each finding that was last received as open
    :param pending: unconfirmed statements, oldest first
    :param over: closed findings, kept until a confirmation that their end was received
    """

    confirmed: Mapping[str, str] = field(default_factory=dict)
    pending: tuple[UnconfirmedReports, ...] = ()
    over: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> ReportedFindings:
        """Return findings as confirmed, for a table without recorded receipts."""
        found = tuple(findings)
        digests = _what_they_say(found)
        older = {identity(finding) for finding in found if finding.evidence is None and finding.facts is None}
        return cls({key: "" if key in older else digest for key, digest in digests.items()})

    def by_facts(self, now: Mapping[str, str]) -> ReportedFindings:
        """Replace digests of sentences, written by older releases, with digests of facts.

        :param now: digest, by identity, of the findings that are open now
        """
        confirmed = {key: _by_facts(digest, now.get(key)) or digest for key, digest in self.confirmed.items()}
        pending = tuple(
            replace(each, digests={key: _by_facts(digest, now.get(key)) for key, digest in each.digests.items()})
            for each in self.pending
        )
        return ReportedFindings(confirmed, pending, self.over)

    def received(self, receipts: Receipts, table: str) -> ReportedFindings:
        """Return the state after reports were received.

        :param table: name of the table in the reports
        """
        confirmed, over = dict(self.confirmed), {identity(finding): finding for finding in self.over}
        left: list[UnconfirmedReports] = []
        for pending in self.pending:
            arrived = _arrived(pending, receipts, table)
            for key in arrived:
                digest = pending.digests[key]
                if digest is None:
                    confirmed.pop(key, None)
                    over.pop(key, None)
                else:
                    confirmed[key] = digest
            left = [_without(earlier, arrived) for earlier in left] + [_without(pending, arrived)]
        return ReportedFindings(confirmed, tuple(pending for pending in left if pending.digests), tuple(over.values()))

    def waiting(self, findings: Iterable[Finding], receipt: str | None) -> ReportedFindings:
        """Return the state after a report of findings that no later job would find again.

        :param receipt: see :meth:`Comparison.reported`
        """
        over = {identity(finding): finding for finding in findings}
        if receipt is None or not over:
            return ReportedFindings()
        pending = tuple(_still(self.pending, {}, {*over}))
        return ReportedFindings({}, _with(pending, receipt, dict.fromkeys(over)), tuple(over.values())[:MAX_OVER])

    def waits_for(self, receipt: str | None) -> bool:
        """Return True if a receipt still has to be confirmed."""
        return any(receipt in pending.receipts for pending in self.pending)

    def may_be_known(self, key: str) -> bool:
        """Return True if somebody may have received the finding as open, confirmed or not."""
        return key in self.confirmed or any(pending.digests.get(key) is not None for pending in self.pending)

    def compare(
        self,
        findings: Iterable[Finding],
        before: Iterable[Finding] = (),
        *,
        whole: bool = True,
        once: Collection[str] = (),
    ) -> Comparison:
        """Compare the findings of an audit with those reported before.

        :param before: findings that were open when the previous audit ended
        :param whole: True if everything was checked, so a finding missing from ``findings`` is closed
        :param once: codes that are reported once, even if the finding stays
        """
        return Comparison(self, tuple(findings), tuple(before), whole=whole, once=once)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "confirmed": dict(self.confirmed),
            "pending": [{"receipts": list(p.receipts), "said": dict(p.digests)} for p in self.pending],
            "over": [finding.to_json() for finding in self.over],
        }

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> ReportedFindings:
        """Read the JSON form.

        :raises KeyError, TypeError, ValueError, AttributeError: if it is damaged
        """
        return cls(
            {str(key): str(digest) for key, digest in wire["confirmed"].items()},
            tuple(UnconfirmedReports(tuple(p["receipts"]), dict(p["said"])) for p in wire["pending"]),
            tuple(map(Finding.from_json, wire["over"])),
        )


class Comparison:
    """The findings of an audit compared with those reported before.

    :param findings: findings of the audit; one that a later commit fixed has its ``healed_version``
    """

    def __init__(
        self,
        reported: ReportedFindings,
        findings: tuple[Finding, ...],
        before: tuple[Finding, ...],
        *,
        whole: bool,
        once: Collection[str],
    ) -> None:
        self._whole = whole
        self._once = once
        found = {identity(finding) for finding in findings}
        self._open = _what_they_say(finding for finding in findings if finding.healed_version is None)
        self._reported = reported = reported.by_facts(self._open)
        over = [finding for finding in reported.over if identity(finding) not in found]
        known = found | set(map(identity, over))
        vanished = [f for f in before if whole and identity(f) not in known and reported.may_be_known(identity(f))]
        self.findings = (*findings, *over, *vanished)
        """All that has to be reported: those of the audit, and what is over since it was reported."""

    def with_status(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the given findings of :attr:`findings`, each with its status.

        :param findings: findings after waivers were applied
        """
        return [replace(finding, status=self._status(finding)) for finding in findings]

    def reported(self, findings: Sequence[Finding], receipt: str | None) -> ReportedFindings:
        """Return the state to remember after a report.

        :param findings: findings in the report
        :param receipt: key that a later confirmation will name; None if nobody will confirm, then the report counts as
            received
        """
        if not self._whole:
            return self._reported
        digests: dict[str, str | None] = {}
        over: dict[str, Finding] = {}
        for finding in sorted(findings, key=lambda finding: finding.status is not Status.RESOLVED):
            key = identity(finding)
            if self._is_open(finding):
                digests[key] = self._digest_to_report(key, accepted=finding.waiver is not None)
            if key not in self._open or finding.code in self._once:
                digests[key] = None
                over[key] = replace(finding, status=None, waiver=None, expired_waiver=None)
        confirmed = {key: known for key, known in self._reported.confirmed.items() if key in {*self._open, *over}}
        news = {key: now for key, now in digests.items() if now is None or confirmed.get(key) != now}
        pending = tuple(_still(self._reported.pending, confirmed, {*self._open, *over}))
        if receipt is None:
            received = UnconfirmedReports(("",), news)
            return ReportedFindings(confirmed, (*pending, received), tuple(over.values())).received({"": None}, "")
        if news:
            pending = _with(pending, receipt, news)
        return ReportedFindings(confirmed, pending, tuple(over.values())[:MAX_OVER])

    def _digest_to_report(self, key: str, *, accepted: bool) -> str:
        """Return the digest to report for an open finding.

        An accepted finding keeps the digest that is already confirmed.
        """
        known = self._reported.confirmed.get(key, _ACCEPTED)
        if not accepted:
            return self._open[key]
        return f"{_ACCEPTED}{self._open[key]}" if known.startswith(_ACCEPTED) else known

    def _is_open(self, finding: Finding) -> bool:
        return finding.healed_version is None and identity(finding) in self._open

    def _status(self, finding: Finding) -> Status:
        key = identity(finding)
        if not self._is_open(finding):
            return Status.RESOLVED if key not in self._open and self._reported.may_be_known(key) else Status.NEW
        known = self._reported.confirmed.get(key)
        if known is None or (known.startswith(_ACCEPTED) and finding.waiver is None):
            return Status.NEW
        return Status.KNOWN if known.removeprefix(_ACCEPTED) == self._open[key] else Status.CHANGED


def _arrived(pending: UnconfirmedReports, receipts: Receipts, table: str) -> set[str]:
    """Return the identities of one table's findings that are confirmed."""
    arrived: set[str] = set()
    for receipt in pending.receipts:
        if receipt in receipts:
            tables = receipts[receipt]
            some = None if tables is None else tables.get(table, ())
            arrived |= pending.digests.keys() if some is None else pending.digests.keys() & set(some)
    return arrived


def _without(pending: UnconfirmedReports, keys: set[str]) -> UnconfirmedReports:
    return replace(pending, digests={key: digest for key, digest in pending.digests.items() if key not in keys})


def _still(
    pending: Iterable[UnconfirmedReports], confirmed: Mapping[str, str], concerned: set[str]
) -> Iterator[UnconfirmedReports]:
    """Yield pending statements, without those whose confirmation would change nothing."""
    for each in pending:
        digests = {
            key: digest for key, digest in each.digests.items() if key in concerned and confirmed.get(key, "") != digest
        }
        if digests:
            yield replace(each, digests=digests)


def _with(
    pending: tuple[UnconfirmedReports, ...], receipt: str, digests: Mapping[str, str | None]
) -> tuple[UnconfirmedReports, ...]:
    """Add a receipt to the pending statements, and keep the newest ``MAX_RECEIPTS`` receipts."""
    same = [receipt for each in pending if each.digests == digests for receipt in each.receipts]
    newest_first = [
        UnconfirmedReports((*same, receipt), digests),
        *(each for each in reversed(pending) if each.digests != digests),
    ]
    kept: list[UnconfirmedReports] = []
    room = MAX_RECEIPTS
    for each in newest_first:
        if room:
            kept.append(replace(each, receipts=each.receipts[-room:]))
            room -= len(kept[-1].receipts)
    return tuple(reversed(kept))


def _what_they_say(findings: Iterable[Finding]) -> dict[str, str]:
    """Return a digest of the findings' content, by identity."""
    digests: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        digests[identity(finding)].add(finding.digest)
    return {
        key: digests.pop() if len(digests) == 1 else DIGEST_OF_FACTS + _digest(*sorted(digests))
        for key, digests in digests.items()
    }


def _by_facts(digest: str | None, now: str | None) -> str | None:
    """Return a digest of facts. An older release's digest of sentences is replaced with the current one."""
    if digest is None or now is None or digest.removeprefix(_ACCEPTED).startswith(DIGEST_OF_FACTS):
        return digest
    return _ACCEPTED + now if digest.startswith(_ACCEPTED) else now


def _digest(*parts: str) -> str:
    return short_digest("\0".join(parts))
