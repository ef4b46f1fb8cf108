"""What planning a migration may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.fleet import FleetFile
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.policy import HasPolicy
from airflow_delta_provider.domain.request.specs import DeclaresTables


@dataclass(frozen=True, kw_only=True)
class JudgesPlans(DeclaresTables, HasPolicy):
    """Options by which plans are judged."""

    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "engines that read and write tables, and which of them have to stay able to, a YAML or JSON file",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class PlanMigrationOptions(JudgesPlans, ReadsFiles):
    """Plan what makes tables what is declared of them."""

    kind: ClassVar[str] = "plan-migration"

    @property
    def overlaps(self) -> bool:
        """Whether several tables may be done at once."""
        return True
