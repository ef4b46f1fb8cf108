"""Damages of the metadata action: codes MD."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.unit.damages.case import FILES, KEPT, NEVER, UNDO, Case
from tests.unit.damages.edits import (
    added,
    column,
    column_of,
    configured,
    domain,
    extra,
    metadata,
    nothing,
    schema,
    statistics,
    twice,
)
from tests.unit.damages.histories import (
    checked,
    clustered_by_key,
    counted,
    counted_and_mapped,
    exact,
    mapped,
    nested_required,
    partitioned,
    partly_described,
    plain,
    required,
    structured,
    unused,
    variants,
    with_domains,
)
from tests.unit.damages.steps import (
    add_column,
    append,
    nothing_that_reads,
    only_append,
    set_property,
    write_with_column,
)
from tests.unit.log_builder import Damage, Table
from tests.unit.mapped_tables import Json
from tests.unit.states import field, struct, type_to_json

MARK, STEP = "delta.identity.highWaterMark", "delta.identity.step"


def _duplicate_name(parsed: Json) -> None:
    parsed["fields"].append({**column_of(parsed, "v"), "name": "ID"})


def _renamed_ordinary(parsed: Json) -> None:
    wire = column_of(parsed, "number")
    wire["name"] = "nr"
    wire["metadata"] = {key: value for key, value in wire["metadata"].items() if not key.startswith(IDENTITY)}


def partitioned_rows(table: Table) -> None:
    """Rows by an engine that goes by the files which are there."""
    add = next(iter(table.now.files.values()))
    table.commit("WRITE", {"add": {**add, "path": "another.parquet"}})


def of_extra(data_type: Any) -> Damage:
    """Another type of the column that is added."""
    return schema(lambda parsed: column_of(parsed, "extra").update(type=data_type))


def without_field(name: str, key: str) -> Damage:
    return schema(lambda parsed: column_of(parsed, name).pop(key))


def typed(**types: Any) -> Damage:
    """Other types of columns."""
    return schema(lambda parsed: [column_of(parsed, name).update(type=of) for name, of in types.items()])


def _overwrite(table: Table) -> None:
    table.overwrite(table.schema)


def _without_key(stats: Json) -> None:
    for name in ("minValues", "maxValues", "nullCount"):
        del stats[name]["id"]


def _numbers(least: int, most: int) -> Damage:
    """Values of the identity column."""

    def change(stats: Json) -> None:
        for part, value in (("minValues", least), ("maxValues", most)):
            stats.setdefault(part, {})["number"] = value

    return statistics(change)


def clustered_by(*columns: str) -> Damage:
    return extra(domain("delta.clustering", json.dumps({"clusteringColumns": [[name] for name in columns]})))


def with_domain() -> Table:
    table = with_domains()
    table.commit("SET DOMAIN", domain("mine", '{"a":1}'))
    return table


def _without_domain(table: Table) -> None:
    table.commit("SET DOMAIN", {"domainMetadata": {"domain": "mine", "configuration": "another", "removed": True}})


def _without_clustering(table: Table) -> None:
    body = {"domain": "delta.clustering", "configuration": '{"clusteringColumns":[["id"]]}', "removed": True}
    table.commit("CLUSTER BY", {"domainMetadata": body})


def _required_within(name: str, *below: str) -> Callable[[Json], None]:
    """One more field in a struct, which cannot be NULL."""

    def change(parsed: Json) -> None:
        of = column_of(parsed, name)["type"]
        for key in below:
            of = of[key]
        of["fields"].append({"name": "y", "type": "integer", "nullable": False, "metadata": {}})

    return change


ARRAY = {"type": "array", "elementType": "integer"}
MAP = {"type": "map", "keyType": "integer", "valueType": "integer"}
VOIDS = {"type": "array", "elementType": "void", "containsNull": True}
VOID_STRUCT = type_to_json(struct(field("n", "void")))
STRUCT = {"type": "struct", "fields": [{"name": "x", "type": "integer", "metadata": {}}]}
IDENTITY = "delta.identity"
CLUSTERING = "delta.clustering"

CASES = (
    Case("MD01", plain, set_property, metadata(id=None), "schemaString"),
    Case("MD02", plain, set_property, metadata(schemaString=None), "partitionColumns", then=nothing_that_reads),
    Case(
        "MD02",
        plain,
        set_property,
        metadata(schemaString="{"),
        "partitionColumns",
        then=nothing_that_reads,
        name="no JSON",
    ),
    Case(
        "MD02",
        plain,
        set_property,
        schema(lambda parsed: parsed.update(fields={})),
        "schemaString",
        then=nothing_that_reads,
        name="fields are no list",
    ),
    Case(
        "MD02",
        mapped,
        set_property,
        schema(lambda parsed: column_of(parsed, "id").update(metadata="none")),
        "schemaString",
        then=nothing_that_reads,
        name="metadata of a column is no map",
    ),
    Case(
        "MD17",
        partitioned,
        set_property,
        metadata(partitionColumns=None),
        "schemaString",
        follows={"MD11", "AC08"},
        then=partitioned_rows,
        name="partition columns",
    ),
    Case("MD03", plain, set_property, twice("metaData", configuration={}), "metaData", then=only_append),
    Case("MD05", partitioned, set_property, metadata(partitionColumns=["q"]), '"q"', column="q"),
    Case("MD06", plain, set_property, schema(_duplicate_name), "schemaString", column="ID"),
    Case("MD07", plain, set_property, metadata(format={"provider": "orc", "options": {}}), "orc"),
    Case("MD08", plain, set_property, metadata(id="another"), "another"),
    Case("MD10", plain, set_property, metadata(createdTime=1), '"createdTime": 1'),
    Case("MD11", partitioned, set_property, metadata(partitionColumns=["v"]), '["v"]'),
    Case("MD12", plain, set_property, configured(owner=None), "metaData", then=only_append),
    Case("MD13", plain, add_column, column("extra", type="complex"), "schemaString", column="extra"),
    Case(
        "MD13",
        plain,
        set_property,
        configured(owner={"a": 1}),
        "owner",
        then=only_append,
        name="property is no text",
        healed_by=KEPT,
    ),
    Case(
        "MD14",
        partitioned,
        lambda t: t.support("clustering"),
        extra(domain("delta.clustering", '{"clusteringColumns":[["id"]]}')),
        "delta.clustering",
        healed_by=frozenset({"replace"}),
    ),
    Case("MD15", counted, set_property, column("number", metadata={MARK: 19}), MARK, column="number"),
    Case("MD15", counted, set_property, column("number", metadata={MARK: None}), STEP, column="number", name="lost"),
    Case("MD17", plain, set_property, metadata(format=None), "schemaString", name="format"),
    Case("MD17", plain, set_property, metadata(format={"options": {}}), "schemaString", name="provider"),
    Case("MD18", counted, set_property, column("number", metadata={STEP: 0}), STEP, column="number"),
    Case("MD16", plain, set_property, schema(lambda parsed: parsed["fields"].pop()), "schemaString", column="v"),
    Case(
        "MD07",
        plain,
        set_property,
        metadata(format={"provider": "parquet", "options": {"a": "b"}}),
        '"a"',
        name="options",
    ),
    Case("MD13", plain, add_column, of_extra("dec(5,2)"), "schemaString", column="extra", name="alias of decimal"),
    Case("MD13", plain, add_column, of_extra("decimal(39,2)"), "schemaString", column="extra", name="precision"),
    Case("MD17", plain, set_property, metadata(name=5), '"name": 5', name="name is no text"),
    Case("MD17", plain, set_property, metadata(format={"provider": "parquet"}), "parquet", name="options"),
    Case("MD18", exact, set_property, column("number", metadata={STEP: None}), MARK, column="number", name="missing"),
    Case(
        "MD18",
        exact,
        set_property,
        column("number", metadata={f"{IDENTITY}.start": "1"}),
        MARK,
        column="number",
        name="text",
    ),
    Case(
        "MD18",
        exact,
        set_property,
        column("number", metadata={f"{IDENTITY}.allowExplicitInsert": "false"}),
        MARK,
        column="number",
        name="no boolean",
    ),
    Case(
        "MD18",
        exact,
        add_column,
        column("extra", metadata={f"{IDENTITY}.start": 1, STEP: 1, f"{IDENTITY}.allowExplicitInsert": True}),
        STEP,
        column="extra",
        name="type",
    ),
    Case("MD19", plain, add_column, without_field("extra", "nullable"), "schemaString", column="extra"),
    Case(
        "MD19", plain, add_column, without_field("extra", "metadata"), "schemaString", column="extra", name="metadata"
    ),
    Case("MD19", plain, add_column, of_extra(ARRAY), "schemaString", column="extra", name="array"),
    Case("MD19", plain, add_column, of_extra(MAP), "schemaString", column="extra", name="map"),
    Case("MD19", plain, add_column, of_extra(STRUCT), "schemaString", column="extra.x", name="nested"),
    Case("MD20", checked, set_property, configured(delta__constraints__c="gone > 0"), "gone > 0", healed_by=KEPT),
    Case(
        "MD20",
        checked,
        set_property,
        configured(delta__constraints__c="s.gone > 0"),
        "s.gone",
        name="nested",
        healed_by=KEPT,
    ),
    Case(
        "MD20",
        checked,
        set_property,
        column("v", metadata={"delta.invariants": '{"expression":{"expression":"gone > 3"}}'}),
        "gone",
        column="v",
        name="invariant",
    ),
    Case(
        "MD20",
        checked,
        set_property,
        column("g", metadata={"delta.generationExpression": "year(gone)"}),
        "gone",
        column="g",
        name="generated",
    ),
    Case(
        "MD20",
        checked,
        set_property,
        column("d", metadata={"CURRENT_DEFAULT": "gone"}),
        "gone",
        column="d",
        name="default",
    ),
    Case("MD21", checked, set_property, column("v", metadata={"delta.invariants": "v > 3"}), "v > 3", column="v"),
    Case("MD21", checked, set_property, column("d", metadata={"CURRENT_DEFAULT": "7+"}), "7+", column="d", name="SQL"),
    Case(
        "MD21",
        checked,
        set_property,
        configured(delta__constraints__c="(v > 0"),
        "delta.constraints.c",
        name="parenthesis",
        healed_by=KEPT,
    ),
    Case(
        "MD21",
        checked,
        set_property,
        configured(delta__constraints__c="v + 1"),
        "v + 1",
        name="no condition",
        healed_by=KEPT,
    ),
    Case(
        "MD21",
        checked,
        set_property,
        configured(delta__constraints__c=" "),
        "delta.constraints.c",
        name="empty",
        healed_by=KEPT,
    ),
    Case(
        "MD21",
        checked,
        set_property,
        column("g", metadata={"delta.generationExpression": 5}),
        "schemaString",
        column="g",
        name="no text",
    ),
    Case(
        "MD22",
        variants,
        set_property,
        column("w", metadata={"delta.generationExpression": "parse_json('1')"}),
        "parse_json",
        column="w",
    ),
    Case(
        "MD22",
        variants,
        set_property,
        column("w", metadata={"CURRENT_DEFAULT": "parse_json('1')"}),
        "parse_json",
        column="w",
        name="default",
    ),
    Case(
        "MD23",
        checked,
        add_column,
        column("extra", metadata={"CURRENT_DEFAULT": "'x'"}),
        "CURRENT_DEFAULT",
        column="extra",
    ),
    Case("MD24", exact, set_property, column("number", metadata={f"{IDENTITY}.start": 3}), MARK, column="number"),
    Case("MD24", exact, set_property, column("number", metadata={STEP: 4}), MARK, column="number", name="step"),
    Case(
        "MD24",
        exact,
        set_property,
        column("number", metadata={f"{IDENTITY}.allowExplicitInsert": True}),
        MARK,
        column="number",
        name="explicit",
    ),
    Case(
        "MD24",
        counted_and_mapped,
        set_property,
        schema(_renamed_ordinary),
        "schemaString",
        column="nr",
        name="renamed",
    ),
    Case("MD25", exact, set_property, column("number", metadata={MARK: 22}), MARK, column="number"),
    Case("MD26", plain, set_property, configured(delta__appendOnly="yes"), "yes", healed_by=KEPT),
    Case(
        "MD26",
        plain,
        set_property,
        configured(delta__logRetentionDuration="soon"),
        "soon",
        name="interval",
        healed_by=KEPT,
    ),
    Case(
        "MD26", plain, set_property, configured(delta__checkpointInterval="ten"), "ten", name="integer", healed_by=KEPT
    ),
    Case(
        "MD26",
        plain,
        set_property,
        configured(delta__parquet__compression__codec="fast"),
        "fast",
        name="codec",
        healed_by=KEPT,
    ),
    Case(
        "MD26",
        plain,
        set_property,
        configured(delta__parquet__format__version="3.0"),
        "3.0",
        name="format version",
        healed_by=KEPT,
    ),
    *(
        Case(
            "MD26",
            lambda: plain().support("checkpointProtection"),
            set_property,
            configured(**{"delta.requireCheckpointProtectionBeforeVersion": value}),
            value,
            name=f"protection before {value}",
            healed_by=KEPT,
        )
        for value in ("three", "-1")
    ),
    Case("MD27", plain, _overwrite, typed(v=VOIDS), "add", column="v.element", healed_by=FILES, then=set_property),
    Case(
        "MD27",
        plain,
        _overwrite,
        typed(v=VOID_STRUCT),
        "add",
        column="v",
        healed_by=FILES,
        then=set_property,
        follows={"AC18"},
        name="struct",
    ),
    Case(
        "MD27",
        plain,
        _overwrite,
        typed(id="void", v="void"),
        "add",
        healed_by=FILES,
        then=set_property,
        name="all columns",
    ),
    Case("MD28", with_domains, append, clustered_by("id"), CLUSTERING, healed_by=UNDO),
    Case(
        "MD28",
        with_domains,
        append,
        extra(domain("delta.rowTracking", '{"rowIdHighWaterMark":1}')),
        "delta.rowTracking",
        name="row tracking",
        healed_by=UNDO,
    ),
    Case("MD29", clustered_by_key, append, extra(domain(CLUSTERING, "{")), CLUSTERING, healed_by=UNDO),
    Case(
        "MD29",
        clustered_by_key,
        append,
        extra(domain(CLUSTERING, '{"clusteringColumns":"id"}')),
        CLUSTERING,
        name="no list",
        healed_by=UNDO,
    ),
    Case(
        "MD29",
        clustered_by_key,
        append,
        clustered_by("id", "id"),
        CLUSTERING,
        column="id",
        name="twice",
        healed_by=UNDO,
    ),
    Case("MD33", with_domain, _without_domain, nothing, "another", healed_by=NEVER),
    Case(
        "MD34",
        partly_described,
        lambda t: t.commit("CLUSTER BY", domain(CLUSTERING, '{"clusteringColumns":[["v"]]}')),
        nothing,
        CLUSTERING,
        column="v",
        healed_by=frozenset({"undo", "replace"}),
        then=append,
    ),
    Case(
        "MD38",
        clustered_by_key,
        set_property,
        configured(delta__dataSkippingStatsColumns="v"),
        "dataSkippingStatsColumns",
        column="id",
    ),
    Case("MD32", clustered_by_key, append, added(stats=None), "add", column="id", healed_by=FILES),
    Case(
        "MD32", clustered_by_key, append, statistics(_without_key), "add", column="id", healed_by=FILES, name="column"
    ),
    Case("MD35", exact, append, _numbers(23, 25), "add", column="number", healed_by=FILES),
    *(
        Case("MD37", before, write_with_column, damage, "schemaString", column=of, name=name, about_operation=True)
        for name, before, of, damage in (
            ("not null", required, "id", column("id", nullable=True)),
            ("generated", checked, "g", column("g", metadata={"delta.generationExpression": None})),
            ("default", checked, "d", column("d", metadata={"CURRENT_DEFAULT": None})),
            ("invariant", checked, "v", column("v", metadata={"delta.invariants": None})),
            ("check", checked, None, configured(delta__constraints__c=None)),
        )
    ),
    Case("MD36", exact, append, _numbers(21, 21), "add", column="number", healed_by=FILES),
    Case("MD35", unused, append, _numbers(-2, -1), "add", column="number", healed_by=FILES, name="no mark"),
    Case("MD31", plain, add_column, column("extra", nullable=False), "schemaString", column="extra"),
    *(
        Case("MD31", before, set_property, schema(damage), "schemaString", column=of, name=name)
        for name, before, damage, of in (
            ("nested", nested_required, _required_within("s"), "s.y"),
            ("nested in a nullable one", structured, _required_within("s"), "s.y"),
            ("in an array", nested_required, _required_within("a", "elementType"), "a.element.y"),
        )
    ),
    Case("MD30", clustered_by_key, _without_clustering, nothing, CLUSTERING, healed_by=frozenset({"undo", "replace"})),
    Case(
        "MD14",
        partitioned,
        lambda t: t.support("clustering"),
        nothing,
        "clustering",
        name="feature",
        healed_by=frozenset({"undo", "replace"}),
    ),
)
