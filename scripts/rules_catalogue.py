"""Writes ``command_line/rules.json``: what is said of rules without importing all checks. Part of ``make docs``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from airflow_delta_provider.command_line import rules
from airflow_delta_provider.domain.checks.causes import causes_of
from airflow_delta_provider.domain.checks.registry import FAMILIES
from airflow_delta_provider.domain.checks.rule import Rule
from scripts.protocol_coverage.entries import entries, places
from scripts.protocol_coverage.sentences import COMMIT, REPOSITORY
from scripts.sample_blocks import CHECKOUT
from tests.unit.damages import CASES

CATALOGUE = CHECKOUT / "airflow_delta_provider" / "command_line" / rules.FILE
#: What heals a violation, by what the tests of damages call it.
_HEALERS = {
    "undo": "a later commit that changes it back",
    "restore": "RESTORE to a version before",
    "replace": "CREATE OR REPLACE TABLE",
}
_NEVER = "Stays open: the commit itself is wrong, and no later commit changes it. A waiver accepts it."


def render() -> str:
    """Return the file, as text."""
    requirements, healers = _requirements(), _healers()
    families = [{"prefix": f.prefix, "title": f.title, "about": f.about} for f in FAMILIES]
    listed = [
        _entry(rule, requirements.get(rule.code, []), healers.get(rule.code)) for f in FAMILIES for rule in f.rules
    ]
    return json.dumps({"families": families, "rules": listed}, indent=1, ensure_ascii=False) + "\n"


def _entry(rule: Rule, requirements: list[dict[str, str]], healers: Collection[str] | None) -> dict[str, Any]:
    entry = {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family.prefix,
        "severity": rule.severity.value,
        "scope": rule.scope.value,
        "title": rule.title,
        "since": rule.since,
        "effect": rule.effect,
        "remedy": rule.remedy,
        "healing": "" if healers is None else _healing(healers),
        "source": rule.source,
        "requirements": requirements,
        "follows_from": list(causes_of(rule.code).all_codes),
        "threads": list(rule.threads),
    }
    return {key: value for key, value in entry.items() if value}


def _healing(healers: Collection[str]) -> str:
    """Return what ends a violation, as a sentence."""
    known = [text for name, text in _HEALERS.items() if name in healers]
    if not known:
        return _NEVER
    listed = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
    return f"Fixed by {listed}."


def _healers() -> dict[str, set[str]]:
    """Return what heals a violation, by code, of the rules that a log alone can break."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for case in CASES:
        found[case.code] |= case.healed_by
    return found


def _requirements() -> dict[str, list[dict[str, str]]]:
    """Return the sentences of the protocol that rules are about, in our words, by code."""
    known, found = entries(), defaultdict[str, list[dict[str, str]]](list)
    for place in places():
        if place.digest in known:
            link = f"{REPOSITORY}/blob/{COMMIT}/{place.document}#{place.anchor}"
            for code in known[place.digest].rules:
                found[code].append({"says": known[place.digest].says, "section": place.section, "link": link})
    return found
