"""Damages of column mapping: codes CM."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.damages.case import FILES, KEPT, UNDO, Case
from tests.unit.damages.edits import (
    added,
    both,
    column,
    column_of,
    configured,
    domain,
    extra,
    protocol,
    schema,
    statistics,
)
from tests.unit.damages.histories import (
    clustered,
    clustered_unmapped,
    dropped,
    mapped,
    mapped_empty,
    mapped_pairs,
    mapped_partitions,
    plain,
)
from tests.unit.damages.steps import add_column, append, only_append, set_property
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, Json


def _renamed_in_statistics(stats: Json) -> None:
    for bound in ("minValues", "maxValues", "nullCount"):
        physical = list(stats[bound])
        stats[bound] = {"id": 1, "w": 1, "s": {"x": 1}} | dict.fromkeys(physical[3:], 1)


def _nested(parsed: Json) -> Json:
    found: Json = column_of(parsed, "s")["type"]["fields"][0]
    return found


def _moved_into(parsed: Json) -> None:
    moved = column_of(parsed, "w")
    parsed["fields"].remove(moved)
    column_of(parsed, "s")["type"]["fields"].append(moved)


def _moved_out(parsed: Json) -> None:
    parsed["fields"].append(_nested(parsed))
    column_of(parsed, "s")["type"]["fields"] = []


def _moved_to_value(parsed: Json) -> None:
    pairs = column_of(parsed, "m")["type"]
    pairs["valueType"]["fields"].append(pairs["keyType"]["fields"].pop(0))


def _undo_mapping(parsed: Json) -> None:
    for wire in parsed["fields"]:
        wire["metadata"] = {}
        if isinstance(wire["type"], dict):
            for below in wire["type"]["fields"]:
                below["metadata"] = {}


def _swap_extra(parsed: Json, change: Callable[[str], str] = str) -> None:
    """The column that is added lies where another one lies."""
    column_of(parsed, "extra")["metadata"][NAME] = change(column_of(parsed, "id")["metadata"][NAME])


CASES = (
    Case("CM01", plain, set_property, configured(delta__columnMapping__mode="name"), MODE, healed_by=KEPT),
    Case(
        "CM01",
        plain,
        lambda t: t.enable_mapping(),
        protocol(minReaderVersion=3, readerFeatures=[], writerFeatures=["columnMapping", "appendOnly", "invariants"]),
        MODE,
        follows={"TF07"},
        healed_by=UNDO,
        name="required of writers only",
    ),
    Case("CM02", mapped, add_column, column("extra", metadata={ID: None}), "schemaString", column="extra"),
    Case("CM03", mapped, add_column, column("extra", metadata={NAME: None}), "schemaString", column="extra"),
    Case(
        "CM03",
        mapped,
        set_property,
        schema(lambda parsed: _nested(parsed)["metadata"].pop(NAME)),
        "schemaString",
        column="s.x",
        name="nested",
    ),
    Case("CM04", mapped, add_column, column("extra", metadata={ID: 1}), "schemaString", column="extra"),
    Case("CM05", mapped, add_column, schema(_swap_extra), "schemaString", column="extra"),
    Case(
        "CM05",
        mapped,
        add_column,
        schema(lambda parsed: _swap_extra(parsed, str.upper)),
        "schemaString",
        column="extra",
        name="but for case",
    ),
    Case("CM06", mapped, set_property, configured(delta__columnMapping__maxColumnId=None), MODE),
    Case("CM07", mapped, add_column, configured(delta__columnMapping__maxColumnId="4"), MAX, column="extra"),
    Case("CM08", plain, add_column, column("extra", metadata={ID: 3, NAME: "col-x"}), "schemaString", column="extra"),
    Case(
        "CM09",
        mapped,
        set_property,
        configured(delta__columnMapping__mode="none"),
        MODE,
        follows={"CM08"},
        column="id",
    ),
    Case("CM20", plain, set_property, configured(delta__columnMapping__mode="nmae"), MODE, healed_by=KEPT),
    Case(
        "CM20",
        mapped,
        set_property,
        configured(delta__columnMapping__mode="nmae"),
        MODE,
        follows={"CM09"},
        then=only_append,
        name="mapped",
        healed_by=KEPT,
    ),
    Case("CM09", mapped, set_property, configured(delta__columnMapping__mode="id"), MODE, name="name to id"),
    Case(
        "CM09",
        mapped,
        set_property,
        both(
            configured(delta__columnMapping__mode="none", delta__columnMapping__maxColumnId=None), schema(_undo_mapping)
        ),
        MODE,
        column="id",
        name="names forgotten",
    ),
    Case("CM09", mapped_empty, set_property, configured(delta__columnMapping__mode="id"), MODE, name="without files"),
    Case(
        "CM10",
        mapped_empty,
        set_property,
        configured(delta__columnMapping__maxColumnId="3"),
        MAX,
        follows={"CM07"},
        name="without files",
    ),
    Case("CM10", mapped, set_property, configured(delta__columnMapping__maxColumnId="3"), MAX, follows={"CM07"}),
    Case("CM11", mapped, set_property, column("w", metadata={NAME: "w"}), "schemaString", column="w"),
    Case(
        "CM11",
        mapped,
        set_property,
        schema(lambda parsed: _nested(parsed)["metadata"].update({NAME: "other"})),
        "schemaString",
        column="s.x",
        name="nested",
    ),
    Case("CM11", mapped, set_property, schema(_moved_into), "schemaString", column="s.w", name="into a struct"),
    Case("CM11", mapped, set_property, schema(_moved_out), "schemaString", column="x", name="out of a struct"),
    Case(
        "CM11",
        mapped_pairs,
        set_property,
        schema(_moved_to_value),
        "schemaString",
        column="m.value.x",
        name="from key to value",
    ),
    Case(
        "CM13",
        lambda: mapped(mode="id").drop_column("w").append(),
        add_column,
        column("extra", metadata={ID: 2}),
        "schemaString",
        column="extra",
        name="mode id",
    ),
    Case(
        "CM12",
        mapped,
        set_property,
        both(column("w", metadata={ID: 9}), configured(delta__columnMapping__maxColumnId="9")),
        "schemaString",
        column="w",
    ),
    Case(
        "CM13",
        lambda: mapped().drop_column("w").append(),
        add_column,
        column("extra", metadata={ID: 2}),
        "schemaString",
        column="extra",
    ),
    Case(
        "CM14",
        mapped_partitions,
        append,
        added(partitionValues={"id": "1"}),
        "partitionValues",
        column="id",
        healed_by=FILES,
    ),
    Case("CM15", mapped, append, statistics(_renamed_in_statistics), "stats", column="id", healed_by=FILES),
    Case(
        "CM16",
        dropped,
        add_column,
        column("extra", name="v", metadata={NAME: "V"}),
        "schemaString",
        column="v",
        needs_history=True,
        name="but for case",
    ),
    Case(
        "CM16",
        dropped,
        add_column,
        column("extra", name="v", metadata={NAME: "v"}),
        "schemaString",
        column="v",
        needs_history=True,
    ),
    Case(
        "CM17",
        clustered,
        append,
        extra(domain("delta.clustering", '{"clusteringColumns":[["w"]]}')),
        "delta.clustering",
        column="w",
        healed_by=UNDO,
    ),
    Case(
        "CM17",
        clustered_unmapped,
        append,
        extra(domain("delta.clustering", '{"clusteringColumns":[["col-1"]]}')),
        "delta.clustering",
        column="col-1",
        healed_by=UNDO,
        name="not mapped",
    ),
)
