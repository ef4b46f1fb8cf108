"""Options of the kinds that repair tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import ChangeOptions
from airflow_delta_provider.domain.request.migration_options import Plans
from airflow_delta_provider.domain.request.option import Choice, Flag, option
from airflow_delta_provider.domain.request.options import Names, ReadsFiles
from airflow_delta_provider.domain.table_name import named_place


@dataclass(frozen=True, kw_only=True)
class PlanRepairOptions(ReadsFiles):
    """Options to plan the repair of tables."""

    kind: ClassVar[str] = "plan-repair"

    level: str = option(
        Choice(("log", "footers")),
        "how deep the audit looks that finds the damage and proves the plan: log; footers = also Parquet footers "
        "(default)",
        default="footers",
    )
    permit: tuple[str, ...] = option(
        Names(), "fingerprint of a finding whose repair may lose information", metavar="FINGERPRINT"
    )


class RepairPlans(Plans):
    """Plans of repairs, in any form of a report."""

    keys: ClassVar[tuple[str, ...]] = ("digest", "table", "table_id", "version", "steps", "left_open")
    refusal: ClassVar[str] = "{option}: this is not the plan of a repair, without {missing}. plan-repair makes one."


@dataclass(frozen=True, kw_only=True)
class ApplyRepairOptions(ChangeOptions):
    """Options to apply planned repairs."""

    kind: ClassVar[str] = "apply-repair"
    names_tables: ClassVar[bool] = True

    plan: tuple[Mapping[str, Any], ...] = option(
        RepairPlans(), "plans from a report of plan-repair: a JSON file", metavar="FILE"
    )
    allow_protocol_upgrade: bool = option(Flag(), "allow changes of the protocol that lock out older engines")

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables of the plans."""
        return tuple(plan["table"] for plan in self.plan if plan["table"])

    def check(self) -> None:
        """Check that there is a plan."""
        super().check()
        if not self.plan:
            raise RequestError("Pass {plan}, the report of plan-repair.")

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check that there is a plan for each table.

        :raises RequestError: if there is none
        """
        for table in tables:
            self.plan_of(table)

    def plan_of(self, table: str) -> Mapping[str, Any]:
        """Return the plan for a table, or the only plan if it names none.

        :raises RequestError: if there is none
        """
        only = self.plan[0]
        found = only if len(self.plan) == 1 and not only["table"] else self._by_place.get(named_place(table))
        if found is None:
            raise RequestError("{plan} has nothing for {table!r}.", table=table)
        return found

    @cached_property
    def _by_place(self) -> Mapping[Any, Mapping[str, Any]]:
        return {named_place(plan["table"]): plan for plan in self.plan}
