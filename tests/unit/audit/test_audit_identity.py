"""Values that identity columns assign, by the statistics of files, against their high water marks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_delta_provider.domain.report.report import Finding
from tests.unit.damages.histories import KEY
from tests.unit.log_builder import Actions, Table, audited
from tests.unit.states import field

MARK = "delta.identity.highWaterMark"


def numbers(
    start: int = 1, step: int = 1, *, explicit: bool = False, properties: dict[str, str] | None = None
) -> Table:
    """A table with the identity column ``n``."""
    identity = {"delta.identity.start": start, "delta.identity.step": step}
    column = field("n", "long", **identity, **{"delta.identity.allowExplicitInsert": explicit})
    return Table(KEY, column, features=["identityColumns"], properties=properties or {})


def files(table: Table, *bounds: tuple[int, int]) -> Actions:
    """New files, each with the least and the greatest value of the identity column."""
    written = table._written([10] * len(bounds))
    for action, pair in zip(written, bounds, strict=False):
        stats = json.loads(action["add"]["stats"])
        for part, value in zip(("minValues", "maxValues"), pair, strict=True):
            stats[part][physical(table)] = value
        action["add"]["stats"] = json.dumps(stats)
    return written


def physical(table: Table) -> str:
    (wire,) = (wire for wire in table.schema["fields"] if "delta.identity.step" in wire["metadata"])
    return str(wire["metadata"].get("delta.columnMapping.physicalName", wire["name"]))


def marked(table: Table, mark: int | None) -> Actions:
    """The metadata with another high water mark."""
    schema = table.schema
    for wire in schema["fields"]:
        if "delta.identity.step" in wire["metadata"] and mark is not None:
            wire["metadata"][MARK] = mark
    return [] if mark is None else [table._changed(schema)]


def insert(table: Table, mark: int | None, *bounds: tuple[int, int], operation: str = "WRITE") -> Table:
    table.commit(operation, *marked(table, mark), *files(table, *bounds), mode="Append")
    return table


def found(table: Table, codes: str = "MD") -> list[Finding]:
    return [finding for finding in audited(table.commits) if finding.code.startswith(codes)]


def told(table: Table) -> list[tuple[Any, ...]]:
    return [(finding.code, finding.version, finding.healed_version) for finding in found(table)]


def test_values_up_to_the_mark_that_each_commit_raises_are_right() -> None:
    table = insert(insert(numbers(), 20, (1, 10), (11, 20)), 30, (21, 30))
    table.update(table.paths[0]).optimize()
    table.commit(
        "OPTIMIZE", *files(table, (1, 30)), *(table._removed(key, data_change=False) for key in table.now.files)
    )
    assert told(table) == []


@pytest.mark.parametrize("mark", [None, 10])
def test_a_table_may_be_created_with_rows(mark: int | None) -> None:
    created = numbers()
    protocol = [action for action in created.commits[0] if "protocol" in action]
    metadata = marked(created, mark) or [{"metaData": created.now.metadata}]
    rows = files(created, (1, 10))
    created.commits.clear()
    created.commit("CREATE TABLE AS SELECT", *protocol, *metadata, *rows)
    assert told(created) == ([] if mark else [("MD35", 0, None)])
    assert told(insert(created, 20, (11, 20))) == ([] if mark else [("MD35", 0, 1)])


def test_values_count_down_where_the_step_does() -> None:
    table = insert(insert(numbers(-1, -1), -20, (-20, -1)), -30, (-30, -21))
    assert told(table) == []
    assert told(insert(table, -40, (-41, -31))) == [("MD35", 3, None)]
    assert told(insert(table, -50, (-50, -39))) == [("MD36", 4, None), ("MD35", 3, 4)]


def test_values_that_users_give_need_no_mark() -> None:
    assert told(insert(insert(numbers(explicit=True), None, (5, 900)), 3, (1, 3))) == []


@pytest.mark.parametrize("mapped", [False, True])
def test_values_past_the_mark_are_found_until_it_is_raised(mapped: bool) -> None:
    table = numbers(properties={"delta.columnMapping.mode": "name"} if mapped else None)
    insert(insert(table, 20, (1, 20)), None, (21, 33))
    (finding,) = found(table)
    assert "has the value 33 in the identity column n, whose high water mark is 20." in finding.message
    assert (finding.code, finding.severity.value, finding.column, finding.version) == ("MD35", "WARNING", "n", 2)
    if mapped:
        table.rename_column("n", "m")
    table.commit("SYNC IDENTITY", *marked(table, 32))
    assert [finding.healed_version for finding in found(table)] == [None]
    table.commit("SYNC IDENTITY", *marked(table, 33))
    assert [finding.healed_version for finding in found(table)] == [table.version]


def test_values_past_the_mark_are_found_until_the_file_is_gone() -> None:
    table = insert(insert(numbers(), 20, (1, 20)), None, (21, 33))
    table.delete(table.paths[-1])
    assert told(table) == [("MD35", 2, 3)]


def test_values_that_were_assigned_before_are_found() -> None:
    table = insert(insert(numbers(), 20, (1, 20)), 30, (20, 30))
    (finding,) = found(table)
    assert (finding.code, finding.severity.value, finding.version) == ("MD36", "WARNING", 2)
    assert "with the value 20 in the identity column n, which had assigned it before" in finding.message
    (finding,) = found(insert(table, None, (3, 4)))
    assert (finding.alike, finding.alike_until) == (1, 3)


@pytest.mark.parametrize("since", [None, 0, 3])
def test_rows_that_are_restored_have_old_values(since: int | None) -> None:
    table = insert(insert(numbers(), 20, (1, 20)), 30, (21, 30))
    version = table.version
    table.delete(table.paths[0])
    assert [finding.code for finding in audited(table.restore(version).commits, since)] == []


def test_of_many_files_that_look_alike_each_is_judged() -> None:
    table = numbers()
    for first in range(1, 1000, 10):
        insert(table, first + 9, (first, first + 9))
    assert told(table) == []
    for _ in range(100):
        insert(table, None, (7, 9))
    first, *others = found(table)
    assert (first.code, first.alike, others) == ("MD36", 99, [])
