"""Columns after a job has widened them: TW17."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.checks.type_widening.family import FAMILY

_outcome = FAMILY.of(Scope.OUTCOME, "")

TYPE_NOT_CHANGED = _outcome.error(
    17,
    "column does not have the requested type",
    effect="Consumers relying on the wider type do not get it.",
    remedy="Check the table's history for another writer, then run the job again.",
)
