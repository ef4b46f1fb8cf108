"""A finding as lines of text: its place, its message, its outcome."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.rendering.wording import Wording
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.visible import visible, visible_lines


def where(finding: Finding) -> str:
    """Return the known places of a finding, in one line."""
    return visible(" · ".join(_where(finding)))


def said(wording: Wording) -> Iterator[str]:
    """Yield evidence, effect and remedy: paragraphs that are not wrapped."""
    for paragraph in wording.paragraphs:
        yield from visible_lines(paragraph)


def outcome(finding: Finding) -> Iterator[str]:
    """Yield why a finding does not count, if it does not."""
    if finding.healed_version is not None:
        yield f"Fixed in version {finding.healed_version}."
    if finding.waiver is not None:
        waiver = finding.waiver
        yield visible(f"Accepted by {waiver.owner} until {waiver.expires}: {waiver.reason}")


def consequences(follows: Sequence[Finding]) -> Iterator[str]:
    """Yield a line with the codes of the findings that follow from a finding."""
    if follows:
        codes = sorted({finding.code for finding in follows})
        yield f"Consequence{'' if len(codes) == 1 else 's'}: {', '.join(codes)}."


def version_text(finding: Finding) -> str | None:
    """Return the version of a finding, with "or before" if it may be older; None if it has none."""
    if finding.version is None:
        return None
    return f"{finding.version} or before" if finding.at_or_before else str(finding.version)


def facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """Yield (label, value) pairs of a finding's commit and place, without its message."""
    known = (
        ("version", version_text(finding)),
        ("operation", finding.operation),
        ("writer", finding.writer or finding.engine),
        ("user", finding.user),
        ("time", finding.timestamp),
        ("column", finding.column),
        ("about", finding.subject),
        ("file", finding.path),
    )
    yield from ((label, value) for label, value in known if value)


def wrapped(line: str, width: int, indent: int) -> list[str]:
    """Return a line wrapped to at most ``width`` columns; names are not broken at hyphens."""
    blanks = " " * indent
    return textwrap.wrap(line, width, initial_indent=blanks, subsequent_indent=blanks, break_on_hyphens=False)


def _where(finding: Finding) -> Iterator[str]:
    if version := version_text(finding):
        yield f"version {version}"
    writer = finding.writer or finding.engine
    if finding.operation or writer:
        yield " by ".join(filter(None, (finding.operation, writer)))
    evidence = finding.evidence or finding.message
    known = (
        ("user", finding.user),
        ("column", finding.column),
        ("about", finding.subject),
        ("file", None if finding.path is None or finding.path in evidence else finding.path),
        ("fingerprint", finding.fingerprint),
    )
    yield from (f"{name} {value}" for name, value in known if value is not None)
    if finding.status is not None:
        yield finding.status.value.lower()
