"""Writes ``docs/reference/protocol-coverage.md``: ``make docs``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from airflow_delta_provider.domain.rendering.links import anchor
from scripts.protocol_coverage.entries import REASONS, Entry, Place, entries, places
from scripts.protocol_coverage.sentences import COMMIT, DOCUMENTS, NOT_COVERED, REPOSITORY

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "protocol-coverage.md"
_INTRODUCTION = """\
# Coverage of the protocol

<!-- Written by `make docs` from scripts/protocol_coverage: change it there. -->

This page paraphrases every row of a table in Delta's protocol, and every sentence that defines, requires, forbids or
permits something. For each it names the [rule](rules.md) that checks it and the damage in the tests that breaks it, or
the reason why an audit cannot check it. Permissions name sound tables of the tests that use them. Links lead to the
[version of the documents]({repository}/tree/{commit}) that was read. A sentence of an accepted RFC that
`PROTOCOL.md` repeats is listed once.

{judged} of {all} sentences are checked, and {permitted} permit something. The others bind readers or catalogs, explain,
or leave no trace in a table.

| document | covered |
| --- | --- |
{documents}\
"""
_HEAD = ("| sentence | rules | damage, sound table, or the reason why it is not checked |", "| --- | --- | --- |")


def render() -> str:
    """Return the page."""
    known = entries()
    listed = [place for place in places() if place.digest in known]
    permitted = sum(known[place.digest].why == "permits" for place in listed)
    judged = sum(bool(known[place.digest].rules) for place in listed)
    covered = [f"| `{name}` | yes |" for name in DOCUMENTS]
    covered += [f"| `{name}` | no: {why} |" for name, why in NOT_COVERED.items()]
    documents = "\n".join(covered)
    known_as = {"repository": REPOSITORY, "commit": COMMIT, "documents": documents}
    blocks = [_INTRODUCTION.format(judged=judged, all=len(listed), permitted=permitted, **known_as)]
    for document, of_document in groupby(listed, key=lambda place: place.document):
        blocks.append(f"## {document}")
        for _, of_section in groupby(of_document, key=lambda place: place.anchor):
            blocks.append(_section([*of_section], known))
    return "\n\n".join(blocks) + "\n"


def _section(listed: Sequence[Place], known: dict[str, Entry]) -> str:
    first = listed[0]
    link = f"{REPOSITORY}/blob/{COMMIT}/{first.document}#{first.anchor}"
    rows = [_row(known[place.digest]) for place in listed]
    head = f"**[{first.section}]({link})**"
    return "\n".join([head, "", *_HEAD, *rows])


def _row(entry: Entry) -> str:
    rules = ", ".join(f"[{code}](rules.md#{anchor(code)})" for code in entry.rules)
    reason = REASONS.get(entry.why, entry.why)
    if entry.sound:
        permits = "" if reason == REASONS["permits"] else f"{reason} Optional: tables without it are not alarmed"
        reason = f"{permits or reason} ({_named(entry.sound)}).".strip()
    cases = _named(entry.cases)
    shown = ". ".join(part for part in (cases, reason) if part) if reason else cases
    return f"| {_cell(entry.says)} | {rules} | {_cell(shown)} |"


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name.rpartition('::')[2]}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
