"""``explain`` and ``rules``: texts about rules, without reading a table."""

from __future__ import annotations

import json
import pkgutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from airflow_delta_provider.command_line.exit_code import UsageError
from airflow_delta_provider.domain.text import did_you_mean

FILE = "rules.json"
_PACKAGE = "airflow_delta_provider.command_line"


@dataclass(frozen=True)
class Requirement:
    """A requirement of the protocol that a rule checks, in this package's words.

    :param section: section of the protocol
    :param link: link to that section
    """

    says: str
    section: str
    link: str


@dataclass(frozen=True)
class Entry:
    """One rule.

    :param code: stable code
    :param name: stable name, which people can say
    :param family: prefix of the code
    :param severity: ``ERROR``, ``WARNING`` or ``UNDECIDED``
    :param scope: part of the table that the rule checks
    :param title: the problem in a few words
    :param since: first release that has the rule
    :param remedy: the remedy
    :param effect: possible effect on readers or writers of the table
    :param healing: later commits that fix the problem; empty if no log alone can break the rule
    :param source: sections of the protocol that the rule comes from
    :param follows_from: codes of rules whose violations may cause this one
    :param threads: public threads about it, as ``owner/repository#number``
    """

    code: str
    name: str
    family: str
    severity: str
    scope: str
    title: str
    since: str
    remedy: str
    effect: str = ""
    healing: str = ""
    source: str = ""
    requirements: tuple[Requirement, ...] = ()
    follows_from: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        """Links for further reading: the sections of the protocol, and the threads."""
        threads = (f"https://github.com/{thread.replace('#', '/issues/')}" for thread in self.threads)
        return tuple(dict.fromkeys([*(each.link for each in self.requirements), *threads]))

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Entry:
        """Read an entry of the file."""
        lists = {name: tuple(wire.get(name, ())) for name in ("follows_from", "threads")}
        requirements = tuple(Requirement(**each) for each in wire.get("requirements", ()))
        return cls(**{**wire, **lists, "requirements": requirements})


@cache
def families() -> Mapping[str, str]:
    """Return the topic of each family of rules, by the prefix of its codes."""
    return {family["prefix"]: family["title"] for family in _wire()["families"]}


@cache
def entries() -> Mapping[str, Entry]:
    """Return all rules by code, sorted by family and number."""
    return {wire["code"]: Entry.from_json(wire) for wire in _wire()["rules"]}


def wire_of(code: str) -> Mapping[str, Any]:
    """Return a rule as plain JSON.

    :raises KeyError: if there is no rule with that code
    """
    for wire in _wire()["rules"]:
        if wire["code"] == code:
            found: Mapping[str, Any] = wire
            return found
    raise KeyError(code)


@cache
def _wire() -> Any:
    content = pkgutil.get_data(_PACKAGE, FILE)  # also from a zip
    return json.loads(content or b"{}")


FORMATS = ("text", "json", "markdown")
SEVERITIES = ("error", "warning", "undecided")
_WIDTH, _LABEL = 100, 12
#: Part of the remedies that return to an earlier version.
_RESTORE = "RESTORE the table to the previous version"


def explain(words: Sequence[str], form: str) -> str:
    """Return everything about some rules.

    :param words: codes or names of rules, in any case
    :param form: one of ``FORMATS``
    :raises UsageError: if there is no rule with a code or name
    """
    found = [_entry(word) for word in words]
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


def _entry(word: str) -> Entry:
    known = {**entries(), **{entry.name: entry for entry in entries().values()}}
    found = known.get(word.upper()) or known.get(word.lower())
    if found is None:
        hint = did_you_mean(word, known)
        raise UsageError(f"There is no rule {word!r}.{hint} `delta-provider rules` lists all rules.")
    return found


def _family(prefix: str) -> str:
    known = families()
    if prefix.upper() not in known:
        hint = did_you_mean(prefix, known)
        raise UsageError(f"There is no family {prefix!r}.{hint} Families: {', '.join(known)}.")
    return prefix.upper()


def _explained(entry: Entry) -> Iterator[str]:
    yield f"{entry.code} {entry.name}  {entry.severity}  {entry.title}"
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
    if _RESTORE in entry.remedy:
        yield "command", "RESTORE TABLE table TO VERSION AS OF version; an audit's findings name both"
    yield "since", entry.since
    yield from (("requires", requirement.says) for requirement in entry.requirements)
    if entry.follows_from:
        yield "may follow from", ", ".join(entry.follows_from)
    yield from (("link", link) for link in entry.links)


def _explained_in_markdown(entry: Entry) -> Iterator[str]:
    yield f"### {entry.code}: {entry.title}"
    yield ""
    yield f"`{entry.name}`, `{entry.severity}`"
    yield ""
    yield from (f"- {label}: {text}" for label, text in _parts(entry))


def _listed(found: Sequence[Entry]) -> Iterator[str]:
    for prefix, title in families().items():
        of_family = [entry for entry in found if entry.family == prefix]
        if of_family:
            width = max(len(entry.name) for entry in of_family)
            yield f"{prefix}  {title}"
            for entry in of_family:
                yield f"    {entry.code}  {entry.name:<{width}}  {entry.severity:<9}  {entry.title}"
    yield f"{len(found)} rules. `delta-provider explain CODE` shows the details of one; a name works like its code."


def _listed_in_markdown(found: Sequence[Entry]) -> Iterator[str]:
    yield "| code | name | severity | what is wrong |"
    yield "|---|---|---|---|"
    for entry in found:
        title = entry.title.replace("|", "\\|")
        yield f"| {entry.code} | {entry.name} | `{entry.severity}` | {title} |"


def _json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
