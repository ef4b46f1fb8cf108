"""Options of the kinds that write specs, compare tables with them, and plan and apply migrations or repairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.request.change_options import ChangeOptions, RewritesFiles, UpgradesProtocol
from airflow_delta_provider.domain.request.check_options import FleetFile
from airflow_delta_provider.domain.request.option import (
    Choice,
    Directory,
    Document,
    Documents,
    Flag,
    Value,
    as_json,
    option,
)
from airflow_delta_provider.domain.request.options import Names, Options, ReadsFiles, RecordsFindings
from airflow_delta_provider.domain.spec.files import SUFFIXES, is_spec_file, parse_files, read_specs
from airflow_delta_provider.domain.spec.policy import Policy, PolicyError
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import named_place
from airflow_delta_provider.domain.text import did_you_mean


class Specs(Documents):
    """Declared tables as plain values: one, or a list."""

    def checked(self, option: str, value: Any) -> tuple[dict[str, Any], ...]:
        """Return the specs as plain JSON."""
        if not isinstance(value, (Mapping, TableSpec, list, tuple)):
            raise RequestError(
                "{option} has to be a spec, or a list of specs, not {value!r}.", option=option, value=value
            )
        values = [value] if isinstance(value, (Mapping, TableSpec)) else value
        try:
            known = all(isinstance(each, TableSpec) for each in values)
            return tuple(map(_wire, values if known else _read(values)))
        except SpecError as error:
            raise RequestError("{option}: {error}", option=option, error=error) from None

    def of_files(self, files: Iterable[tuple[str, str]]) -> Any:
        """Return the specs of files.

        :param files: (name, text) pairs
        """
        try:
            return parse_files(files)
        except SpecError as error:
            raise RequestError("{error}", error=error) from None

    def names_file(self, value: Any) -> bool:
        """Return True if an argument names a spec file or a folder, judging by its suffix."""
        return isinstance(value, str) and value.endswith((*SUFFIXES, "/"))

    def takes_file(self, name: str) -> bool:
        """Return True if a file in a folder is a spec file."""
        return is_spec_file(name)


#: Key of a spec's places in a request, in addition to the spec's keys.
_PLACES = "places"


def _wire(spec: TableSpec) -> dict[str, Any]:
    places = {_PLACES: dict(spec.places)} if spec.places else {}
    return {**spec.to_json(), **places}


def _read(values: Sequence[Any]) -> Sequence[TableSpec]:
    """Read specs from values, or from a request's form of them.

    :raises SpecError: if they cannot be used
    """
    wires = [_wire(each) if isinstance(each, TableSpec) else each for each in values]
    keys = [{**each} if isinstance(each, Mapping) else each for each in wires]
    places = [each.pop(_PLACES, None) if isinstance(each, dict) else None for each in keys]
    specs = read_specs(keys[0] if len(keys) == 1 else keys)
    if not any(places):
        return specs
    return [replace(spec, places=its or {}) for spec, its in zip(specs, places)]


@dataclass(frozen=True, kw_only=True)
class DeclaresTables(Options):
    """Options of a kind that compares tables with their specs."""

    names_tables: ClassVar[bool] = True

    spec: tuple[Mapping[str, Any], ...] = option(
        Specs(),
        "declared state of tables: a YAML or JSON file, or a folder of them",
        metavar="FILE",
        one="one table with its declared state",
    )

    @property
    def declared_tables(self) -> tuple[str, ...]:
        """The tables that the specs name."""
        return tuple(spec["table"] for spec in self.spec if "table" in spec)

    def check_tables(self, tables: Iterable[str]) -> None:
        """Check that there is a spec for each table.

        :raises RequestError: if a table has no spec, or if there is no table at all
        """
        if not (tables := tuple(tables)):
            place = self.spec[0].get(_PLACES, {}).get("")
            raise RequestError(
                "{place} names no table. Add its table (table: …), or give {table}.",
                place=place or "The spec",
            )
        for table in tables:
            self._of_table(table)

    def spec_of(self, table: str) -> TableSpec:
        """Return the spec that names a table, or the only spec if it names none.

        :raises RequestError: if there is none
        """
        (spec,) = _read([self._of_table(table)])
        return spec

    def _of_table(self, table: str) -> Mapping[str, Any]:
        only = self.spec[0]
        found = only if len(self.spec) == 1 and "table" not in only else self._by_place.get(named_place(table))
        if found is None:
            raise RequestError(
                "{spec} has nothing for {table!r}.{hint}",
                table=table,
                hint=did_you_mean(table, self.declared_tables),
            )
        return found

    @cached_property
    def _by_place(self) -> Mapping[Any, Mapping[str, Any]]:
        return {named_place(spec["table"]): spec for spec in self.spec if "table" in spec}


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

    keys: ClassVar[tuple[str, ...]] = _KEYS
    refusal: ClassVar[str] = "{option}: this is not the plan of a migration, without {missing}."

    def checked(self, option: str, value: Any) -> tuple[Mapping[str, Any], ...]:
        found = tuple(_plans_in(value))
        for plan in found:
            missing = [key for key in self.keys if not isinstance(plan, Mapping) or key not in plan]
            if missing:
                raise RequestError(self.refusal, option=option, missing=", ".join(missing))
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
        Specs(),
        "declared state of tables: a YAML or JSON file, or a folder of them; planned now, and applied without asking",
        metavar="FILE",
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
        if self.plan and self.spec:
            raise RequestError("Pass either {plan} or {spec}, not both.")
        if not (self.plan or self.spec):
            raise RequestError(
                "Pass {plan} or {spec}. A report has no plan for a table that was refused: its findings say why."
            )

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
class CheckDriftOptions(RecordsFindings, DeclaresTables, HasPolicy):
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
    writes_specs: ClassVar[bool] = True

    out: str | None = option(
        SpecPlace(),
        "file to write the specs of all tables to, YAML or JSON by its name, instead of standard output",
        flag="--output",
        metavar="FILE",
    )
    force: bool = option(Flag(), "overwrite the file")


@dataclass(frozen=True, kw_only=True)
class PlanRepairOptions(ReadsFiles):
    """Options to plan the repair of tables."""

    kind: ClassVar[str] = "plan-repair"

    level: str = option(
        Choice(("log", "footers")),
        "level of the audits that find the damage and prove the plan: log; footers = also Parquet footers (default)",
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
