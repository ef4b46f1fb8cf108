"""What is declared of a table, where part of that is in another table."""

from __future__ import annotations

from airflow_delta_provider.domain.spec.like import with_columns_of
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession


def completed(session: DeltaSession, spec: TableSpec) -> TableSpec:
    """Return a spec with the columns of the table that it is ``like``.

    :raises TableError: if there is no such table
    :raises BrokenLogError: if its log is damaged
    """
    if spec.like is None:
        return spec
    return with_columns_of(spec, session.open_table(spec.like).log.read_state())
