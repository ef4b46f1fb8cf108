"""A rule that a commit broke."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.audit.violations import Stands
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


@dataclass(frozen=True)
class Broken:
    """What a judge found.

    :param stands: looks at later commits; None where only its file's removal heals it, if anything does
    :param before: the state before, of a change of protocol or metadata
    """

    finding: Finding
    stands: Stands | None = None
    before: TableState | None = None
