"""A report as JSON: its wire form."""

from __future__ import annotations

import json

from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.job_report import JobReport


def render(report: JobReport, presentation: Presentation | None = None) -> str:  # noqa: ARG001 - as every format
    """Return the report as its schema describes it."""
    return json.dumps(report.to_json(), indent=1) + "\n"
