"""What planning a migration may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.fleet import FleetFile
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import ReadsFiles
from airflow_delta_provider.domain.request.policy import PolicyFile
from airflow_delta_provider.domain.request.specs import DeclaresTables


@dataclass(frozen=True, kw_only=True)
class JudgesPlans(DeclaresTables):
    """Options by which plans are judged."""

    policy: Mapping[str, Any] | None = option(
        PolicyFile(),
        "what rules about plans weigh, and which plans need no approval, a YAML or JSON file",
        metavar="FILE",
    )
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
