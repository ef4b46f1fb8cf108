"""Writes ``docs/reference/remedies.md`` from what tests recorded of remedies: ``make docs``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Restore
from airflow_delta_provider.domain.rendering.markdown import code as code_span
from tests.tables.restoring import STATEMENTS

_CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = _CHECKOUT / "docs" / "reference" / "remedies.md"
_RECORD = _CHECKOUT / "tests" / "tables" / "restoring.json"
_ENGINES = ("Delta Spark", "deltalake")
_INTRODUCTION = """\
# Tested remedies

<!-- Written by `make docs` from tests/tables/restoring.json, which tests record: change it there. -->

The remedies of these rules go back to an earlier version with RESTORE. Tests damage a table, let a real engine go back,
and audit the table again. The column of an engine has the result:

| | meaning |
|---|---|
| healed | the finding is fixed |
| stands | the finding is still open: follow the other remedy of the rule |
| refused | the engine refuses the table, or the RESTORE: use another engine, or the other remedy of the rule |
| – | not tested |

Only the log is damaged: the files that these tables name do not exist, and the engines are configured not to check for
them. Delta Spark is also configured to go back further than `delta.deletedFileRetentionDuration`, which it refuses by
default. RESTORE removes all rows that were written since. The remedy in a report names the version to go back to and
these rows. If there is a remedy without that loss, it names that one first. If the log leads to no earlier version, it
does not name RESTORE. [Run a RESTORE](../guides/audit.md#run-a-restore) shows how.
"""
_STATEMENTS = """\
## Other remedies

Tests damage a table, let Delta Spark run the statements, and audit the table again. Other remedies were not tested:
they need a backup, an engine that writes other things, or a commit that somebody writes.

| rule | statements | Delta Spark |
|---|---|---|\
"""


def render() -> str:
    """Return the page."""
    return (
        "\n".join(
            [
                _INTRODUCTION,
                f"| rule | remedy | {' | '.join(_ENGINES)} |",
                "|---|---|---|---|",
                *_rows(),
                "",
                _STATEMENTS,
                *_statements(),
            ]
        )
        + "\n"
    )


def _rows() -> Iterator[str]:
    record: Mapping[str, Mapping[str, str]] = json.loads(_RECORD.read_text(encoding="utf-8"))
    for code, rule in sorted(RULES.items()):
        if isinstance(rule.remedy, Restore):
            results = [record.get(engine, {}).get(code, "–") for engine in _ENGINES]
            yield f"| [{code}](rules.md#{code.lower()}) {rule.title} | {rule.remedy} | {' | '.join(results)} |"


def _statements() -> Iterator[str]:
    results: Mapping[str, str] = json.loads(_RECORD.read_text(encoding="utf-8"))["statements of Delta Spark"]
    for code, result in sorted(results.items()):
        statements = "<br>".join(code_span(each.format(table="t")) for each in STATEMENTS[code])
        yield f"| [{code}](rules.md#{code.lower()}) {RULES[code].title} | {statements} | {result} |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
