"""The document of an alert, which all formats share, and its rendering as text and as Markdown.

Control characters are escaped everywhere. Names take one line; messages keep their line breaks. The number of findings
in it shrinks in three steps: ``alert.items`` are all that are to be sent, ``alert.named`` those with a row, and
``alert.shown`` those with their message, which are ``group.in_full`` in a section.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from airflow_delta_provider.domain.rendering.document import (
    Block,
    Drawing,
    Entry,
    Fact,
    Facts,
    Link,
    Listing,
    Prose,
    Section,
    Title,
    text_document,
)
from airflow_delta_provider.domain.rendering.markdown import blocks
from airflow_delta_provider.domain.rendering.presentation import TONE_OF_SEVERITY, Tone
from airflow_delta_provider.domain.rendering.report_document import Wording, facts
from airflow_delta_provider.domain.text import (
    MAX_TEXT,
    counted,
    counted_codes,
    printed,
    shortened,
    shown_lines,
    visible,
)
from airflow_delta_provider.notifications.alert import MAX_MARKS, Alert, Group, Item, News

_WIDTH = 100
#: Maximum length of one part of a finding's message; the report has the whole message.
MAX_MESSAGE = 1500
#: Maximum length of the message of each finding, if a section lists several.
MAX_ROW_MESSAGE = 500
#: Maximum size of an alert in bytes: Gmail shows 102 kB of a mail.
MAX_SIZE = 100_000
#: Maximum number of codes of each severity that are counted by themselves.
MAX_CODES = 20
#: Labels of the parts of a finding's message: evidence, effect, remedy.
_LABELS = ("", "Effect", "Remedy")


def heading(item: Item) -> str:
    """Return the heading of a finding: NEW or another reason to send it, severity, code and title."""
    words = (item.news.value.upper(), item.finding.severity.value, item.finding.code, item.title)
    return visible(" ".join(filter(None, words)))


def as_text(alert: Alert, size: int = MAX_SIZE) -> str:
    """Return the alert as plain text, with the findings of a rule indented below its heading.

    :param size: see :func:`fitting`
    """
    return fitting(alert, _text, size)


def as_markdown(alert: Alert, size: int = MAX_SIZE) -> str:
    """Return the alert as Markdown (CommonMark).

    :param size: see :func:`fitting`
    """
    return fitting(alert, _markdown, size)


def fitting(alert: Alert, render: Callable[[Alert], str], size: int) -> str:
    """Return the alert in a format, with as many findings named as fit; the others are counted.

    :param size: largest number of bytes as UTF-8; the alert may be larger if it does not even fit without any finding
    """
    written, most = render(alert), len(alert.named)
    while most and (length := len(written.encode())) > size:
        most = min(most - 1, most * size * 9 // (length * 10))
        written = render(replace(alert, most=most))
    return written


def _text(alert: Alert) -> str:
    return "\n".join(printed(text_document(document(alert), _WIDTH)))


def _markdown(alert: Alert) -> str:
    whole = "\n\n".join(filter(None, blocks(document(alert))))
    return "\n".join(printed(whole.split("\n"))) + "\n"


def document(alert: Alert) -> Iterator[Block]:
    """Yield the blocks of an alert, with a section per rule and per timeline."""
    yield Title(alert.subject, _origin(alert))
    if alert.failure is not None:
        yield Prose(shortened(shown_lines(alert.failure), MAX_TEXT))
    yield from map(section, alert.groups)
    for shown in alert.timelines:
        yield Section(shown.title, (Drawing(shown.timeline, MAX_MARKS),))
    if closing := list(filter(None, (_not_named(alert), _unchanged(alert), _truncated(alert), _place(alert)))):
        yield Prose("\n".join(closing))
    if alert.origin.log_url:
        yield Link("Log", alert.origin.log_url)


def section(group: Group) -> Section:
    """Return the section of one finding, or of several findings of a rule with their common parts written once."""
    return _section_of_one(group) if len(group.items) == 1 else _section_of_several(group)


def _section_of_one(group: Group) -> Section:
    item = group.first
    message = [part for part in _message_parts(item) if part.text] if item in group.in_full else []
    item_facts = _facts_of(item)
    if not message or not message[0].text.startswith(_subject(item)):  # otherwise the message names the table
        item_facts.insert(0, ("table", visible(item.table)))
    return _section(group, heading(item), item_facts, message)


def _section_of_several(group: Group) -> Section:
    first = group.first
    facts_by_item = [_facts_of(item) for item in group.items]
    parts_by_item = [_message_parts(item) for item in group.items]
    shared_facts = set(facts_by_item[0]).intersection(*facts_by_item[1:])
    shared_parts = [part for part, *others in zip(*parts_by_item) if {part} == set(others)]
    rows = (
        Entry(
            name=visible(item.table),
            facts=tuple(fact for fact in item_facts if fact not in shared_facts),
            message=_row_message(item, [part for part in parts if part.text and part not in shared_parts])
            if item in group.in_full
            else "",
        )
        for item, item_facts, parts in zip(group.items, facts_by_item, parts_by_item)
    )
    return _section(
        group,
        f"{heading(first)} ({counted(len(group.items), 'finding')} in {counted(group.tables, 'table')})",
        [fact for fact in facts_by_item[0] if fact in shared_facts],
        [part for part in shared_parts if part.text],
        Listing(tuple(rows)),
    )


def _section(
    group: Group, title: str, shared_facts: Iterable[Fact], message: Iterable[Prose], rows: Listing | None = None
) -> Section:
    tone = Tone.GOOD if group.first.news is News.RESOLVED else TONE_OF_SEVERITY[group.first.finding.severity]
    content: list[Block] = [*message]
    if shown_facts := tuple(shared_facts):
        content.insert(0, Facts(shown_facts))
    if rows is not None:
        content.append(rows)
    return Section(title, tuple(content), tone)


def _row_message(item: Item, parts: Iterable[Prose]) -> str:
    """Return the parts of a message that differ from the other findings of the section, without the table's name."""
    text = " ".join(part.line for part in parts)
    return shortened(text.removeprefix(_subject(item)), MAX_ROW_MESSAGE)


def _subject(item: Item) -> str:
    """Return the start of a message that begins with the table's name."""
    return f"{visible(item.table)} "


def _origin(alert: Alert) -> str:
    """Return the task run in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return visible(f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}")


def _facts_of(item: Item) -> list[Fact]:
    item_facts = list(facts(item.finding))
    if item.finding.healed_version is not None:
        item_facts.append(("fixed in version", str(item.finding.healed_version)))
    if item.led_to:
        item_facts.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return [(label, visible(value)) for label, value in item_facts]


def _message_parts(item: Item) -> tuple[Prose, ...]:
    """Return the evidence, the effect (empty if the finding is resolved) and the remedy.

    If a finding has no separate evidence, its evidence here is the whole message, which includes effect and remedy. If
    that has to be cut, the remedy of its rule follows.
    """
    wording = Wording.of(item.finding)
    effect, remedy = "" if item.news is News.RESOLVED else wording.effect, wording.remedy
    if item.finding.evidence is None and len(wording.evidence) > MAX_MESSAGE:
        remedy = item.remedy
    texts = wording.evidence.strip(), effect, remedy
    return tuple(Prose(shortened(shown_lines(text), MAX_MESSAGE), label) for label, text in zip(_LABELS, texts))


def _not_named(alert: Alert) -> str | None:
    rest = alert.unnamed
    if not rest:
        return None
    tables = counted(len({item.table for item in rest}), "table")
    return f"… and {counted(len(rest), 'more finding')} in {tables}, none more severe: {by_severity(rest)}."


def by_severity(items: Iterable[Item], most: int = MAX_CODES) -> str:
    """Return the number of findings by severity, in the order of the items, and by code.

    :param most: largest number of codes of each severity
    """
    codes: defaultdict[str, list[str]] = defaultdict(list)
    for item in items:
        label = item.news if item.news is News.RESOLVED else item.finding.severity
        codes[label.value.upper()].append(item.finding.code)
    return visible(", ".join(f"{len(c):,} {label} ({counted_codes(c, most)})" for label, c in codes.items()))


def _unchanged(alert: Alert) -> str | None:
    if not alert.unchanged:
        return None
    verb = "is" if alert.unchanged == 1 else "are"
    return f"{counted(alert.unchanged, 'more finding')} {verb} unchanged and not repeated here."


def _truncated(alert: Alert) -> str | None:
    if not alert.truncated:
        return None
    lacks = counted(alert.missing, "finding") if alert.missing else "findings"
    return f"This alert lacks {lacks}: the report is larger than an XCom may be. The task's log names the tables."


def _place(alert: Alert) -> str | None:
    """Return where the whole report is. If it was not saved, and this alert is incomplete, return why."""
    if alert.place is None:
        return None
    is_complete = len(alert.shown) == len(alert.items) and not alert.truncated
    return None if alert.place.path is None and is_complete else visible(alert.place.shown)
