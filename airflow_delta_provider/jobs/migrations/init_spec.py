"""The kind ``init-spec``: the spec of one existing table, read only from its log."""

from __future__ import annotations

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.catalog_managed import why_undecidable
from airflow_delta_provider.domain.checks.metadata.schema import check_readable
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.spec.of_table import describe
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.process.progress import Progress
from airflow_delta_provider.jobs.process.timings import Timings


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Report the spec of one table. The command line writes the specs of all tables to a file."""
    del request, progress
    table, timings = session.open_table(text), Timings()
    with timings.phase("read"):
        state = table.log.read_state()
    findings = (*why_undecidable(state), *check_readable(state))
    name = table.name.text
    if state.metadata.readable_columns is None:
        return TableReport.judged(name, *findings, version=state.version, timings=timings)
    described = describe(state, name)
    spec = described.spec.to_json()
    try:
        TableSpec.from_json(spec)
    except SpecError as error:
        refusal = requests.UNDECLARABLE.found(
            "A spec cannot declare parts of {table} (positions count from 0): {problems}",
            table=name,
            problems=Prose(" ".join(map(str, error.problems))),
        )
        return TableReport.refused(name, refusal, version=state.version, timings=timings)
    evidence = {"table_id": state.metadata.id or None, "left_out": list(described.left_out)}
    return TableReport.judged(name, *findings, version=state.version, spec=spec, evidence=evidence, timings=timings)
