"""Rows that a job has written to replace those of a table: DF10."""

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
    effect="The files were not committed; readers see the table as it was.",
    remedy="Report the engine that wrote them; VACUUM deletes the files.",
)


@on_demand(ROWS_DIFFER)
def rewritten_otherwise(
    table: str, expected: tuple[int, Mapping[str, int]], found: tuple[int, Mapping[str, int]]
) -> Iterator[Finding]:
    """Yield how the rows of new files differ from those that should be there.

    :param expected: number of rows, and a checksum of the values of each column
    :param found: likewise
    """
    if expected[0] != found[0]:
        yield ROWS_DIFFER.found(
            "The files that were to replace those of {table} have {now:row}; {before} should be there.",
            table=table,
            now=found[0],
            before=expected[0],
        )
    for name, total in expected[1].items():
        if found[1].get(name) != total:
            yield ROWS_DIFFER.found(
                "{column} has other values in the files that were to replace those of {table} than the cast gives.",
                table=table,
                column=path_text((name,)),
            )
