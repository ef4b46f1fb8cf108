"""Values of table properties: MD26. PROTOCOL.md, Table Properties."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, MOST_TEXT
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.property_values import FORMS, RECOMMENDED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

UNREADABLE_VALUE = FAMILY.of(Scope.STATE).error(
    26,
    "property value that engines cannot read",
    effect="Delta Spark fails when it needs the property, at the latest when it writes; others ignore it.",
    remedy="Set the property again with ALTER TABLE … SET TBLPROPERTIES, or unset it.",
    source="PROTOCOL.md, Table Properties",
)


@on_state(UNREADABLE_VALUE)
def _values(state: TableState) -> Iterator[Finding]:
    for name, value in state.metadata.configuration.items():
        form = FORMS.get(name)
        if form is None or name in state.metadata.not_texts or form.fits(value):
            continue
        yield UNREADABLE_VALUE.found(
            "The property {subject} is {value!r}, not {form}.",
            severity=Severity.WARNING if name in RECOMMENDED else None,
            effect="Writers refuse to write, or fall back to a default." if name in RECOMMENDED else None,
            subject=name,
            value=value[:MOST_TEXT],
            form=form.name,
        )
