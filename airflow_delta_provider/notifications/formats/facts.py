"""What every format says of a finding and of the alert as a whole."""

from __future__ import annotations

from collections.abc import Callable

from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.notifications.alert import Alert, Item

#: Characters of a finding's message; the report has all of it.
MAX_MESSAGE = 1500

_FACTS: tuple[tuple[str, Callable[[Finding], str | None]], ...] = (
    ("version", lambda finding: _version(finding)),
    ("column", lambda finding: finding.column),
    ("file", lambda finding: finding.path),
    ("engine", lambda finding: finding.writer or finding.engine),
    ("commit", lambda finding: _commit(finding)),
    ("holds again since", lambda finding: None if finding.healed_version is None else f"v{finding.healed_version}"),
)


def heading(item: Item) -> str:
    """Return why it is told, how much it weighs, and which rule it is about."""
    return " ".join(filter(None, (item.news.value.upper(), item.finding.severity.value, item.finding.code, item.title)))


def facts(item: Item) -> list[tuple[str, str]]:
    """Return what is known of a finding, as label and value; the table first."""
    known = ((label, read(item.finding)) for label, read in _FACTS)
    said = [("table", item.table), *((label, value) for label, value in known if value)]
    if item.led_to:
        said.append(("led to", f"{len(item.led_to)} more: {', '.join(sorted(set(item.led_to)))}"))
    return said


def message(item: Item) -> str:
    """Return what is wrong and what to do; if the end had to be cut off, with the remedy that the rule gives."""
    said = item.finding.message.strip()
    if len(said) <= MAX_MESSAGE:
        return said
    return "\n".join(filter(None, (shortened(said, MAX_MESSAGE), item.remedy)))


def closing(alert: Alert) -> list[str]:
    """Return the sentences after the findings: what is not written out."""
    return [sentence for sentence in (_not_shown(alert), _unchanged(alert), _truncated(alert)) if sentence]


def origin(alert: Alert) -> str:
    """Return which task run it was, in one line."""
    tried = f", try {alert.origin.try_number}" if alert.origin.try_number else ""
    return f"Task {alert.origin.task}, run {alert.origin.run_id}{tried}"


def shortened(text: str, limit: int) -> str:
    """Return ``text`` with at most ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _version(finding: Finding) -> str | None:
    if finding.version is None:
        return None
    return f"{finding.version} or before" if finding.at_or_before else str(finding.version)


def _commit(finding: Finding) -> str | None:
    parts = (finding.operation, finding.user and f"by {finding.user}", finding.timestamp and f"at {finding.timestamp}")
    return " ".join(filter(None, parts)) or None


def _not_shown(alert: Alert) -> str | None:
    rest = len(alert.items) - len(alert.shown)
    return f"… and {rest} more, none worse." if rest > 0 else None


def _unchanged(alert: Alert) -> str | None:
    if not alert.unchanged:
        return None
    return f"{alert.unchanged} more stand unchanged and are not told again."


def _truncated(alert: Alert) -> str | None:
    return "The report has more findings than XCom holds; the task's log lists them." if alert.truncated else None
