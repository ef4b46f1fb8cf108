"""Writes ``docs/reference/rules.md`` from the catalogue of rules: ``make docs``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow_delta_provider.domain.checks.registry import FAMILIES
from airflow_delta_provider.domain.checks.rule import Rule, RuleFamily, Scope
from airflow_delta_provider.domain.report.report import Severity

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "rules.md"
_INTRODUCTION = """\
# Rules

<!-- Written by `make docs` from airflow_delta_provider/domain/checks: change it there. -->

Every finding of a [report](report.md) has the code of a rule. Each rule also has a name, which people can say beside
the code. `delta-provider explain` accepts both; configuration, waivers and baselines need the code. Codes and names are
stable. "Since" is the first release with the rule. Sources are sections of
[PROTOCOL.md](https://github.com/delta-io/delta/blob/master/PROTOCOL.md), and public threads about the problem.\
"""
_SEVERITIES = {
    Severity.ERROR: "something is wrong: `VIOLATED`; with a request, `REFUSED`; with the platform, `FAULT`",
    Severity.WARNING: "something is suspicious or not as expected: by itself still `PASS`",
    Severity.UNDECIDED: "it cannot be decided whether something is wrong: without an error, `UNDETERMINED`",
}


def render() -> str:
    """Return the page."""
    blocks = [
        _INTRODUCTION,
        _table("family", "about", [(f"[`{f.prefix}`](#{_anchor(_heading(f))})", f.title) for f in FAMILIES]),
        _table(
            "severity",
            "meaning, and verdict",
            [(f"`{severity.value}`", says) for severity, says in _SEVERITIES.items()],
        )
        + "\n\nA single finding may have a lower severity than its rule, if its effect is smaller.",
        _table("scope", "the rule checks", [(f"`{scope.value}`", scope.meaning) for scope in Scope]),
        *(block for family in FAMILIES for block in _family(family, family.rules)),
    ]
    return "\n\n".join(blocks) + "\n"


def _family(family: RuleFamily, rules: Sequence[Rule]) -> Iterator[str]:
    yield f"## {_heading(family)}"
    yield family.about
    yield from (_rule(rule) for rule in sorted(rules, key=lambda rule: rule.code))


def _rule(rule: Rule) -> str:
    sources = [*([rule.source] if rule.source else []), *map(_link, rule.threads)]
    rows = {"Effect": rule.effect, "Remedy": rule.remedy, "Source": ", ".join(sources), "Since": rule.since}
    lines = [f"- {label}: {text}" for label, text in rows.items() if text]
    title = f"**{rule.title}** (`{rule.name}`, `{rule.severity.value}`, `{rule.scope.value}`)"
    return "\n".join([f"### {rule.code}", "", title, "", *lines])


def _table(left: str, right: str, rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join([f"| {left} | {right} |", "|---|---|", *(f"| {one} | {other} |" for one, other in rows)])


def _heading(family: RuleFamily) -> str:
    return f"{family.prefix}: {family.title}"


def _anchor(heading: str) -> str:
    """Return what GitHub makes of a heading in links."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _link(thread: str) -> str:
    repository, number = thread.split("#")
    return f"[{thread}](https://github.com/{repository}/issues/{number})"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
