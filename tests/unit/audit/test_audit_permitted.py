"""Tables that do what sentences of the protocol permit, one or more per sentence: no engine's table is alarmed.

The page on the coverage of the protocol names them: ``sound`` in ``scripts/protocol_coverage/entries``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from airflow_delta_provider.domain.delta.data_type import MapType, PrimitiveType
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.damages.edits import both, domain, extra
from tests.unit.damages.histories import (
    KEY,
    VECTORS,
    V,
    append_only,
    clustered,
    fed,
    mapped,
    partitioned_by,
    plain,
    with_a_vector,
    with_vectors,
)
from tests.unit.damages.steps import add_again
from tests.unit.log_builder import TRACKING, WIDENING, Damage, Table, audited, body
from tests.unit.states import field

VOID = field("nothing", "void")
VARIANTS = {"features": ["variantType", "variantShredding"], "properties": {"delta.enableVariantShredding": "true"}}
IDENTITY = {"delta.identity.start": -3, "delta.identity.step": -2, "delta.identity.allowExplicitInsert": True}


def last(table: Table, *edits: Damage) -> Table:
    """Edit the last commit."""
    for edit in edits:
        edit(table.commits[-1])
    return table


def of(kind: str, **changes: object) -> Damage:
    """Set fields of all actions of a kind in a commit; None takes one away."""

    def edit(actions: list[dict[str, object]]) -> None:
        for wire in (action[kind] for action in actions if kind in action):
            wire.update(changes)
            for key in [key for key, value in changes.items() if value is None]:
                del wire[key]

    return edit


def tracked(*, enabled: bool = True) -> Table:
    properties = {TRACKING: "true"} if enabled else {}
    return Table(KEY, V, features=["rowTracking"], properties=properties).append(2)


def two_partitions_one_vector_file() -> Table:
    columns = (KEY, V, field("p", "integer"))
    table = Table(*columns, partition_by=["p"], features=["deletionVectors"], properties={VECTORS: "true"}).append(2)
    table.commits[-1][2]["add"]["partitionValues"] = {"p": "2"}
    adds, removes = [], []
    for offset, (key, add) in zip((1, 50), copy.deepcopy(table.now.files).items()):
        vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": offset}
        adds.append({"add": {**add, "deletionVector": {**vector, "sizeInBytes": 36, "cardinality": 2}}})
        removes.append(table._removed(key))
    table.commit("DELETE", *adds, *removes)
    return table


def stored(vector: dict[str, object]) -> Table:
    table = Table(KEY, V, features=["deletionVectors"], properties={VECTORS: "true"}).append(rows=30)
    return last(table.mark_deleted(table.paths[0]), lambda actions: body(actions, "add").update(deletionVector=vector))


def change_file_is_data_file() -> Table:
    table = fed()
    table.update(table.paths[0])
    add = body(table.commits[-1], "add")
    cdc = {name: add[name] for name in ("path", "partitionValues", "size")}
    return last(table, extra({"cdc": {**cdc, "dataChange": False}}))


def back_and_forth() -> Table:
    """A file is added, removed, added again, and removed again."""
    table = plain()
    table.delete(table.paths[0]).restore(table.version - 1)
    return table.delete(table.paths[-1]).append()


def with_default_later() -> Table:
    table = plain().support("allowColumnDefaults")
    schema = table.schema
    for default in ("42", "43"):
        schema["fields"][1]["metadata"]["CURRENT_DEFAULT"] = default
        table.commit("CHANGE COLUMN", table._changed(schema))
    return table.append()


def only_void() -> Table:
    """A table without a column that files could hold is changed, read, and made writable."""
    table = Table(VOID).set_properties(owner="somebody")
    schema = table.schema
    schema["fields"][0]["type"] = "long"
    table.commit("CHANGE COLUMN", table._changed(schema))
    return table.append()


def checked_with_its_feature() -> Table:
    table = plain()
    changed = table._changed(configuration={**table.configuration, "delta.constraints.c": "v > 0"})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7}
    listed = {"writerFeatures": ["appendOnly", "invariants", "checkConstraints"]}
    table.commit("ADD CONSTRAINT", {"protocol": protocol | listed}, changed)
    return table.append()


def ids_before_tracking() -> Table:
    """Ids are assigned while row tracking is only supported, and files get theirs before it is enabled."""
    return plain().enable_row_tracking().append()


def numbered_by_users() -> Table:
    return Table(KEY, field("n", "long", **IDENTITY), features=["identityColumns"]).append(2)


def unmapped_without_rewrite() -> Table:
    """The mapping of columns that were never renamed is disabled by metadata alone."""
    table = plain().enable_mapping().append()
    schema = table.schema
    for wire in schema["fields"]:
        wire["metadata"] = {}
    configuration = {"delta.columnMapping.mode": "none"}
    table.commit("SET TBLPROPERTIES", table._changed(schema, configuration))
    return table.append()


#: Sound histories by name.
SOUND: dict[str, Callable[[], Table]] = {
    "file in a subfolder": lambda: last(plain().append(), of("add", path="a/b=c/part-9.parquet")),
    "one vector file for several partitions": two_partitions_one_vector_file,
    "no optional field": lambda: _removed_again(last(plain().append(), of("add", stats=None)), _bare_remove),
    "all optional fields": lambda: _removed_again(last(plain().append(), _full_add), _full_remove),
    "rows only moved": lambda: plain().optimize(),
    "new statistics for a live file": lambda: (lambda t: (add_again(t), t)[1])(plain()),
    "change data file that is a data file": change_file_is_data_file,
    "no commitInfo": lambda: last(plain().append(), lambda actions: actions.pop(0)),
    "commitInfo with any JSON": lambda: last(
        plain().append(),
        of("commitInfo", operation="MY OWN", nested={"a": [1, None, {"b": False}]}, engineInfo="mine/1.0"),
    ),
    "file that is named many times": back_and_forth,
    "feature added by its name": lambda: plain().support("domainMetadata", "appendOnly").append(),
    "appendOnly without its property": lambda: _removed_again(plain().support("domainMetadata")).optimize(),
    "vectors enabled, none written": lambda: with_vectors().append(),
    "vector by a relative path": with_a_vector,
    "vector by an absolute path": lambda: stored(
        {
            "storageType": "p",
            "pathOrInlineDv": "s3://lake/t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
            "offset": 4,
            "sizeInBytes": 40,
            "cardinality": 6,
        }
    ),
    "vector within the log": lambda: stored(
        {
            "storageType": "i",
            "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
            "sizeInBytes": 40,
            "cardinality": 6,
        }
    ),
    "row ids change with the file": lambda: (lambda t: t.update(t.paths[0]).optimize())(tracked()),
    "row tracking supported only": lambda: tracked(enabled=False).append(),
    "row ids before row tracking": ids_before_tracking,
    "ids again before row tracking": lambda: tracked(enabled=False).set_properties(owner="me").enable_row_tracking(),
    "file without clusteringProvider": lambda: clustered().append(),
    "domain of a clustering implementation": lambda: last(
        clustered().append(), extra(domain("my.clustering", '{"a": 1}'))
    ),
    "variants shredded or not": lambda: Table(KEY, field("w", "variant"), **VARIANTS).append(2),
    "variant with a least value only": lambda: last(
        Table(KEY, field("w", "variant"), **VARIANTS).append(),
        lambda actions: _statistics(actions, lambda stats: stats["maxValues"].pop("w")),
    ),
    "variant with check, default and change data feed": lambda: Table(
        KEY,
        field("w", "variant", CURRENT_DEFAULT="NULL"),
        features=["variantType", "allowColumnDefaults", "checkConstraints", "changeDataFeed"],
        properties={"delta.constraints.c": "w IS NOT NULL", "delta.enableChangeDataFeed": "true"},
    ).append(2),
    "type widening enabled only": lambda: plain().support("typeWidening", delta__enableTypeWidening="true").append(),
    "type changes recorded": lambda: _widened().append(),
    "type changes forgotten after a rewrite": lambda: _widened().append().drop_type_widening().append(),
    "column that older files lack": lambda: plain().add_column(field("extra", "string")).append(),
    "append-only table optimized": lambda: append_only().optimize(),
    "invariant of a column": lambda: Table(
        KEY,
        field("w", "long", **{"delta.invariants": json.dumps({"expression": {"expression": "w > 3"}})}),
        features=["invariants"],
    ).append(2),
    "generated column": lambda: Table(
        KEY, field("g", "long", **{"delta.generationExpression": "id + 1"}), features=["generatedColumns"]
    ).append(2),
    "default set and changed later": with_default_later,
    "identity column with values of users": numbered_by_users,
    "file without statistics": lambda: last(plain().append(), of("add", stats=None)),
    "statistics that count deleted rows": lambda: last(
        with_a_vector(), lambda actions: _statistics(actions, lambda stats: stats.update(tightBounds=False))
    ),
    "timestamps of partitions in both forms": lambda: last(
        partitioned_by("timestamp").append(3),
        lambda actions: [
            body(actions, "add", number).update(partitionValues={"p": value})
            for number, value in enumerate(
                ("2024-01-01 12:30:00", "2024-01-01 12:30:00.123456", "2024-01-01T12:30:00.123456Z")
            )
        ],
    ),
    "nothing but void": only_void,
    "void changed to another type": lambda: _unvoided(),
    "metadata of columns of all kinds": lambda: (
        mapped()
        .append()
        .add_column(
            field(
                "extra",
                MapType(PrimitiveType("string"), PrimitiveType("long")),
                comment="for people",
                mine=[1, {"a": None}],
            )
        )
    ),
    "constraint and its feature in one commit": checked_with_its_feature,
    "mapping of unchanged names disabled": unmapped_without_rewrite,
    "other codecs and page formats": lambda: (
        plain()
        .set_properties(**{"delta__parquet__compression__codec": "ZSTD", "delta__parquet__format__version": "2.12.0"})
        .append()
    ),
}


#: Warnings that a permitted table has: engines that read it differently are no fault of the table.
WARNED = {"timestamps of partitions in both forms": ["AC40"]}


def _removed_again(table: Table, *edits: Damage) -> Table:
    return last(table.delete(table.paths[0]), *edits)


def _bare_remove(actions: list[dict[str, object]]) -> None:
    wire = body(actions, "remove")
    for key in wire.keys() - {"path", "dataChange"}:
        del wire[key]


def _full_add(actions: list[dict[str, object]]) -> None:
    of("add", tags={"a": "b", "c": None}, clusteringProvider="liquid")(actions)
    both(extra({"txn": {"appId": "a", "version": 0, "lastUpdated": 0}}))(actions)


def _full_remove(actions: list[dict[str, object]]) -> None:
    of("remove", tags={}, deletionTimestamp=0, extendedFileMetadata=True, stats='{"numRecords":10}')(actions)


def _statistics(actions: list[dict[str, object]], edit: Callable[[dict[str, dict[str, object]]], object]) -> None:
    add = body(actions, "add")
    stats = json.loads(add["stats"])
    edit(stats)
    add["stats"] = json.dumps(stats)


def _widened() -> Table:
    return Table(KEY, V, features=["typeWidening"], properties={WIDENING: "true"}).append(2).widen("v", "long")


def _unvoided() -> Table:
    table = Table(KEY, VOID).append(2)
    schema = table.schema
    schema["fields"][1]["type"] = "date"
    table.commit("CHANGE COLUMN", table._changed(schema))
    return table.append()


@pytest.mark.parametrize("name", SOUND)
def test_what_the_protocol_permits_is_silent(name: str) -> None:
    found = audited(SOUND[name]().commits)
    assert [finding.code for finding in found] == WARNED.get(name, [])
    assert {finding.severity for finding in found} <= {Severity.WARNING}
