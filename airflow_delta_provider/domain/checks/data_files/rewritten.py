"""Rows after a job has rewritten a table: DF10."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.report.finding import Finding

ROWS_DIFFER = FAMILY.of(Scope.OUTCOME).error(
    10,
    "rewritten rows are not the rows before",
    effect="Readers get other rows or values than the change of types explains.",
    remedy="Do not write to the table; RESTORE it to the version before, and report the engine that rewrote it.",
)


@on_demand(ROWS_DIFFER)
def rewritten_otherwise(
    expected: tuple[int, Mapping[str, int]], found: tuple[int, Mapping[str, int]], version: int
) -> Iterator[Finding]:
    """Yield how the rows of a version differ from those that should be there.

    :param expected: number of rows, and a checksum of the values of each column
    :param found: likewise
    """
    if expected[0] != found[0]:
        yield ROWS_DIFFER.found(
            "Version {version}, which rewrote the table, has {now:row}; {before} should be there.",
            version=version,
            now=found[0],
            before=expected[0],
        )
    for name, total in expected[1].items():
        if found[1].get(name) != total:
            yield ROWS_DIFFER.found(
                "{column} has other values in version {version}, which rewrote the table, than the cast gives.",
                version=version,
                column=path_text((name,)),
            )
