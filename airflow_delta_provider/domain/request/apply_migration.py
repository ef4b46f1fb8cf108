"""What applying a migration may be asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.change_options import RewritesFiles, UpgradesProtocol
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.plan_migration import JudgesPlans
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.specs import Specs
from airflow_delta_provider.domain.request.table_list import named_place
from airflow_delta_provider.domain.request.value import Documents, Value

#: What a plan of a migration has, in addition to what is only to be read.
_KEYS = ("digest", "table", "table_id", "version", "base", "spec", "steps")


class Plans(Documents):
    """Plans of migrations, as reports have them: one, a list of them, by table, or a whole report."""

    def checked(self, option: str, value: Any) -> tuple[Mapping[str, Any], ...]:
        """Return the plans."""
        found = tuple(_plans_in(value))
        for plan in found:
            missing = [key for key in _KEYS if key not in plan] if isinstance(plan, Mapping) else list(_KEYS)
            if missing:
                raise RequestError(
                    "{option}: this is not the plan of a migration, without {missing}.",
                    option=option,
                    missing=", ".join(missing),
                )
        return found


def _plans_in(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        return [plan for each in value for plan in _plans_in(each)]
    if not isinstance(value, Mapping):
        return [] if value is None else [value]
    if "digest" in value or not value:
        return [value]
    if isinstance(value.get("tables"), list):  # a report
        return [table["plan"] for table in value["tables"] if table.get("plan")]
    if isinstance(value.get("plan"), Mapping):  # what a report says of one table
        return [value["plan"]]
    return list(value.values())


class Person(Value):
    """Who did something, as text; or none."""

    def checked(self, option: str, value: Any) -> str | None:
        """Return the text."""
        if value is not None and not isinstance(value, str):
            raise RequestError("{option} has to be a text, not {value!r}.", option=option, value=value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the text; an empty one, and None, are none."""
        del option
        return None if value in ("", "None") else value


@dataclass(frozen=True, kw_only=True)
class ApplyMigrationOptions(JudgesPlans, UpgradesProtocol, RewritesFiles):
    """Make tables what is declared of them."""

    kind: ClassVar[str] = "apply-migration"

    spec: tuple[Mapping[str, Any], ...] = option(
        Specs(), "what tables should be: a YAML or JSON file, or a folder of them; planned now", metavar="FILE"
    )
    plan: tuple[Mapping[str, Any], ...] = option(
        Plans(), "approved plans, as a report has them, instead of specs: a JSON file", metavar="FILE"
    )
    approved_by: str | None = option(Person(), "who approved the plan; goes into each commit", metavar="NAME")

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables of the plans, or else those that the specs name."""
        return tuple(plan["table"] for plan in self.plan) or super().declared_tables

    def check(self) -> None:
        """Check that it is said in one way what to do."""
        super().check()
        if bool(self.plan) == bool(self.spec):
            raise RequestError("Pass either {plan} or {spec}.")

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check that there is a plan, or else a spec, for each table."""
        if not self.plan:
            super().check_tables(tables)
        for table in tables if self.plan else ():
            self.plan_of(table)

    def plan_of(self, table: str) -> Mapping[str, Any] | None:
        """Return the approved plan for a table; None where specs are applied.

        :raises RequestError: if there are plans for other tables only
        """
        if not self.plan:
            return None
        found = self._plans_by_place.get(named_place(table))
        if found is None:
            raise RequestError("{plan} has nothing for {table!r}.", table=table)
        return found

    @cached_property
    def _plans_by_place(self) -> Mapping[Any, Mapping[str, Any]]:
        return {named_place(plan["table"]): plan for plan in self.plan}
