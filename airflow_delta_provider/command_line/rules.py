"""``explain`` and ``rules``: texts about rules, without reading a table."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from airflow_delta_provider.command_line.rule_catalogue import Entry, entries, families, wire_of
from airflow_delta_provider.command_line.usage_error import UsageError
from airflow_delta_provider.domain.suggestion import did_you_mean

FORMATS = ("text", "json", "markdown")
SEVERITIES = ("error", "warning", "undecided")
_WIDTH, _LABEL = 100, 12


def explain(codes: Sequence[str], form: str) -> str:
    """Return everything about some rules.

    :param form: one of ``FORMATS``
    :raises UsageError: if there is no rule with a code
    """
    found = [_entry(code) for code in codes]
    if form == "json":
        return _json([wire_of(entry.code) for entry in found])
    shown = _explained_in_markdown if form == "markdown" else _explained
    return "\n\n".join("\n".join(shown(entry)) for entry in found) + "\n"


def list_rules(prefixes: Sequence[str], severities: Sequence[str], form: str) -> str:
    """Return a line for each rule.

    :param prefixes: prefixes of the families to list; empty for all
    :param severities: severities of the rules to list; empty for all
    :param form: one of ``FORMATS``
    :raises UsageError: if there is no such family
    """
    wanted = {_family(prefix) for prefix in prefixes} or set(families())
    weights = {severity.upper() for severity in severities or SEVERITIES}
    found = [entry for entry in entries().values() if entry.family in wanted and entry.severity in weights]
    if form == "json":
        return _json([wire_of(entry.code) for entry in found])
    return "\n".join(_listed_in_markdown(found) if form == "markdown" else _listed(found)) + "\n"


def _entry(code: str) -> Entry:
    known = entries()
    found = known.get(code.upper())
    if found is None:
        hint = did_you_mean(code, known)
        raise UsageError(f"There is no rule {code!r}.{hint} `delta-provider rules` lists all rules.")
    return found


def _family(prefix: str) -> str:
    known = families()
    if prefix.upper() not in known:
        hint = did_you_mean(prefix, known)
        raise UsageError(f"There is no family {prefix!r}.{hint} Families: {', '.join(known)}.")
    return prefix.upper()


def _explained(entry: Entry) -> Iterator[str]:
    yield f"{entry.code} {entry.severity}  {entry.title}"
    for label, text in _parts(entry):
        yield from textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=f"    {label:<{_LABEL}}",
            subsequent_indent=" " * (4 + _LABEL),
            break_long_words=False,
            break_on_hyphens=False,
        )


def _parts(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the texts about a rule, each with its label."""
    yield "about", families()[entry.family]
    known = (("effect", entry.effect), ("remedy", entry.remedy), ("healing", entry.healing), ("source", entry.source))
    yield from ((label, text) for label, text in known if text)
    yield from (("requires", requirement.says) for requirement in entry.requirements)
    if entry.follows_from:
        yield "may follow", ", ".join(entry.follows_from)
    yield from (("link", link) for link in entry.links)


def _explained_in_markdown(entry: Entry) -> Iterator[str]:
    yield f"### {entry.code}: {entry.title}"
    yield ""
    yield f"`{entry.severity}`"
    yield ""
    yield from (f"- {label}: {text}" for label, text in _parts(entry))


def _listed(found: Sequence[Entry]) -> Iterator[str]:
    for prefix, title in families().items():
        of_family = [entry for entry in found if entry.family == prefix]
        if of_family:
            yield f"{prefix}  {title}"
            yield from (f"    {entry.code}  {entry.severity:<9}  {entry.title}" for entry in of_family)
    yield f"{len(found)} rules. `delta-provider explain CODE` shows the details of one."


def _listed_in_markdown(found: Sequence[Entry]) -> Iterator[str]:
    yield "| code | severity | what is wrong |"
    yield "|---|---|---|"
    for entry in found:
        title = entry.title.replace("|", "\\|")
        yield f"| {entry.code} | `{entry.severity}` | {title} |"


def _json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
