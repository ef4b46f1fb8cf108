"""Columns after a job has changed them: CM19."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope

NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as requested",
    effect="Queries that use the new names fail, or read columns that were to be dropped.",
    remedy="Check the table's history for another writer, then run the job again.",
)
