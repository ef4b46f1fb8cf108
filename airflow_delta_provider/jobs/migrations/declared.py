"""The declared state of a table, if part of it is in another table."""

from __future__ import annotations

from dataclasses import replace

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.spec.of_table import with_columns_of
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.tables.table_session import TableError


def completed(session: DeltaSession, spec: TableSpec) -> TableSpec:
    """Return a spec with the columns of the table that its ``like`` names.

    :raises TableError: if there is no such table, or its log is damaged; the message has the place in the spec
    """
    if spec.like is None:
        return spec
    try:
        return with_columns_of(spec, session.open_table(spec.like).log.read_state())
    except TableError as error:
        raise TableError(_of_like(spec, error.finding)) from error
    except BrokenLogError as error:
        raise TableError(_of_like(spec, requests.broken_log(spec.like, error))) from error


def _of_like(spec: TableSpec, finding: Finding) -> Finding:
    """Return the finding for the table named by ``like``, with its place in the spec."""
    where = spec.places.get("like")
    named = f"The spec{f' ({where})' if where else ''} says like: {spec.like}."
    return RULES[finding.code].worded(replace(finding, evidence=f"{named} {finding.evidence}"))
