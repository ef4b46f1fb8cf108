"""Tables that cannot be written, as nothing of a column would be in data files: MD27. PROTOCOL.md, Void Type."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_transition
from airflow_delta_provider.domain.checks.metadata.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

WRITTEN_WITHOUT_COLUMNS = FAMILY.of(Scope.COMMIT).error(
    27,
    "data written though a column cannot be in files",
    effect="Data files lack the column or have one that the protocol does not know, and engines fail to read them.",
    remedy="RESTORE the table to the version before the file, and give the column another type.",
    source="PROTOCOL.md, Void Type",
    shows="add",
)


@on_transition(WRITTEN_WITHOUT_COLUMNS)
def _written(transition: Transition) -> Iterator[Finding]:
    where = transition.after.metadata.void_without_file if transition.commit.adds else None
    if where is None:
        return
    new = transition.new_files
    if new:
        yield WRITTEN_WITHOUT_COLUMNS.found(
            "The commit adds {files:data file}, for example {path}, though "
            + ("all columns of the table are void." if not where else "{column} holds nothing but void."),
            path=new[0].path,
            files=len(new),
            column=where or None,
        )
