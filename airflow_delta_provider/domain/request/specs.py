"""The option that declares tables: values, or spec files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import named_place
from airflow_delta_provider.domain.request.value import Documents
from airflow_delta_provider.domain.spec.problem import SpecError
from airflow_delta_provider.domain.spec.spec_file import SUFFIXES, is_spec_file, parse_files, read_specs
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.suggestion import did_you_mean


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
