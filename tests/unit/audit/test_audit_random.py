"""Histories at random: valid ones have no finding at any version, and one damaged action has the right one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding, Severity
from tests.unit.damages import CASES, edits
from tests.unit.damages.histories import KEY
from tests.unit.damages.steps import carry_on
from tests.unit.log_builder import (
    CHANGES,
    DOMAIN,
    SUSPENDED,
    TIMESTAMPS,
    TRACKING,
    WIDENING,
    Actions,
    Damage,
    History,
    State,
    Table,
    audited,
    body,
    roots,
)
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, Json
from tests.unit.states import field, struct

WIDER = {"byte": "short", "short": "integer", "integer": "long", "float": "double"}
VECTORS = "delta.enableDeletionVectors"

# -- operations -----------------------------------------------------------------------------------

#: What is done to a table, where it can be, and a number to choose by.
Operation = Callable[["Model", int], Any]


class Model:
    """A table, and to which of its versions an engine can restore it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.restorable = [table.version]
        self.names = 0

    def on(self, name: str) -> bool:
        return self.table.configuration.get(name) == "true"

    @property
    def columns(self) -> list[Json]:
        """Columns that may be altered."""
        columns: list[Json] = self.table.schema["fields"][1:]
        return columns

    def name(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def path(self, number: int) -> str | None:
        paths = self.table.paths
        return paths[number % len(paths)] if paths else None


def append(model: Model, number: int) -> None:
    model.table.append(1 + number % 3, rows=1 + number % 7)


def delete(model: Model, number: int) -> None:
    if path := model.path(number):
        model.table.delete(path)


def mark_deleted(model: Model, number: int) -> None:
    path = model.path(number)
    if path and model.on(VECTORS) and model.table.supports("deletionVectors"):
        model.table.mark_deleted(path)


def update(model: Model, number: int) -> None:
    if path := model.path(number):
        model.table.update(path)


def optimize(model: Model, number: int) -> None:
    if model.table.paths:
        model.table.optimize()


def overwrite(model: Model, number: int) -> None:
    model.table.overwrite()


def replace_table(model: Model, number: int) -> None:
    model.table.replace(*([KEY, field(model.name(), "short")] if number % 2 else []))


def set_property(model: Model, number: int) -> None:
    model.table.set_properties(owner=f"{number}-{model.table.version}")


def add_column(model: Model, number: int) -> None:
    kinds = ["byte", "short", "integer", "float", "string", struct(field("x", "short"), field("y", "string"))]
    model.table.add_column(field(model.name(), kinds[number % len(kinds)]))


def rename_column(model: Model, number: int) -> None:
    if model.table.is_mapped and model.columns:
        model.table.rename_column(model.columns[number % len(model.columns)]["name"], model.name())


def drop_column(model: Model, number: int) -> None:
    if model.table.is_mapped and model.columns:
        model.table.drop_column(model.columns[number % len(model.columns)]["name"])


def widen(model: Model, number: int) -> None:
    narrow = [column for column in model.columns if isinstance(column["type"], str) and column["type"] in WIDER]
    if model.on(WIDENING) and model.table.supports("typeWidening") and narrow:
        column = narrow[number % len(narrow)]
        model.table.widen(column["name"], WIDER[column["type"]])


def enable_widening(model: Model, number: int) -> None:
    if not model.on(WIDENING):
        model.table.support("typeWidening", delta__enableTypeWidening="true")


def drop_widening(model: Model, number: int) -> None:
    if model.table.supports("typeWidening"):
        model.table.drop_type_widening()


def enable_vectors(model: Model, number: int) -> None:
    if not model.on(VECTORS):
        model.table.support("deletionVectors", delta__enableDeletionVectors="true")


def enable_tracking(model: Model, number: int) -> None:
    if not model.on(TRACKING):
        model.table.enable_row_tracking()


def drop_tracking(model: Model, number: int) -> None:
    if model.table.supports("rowTracking"):
        model.table.drop_row_tracking()
        model.restorable = []  # files of before would come back with ids that are others' now


def enable_mapping(model: Model, number: int) -> None:
    if not model.table.is_mapped:
        model.table.enable_mapping()


def remove_mapping(model: Model, number: int) -> None:
    if model.table.is_mapped:
        model.table.remove_mapping()


def restore(model: Model, number: int) -> None:
    earlier = [version for version in model.restorable if version < model.table.version]
    if earlier:
        model.table.restore(earlier[number % len(earlier)])


OPERATIONS: tuple[Operation, ...] = (
    append,
    delete,
    mark_deleted,
    update,
    optimize,
    overwrite,
    replace_table,
    set_property,
    add_column,
    rename_column,
    drop_column,
    widen,
    enable_widening,
    drop_widening,
    enable_vectors,
    enable_tracking,
    drop_tracking,
    enable_mapping,
    remove_mapping,
    restore,
)
STARTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "plain": ((), {}),
    "tracked": (("rowTracking", "deletionVectors"), {TRACKING: "true", VECTORS: "true"}),
    "mapped": (("columnMapping", "typeWidening"), {MODE: "name", WIDENING: "true"}),
    "all": (
        ("columnMapping", "typeWidening", "rowTracking", "deletionVectors", "inCommitTimestamp"),
        {MODE: "name", WIDENING: "true", TRACKING: "true", VECTORS: "true", TIMESTAMPS: "true"},
    ),
}


@st.composite
def histories(draw: st.DrawFn) -> Table:
    features, properties = STARTS[draw(st.sampled_from(sorted(STARTS)))]
    columns = (KEY, field("v", "short"), field("s", struct(field("x", "integer"))))
    model = Model(Table(*columns, features=features, properties=dict(properties)))
    append(model, draw(st.integers(0, 20)))
    steps = st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 20))
    for operation, number in draw(st.lists(steps, min_size=4, max_size=12)):
        operation(model, number)
        model.restorable.append(model.table.version)
    return model.table


#: What CREATE OR REPLACE does as a matter of course, and a property that is set or unset once more.
CUSTOMARY = {("MD08", Severity.WARNING), ("MD12", Severity.WARNING)}


def wrong(findings: list[Finding]) -> list[Finding]:
    """All but what is customary."""
    return [finding for finding in findings if (finding.code, finding.severity) not in CUSTOMARY]


def shown(table: Table) -> list[Any]:
    return [body(actions, "commitInfo")["operation"] for actions in table.commits]


@given(histories(), st.integers(0, 30))
@settings(max_examples=60)
def test_valid_history_is_silent_at_every_version(table: Table, number: int) -> None:
    audit = HistoryAudit(Replay(with_files=True), log=History(table.commits))
    for version, actions in enumerate(table.commits):
        audit.take(version, actions)
        assert wrong(audit.findings()) == [], shown(table)[: version + 1]
    since = number % len(table.commits)
    assert wrong(audited(table.commits, since)) == [], (since, shown(table))
    replay = Replay(with_files=True)
    for actions in table.commits[: since + 1]:
        replay.take(actions)
    part = HistoryAudit(replay, replay.state(since), History(table.commits))
    for version in range(since + 1, len(table.commits)):
        part.take(version, table.commits[version])
        assert wrong(part.findings()) == [], (since, version, shown(table))


@pytest.mark.soak
@given(histories(), st.integers(0, 30))
@settings(max_examples=3000)
def test_many_valid_histories_are_silent(table: Table, number: int) -> None:
    test_valid_history_is_silent_at_every_version.hypothesis.inner_test(table, number)  # type: ignore[attr-defined]  # as hypothesis keeps it


# -- damages --------------------------------------------------------------------------------------

#: Returns what damages a commit, None where it has nothing to damage in that way.
Chance = Callable[[State, Actions], "Damage | None"]


def _of(actions: Actions, kind: str) -> list[Json]:
    return [action[kind] for action in actions if kind in action]


def _is_alter(before: State, actions: Actions) -> bool:
    """Whether the commit changes metadata alone, under files that stay; not where it has to restore them exactly."""
    if body(actions, "commitInfo")["operation"] == "RESTORE":
        return False
    return bool(before.files and _of(actions, "metaData")) and not (_of(actions, "add") or _of(actions, "remove"))


def _mapped(wire: Json) -> bool:
    return wire["configuration"].get(MODE, "none") != "none"


def _keeps_mapping(before: State, actions: Actions) -> bool:
    return _is_alter(before, actions) and _mapped(before.metadata) and _mapped(_of(actions, "metaData")[0])


def _old_column(before: State, actions: Actions, kind: Callable[[Json], bool] = lambda wire: True) -> str | None:
    """A column that the commit leaves as it is."""
    old = {json.dumps(wire, sort_keys=True) for wire in json.loads(before.metadata["schemaString"])["fields"]}
    new = json.loads(_of(actions, "metaData")[0]["schemaString"])["fields"]
    return next((w["name"] for w in new if json.dumps(w, sort_keys=True) in old and kind(w)), None)


def other_id(before: State, actions: Actions) -> Damage | None:
    kept = before.files and _of(actions, "metaData") and not _of(actions, "remove")
    return edits.metadata(id="another") if kept else None


def two_metadata(before: State, actions: Actions) -> Damage | None:
    return edits.twice("metaData", createdTime=1) if _of(actions, "metaData") else None


def other_time(before: State, actions: Actions) -> Damage | None:
    return edits.metadata(createdTime=1) if _is_alter(before, actions) else None


def unknown_partition(before: State, actions: Actions) -> Damage | None:
    return edits.metadata(partitionColumns=["nowhere"]) if _is_alter(before, actions) else None


def other_type(before: State, actions: Actions) -> Damage | None:
    name = _old_column(before, actions, lambda w: w["type"] == "string") if _is_alter(before, actions) else None
    return None if name is None else edits.column(name, type="long")


def other_name(before: State, actions: Actions) -> Damage | None:
    name = _old_column(before, actions) if _keeps_mapping(before, actions) else None
    return None if name is None else edits.column(name, metadata={NAME: "col-other"})


def no_id(before: State, actions: Actions) -> Damage | None:
    name = _old_column(before, actions) if _keeps_mapping(before, actions) else None
    return None if name is None else edits.column(name, metadata={ID: None})


def lower_max(before: State, actions: Actions) -> Damage | None:
    if not _keeps_mapping(before, actions) or int(before.metadata["configuration"][MAX]) < 2:
        return None
    return edits.configured(delta__columnMapping__maxColumnId="1")


def other_mode(before: State, actions: Actions) -> Damage | None:
    if not _keeps_mapping(before, actions):
        return None
    return edits.configured(delta__columnMapping__mode="id")


def changes_lost(before: State, actions: Actions) -> Damage | None:
    if not _is_alter(before, actions) or before.metadata["configuration"].get(WIDENING) != "true":
        return None
    if _of(actions, "metaData")[0]["configuration"].get(WIDENING) != "true" or _of(actions, "protocol"):
        return None
    name = _old_column(before, actions, lambda wire: CHANGES in wire["metadata"])
    return None if name is None else edits.column(name, metadata={CHANGES: None})


def unrecorded(before: State, actions: Actions) -> Damage | None:
    if body(actions, "commitInfo")["operation"] != "CHANGE COLUMN" or not before.files:
        return None
    old = json.loads(before.metadata["schemaString"])["fields"]

    def forget(parsed: Json) -> None:
        for wire, was in zip(parsed["fields"], old):
            if wire["type"] != was["type"]:
                wire["metadata"] = was["metadata"]

    return edits.schema(forget)


def two_protocols(before: State, actions: Actions) -> Damage | None:
    return edits.twice("protocol") if _of(actions, "protocol") else None


def lower_protocol(before: State, actions: Actions) -> Damage | None:
    quiet = not (_of(actions, "protocol") or _of(actions, "metaData"))
    if not quiet or before.protocol["minWriterVersion"] < 7 or not before.files:
        return None
    return edits.extra_protocol(minReaderVersion=1, minWriterVersion=1)


def unknown_feature(before: State, actions: Actions) -> Damage | None:
    found = _of(actions, "protocol")
    if not found or "writerFeatures" not in found[0]:
        return None
    return edits.protocol(writerFeatures=[*found[0]["writerFeatures"], "unheardOf"])


def _new_add(before: State, actions: Actions) -> Json | None:
    live = {path for path, _ in before.files}
    return next((add for add in _of(actions, "add") if add["path"] not in live), None)


def _is_tracked(before: State) -> bool:
    return "rowTracking" in before.protocol.get("writerFeatures", ()) and DOMAIN in before.domains


def add_twice(before: State, actions: Actions) -> Damage | None:
    return edits.twice("add") if _of(actions, "add") else None


def unknown_partition_value(before: State, actions: Actions) -> Damage | None:
    metadata = (_of(actions, "metaData") or [before.metadata])[0]
    return edits.added(partitionValues={"p": "1"}) if _of(actions, "add") and _mapped(metadata) else None


def no_partition_values(before: State, actions: Actions) -> Damage | None:
    return edits.added(partitionValues=None) if _new_add(before, actions) in _of(actions, "add")[:1] else None


def _assigns(before: State, actions: Actions) -> bool:
    changed = _of(actions, "metaData") or _of(actions, "protocol")
    return _is_tracked(before) and not changed and before.metadata["configuration"].get(SUSPENDED) != "true"


def no_base(before: State, actions: Actions) -> Damage | None:
    if not _assigns(before, actions) or not _of(actions, "add"):
        return None
    return edits.added(baseRowId=None)


def base_again(before: State, actions: Actions) -> Damage | None:
    add = _new_add(before, actions)
    if not add or not _assigns(before, actions) or json.loads(before.domains[DOMAIN])["rowIdHighWaterMark"] < 0:
        return None

    def damage(actions: Actions) -> None:
        next(a["add"] for a in actions if a.get("add", {}).get("path") == add["path"])["baseRowId"] = 0

    return damage


def later_version(before: State, actions: Actions) -> Damage | None:
    add = _new_add(before, actions)
    return edits.added(defaultRowCommitVersion=9999) if add and _assigns(before, actions) else None


def lower_mark(before: State, actions: Actions) -> Damage | None:
    if not _assigns(before, actions) or json.loads(before.domains[DOMAIN])["rowIdHighWaterMark"] < 1:
        return None
    if not _of(actions, "domainMetadata"):
        return edits.extra(edits.domain(DOMAIN, '{"rowIdHighWaterMark":0}'))
    return edits.marked('{"rowIdHighWaterMark":0}')


def misnamed_mark(before: State, actions: Actions) -> Damage | None:
    found = _assigns(before, actions) and before.files and _of(actions, "domainMetadata")
    return edits.marked('{"highWaterMark":9}') if found else None


def other_base_removed(before: State, actions: Actions) -> Damage | None:
    removed = _of(actions, "remove")
    if not _assigns(before, actions) or not removed or "baseRowId" not in removed[0]:
        return None
    return edits.removed(baseRowId=removed[0]["baseRowId"] + 1)


def not_preserved(before: State, actions: Actions) -> Damage | None:
    info = body(actions, "commitInfo")
    moved = info["operation"] in ("UPDATE", "OPTIMIZE", "DELETE") and _of(actions, "add") and _of(actions, "remove")
    tracked = _is_tracked(before) and before.metadata["configuration"].get(TRACKING) == "true"
    return edits.info(tags=None) if moved and tracked else None


def no_timestamp(before: State, actions: Actions) -> Damage | None:
    timed = "inCommitTimestamp" in body(actions, "commitInfo")
    return edits.info(inCommitTimestamp=None) if timed else None


def early_timestamp(before: State, actions: Actions) -> Damage | None:
    timed = "inCommitTimestamp" in body(actions, "commitInfo")
    return edits.info(inCommitTimestamp=1) if timed else None


def transaction_twice(before: State, actions: Actions) -> Damage | None:
    return edits.both(*(edits.extra({"txn": {"appId": "a", "version": n}}) for n in (1, 2)))


def row_lost(before: State, actions: Actions) -> Damage | None:
    moves = _of(actions, "add") and _of(actions, "remove")
    if not moves or any(wire["dataChange"] for kind in ("add", "remove") for wire in _of(actions, kind)):
        return None
    return edits.statistics(lambda stats: stats.update(numRecords=stats["numRecords"] - 1))


def too_many_deleted(before: State, actions: Actions) -> Damage | None:
    adds = _of(actions, "add")
    vector = adds[0].get("deletionVector") if adds else None
    return edits.added(deletionVector={**vector, "cardinality": 1000}) if vector else None


def other_removed(before: State, actions: Actions) -> Damage | None:
    """Where no file takes the place of the one that is there, nor all of them go."""
    paths = {wire["path"] for wire in _of(actions, "add")}
    removes = _of(actions, "remove")
    if not removes or len(removes) == len(before.files) or _of(actions, "metaData"):
        return None
    return edits.removed(path="part-nowhere.parquet") if removes[0]["path"] not in paths else None


def column_lost(before: State, actions: Actions) -> Damage | None:
    if not _is_alter(before, actions) or _mapped(before.metadata) or _mapped(_of(actions, "metaData")[0]):
        return None
    name = _old_column(before, actions, lambda wire: CHANGES not in wire["metadata"] and wire["name"] != "id")
    if name is None:
        return None
    return edits.schema(lambda parsed: parsed["fields"].remove(edits.column_of(parsed, name)))


CHANCES: tuple[tuple[str, Chance], ...] = (
    ("MD08", other_id),
    ("MD03", two_metadata),
    ("MD10", other_time),
    ("MD05", unknown_partition),
    ("TW08", other_type),
    ("CM11", other_name),
    ("CM02", no_id),
    ("CM10", lower_max),
    ("CM09", other_mode),
    ("TW12", changes_lost),
    ("TW09", unrecorded),
    ("TF09", two_protocols),
    ("TF12", lower_protocol),
    ("TF17", unknown_feature),
    ("LG03", add_twice),
    ("CM14", unknown_partition_value),
    ("AC08", no_partition_values),
    ("RT05", no_base),
    ("RT15", base_again),
    ("RT09", later_version),
    ("RT11", lower_mark),
    ("RT10", misnamed_mark),
    ("RT12", other_base_removed),
    ("RT18", not_preserved),
    ("AC01", no_timestamp),
    ("AC02", early_timestamp),
    ("AC07", transaction_twice),
    ("AC09", row_lost),
    ("AC10", too_many_deleted),
    ("AC14", other_removed),
    ("MD16", column_lost),
)


@given(histories(), st.integers(0, 1000), st.integers(0, 1000))
@settings(max_examples=100)
def test_one_damaged_action_is_told_by_its_code_and_version(table: Table, kind: int, where: int) -> None:
    versions = range(1, len(table.commits))
    possible: list[tuple[str, int, Damage]] = []
    for code, chance in (*CHANCES[kind % len(CHANCES) :], *CHANCES):
        found = ((version, chance(table.state(version - 1), table.commits[version])) for version in versions)
        possible = [(code, version, damage) for version, damage in found if damage is not None]
        if possible:
            break
    code, version, damage = possible[where % len(possible)]
    actions = copy.deepcopy(table.commits[version])
    damage(actions)
    broken = carry_on(Table.of([*table.commits[:version], actions]))
    if code == "RT05" and table.state(version).metadata["configuration"].get(TRACKING) != "true":
        code = "RT13"
    for since in (None, version - 1):
        told = [(finding.code, finding.version) for finding in wrong(roots(audited(broken.commits, since)))]
        assert told == [(code, version)], (code, told, since, shown(table)[: version + 1])


@pytest.mark.soak
@given(histories(), st.integers(0, 1000), st.integers(0, 1000))
@settings(max_examples=3000)
def test_one_damaged_action_of_many_is_told(table: Table, kind: int, where: int) -> None:
    test_one_damaged_action_is_told_by_its_code_and_version.hypothesis.inner_test(table, kind, where)  # type: ignore[attr-defined]  # as hypothesis keeps it


def test_kinds_of_damage_are_some_of_those_that_are_told_one_by_one() -> None:
    assert len({code for code, _ in CHANCES}) == len(CHANCES)
    assert {code for code, _ in CHANCES} <= {case.code for case in CASES}
