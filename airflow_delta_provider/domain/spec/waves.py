"""The order in which tables are migrated: waves of tables that are done at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from airflow_delta_provider.domain.request.table_list import place_of
from airflow_delta_provider.domain.request.table_name import TableName, TableNameError
from airflow_delta_provider.domain.spec.spec_file import in_order
from airflow_delta_provider.domain.spec.table_spec import TableSpec


def waves(specs: Sequence[TableSpec], at_once: int) -> tuple[tuple[TableSpec, ...], ...]:
    """Return specs in waves of at most so many: each comes in a later wave than the tables that it comes after.

    :param specs: each of a table with a name
    :raises SpecError: if tables come after each other in a circle
    :raises ValueError: if no table may be done at a time
    """
    if at_once < 1:
        raise ValueError(f"at_once is {at_once}; at least one table has to be done at a time.")
    pending, done, found = list(in_order(specs)), set[Hashable](), list[tuple[TableSpec, ...]]()
    known = {_place(spec.table) for spec in specs}
    while pending:
        ready = [spec for spec in pending if all(_place(t) in done or _place(t) not in known for t in spec.after)]
        wave = tuple(ready[:at_once])
        found.append(wave)
        done |= {_place(spec.table) for spec in wave}
        pending = [spec for spec in pending if _place(spec.table) not in done]
    return tuple(found)


def before(spec: TableSpec, specs: Sequence[TableSpec]) -> tuple[TableSpec, ...]:
    """Return those of the specs that a table comes after."""
    wanted = {_place(table) for table in spec.after}
    return tuple(other for other in specs if _place(other.table) in wanted)


def _place(table: str | None) -> Hashable:
    try:
        return place_of(TableName.parse(table or ""))
    except TableNameError:
        return table
