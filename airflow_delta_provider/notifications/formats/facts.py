"""What every format says of a finding and of the alert as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.rendering.counts import counted, counted_codes, shortened
from airflow_delta_provider.domain.rendering.finding_lines import version_text
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.notifications.alert import Alert, Group, Item, News

#: Characters of a finding's message; the report has all of it.
MAX_MESSAGE = 1500
#: The same where several findings of a rule are listed.
MAX_ROW_MESSAGE = 500

_FACTS: tuple[tuple[str, Callable[[Finding], str | None]], ...] = (
    ("version", version_text),
    ("column", lambda finding: finding.column),
    ("file", lambda finding: finding.path),
    ("engine", lambda finding: finding.writer or finding.engine),
    ("commit", lambda finding: _commit(finding)),
    ("holds again since", lambda finding: None if finding.healed_version is None else f"v{finding.healed_version}"),
)

#: The same, where several findings of a rule are listed: what may be the same of all of them has a label of its own.
_ROW_FACTS: tuple[tuple[str, Callable[[Finding], str | None]], ...] = (
    *_FACTS[:4],
    ("operation", lambda finding: finding.operation),
    ("user", lambda finding: finding.user),
    ("time", lambda finding: finding.timestamp),
    *_FACTS[5:],
)


def heading(item: Item) -> str:
    """Return why it is sent, its severity, and its rule."""
    return " ".join(filter(None, (item.news.value.upper(), item.finding.severity.value, item.finding.code, item.title)))


def message(item: Item) -> str:
    """Return what is wrong and what to do; if the end had to be cut off, with the remedy that the rule gives."""
    said = item.finding.message.strip()
    if len(said) <= MAX_MESSAGE:
        return said
    return "\n".join(filter(None, (shortened(said, MAX_MESSAGE), item.remedy)))


@dataclass(frozen=True)
class Row:
    """One finding of several of a rule.

    :param facts: what is known of it that is not the same of all, as label and value; without the table
    :param message: what it says that the others do not; empty where it is not written out
    """

    item: Item
    facts: tuple[tuple[str, str], ...]
    message: str

    @property
    def table(self) -> str:
        """Its table."""
        return self.item.table


@dataclass(frozen=True)
class Listing:
    """One finding, or several of a rule: what these have in common is said once.

    :param heading: why they are sent, their severity, the rule, and how many they are
    :param text: evidence, effect and remedy, as far as they are the same of all, a paragraph each
    :param facts: what is the same of all, as label and value; of one finding with its table
    :param rows: the findings, if they are several
    """

    heading: str
    text: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, group: Group) -> Listing:
        """Return what is said of a group of findings."""
        first = group.first
        if len(group.items) == 1:
            text = (message(first),) if first in group.in_full else ()
            return cls(heading(first), text, (("table", first.table), *_known(first, _FACTS)), ())
        facts_of = [_known(item, _ROW_FACTS) for item in group.items]
        same = set(facts_of[0]).intersection(*facts_of[1:])
        said = [_said(item) for item in group.items]
        common = [part for part, *others in zip(*said) if {part} == set(others)]
        rows = (
            Row(
                item,
                tuple(fact for fact in known if fact not in same),
                shortened(" ".join(part for part in own if part and part not in common), MAX_ROW_MESSAGE)
                if item in group.in_full
                else "",
            )
            for item, known, own in zip(group.items, facts_of, said)
        )
        return cls(
            f"{heading(first)} ({counted(len(group.items), 'finding')} in {counted(group.tables, 'table')})",
            tuple(filter(None, common)),
            tuple(fact for fact in facts_of[0] if fact in same),
            tuple(rows),
        )


def closing(alert: Alert) -> list[str]:
    """Return the sentences after the findings: what is not written out, and where it is."""
    said = (_not_named(alert), _unchanged(alert), _truncated(alert), _place(alert))
    return [sentence for sentence in said if sentence]


def origin(alert: Alert) -> str:
    """Return which task run it was, in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}"


def _commit(finding: Finding) -> str | None:
    parts = (finding.operation, finding.user and f"by {finding.user}", finding.timestamp and f"at {finding.timestamp}")
    return " ".join(filter(None, parts)) or None


def codes(items: Iterable[Item]) -> str:
    """Return the codes, the most frequent first, with how often each occurs."""
    return counted_codes(item.finding.code for item in items)


def _known(item: Item, wanted: Iterable[tuple[str, Callable[[Finding], str | None]]]) -> list[tuple[str, str]]:
    known = ((label, read(item.finding)) for label, read in wanted)
    said = [(label, value) for label, value in known if value]
    if item.led_to:
        said.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return said


def _said(item: Item) -> tuple[str, str, str]:
    """Return what is wrong, what that does while it lasts, and what to do, if the message alone does not say it all."""
    found = item.finding
    effect = "" if item.news is News.RESOLVED else item.effect
    if found.evidence is None:
        return found.message.strip(), effect, ""
    return f"{found.evidence} {found.alike_text}".strip(), effect, item.remedy


def _not_named(alert: Alert) -> str | None:
    rest = alert.items[len(alert.named) :]
    if not rest:
        return None
    tables = counted(len({item.table for item in rest}), "table")
    return f"… and {counted(len(rest), 'more finding')} in {tables}, none worse: {codes(rest)}."


def _unchanged(alert: Alert) -> str | None:
    if not alert.unchanged:
        return None
    verb = "is" if alert.unchanged == 1 else "are"
    return f"{alert.unchanged} more {verb} unchanged and {verb} not sent again."


def _truncated(alert: Alert) -> str | None:
    if not alert.truncated:
        return None
    number = f"{alert.missing:,} are" if alert.missing != 1 else "1 is"
    cut = f": {number} missing here" if alert.missing else ""
    return f"The report has more findings than XCom holds{cut}. The task's log names the tables."


def _place(alert: Alert) -> str | None:
    """Return where the whole report is; or that it is nowhere, if that matters."""
    if alert.place is None:
        return None
    whole = len(alert.shown) == len(alert.items) and not alert.truncated
    return None if alert.place.path is None and whole else alert.place.shown
