"""Writes ``docs/reference/remedies.md`` from what tests recorded of remedies: ``make docs``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.remedy import Restore

_CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = _CHECKOUT / "docs" / "reference" / "remedies.md"
_RECORD = _CHECKOUT / "tests" / "tables" / "restoring.json"
_ENGINES = ("Delta Spark", "deltalake")
_INTRODUCTION = """\
# Remedies that were tried

<!-- Written by `make docs` from tests/tables/restoring.json, which tests record: change it there. -->

The remedies of these rules go back to an earlier version with RESTORE. Tests damage a table, let a real engine go back,
and audit the table again. The column of an engine has the result:

| | meaning |
|---|---|
| healed | the finding is fixed |
| stands | the finding is still open: follow the other remedy of the rule |
| refused | the engine refuses the table, or the RESTORE: use another engine, or the other remedy of the rule |
| – | not tried |

The damage is in the log alone: the files that these tables name do not exist, and the engines are told not to look for
them. Delta Spark is also told to go back further than `delta.deletedFileRetentionDuration`: it refuses that by default.
RESTORE takes away all rows that were written since. The remedy in a report names the version to go back to, these rows,
and, if there is one, the way without that loss first. If the log leads to no earlier version, it does not name RESTORE.

Remedies of other rules were not tried.\
"""


def render() -> str:
    """Return the page."""
    return (
        "\n".join([_INTRODUCTION, "", f"| rule | remedy | {' | '.join(_ENGINES)} |", "|---|---|---|---|", *_rows()])
        + "\n"
    )


def _rows() -> Iterator[str]:
    record: Mapping[str, Mapping[str, str]] = json.loads(_RECORD.read_text(encoding="utf-8"))
    for code, rule in sorted(RULES.items()):
        if isinstance(rule.remedy, Restore):
            results = [record.get(engine, {}).get(code, "–") for engine in _ENGINES]
            yield f"| [{code}](rules.md#{code.lower()}) {rule.title} | {rule.remedy} | {' | '.join(results)} |"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
