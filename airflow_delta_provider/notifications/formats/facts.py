"""What every format says of a finding and of the alert as a whole.

All of it is safe to show: names are visible in one line, messages in the lines that they have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.rendering.counts import counted, counted_codes, shortened
from airflow_delta_provider.domain.rendering.finding_lines import facts
from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.visible import shown_lines, visible
from airflow_delta_provider.notifications.alert import Alert, Group, Item, News

#: Characters of what a finding says is wrong; the report has all of it.
MAX_MESSAGE = 1500
#: The same where several findings of a rule are listed.
MAX_ROW_MESSAGE = 500
#: What is said of a finding: evidence, effect, remedy.
_LABELS = ("", "Effect", "Remedy")


def heading(item: Item) -> str:
    """Return why it is sent, its severity, and its rule."""
    said = (item.news.value.upper(), item.finding.severity.value, item.finding.code, item.title)
    return visible(" ".join(filter(None, said)))


@dataclass(frozen=True)
class Paragraph:
    """One part of what is said of a finding.

    :param label: what it is; empty for the evidence
    """

    label: str
    text: str

    @property
    def line(self) -> str:
        """Label and text."""
        return f"{self.label}: {self.text}" if self.label else self.text


@dataclass(frozen=True)
class Row:
    """One finding of several of a rule.

    :param facts: what is known of it that is not the same of all, as label and value; without the table
    :param message: what it says that the others do not; empty where it is not written out
    """

    table: str
    facts: tuple[tuple[str, str], ...]
    message: str


@dataclass(frozen=True)
class Listing:
    """One finding, or several of a rule: what these have in common is said once.

    :param heading: why they are sent, their severity, the rule, and how many they are
    :param text: evidence, effect and remedy, as far as they are the same of all
    :param facts: what is the same of all, as label and value; of one finding with its table
    :param rows: the findings, if they are several
    """

    heading: str
    text: tuple[Paragraph, ...]
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, group: Group) -> Listing:
        """Return what is said of a group of findings."""
        first = group.first
        if len(group.items) == 1:
            text = _said(first) if first in group.in_full else ()
            named = bool(text) and text[0].text.startswith(f"{visible(first.table)} ")
            facts_of_it = _known(first) if named else [("table", visible(first.table)), *_known(first)]
            return cls(heading(first), _filled(text), tuple(facts_of_it), ())
        facts_of = [_known(item) for item in group.items]
        same = set(facts_of[0]).intersection(*facts_of[1:])
        said = [_said(item) for item in group.items]
        common = [part for part, *others in zip(*said) if {part} == set(others)]
        rows = (
            Row(
                visible(item.table),
                tuple(fact for fact in known if fact not in same),
                shortened(
                    " ".join(part.line for part in _filled(own) if part not in common).removeprefix(
                        f"{visible(item.table)} "
                    ),
                    MAX_ROW_MESSAGE,
                )
                if item in group.in_full
                else "",
            )
            for item, known, own in zip(group.items, facts_of, said)
        )
        return cls(
            f"{heading(first)} ({counted(len(group.items), 'finding')} in {counted(group.tables, 'table')})",
            _filled(common),
            tuple(fact for fact in facts_of[0] if fact in same),
            tuple(rows),
        )


def failure(alert: Alert) -> str | None:
    """Return why there is no report, or the error that ended the task; None for a task that went well."""
    return None if alert.failure is None else shown_lines(alert.failure)


def closing(alert: Alert) -> list[str]:
    """Return the sentences after the findings: what is not written out, and where it is."""
    said = (_not_named(alert), _unchanged(alert), _truncated(alert), _place(alert))
    return [sentence for sentence in said if sentence]


def origin(alert: Alert) -> str:
    """Return which task run it was, in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return visible(f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}")


def codes(items: Iterable[Item]) -> str:
    """Return the codes, the most frequent first, with how often each occurs."""
    return visible(counted_codes(item.finding.code for item in items))


def _known(item: Item) -> list[tuple[str, str]]:
    known = list(facts(item.finding))
    if item.finding.healed_version is not None:
        known.append(("fixed in version", str(item.finding.healed_version)))
    if item.led_to:
        known.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return [(label, visible(value)) for label, value in known]


def _said(item: Item) -> tuple[Paragraph, ...]:
    """Return what is wrong, what that does while it lasts, and what to do.

    A finding without evidence says all of it in its message; if that is cut, the remedy of its rule follows.
    """
    wording = Wording.of(item.finding)
    effect, remedy = "" if item.news is News.RESOLVED else wording.effect, wording.remedy
    if item.finding.evidence is None and len(wording.evidence) > MAX_MESSAGE:
        remedy = item.remedy
    texts = wording.evidence.strip(), effect, remedy
    return tuple(Paragraph(label, shortened(shown_lines(text), MAX_MESSAGE)) for label, text in zip(_LABELS, texts))


def _filled(paragraphs: Iterable[Paragraph]) -> tuple[Paragraph, ...]:
    return tuple(paragraph for paragraph in paragraphs if paragraph.text)


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
    return None if alert.place.path is None and whole else visible(alert.place.shown)
