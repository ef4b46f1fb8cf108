"""An alert as the blocks that all formats share, and as text and Markdown.

All of it is safe to show: names are escaped to one line, and messages keep their own lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from airflow_delta_provider.domain.rendering.presentation import (
    TONE_OF_SEVERITY,
    Tone,
    counted,
    counted_codes,
    shortened,
)
from airflow_delta_provider.domain.rendering.report_document import Wording, facts
from airflow_delta_provider.domain.text import printed, shown_lines, visible
from airflow_delta_provider.notifications.alert import MAX_MARKS, Alert, Group, Item, News

_WIDTH = 100
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


def as_text(alert: Alert) -> str:
    """Return the alert as plain text, with the findings of a rule indented below its heading."""
    return "\n".join(printed(text_document(document(alert), _WIDTH)))


def as_markdown(alert: Alert) -> str:
    """Return the alert as Markdown (CommonMark)."""
    whole = "\n\n".join(filter(None, blocks(document(alert))))
    return "\n".join(printed(whole.split("\n"))) + "\n"


def document(alert: Alert) -> Iterator[Block]:
    """Yield the blocks of an alert, with a section per rule and per timeline."""
    yield Title(alert.subject, _origin(alert))
    if alert.failure is not None:
        yield Prose(shown_lines(alert.failure))
    yield from map(section, alert.groups)
    for shown in alert.timelines:
        yield Section(shown.title, (Drawing(shown.timeline, MAX_MARKS),))
    if closing := list(filter(None, (_not_named(alert), _unchanged(alert), _truncated(alert), _place(alert)))):
        yield Prose("\n".join(closing))
    if alert.origin.log_url:
        yield Link("Log", alert.origin.log_url)


def section(group: Group) -> Section:
    """Return the section of one finding, or of several findings of a rule with their common parts written once."""
    first = group.first
    if len(group.items) == 1:
        said = [part for part in _said(first) if part.text] if first in group.in_full else []
        named = bool(said) and said[0].text.startswith(f"{visible(first.table)} ")
        facts_of_it = _known(first) if named else [("table", visible(first.table)), *_known(first)]
        return _section(group, heading(first), facts_of_it, said)
    facts_of, texts = [_known(item) for item in group.items], [_said(item) for item in group.items]
    same = set(facts_of[0]).intersection(*facts_of[1:])
    common = [part for part, *others in zip(*texts) if {part} == set(others)]
    rows = (
        Entry(
            name=visible(item.table),
            facts=tuple(fact for fact in known if fact not in same),
            message=_message(item, [part for part in own if part.text and part not in common])
            if item in group.in_full
            else "",
        )
        for item, known, own in zip(group.items, facts_of, texts)
    )
    return _section(
        group,
        f"{heading(first)} ({counted(len(group.items), 'finding')} in {counted(group.tables, 'table')})",
        [fact for fact in facts_of[0] if fact in same],
        [part for part in common if part.text],
        Listing(tuple(rows)),
    )


def _section(group: Group, title: str, known: Iterable[Fact], said: Iterable[Prose], *rows: Listing) -> Section:
    facts_of_all = Facts(tuple(known))
    tone = Tone.GOOD if group.first.news is News.RESOLVED else TONE_OF_SEVERITY[group.first.finding.severity]
    return Section(title, (*([facts_of_all] if facts_of_all.facts else []), *said, *rows), tone)


def _message(item: Item, own: Iterable[Prose]) -> str:
    """Return the part of a finding's message that the others of its rule do not share."""
    said = " ".join(part.line for part in own)
    return shortened(said.removeprefix(f"{visible(item.table)} "), MAX_ROW_MESSAGE)


def _origin(alert: Alert) -> str:
    """Return the task run in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return visible(f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}")


def _known(item: Item) -> list[tuple[str, str]]:
    known = list(facts(item.finding))
    if item.finding.healed_version is not None:
        known.append(("fixed in version", str(item.finding.healed_version)))
    if item.led_to:
        known.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return [(label, visible(value)) for label, value in known]


def _said(item: Item) -> tuple[Prose, ...]:
    """Return the evidence, the effect while it lasts, and the remedy.

    A finding without evidence has everything in its message; if that is cut, the remedy of its rule follows.
    """
    wording = Wording.of(item.finding)
    effect, remedy = "" if item.news is News.RESOLVED else wording.effect, wording.remedy
    if item.finding.evidence is None and len(wording.evidence) > MAX_MESSAGE:
        remedy = item.remedy
    texts = wording.evidence.strip(), effect, remedy
    return tuple(Prose(shortened(shown_lines(text), MAX_MESSAGE), label) for label, text in zip(_LABELS, texts))


def _not_named(alert: Alert) -> str | None:
    rest = alert.items[len(alert.named) :]
    if not rest:
        return None
    tables = counted(len({item.table for item in rest}), "table")
    codes = visible(counted_codes(item.finding.code for item in rest))
    return f"… and {counted(len(rest), 'more finding')} in {tables}, none worse: {codes}."


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
