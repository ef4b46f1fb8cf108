"""The content about findings and the whole alert that all formats share.

All of it is safe to show: names are escaped to one line, and messages keep their own lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.rendering.presentation import counted, counted_codes, shortened
from airflow_delta_provider.domain.rendering.report_document import Wording, facts
from airflow_delta_provider.domain.text import shown_lines, visible
from airflow_delta_provider.notifications.alert import Alert, Group, Item, News

#: Most characters of a part of a finding's message; the report has the whole message.
MAX_MESSAGE = 1500
#: Same, if several findings of a rule are listed.
MAX_ROW_MESSAGE = 500
#: Labels of the parts of a finding's message: evidence, effect, remedy.
_LABELS = ("", "Effect", "Remedy")


def heading(item: Item) -> str:
    """Return the reason to send an item, its severity and its rule."""
    said = (item.news.value.upper(), item.finding.severity.value, item.finding.code, item.title)
    return visible(" ".join(filter(None, said)))


@dataclass(frozen=True)
class Paragraph:
    """One part of a finding's message.

    :param label: name of the part; empty for the evidence
    """

    label: str
    text: str

    @property
    def line(self) -> str:
        """Label and text."""
        return f"{self.label}: {self.text}" if self.label else self.text


@dataclass(frozen=True)
class Row:
    """One of several findings of a rule.

    :param facts: facts that not all findings share, as label and value; without the table
    :param message: the part of its message that the others do not share; empty if it is not written out
    """

    table: str
    facts: tuple[tuple[str, str], ...]
    message: str


@dataclass(frozen=True)
class Listing:
    """One finding, or several findings of a rule with their common parts written once.

    :param heading: reason to send them, severity, rule, and number of findings
    :param text: evidence, effect and remedy, as far as all findings share them
    :param facts: shared facts, as label and value; for a single finding also its table
    :param rows: the findings, if there are several
    """

    heading: str
    text: tuple[Paragraph, ...]
    facts: tuple[tuple[str, str], ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, group: Group) -> Listing:
        """Return the listing of a group of findings."""
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
    """Return the reason for the missing report, or the error that ended the task; None if the task went well."""
    return None if alert.failure is None else shown_lines(alert.failure)


def closing(alert: Alert) -> list[str]:
    """Return the sentences after the findings: the number of findings not written out, and the place of the report."""
    said = (_not_named(alert), _unchanged(alert), _truncated(alert), _place(alert))
    return [sentence for sentence in said if sentence]


def origin(alert: Alert) -> str:
    """Return the task run in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return visible(f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}")


def codes(items: Iterable[Item]) -> str:
    """Return the codes with their counts, the most frequent first."""
    return visible(counted_codes(item.finding.code for item in items))


def _known(item: Item) -> list[tuple[str, str]]:
    known = list(facts(item.finding))
    if item.finding.healed_version is not None:
        known.append(("fixed in version", str(item.finding.healed_version)))
    if item.led_to:
        known.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return [(label, visible(value)) for label, value in known]


def _said(item: Item) -> tuple[Paragraph, ...]:
    """Return the evidence, the effect while it lasts, and the remedy.

    A finding without evidence has everything in its message; if that is cut, the remedy of its rule follows.
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
    """Return the place of the whole report, or the reason why there is none, if readers need it."""
    if alert.place is None:
        return None
    whole = len(alert.shown) == len(alert.items) and not alert.truncated
    return None if alert.place.path is None and whole else visible(alert.place.shown)
