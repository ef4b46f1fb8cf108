"""Renders ``docs/reference/compatibility.md`` from what ``make matrix`` found: part of ``make docs``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from airflow_delta_provider.version_compat import PARTS
from scripts.matrix.entries import Airflow, Engine, Entry, entries
from scripts.matrix.results import Result, read
from scripts.sample_blocks import CHECKOUT

PAGE = CHECKOUT / "docs" / "reference" / "compatibility.md"
Versions = tuple[tuple[str, str], ...]
_INTRODUCTION = """\
# Compatibility

<!-- Written by `make docs` from scripts/matrix/results.json and airflow_delta_provider/version_compat.py: change it
there. -->

Airflow 3.1.8 to 3.3 on Python 3.10 to 3.13, and Delta Lake 3.2 to 4.4 on Spark 3.5 to 4.2 are supported. On the
cluster, jobs need Python 3.10 or later.

`make matrix` runs the tests with the releases below, each in its own environment. If a release cannot do what a request
needs, the request is refused, nothing is changed, and the refusal names a release that can.\
"""
_ENGINES = """\
## Spark and Delta Lake

The tests run every kind of job, every table feature and migrations, by a real `spark-submit`. *Refused* are requests of
the tests that need a newer release.\
"""
_CHANGES = """\
Before Delta 4.0, only `byte` and `short` are widened, up to `int`; before 3.3, no type is. A migration rewrites instead
if its spec allows it. Dropping features needs Delta 4.0, and for some features 4.1
([Drop features](../guides/drop-features.md)). Widening all columns in one commit needs Spark 4.2.\
"""
_AIRFLOW = """\
## Airflow

The tests cover operators, sensors, triggers, notifiers and the plugin.\
"""
_LACKS = """\
## Missing in older releases of Airflow

| since | feature | without it |
|---|---|---|\
"""
_END = "[Engines](engines.md) lists the table features that other engines read and write."


def render() -> str:
    """Return the page."""
    found = {tuple(each.versions.items()): each for each in read()}
    lacks = [f"| {part.since} | {part.name} | {'<br>'.join(part.without)} |" for part in PARTS]
    parts = [
        _INTRODUCTION,
        _ENGINES,
        _table(("Spark", "Delta Lake"), Engine, found, counts_refusals=True),
        "\n".join(line for each in found.values() if "spark" in each.versions for line in _refused(each)),
        _CHANGES,
        _AIRFLOW,
        _table(("Airflow", "Python"), Airflow, found),
        "\n".join([_LACKS, *lacks]),
        _END,
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(
    names: Sequence[str], kind: type[Entry], found: Mapping[Versions, Result], *, counts_refusals: bool = False
) -> str:
    head = [*names, "passed", "failed", *["refused"] * counts_refusals, "tried on"]
    rows = [
        [*entry.versions.values(), *_cells(entry, found, counts_refusals)] for entry in entries() if type(entry) is kind
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _cells(entry: Entry, found: Mapping[Versions, Result], counts_refusals: bool) -> list[str]:
    result = found.get(tuple(entry.versions.items()))
    if result is None:
        return ["", "", *[""] * counts_refusals, "not tried yet"]
    return [str(result.passed), str(result.failed), *[str(len(result.refused))] * counts_refusals, result.date]


def _refused(result: Result) -> Iterator[str]:
    if result.refused:
        spark, delta = result.versions.values()
        yield f"- Delta {delta} on Spark {spark} refuses: {', '.join(result.refused)}."


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
