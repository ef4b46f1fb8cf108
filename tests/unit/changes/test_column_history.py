"""What the history of a table tells of its columns: histories as Delta Spark writes them, kept whole and cleaned up."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnFacts, ColumnHistory
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.usage import (
    Usage,
    UsageAnswer,
    unknown_usage,
    usage_of,
)
from airflow_delta_provider.domain.checks.usage_tracking import check_state
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import Replay, TableState
from tests.unit.log_builder import History, Table
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, at
from tests.unit.states import field, struct

A, B = field("a", "long"), field("b", "string")
S = field("s", struct(field("x", "long"), field("y", "long")))


def existing() -> Table:
    """A table with rows, mapped afterwards: every column lies under its own name."""
    return Table(A, B, S).append().enable_mapping().append()


def nested(edit: Callable[[dict[str, object]], None], table: Table) -> Table:
    """The table with another schema, as after a change of a nested column."""
    schema = table.schema
    edit(schema)
    table.commit("CHANGE COLUMN", table._changed(schema))
    return table


def drop_nested(table: Table) -> Table:
    return nested(lambda schema: at(schema, "s")["type"]["fields"].pop(0), table)


def rename_nested(table: Table) -> Table:
    return nested(lambda schema: at(schema, "s.x").update(name="z"), table)


def known(table: Table, since: int | None = None) -> ColumnFacts:
    replay, log = Replay(with_files=True), History(table.commits)
    history = ColumnHistory(log if since is None else None)
    if since is not None:
        for actions in table.commits[: since + 1]:
            replay.take(actions)
        history.begin(replay.state(since), is_first=False)
    for version in range(0 if since is None else since + 1, len(table.commits)):
        history.follow(replay, version, table.commits[version])
    return history.known


def state(table: Table) -> TableState:
    replay = Replay(with_files=True)
    for actions in table.commits:
        replay.take(actions)
    return replay.state(table.version)


def usage(table: Table, since: int | None = None, footers: FooterSurvey | None = None) -> UsageAnswer:
    return usage_of(state(table).metadata.mapped_schema, known(table, since), footers)


def kinds(judged: UsageAnswer) -> list[tuple[str, str | None]]:
    return [(piece["kind"], piece.get("column")) for piece in judged.to_json()["evidence"]]


USED = {
    "column renamed": (existing().rename_column("b", "c").append(), [("renamed", "b")]),
    "column renamed there and back": (
        existing().rename_column("b", "c").rename_column("c", "b"),
        [("renamed", "b")],
    ),
    "column dropped": (existing().drop_column("b"), [("dropped", "b"), ("id gap", None)]),
    "struct dropped, said once": (existing().drop_column("s"), [("dropped", "s"), ("id gap", None)]),
    "nested column renamed": (rename_nested(existing()), [("renamed", "s.x")]),
    "nested column dropped": (drop_nested(existing()), [("dropped", "s.x"), ("id gap", None)]),
    "dropped, then all rows overwritten": (
        existing().drop_column("b").overwrite(),
        [("dropped", "b"), ("id gap", None)],
    ),
    "dropped while the table was empty": (
        Table(A, B).enable_mapping().drop_column("b").append(),
        [("dropped", "b"), ("id gap", None)],
    ),
    "in mode id": (
        Table(A, B, properties={MODE: "id"}, features=["columnMapping"]).append().rename_column("b", "c"),
        [("renamed", "b")],
    ),
}


@pytest.mark.parametrize(("table", "evidence"), USED.values(), ids=USED)
def test_used_by_the_commit_that_did_it(table: Table, evidence: list[tuple[str, str | None]]) -> None:
    judged = usage(table)
    assert judged.answer is Usage.USED
    assert [kind for kind in kinds(judged) if kind[0] in ("renamed", "dropped", "id gap")] == evidence
    did = judged.evidence[0]
    operation = {"renamed": "RENAME COLUMN", "dropped": "DROP COLUMNS"}[did.kind]
    assert table.commits[did.version][0]["commitInfo"]["operation"] in (operation, "CHANGE COLUMN")
    assert did.writer == "Delta Spark 4.4.0"


def restored_behind_an_unmapping(table: Table) -> Table:
    """The table mapped as it is, which was written anew without its mapping in between."""
    then = table.version
    return table.remove_mapping().add_column(B).append().restore(then)


USED_BEFORE = {
    "dropped": (existing().drop_column("b"), ("dropped", "b")),
    "dropped, and rewritten": (existing().drop_column("b").optimize(), ("dropped", "b")),
    "renamed there and back": (existing().rename_column("a", "c").rename_column("c", "a"), ("renamed", "a")),
}


@pytest.mark.parametrize(("table", "event"), USED_BEFORE.values(), ids=USED_BEFORE)
def test_used_where_a_restore_leads_back_behind_an_unmapping(table: Table, event: tuple[str, str]) -> None:
    did = usage(table).evidence[0]
    judged = usage(restored_behind_an_unmapping(table))
    assert (judged.answer, judged.evidence[0]) == (Usage.USED, did)
    assert kinds(judged)[0] == event


def test_restore_brings_back_only_what_the_columns_of_that_version_went_through() -> None:
    table = existing().drop_column("b").remove_mapping().enable_mapping().append()
    then = table.version
    assert usage(table.optimize().restore(then), footers=FooterSurvey()).answer is Usage.UNUSED
    renamed = table.remove_mapping().enable_mapping().rename_column("a", "c").restore(then)
    assert usage(renamed, footers=FooterSurvey()).answer is Usage.UNUSED
    unmapped = existing()
    unmapped.drop_column("b").remove_mapping().restore(1)
    assert usage(unmapped, footers=FooterSurvey()).answer is Usage.UNUSED


UNUSED = {
    "mapped later, then written": existing(),
    "never mapped": Table(A, B).append(),
    "formerly mapped": existing().remove_mapping(),
    "formerly mapped, a column dropped then": existing().drop_column("b").remove_mapping(),
    "mapped again": existing().drop_column("b").remove_mapping().enable_mapping(),
}


@pytest.mark.parametrize("table", UNUSED.values(), ids=UNUSED)
def test_unused(table: Table) -> None:
    assert usage(table, footers=FooterSurvey()).answer is Usage.UNUSED
    assert usage(table).answer is (Usage.UNDETERMINED if known(table).left else Usage.UNUSED)


def lost_to_an_overwrite() -> Table:
    table = existing()
    return table.overwrite({"type": "struct", "fields": table.schema["fields"][:1]})


def lost_to_a_restore() -> Table:
    table = existing()
    return table.add_column(field("c", "long")).append().restore(table.version - 2)


UNDETERMINED = {
    "a column lost to an overwrite": (lost_to_an_overwrite(), {"id gap"}),
    "a column lost to a restore": (lost_to_a_restore(), {"id gap"}),
    "created mapped: names made up": (
        Table(A, B, properties={MODE: "name"}, features=["columnMapping"]).append(),
        {"made-up physical name"},
    ),
    "replaced while mapped": (existing().replace(A, B), {"id gap", "made-up physical name"}),
}


@pytest.mark.parametrize(("table", "evidence"), UNDETERMINED.values(), ids=UNDETERMINED)
def test_evidence_is_no_proof(table: Table, evidence: set[str]) -> None:
    judged = usage(table)
    assert judged.answer is Usage.UNDETERMINED
    assert {kind for kind, _ in kinds(judged)} <= evidence | {"foreign physical name"}
    assert judged.unknown_before is None


def test_made_up_names_are_no_damage_and_the_way_to_own_names_is_told() -> None:
    created_mapped = Table(A, properties={MODE: "name"}, features=["columnMapping"]).append()
    finding = unknown_usage("/lake/t", usage(created_mapped))
    told = finding.message
    assert (finding.code, finding.version) == ("UM10", None)
    assert told.startswith("No commit renamed or dropped a column of /lake/t, but it does not count as UNUSED: names")
    assert "with mapping: a. This is not damage" in told
    assert "disable-column-mapping with allow_rewrite=True (--allow-rewrite)" in told
    assert usage(created_mapped.remove_mapping()).answer is Usage.UNUSED


def test_what_the_table_itself_says_wrongly_is_told_by_the_code_of_the_audit() -> None:
    tracked, said = existing(), existing().set_properties(**{DROPPED_OR_RENAMED: "false"})
    tracked.support("columnMappingUsageTracking")
    for table, code in ((tracked, "UT01"), (said, "UT02"), (existing(), None)):
        findings = list(check_state(state(table)))
        judged = usage_of(state(table).metadata.mapped_schema, known(table), None, findings)
        assert judged.answer is Usage.UNUSED
        told = [piece for piece in judged.evidence if piece.kind == "usage tracking"]
        assert [(piece.rule, DROPPED_OR_RENAMED in piece.text) for piece in told] == ([(code, True)] if code else [])


def test_cleaned_up_log_says_since_when_it_cannot_be_known() -> None:
    table = existing().drop_column("b").append()
    judged = usage(table, since=4)
    assert (judged.answer, judged.unknown_before) == (Usage.UNDETERMINED, 4)
    assert {kind for kind, _ in kinds(judged)} == {"id gap", "history"}


def test_cleaned_up_log_proves_what_it_still_has() -> None:
    table = existing().append().rename_column("b", "c")
    judged = usage(table, since=3)
    assert (judged.answer, judged.unknown_before) == (Usage.USED, 3)


def test_history_is_whole_where_mapping_was_first_enabled_in_the_kept_log() -> None:
    table = Table(A, B).append().append().enable_mapping().append()
    assert known(table, since=1).excludes_foreign_columns
    assert not known(table, since=3).excludes_foreign_columns


def test_mapping_that_may_have_been_there_before_is_no_whole_history() -> None:
    table = existing().remove_mapping().append().enable_mapping()
    assert not known(table, since=table.version - 1).excludes_foreign_columns


LEFT = {
    "drop": (existing().drop_column("b"), {("b",)}),
    "drop of a struct": (existing().drop_column("s"), {("s",), ("s", "x"), ("s", "y")}),
    "nested drop": (drop_nested(existing()), {("s", "x")}),
    "drop and full rewrite: footers decide": (existing().drop_column("b").optimize(), {("b",)}),
    "drop undone by a restore": (existing().drop_column("b").restore(3), set[tuple[str, ...]]()),
    "rename": (existing().rename_column("b", "c"), set[tuple[str, ...]]()),
    "un-mapped by a rewrite": (existing().drop_column("b").remove_mapping(), {("b",)}),
}


@pytest.mark.parametrize(("table", "paths"), LEFT.values(), ids=LEFT)
def test_paths_that_may_lie_in_files(table: Table, paths: set[tuple[str, ...]]) -> None:
    assert set(known(table).left) == paths


def test_restore_of_files_that_hold_a_dropped_column_brings_its_path_back() -> None:
    table = existing().drop_column("b").append().overwrite()
    assert set(known(table.restore(table.version - 1)).left) == {("b",)}


@pytest.mark.parametrize("compact", [Table.optimize, Table.overwrite, Table.append])
def test_restore_behind_an_unmapping_brings_paths_back_that_other_columns_had_since(
    compact: Callable[[Table], Table],
) -> None:
    table = existing().drop_column("b")
    then = table.version
    compact(table).remove_mapping().add_column(B).append()
    assert known(table).excludes_foreign_columns
    assert set(known(table.restore(then)).left) == {("b",)}
    assert set(known(table.remove_mapping()).left) == {("b",)}


def reuse(table: Table) -> Table:
    """Add ``b`` where the dropped one lay."""
    schema, configuration = table.schema, table.configuration
    highest = int(configuration[MAX]) + 1
    schema["fields"].append({"name": "b", "type": "string", "nullable": True, "metadata": {ID: highest, NAME: "b"}})
    table.commit("ADD COLUMNS", table._changed(schema, configuration | {MAX: str(highest)}))
    return table


def test_column_where_a_dropped_one_lay_is_reused() -> None:
    assert set(known(reuse(existing().drop_column("b"))).reused) == {("b",)}
    at_once = existing()
    kept = copy.deepcopy(at_once.schema)
    kept["fields"][1]["metadata"][ID] = 9
    at_once.commit("REPLACE COLUMNS", at_once._changed(kept, at_once.configuration | {MAX: "9"}))
    assert set(known(at_once).reused) == {("b",)}
    assert not known(reuse(existing().drop_column("b").overwrite())).reused


@pytest.mark.parametrize("operation", ["CLONE", "CONVERT", "WRITE"])
def test_files_from_elsewhere_are_not_accounted_for(operation: str) -> None:
    table = existing()
    path = "file:/elsewhere/part-1.parquet" if operation == "WRITE" else "part-1.parquet"
    add = {"path": path, "size": 1, "partitionValues": {}, "modificationTime": 1, "dataChange": True}
    table.commit(operation, {"add": add})
    assert "from elsewhere" in known(table).why_incomplete
    assert usage(table).unknown_before == table.version
    assert f"renamed or dropped before version {table.version}: " in unknown_usage("t", usage(table)).message


def test_files_that_a_table_was_made_of_are_not_accounted_for() -> None:
    table = existing()
    table.commits[0][0]["commitInfo"]["operation"] = "CONVERT"
    assert "from elsewhere" in known(table).why_incomplete
    assert "were renamed or dropped: version 0 took over files" in unknown_usage("t", usage(table)).message


def test_restore_of_a_version_that_is_not_kept_leaves_it_open() -> None:
    table = Table(A, B).append().enable_mapping().append().drop_column("b").append().append()
    table.restore(3)
    told = known(table, since=5)
    assert told.why_incomplete
    assert not told.events


def test_judgement_is_json() -> None:
    judged = usage(existing().drop_column("b"))
    assert json.loads(json.dumps(judged.to_json()))["answer"] == "USED"
