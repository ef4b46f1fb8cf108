"""Options of the kinds that compare tables with their specs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.change_options import RewritesFiles, UpgradesProtocol
from airflow_delta_provider.domain.request.fleet import FleetFile
from airflow_delta_provider.domain.request.names import Names
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import Options, ReadsFiles
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.specs import DeclaresTables, Specs
from airflow_delta_provider.domain.request.table_name import named_place
from airflow_delta_provider.domain.request.value import Directory, Document, Documents, Flag, Value, as_json
from airflow_delta_provider.domain.spec.policy import Policy, PolicyError


class PolicyFile(Document):
    """The content of a policy file."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content as plain JSON."""
        if value is None:
            return None
        content = as_json(value)
        try:
            Policy.parse(content)
        except PolicyError as error:
            raise RequestError("{option}: {error}", option=option, error=error) from None
        return content


@dataclass(frozen=True, kw_only=True)
class HasPolicy(Options):
    """Options of a kind whose findings a policy weighs."""

    policy: Mapping[str, Any] | None = option(
        PolicyFile(),
        "policy file, YAML or JSON: severities of rules about plans and drift, accepted findings, and plans that "
        "need no approval",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class JudgesPlans(DeclaresTables, HasPolicy):
    """Options for checking plans."""

    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "fleet file, YAML or JSON: the engines that use the tables, and which of them must keep access",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class PlanMigrationOptions(JudgesPlans, ReadsFiles):
    """Options to plan the changes that bring tables to their declared state."""

    kind: ClassVar[str] = "plan-migration"

    @property
    def overlaps(self) -> bool:
        """True: several tables may be processed at once."""
        return True


#: Keys of a migration's plan, without those that are only shown to people.
_KEYS = ("digest", "table", "table_id", "version", "base", "spec", "steps")


class Plans(Documents):
    """Plans of migrations, in any form of a report.

    The value is one plan, a list of plans, a mapping by table, or a whole report.
    """

    def checked(self, option: str, value: Any) -> tuple[Mapping[str, Any], ...]:
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
    if isinstance(value.get("plan"), Mapping):  # a report's entry for one table
        return [value["plan"]]
    return list(value.values())


class Person(Value):
    """The name of a person; or none."""

    def checked(self, option: str, value: Any) -> str | None:
        if value is not None and not isinstance(value, str):
            raise RequestError("{option} has to be a string, not {value!r}.", option=option, value=value)
        return value

    def from_template(self, option: str, value: Any) -> Any:
        """Return the string; an empty string and the string ``None`` mean none."""
        del option
        return None if value in ("", "None") else value


@dataclass(frozen=True, kw_only=True)
class ApplyMigrationOptions(JudgesPlans, UpgradesProtocol, RewritesFiles):
    """Options to apply specs or approved plans."""

    kind: ClassVar[str] = "apply-migration"

    spec: tuple[Mapping[str, Any], ...] = option(
        Specs(), "declared state of tables: a YAML or JSON file, or a folder of them; planned now", metavar="FILE"
    )
    plan: tuple[Mapping[str, Any], ...] = option(
        Plans(), "approved plans from a report, instead of specs: a JSON file", metavar="FILE"
    )
    unasked: tuple[str, ...] = option(
        Names(),
        "table whose plan nobody was asked to approve: applied only if the policy allows it for the current table",
        metavar="TABLE",
        argument="approval",
    )
    approved_by: str | None = option(Person(), "who approved the plan; recorded in each commit", metavar="NAME")

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables of the plans, or else of the specs."""
        return tuple(plan["table"] for plan in self.plan) or super().declared_tables

    def check(self) -> None:
        """Check that either plans or specs are given."""
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
        """Return the approved plan for a table; None if specs are applied.

        :raises RequestError: if there are only plans for other tables
        """
        if not self.plan:
            return None
        found = self._plans_by_place.get(named_place(table))
        if found is None:
            raise RequestError("{plan} has nothing for {table!r}.", table=table)
        return found

    def was_unasked(self, table: str) -> bool:
        """Return True if nobody was asked to approve the plan for a table."""
        return named_place(table) in map(named_place, self.unasked)

    @cached_property
    def _plans_by_place(self) -> Mapping[Any, Mapping[str, Any]]:
        return {named_place(plan["table"]): plan for plan in self.plan}


@dataclass(frozen=True, kw_only=True)
class CheckDriftOptions(DeclaresTables, HasPolicy, ReadsFiles):
    """Options to compare tables with their specs."""

    kind: ClassVar[str] = "check-drift"

    @property
    def overlaps(self) -> bool:
        """True: several tables may be processed at once."""
        return True


class SpecPlace(Directory):
    """The path or URI of a spec file; or none."""

    def checked(self, option: str, value: object) -> str | None:
        if value is not None and not (isinstance(value, str) and value.endswith((".yaml", ".yml", ".json"))):
            raise RequestError(
                "{option} is {value!r}; it has to be a file that ends with .yaml, .yml or .json.",
                option=option,
                value=value,
            )
        return value


@dataclass(frozen=True, kw_only=True)
class InitSpecOptions(ReadsFiles):
    """Options to generate a spec from existing tables."""

    kind: ClassVar[str] = "init-spec"
    takes_patterns: ClassVar[bool] = True

    out: str | None = option(
        SpecPlace(), "file to write the specs of all tables to, YAML or JSON by its name", metavar="FILE"
    )
    force: bool = option(Flag(), "overwrite the file")
