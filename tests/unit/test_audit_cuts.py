"""An audit that goes on from what an earlier one remembered says what an audit of the whole history says."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables.delta_spark_4_0 import logs
from tests.unit.audits_in_parts import Kept, differences, seen, told, whole_audits
from tests.unit.damages import histories
from tests.unit.damages.case import Case
from tests.unit.log_builder import Actions, Table, body
from tests.unit.test_audit_history import HEALS, damaged, each_case
from tests.unit.test_audit_random import CHANCES, OPERATIONS, Model, Operation
from tests.unit.test_audit_random import histories as random_histories

LOGS = logs()


def stories(case: Case) -> Iterator[tuple[Table, int]]:
    """Histories with the damage of a case, each with the version that is damaged: carried on, and put right."""
    yield damaged(case)
    for name, heal in HEALS.items():
        if name != "undo" or name in case.healed_by:
            table, version = damaged(case, lambda table: table)
            heal(case, table, version)
            yield table, version


@each_case
def test_damage_after_an_audit_is_told_as_in_an_audit_of_the_whole(case: Case) -> None:
    table, version = damaged(case)
    whole, before, end = whole_audits(table.commits), version - 1, table.version
    assert differences(whole, table.commits, before, version, end) == []
    assert differences(whole, table.commits, before, end) == []
    assert differences(whole, table.commits, end - 1, end) == []


@pytest.mark.soak
@each_case
def test_damage_is_told_as_in_an_audit_of_the_whole_wherever_earlier_ones_ended(case: Case) -> None:
    for table, _ in stories(case):
        whole, versions = whole_audits(table.commits), range(len(table.commits))
        cuts = [(first, end) for end in versions for first in range(end)]
        for ends in (*cuts, tuple(versions), tuple(versions[::2])):
            assert differences(whole, table.commits, *ends) == []


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_delta_spark_are_audited_night_by_night_as_at_once(name: str) -> None:
    storage, memory = Kept([]), None
    files = LOGS[name]
    for end in range(sum(1 for file in files if file.endswith(".json"))):
        storage.files = {file: content for file, content in files.items() if int(file[:20]) <= end}
        found, memory, _ = told(storage, memory)
        assert seen(found, end - 1) == seen(told(storage)[0], end - 1)


Steps = list[tuple[Operation, int]]
_STEPS = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 20)), max_size=4)


def damaged_at_random(commits: list[Actions], kind: int, where: int) -> Table:
    """Damage one of the commits, where that can be; those after it are forgotten."""
    table = Table.of(commits)
    chances = [chance for _, chance in (*CHANCES[kind % len(CHANCES) :], *CHANCES)]
    versions = range(1, len(commits))
    for chance in chances:
        found = ((version, chance(table.state(version - 1), table.commits[version])) for version in versions)
        possible = [(version, damage) for version, damage in found if damage is not None]
        if possible:
            version, damage = possible[where % len(possible)]
            actions = copy.deepcopy(commits[version])
            damage(actions)
            return Table.of([*commits[:version], actions])
    return table


def carried_on(table: Table, steps: Steps, names: int) -> Table:
    model = Model(table)
    model.names, model.restorable = names, list(range(1, len(table.commits)))
    for operation, number in steps:
        operation(model, number)
        model.restorable.append(table.version)
    return table


@given(random_histories(), st.tuples(st.integers(0, 1000), st.integers(0, 1000)), _STEPS, st.data())
@settings(max_examples=40)
def test_damaged_histories_are_audited_in_parts_as_at_once(
    table: Table, damage: tuple[int, int], steps: Steps, data: st.DataObject
) -> None:
    broken = carried_on(damaged_at_random(table.commits, *damage), steps, 100)
    end = broken.version
    ends = sorted(data.draw(st.sets(st.integers(0, end), max_size=3)) | {end})
    assert differences(whole_audits(broken.commits), broken.commits, *ends) == []


def test_version_that_comes_back_under_another_name_is_known_though_it_was_long_before() -> None:
    table = histories.widening()
    then = table.version - 1
    table.append().append().restore(then)
    body(table.commits[-1], "commitInfo")["operation"] = "WRITE"
    for cut in range(then, table.version):
        assert differences(whole_audits(table.commits), table.commits, cut, table.version) == []
    assert told(Kept(table.commits))[0] == []
