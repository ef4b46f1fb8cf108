"""The kinds of jobs that check tables, using Spark to read rows."""

from __future__ import annotations

from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.audit import protocol_audit
from airflow_delta_provider.jobs.paimon import check as paimon
from airflow_delta_provider.jobs.process import Progress
from airflow_delta_provider.jobs.row_tracking import check as row_tracking
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.paimon.row_level import SparkRowProofs as PaimonRowProofs
from airflow_delta_provider.jobs.spark.row_tracking.row_proofs import SparkRowProofs


def audit(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    return protocol_audit.run(session, text, request, progress, SparkRowProofs(session))


def check_row_tracking(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    return row_tracking.run(session, text, request, progress, SparkRowProofs(session))


def check_paimon_table(session: SparkDeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    return paimon.check_paimon_table(session, text, request, progress, PaimonRowProofs(session))
