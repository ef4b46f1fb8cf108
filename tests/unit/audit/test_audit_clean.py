"""Histories that engines really wrote, in excerpts: an audit has nothing to say of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from airflow_delta_provider.domain.audit.history import HistoryAudit
from airflow_delta_provider.domain.audit.past import PastLog
from airflow_delta_provider.domain.delta.data_type import ArrayType
from airflow_delta_provider.domain.delta.deletion_vector import DeletionVector
from airflow_delta_provider.domain.delta.table_state import Replay
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.jobs.audit.derived_files import check_checksum_of
from tests.unit.damages.edits import added, both, bound, column_of, configured
from tests.unit.damages.edits import info as info_said
from tests.unit.damages.histories import (
    DROPPED,
    KEY,
    USAGE,
    S,
    V,
    counted_and_mapped,
    deletions_off,
    exact,
    mapped_late,
    mapped_pairs,
    partitioned,
    plain,
    tracked,
    tracking_usage,
    variants,
)
from tests.unit.log_builder import INDEXED, Table
from tests.unit.log_builder import audited as log_audited
from tests.unit.mapped_tables import ID, MAX, MODE, NAME
from tests.unit.states import field, struct

Action = dict[str, Any]

_TYPE_CHANGES = {"delta.typeChanges": [{"toType": "long", "fromType": "integer"}]}
_WIDENING = {"delta.enableTypeWidening": "true"}
_TIMESTAMPS = {"delta.enableInCommitTimestamps": "true"}


def protocol(*features: str) -> Action:
    readers = [name for name in features if name in ("columnMapping", "typeWidening")]
    versions = {"minReaderVersion": 3 if readers else 1, "minWriterVersion": 7}
    lists = {"readerFeatures": readers} if readers else {}
    return {"protocol": {**versions, **lists, "writerFeatures": list(features)}}


def metadata(fields: Sequence[Action], configuration: Mapping[str, str]) -> Action:
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    kept = {"id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": [], "createdTime": 1}
    return {"metaData": {**kept, "schemaString": schema, "configuration": dict(configuration)}}


def column(name: str, data_type: str, **metadata: Any) -> Action:
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def mapped(name: str, number: int, physical: str, data_type: str = "long") -> Action:
    return column(name, data_type, **{ID: number, NAME: physical})


def add(path: str, names: Sequence[str] = (), **more: Any) -> Action:
    stats = {"numRecords": 1, "minValues": dict.fromkeys(names, 1)}
    body = {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    return {"add": {**body, "stats": json.dumps(stats), **more}}


def remove(path: str, **more: Any) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, **more}}


def domain(mark: int, *, removed: bool = False) -> Action:
    configuration = json.dumps({"rowIdHighWaterMark": mark})
    return {"domainMetadata": {"domain": "delta.rowTracking", "configuration": configuration, "removed": removed}}


def said(signature: str | None = None, **parameters: Any) -> Action:
    """Return what the ``commitInfo`` of a commit says that another one would not."""
    return {"said": {"operationParameters": parameters, **({"engineInfo": signature} if signature else {})}}


def info(operation: str, version: int, **parameters: Any) -> Action:
    stamped = {"timestamp": version, "inCommitTimestamp": version, "engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}
    return {"commitInfo": {**stamped, "operation": operation, "operationParameters": parameters}}


def audited(*commits: Sequence[Action], since: int = -1) -> list[Finding]:
    """Audit a history, of the commits after ``since`` only."""
    replay = Replay(with_files=True)
    audit = HistoryAudit(replay)
    for version, (operation, *actions) in enumerate(commits):
        made = info(operation, version)
        for said in (action["said"] for action in actions if "said" in action):
            made["commitInfo"] |= said
        actions = [action for action in actions if "said" not in action]
        if version == since + 1 and version:
            audit = HistoryAudit(replay, audit.state(), _Log(commits), known=True)
        audit.take(version, [made, *actions])
    return audit.findings()


class _Log(PastLog):
    def __init__(self, commits: Sequence[Sequence[Action]]) -> None:
        self._commits = commits

    def paths_seen_before(self, version: int, paths: Sequence[str]) -> frozenset[str]:
        actions = (action for commit in self._commits[:version] for action in commit[1:])
        return frozenset(paths) & {a[kind]["path"] for a in actions for kind in ("add", "remove") if kind in a}


NARROW, WIDE = column("v", "integer"), column("v", "long", **_TYPE_CHANGES)


def test_restore_of_an_older_type_notes_in_commit_timestamps_anew():
    enabled = {
        "delta.inCommitTimestampEnablementVersion": "4",
        "delta.inCommitTimestampEnablementTimestamp": "4",
    }
    assert not audited(
        [
            "CREATE TABLE",
            metadata([NARROW], _WIDENING | _TIMESTAMPS),
            protocol("typeWidening", "inCommitTimestamp"),
        ],
        ["WRITE", add("a")],
        ["CHANGE COLUMN", metadata([WIDE], _WIDENING | _TIMESTAMPS)],
        ["SET TBLPROPERTIES", metadata([WIDE], _WIDENING | {"delta.enableInCommitTimestamps": "false"})],
        ["RESTORE", metadata([NARROW], _WIDENING | _TIMESTAMPS | enabled)],
    )


def test_restore_of_an_older_type_keeps_the_mark_of_identity_columns():
    def identity(**mark: int) -> Action:
        fixed = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
        return column("i", "long", **fixed, **mark)

    first, second = {"delta.identity.highWaterMark": 4}, {"delta.identity.highWaterMark": 8}
    assert not audited(
        ["CREATE TABLE", metadata([identity(), NARROW], _WIDENING), protocol("typeWidening", "identityColumns")],
        ["WRITE", metadata([identity(**first), NARROW], _WIDENING), add("a")],
        ["CHANGE COLUMN", metadata([identity(**first), WIDE], _WIDENING)],
        ["WRITE", metadata([identity(**second), WIDE], _WIDENING), add("b")],
        ["RESTORE", metadata([identity(**second), NARROW], _WIDENING), remove("b")],
    )


def identity(name: str = "i", mark: int | None = None, start: int = 1, **more: Any) -> Action:
    fixed = {"delta.identity.start": start, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    marked = {} if mark is None else {"delta.identity.highWaterMark": mark}
    return column(name, "long", **fixed, **marked, **more)


_NAMED = {MODE: "name", MAX: "2"}
_NEW, _OLD = {ID: 2, NAME: "col-2"}, {ID: 1, NAME: "col-1"}


@pytest.mark.parametrize(
    "history",
    [
        [
            ["WRITE", metadata([identity(mark=4)], {}), add("a")],
            ["SYNC IDENTITY", metadata([identity(mark=9)], {})],
            ["RESTORE", metadata([identity(mark=9)], {}), said(version=1)],
        ],
        [
            ["WRITE", metadata([identity(mark=9)], {}), add("a")],
            ["WRITE", metadata([identity(mark=12)], {}), add("b")],
            ["RESTORE", metadata([identity(mark=12)], {}), remove("b"), remove("a")],
        ],
        [
            ["WRITE", metadata([identity(mark=-5)], {}), add("a")],
            ["RESTORE", metadata([identity()], {}), remove("a")],
        ],
    ],
    ids=["after SYNC IDENTITY", "to an empty table", "of a mark before the start"],
)
def test_restore_keeps_the_highest_mark_of_identity_columns(history):
    found = audited(["CREATE TABLE", metadata([identity()], {}), protocol("identityColumns")], *history)
    assert [finding.code for finding in found if finding.code in ("MD15", "MD24")] == []


def test_restore_of_a_column_that_was_made_again_by_its_name_keeps_its_own_mark():
    both = metadata([identity(**_OLD, mark=4), mapped("a", 3, "a")], _NAMED)
    assert not [
        finding
        for finding in audited(
            ["CREATE TABLE", both, protocol("identityColumns", "columnMapping")],
            ["WRITE", add("a")],
            ["REPLACE TABLE", metadata([identity(**_NEW, mark=80), mapped("a", 3, "a")], _NAMED)],
            ["RESTORE", both],
        )
        if finding.code == "MD15"
    ]


@pytest.mark.parametrize(("mark", "removed"), [(4, ["b"]), (None, ["a", "b"])], ids=["lowered", "taken away"])
def test_restore_that_sets_an_identity_column_back_is_found(mark, removed):
    found = audited(
        ["CREATE TABLE", metadata([identity()], {}), protocol("identityColumns")],
        ["WRITE", metadata([identity(mark=4)], {}), add("a")],
        ["WRITE", metadata([identity(mark=8)], {}), add("b")],
        ["RESTORE", metadata([identity(mark=mark)], {}), *map(remove, removed)],
        ["WRITE", metadata([identity(mark=5)], {}), add("c")],
        ["WRITE", metadata([identity(mark=9)], {}), add("d")],
    )
    assert [(f.version, f.healed_version) for f in found if f.code == "MD15"] == [(3, 5)]


def test_restore_of_an_older_type_keeps_the_columns_of_row_ids():
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    }
    on = _WIDENING | names | {"delta.enableRowTracking": "true"}
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 2}
    assert not audited(
        ["CREATE TABLE", metadata([NARROW], _WIDENING), protocol("typeWidening")],
        ["WRITE", add("a")],
        [
            "ROW TRACKING BACKFILL",
            protocol("typeWidening", "rowTracking", "domainMetadata"),
            domain(0),
            add("a", dataChange=False, **ids),
        ],
        ["SET TBLPROPERTIES", metadata([NARROW], on)],
        ["CHANGE COLUMN", metadata([WIDE], on)],
        ["RESTORE", metadata([NARROW], _WIDENING | names)],
    )


_MAPPED = [mapped("id", 1, "col-1"), mapped("a", 2, "a")]
_ADDED_ANEW = [_MAPPED[0], mapped("a", 3, "col-3")]
#: Column a is dropped and another a added; the mapping is removed, and brought back with a file that has the first.
_MAPPING_RESTORED: tuple[Sequence[Any], ...] = (
    ["CREATE TABLE", metadata(_MAPPED, {MODE: "name", MAX: "2"}), protocol("columnMapping")],
    ["WRITE", add("a", ["col-1", "a"])],
    ["DROP COLUMNS", metadata(_MAPPED[:1], {MODE: "name", MAX: "2"})],
    ["ADD COLUMNS", metadata(_ADDED_ANEW, {MODE: "name", MAX: "3"})],
    ["REMOVE COLUMN MAPPING", metadata([column(n, "long") for n in ("id", "a")], {}), remove("a"), add("b", ["id"])],
    ["RESTORE", metadata(_ADDED_ANEW, {MODE: "name", MAX: "3"}), remove("b"), add("a", ["col-1", "a"])],
)


@pytest.mark.parametrize("since", range(-1, 5))
def test_file_of_a_dropped_column_comes_back_with_the_mapping(since):
    assert not audited(*_MAPPING_RESTORED, since=since)


def test_file_comes_back_with_row_tracking():
    ids = {"baseRowId": 0, "defaultRowCommitVersion": 1}
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    }
    on = names | {"delta.enableRowTracking": "true"}
    tracked = protocol("rowTracking", "domainMetadata")
    assert not audited(
        ["CREATE TABLE", metadata([NARROW], on), tracked],
        ["WRITE", domain(0), add("a", **ids)],
        ["SET TBLPROPERTIES", metadata([NARROW], names | {"delta.rowTrackingSuspended": "true"})],
        ["ROW TRACKING UNBACKFILL", add("a", dataChange=False)],
        ["DROP FEATURE", metadata([NARROW], {}), protocol("domainMetadata"), domain(0, removed=True)],
        ["OPTIMIZE", remove("a"), add("b")],
        ["RESTORE", metadata([NARROW], on), tracked, domain(0), remove("b"), add("a", **ids)],
    )


@pytest.mark.parametrize("since", [-1, 0, 1, 3])
def test_restore_gives_files_their_row_ids_back_that_a_clone_had_changed(since):
    """The clone is wrong, though it leaves row tracking disabled; the RESTORE is right."""
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-1",
    }
    on = names | {"delta.enableRowTracking": "true"}
    ids, others = ({"baseRowId": n, "defaultRowCommitVersion": v} for n, v in ((0, 1), (1, 2)))
    clone = {**metadata([NARROW], {})["metaData"], "id": "clone", "createdTime": 2}
    found = audited(
        ["CREATE TABLE", metadata([NARROW], on), protocol("rowTracking", "domainMetadata")],
        ["WRITE", domain(0), add("s3://b/a", **ids)],
        ["CLONE", {"metaData": clone}, domain(1), add("s3://b/a", **others)],
        ["RESTORE", metadata([NARROW], on), add("s3://b/a", **ids)],
        ["WRITE", domain(2), add("b", baseRowId=2, defaultRowCommitVersion=4)],
        since=since,
    )
    errors = [(f.code, f.version, f.healed_version) for f in found if f.severity is Severity.ERROR and f.code != "MD08"]
    assert errors == ([("RT14", 2, 3)] if since < 2 else [])


def test_checksum_counts_files_that_an_audit_of_new_appends_does_not_know():
    table, features = metadata([NARROW], {}), protocol("appendOnly")
    replay = Replay(with_files=True)
    replay.take([table, features, add("a")])
    before = replace(replay.state(0), files=None)
    audit = HistoryAudit(Replay.of(before), before)
    audit.take(1, [info("WRITE", 1), add("b")])
    checksum = {"tableSizeBytes": 2, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}
    content = json.dumps({**checksum, "metadata": table["metaData"], "protocol": features["protocol"]}).encode()
    assert list(check_checksum_of(audit, content)) == []
    assert [f.code for f in check_checksum_of(audit, content.replace(b'"t"', b'"u"'))] == ["LG08"]


@pytest.mark.parametrize(
    "stats",
    [
        {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"v": 2}},
        {"numRecords": 2, "minValues": {"v": 1}, "maxValues": {"v": 2}, "nullCount": {"v": 0}},
        {"numRecords": 0},
    ],
    ids=["nulls only", "values", "no rows"],
)
def test_older_files_with_statistics_of_a_new_clustering_column_are_fine(stats):
    table = Table(KEY, V, features=["clustering"])
    table.commit("WRITE", add("older", stats=json.dumps(stats)))
    for columns in ([["v"]], [["v"], ["id"]], [["v"]]):
        if columns == [["v"], ["id"]]:
            table.optimize()
        table.commit("CLUSTER BY", clustered_by(columns))
    assert audited(*table.commits) == []


def test_new_column_that_may_be_null_has_fields_that_may_not():
    within = struct(replace(field("y", "integer"), nullable=False))
    table = Table(KEY, S).append().add_column(field("t", within)).append()
    table.add_column(field("a", ArrayType(within))).append()
    assert log_audited(table.commits) == []


@pytest.mark.parametrize("since", [None, 4, 6])
@pytest.mark.parametrize("mode", ["name", "id"])
def test_restore_across_a_drop_keeps_that_a_column_was_dropped(mode, since):
    table = tracking_usage()
    if mode == "id":
        table = Table(
            KEY, V, features=["columnMapping", USAGE], properties={MODE: "id", DROPPED.replace("__", "."): "false"}
        )
        table.append(2).append().append()
    then = table.version
    table.drop_column("v", **{DROPPED: "true"}).append()
    table.damaged(configured(**{DROPPED: "true"})).restore(then).append()
    assert log_audited(table.commits, since) == []


@pytest.mark.parametrize("table", [plain, partitioned, mapped_late, tracked])
def test_statistics_of_databricks_runtime_7_that_are_null_mean_that_there_are_none(table):
    history = table().damaged(added(stats="null")).append()
    assert {finding.code for finding in log_audited(history.commits)} <= {"RT06"}


def test_bounds_of_variants_are_as_in_the_example_of_the_specification():
    least = "0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu"
    most = "0S&u500&]LC42A9vqZe}wb#-i1}-a+cT!xdbWhT9cTx}7v<+K"
    table = variants().damaged(both(bound("minValues", "w", least), bound("maxValues", "w", most))).append()
    assert log_audited(table.commits) == []


def _rename_in_key(table: Table) -> Table:
    schema = table.schema
    column_of(schema, "m")["type"]["keyType"]["fields"][0]["name"] = "z"
    table.commit("RENAME COLUMN", table._changed(schema))
    return table


def _in_another_place(table: Table) -> Table:
    """Drop a field of the key, and add one of the same name to the value."""
    schema, configuration = table.schema, table.configuration
    pairs = column_of(schema, "m")["type"]
    dropped = pairs["keyType"]["fields"].pop(0)
    table.commit("DROP COLUMNS", table._changed(schema))
    number = int(configuration[MAX]) + 1
    pairs["valueType"]["fields"].append({**dropped, "metadata": {ID: number, NAME: f"col-{table._uuid()}"}})
    table.commit("ADD COLUMNS", table._changed(schema, {**configuration, MAX: str(number)}))
    return table


@pytest.mark.parametrize(
    "change", [lambda t: t.rename_column("m", "pairs"), _rename_in_key, _in_another_place, Table.overwrite]
)
def test_field_below_a_map_is_renamed_or_made_again(change):
    assert log_audited(change(mapped_pairs()).append().commits) == []


def _ordinary_under_its_name(table: Table) -> Table:
    schema, configuration = table.schema, table.configuration
    number = int(configuration[MAX]) + 1
    schema["fields"][1] = {
        **column("number", "long"),
        "metadata": {ID: number, NAME: f"col-{table._uuid()}"},
    }
    table.commit("REPLACE COLUMNS", table._changed(schema, {**configuration, MAX: str(number)}))
    return table


@pytest.mark.parametrize("change", [lambda t: t.rename_column("number", "nr"), _ordinary_under_its_name])
def test_identity_column_is_renamed_or_another_column_gets_its_name(change):
    assert log_audited(change(counted_and_mapped()).append().commits) == []


@pytest.mark.parametrize("root", ["file:///source/", ""], ids=["shallow", "deep"])
def test_clone_has_statistics_of_columns_that_its_source_dropped(root):
    source = mapped_late().drop_column("v").append().add_column(V).append().now
    adds = [{"add": {**add, "path": f"{root}{add['path']}"}} for add in source.files.values()]
    actions = [{"commitInfo": {"operation": "CLONE"}}, {"metaData": source.metadata}, {"protocol": source.protocol}]
    clone = Table.of([[*actions, *adds]])
    clone.commit("COMPUTE STATS", {"add": {**adds[0]["add"], "dataChange": False}})
    assert log_audited(clone.append().commits) == []


def test_files_that_the_commit_removes_need_no_statistics_of_a_new_clustering_column():
    table = Table(KEY, V, features=["clustering"], properties={INDEXED: "0"}).append()
    (path,) = table.paths
    table.set_properties(delta__dataSkippingNumIndexedCols="2")
    (key,) = table._keys([path])
    table.commit("REPLACE", clustered_by([["v"]]), *table._written([10]), table._removed(key))
    assert audited(*table.commits) == []


def clustered_by(columns: Sequence[Sequence[str]]) -> Action:
    configuration = json.dumps({"clusteringColumns": columns})
    return {"domainMetadata": {"domain": "delta.clustering", "configuration": configuration, "removed": False}}


NOT_NULL = {**column("a", "long"), "nullable": False}
GUARDED = [
    NOT_NULL,
    column("g", "long", **{"delta.generationExpression": "a + 1"}),
    column("d", "long", CURRENT_DEFAULT="7"),
]
FREE = [column("a", "long"), column("g", "long"), column("d", "long")]
CHECK = {"delta.constraints.c": "a > 0"}


OVERWRITE = said(mode="Overwrite", partitionBy="[]")
BY_RUST = said("delta-rs:py-1.1.4", mode="Overwrite")


def _guarded(*last: Any, features: Sequence[str] = ("checkConstraints", "generatedColumns", "allowColumnDefaults")):
    """Audit a table with all kinds of guards, and a commit, as a list of its operation and its actions."""
    return audited(
        ["CREATE TABLE", metadata(GUARDED, CHECK), protocol("invariants", *features)], ["WRITE", add("a")], *last
    )


@pytest.mark.parametrize(
    "last",
    [
        [["WRITE", metadata(FREE, CHECK), add("b"), remove("a"), OVERWRITE]],
        [["WRITE", metadata([column("x", "long")], CHECK), add("b"), remove("a"), BY_RUST]],
        [["WRITE", metadata([column("a", "string"), *GUARDED[1:]], CHECK), add("b"), remove("a"), BY_RUST]],
        [["STREAMING UPDATE", metadata(FREE, CHECK), add("b"), remove("a"), said(outputMode="Complete")]],
        [["CREATE OR REPLACE TABLE AS SELECT", metadata(FREE, {}), add("b"), remove("a")]],
        [["DROP CONSTRAINT", metadata(GUARDED, {})], ["CHANGE COLUMN", metadata(FREE, {})]],
        [["SET TBLPROPERTIES", metadata(GUARDED, {})], ["RESTORE", metadata(GUARDED, CHECK)]],
        [["WRITE", metadata([*GUARDED, column("x", "long")], CHECK), add("b"), said(mode="Append")]],
    ],
    ids=["overwriteSchema", "gone", "another type", "complete", "replaced", "altered", "restored", "evolved"],
)
def test_guards_are_taken_away_by_statements_that_may(last):
    assert not [finding for finding in _guarded(*last) if finding.code == "MD37"]


@pytest.mark.parametrize(
    ("last", "lost"),
    [
        (["WRITE", metadata(FREE, CHECK), add("b"), remove("a"), BY_RUST], 3),
        (["WRITE", metadata(FREE, CHECK), add("b"), remove("a"), said(mode="Overwrite", predicate="a = 1")], 3),
        (["WRITE", metadata(FREE, CHECK), add("b"), said(mode="Append")], 3),
        (["OPTIMIZE", metadata(GUARDED, {}), add("b"), remove("a")], 1),
        (["MERGE", metadata(FREE, {}), add("b")], 4),
    ],
    ids=["overwritten by delta-rs", "with a condition", "appended", "optimized", "merged"],
)
def test_guards_that_a_data_write_takes_away_are_named_in_one_finding(last, lost):
    (finding,) = (finding for finding in _guarded(last) if finding.code == "MD37")
    assert (finding.version, finding.severity, len((finding.facts or {})["lost"])) == (2, Severity.WARNING, lost)


@pytest.mark.parametrize(
    ("engine", "codes"), [("delta-rs:py-1.1.4", ["MD37"]), ("Apache-Spark/4.2.0 Delta-Lake/4.4.0", [])]
)
def test_identity_that_an_overwrite_takes_away_is_named_unless_the_user_asked_for_another_schema(engine, codes):
    table = exact()
    schema = table.schema
    column_of(schema, "number")["metadata"].clear()
    table.damaged(info_said(engineInfo=engine)).overwrite(schema)
    assert [finding.code for finding in log_audited(table.append().commits)] == codes


def test_vector_that_is_named_by_an_absolute_path_is_the_same_one_while_vectors_are_disabled():
    table = deletions_off()
    path = table.paths[-1]
    add = next(add for add in table.now.files.values() if add["path"] == path)
    file = DeletionVector.from_json(add["deletionVector"]).file
    named = {**add["deletionVector"], "storageType": "p", "pathOrInlineDv": f"file:///t/{file}"}
    (key,) = table._keys([path])
    table.commit("CLONE", {"add": {**add, "deletionVector": named, "dataChange": False}}, table._removed(key))
    assert log_audited(table.commits) == []
