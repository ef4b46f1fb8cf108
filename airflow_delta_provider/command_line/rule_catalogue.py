"""Texts about each rule, read from a file: importing all checks takes longer than the answer.

``make docs`` writes the file from the rules themselves.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

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
    :param family: prefix of the code
    :param severity: ``ERROR``, ``WARNING`` or ``UNDECIDED``
    :param scope: part of the table that the rule checks
    :param title: the problem in a few words
    :param remedy: the remedy
    :param effect: possible effect on readers or writers of the table
    :param healing: later commits that fix the problem; empty if no log alone can break the rule
    :param source: sections of the protocol that the rule comes from
    :param follows_from: codes of rules whose violations may cause this one
    :param threads: public threads about it, as ``owner/repository#number``
    """

    code: str
    family: str
    severity: str
    scope: str
    title: str
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
