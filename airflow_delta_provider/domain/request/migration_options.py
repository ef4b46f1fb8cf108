"""Options of the kinds that hold tables against what is declared of them."""

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
    """What a policy file holds."""

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
        "what rules about plans and drift weigh, what is accepted, and which plans need no approval, a YAML or JSON "
        "file",
        metavar="FILE",
    )


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
    unasked: tuple[str, ...] = option(
        Names(),
        "table whose plan nobody was asked about: applied only if the policy lets it be, as the table is now",
        metavar="TABLE",
        argument="approval",
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

    def was_unasked(self, table: str) -> bool:
        """Return True if nobody was asked about the plan for a table."""
        return named_place(table) in map(named_place, self.unasked)

    @cached_property
    def _plans_by_place(self) -> Mapping[Any, Mapping[str, Any]]:
        return {named_place(plan["table"]): plan for plan in self.plan}


@dataclass(frozen=True, kw_only=True)
class CheckDriftOptions(DeclaresTables, HasPolicy, ReadsFiles):
    """Check whether tables still are what is declared of them."""

    kind: ClassVar[str] = "check-drift"

    @property
    def overlaps(self) -> bool:
        """Whether several tables may be done at once."""
        return True


class SpecPlace(Directory):
    """The path or URI of a spec file; or none."""

    def checked(self, option: str, value: object) -> str | None:
        """Return the path."""
        if value is not None and not (isinstance(value, str) and value.endswith((".yaml", ".yml", ".json"))):
            raise RequestError(
                "{option} is {value!r}; it has to be a file that ends with .yaml, .yml or .json.",
                option=option,
                value=value,
            )
        return value


@dataclass(frozen=True, kw_only=True)
class InitSpecOptions(ReadsFiles):
    """Write the spec of existing tables: what declares them as they are."""

    kind: ClassVar[str] = "init-spec"
    takes_patterns: ClassVar[bool] = True

    out: str | None = option(
        SpecPlace(), "file to write the specs of all tables to, YAML or JSON by its name", metavar="FILE"
    )
    force: bool = option(Flag(), "overwrite the file")
