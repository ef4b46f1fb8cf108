"""What checking for drift may be asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.policy import HasPolicy
from airflow_delta_provider.domain.request.specs import DeclaresTables


@dataclass(frozen=True, kw_only=True)
class CheckDriftOptions(DeclaresTables, HasPolicy, ReadsFiles):
    """Check whether tables still are what is declared of them."""

    kind: ClassVar[str] = "check-drift"

    @property
    def overlaps(self) -> bool:
        """Whether several tables may be done at once."""
        return True
