"""Damages of one commit, one for each rule that a log can break, and the histories that they happen to."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from tests.unit.log_builder import (
    CHANGES,
    COMMIT_VERSION,
    DOMAIN,
    ROW_ID,
    SUSPENDED,
    TIMESTAMPS,
    TRACKING,
    WIDENING,
    Actions,
    Damage,
    Table,
    body,
)
from tests.unit.mapped_tables import ID, MAX, MODE, NAME, Json
from tests.unit.states import field, struct

KEY = field("id", "long")
V = field("v", "integer")
S = field("s", struct(field("x", "integer")))
VECTORS = "delta.enableDeletionVectors"
USAGE = "columnMappingUsageTracking"
_DROPPED = "delta__columnMapping__hasDroppedOrRenamed"
APPEND_ONLY = "delta.appendOnly"
ALL = frozenset({"undo", "restore", "replace"})
#: Where only files are wrong.
FILES = frozenset({"restore", "replace"})
UNDO = frozenset({"undo"})
#: Of what a table that is replaced keeps: properties, and features that RESTORE would bring back.
KEPT = frozenset({"undo", "restore"})
NEVER: frozenset[str] = frozenset()
Step = Callable[[Table], Any]


@dataclass(frozen=True)
class Case:
    """A commit of a history that is damaged.

    :param before: the history up to it
    :param step: the commit, or several of which the first is damaged
    :param damage: what is done to its actions
    :param shows: what the finding's excerpt has to hold
    :param follows: codes that may be told as consequences
    :param then: innocent commits after it
    :param healed_by: what puts it right: ``undo`` (what was changed is changed back), ``restore`` (RESTORE to the
        version before), ``replace`` (CREATE OR REPLACE)
    :param column: of the finding
    """

    code: str
    before: Callable[[], Table]
    step: Step
    damage: Damage
    shows: str = ""
    follows: Collection[str] = ()
    then: Step | None = None
    healed_by: frozenset[str] = ALL
    column: str | None = None
    name: str = ""


# -- histories ------------------------------------------------------------------------------------


def plain() -> Table:
    return Table(KEY, V).append(2).append()


def legacy() -> Table:
    """Of a time before table features: writer version 4 implies change data feed."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 4}
    return Table(KEY, V, protocol=protocol, properties={"delta.enableChangeDataFeed": "true"}).append(2).append()


def partitioned() -> Table:
    return Table(KEY, V, field("p", "integer"), partition_by=["p"]).append(2).append()


def with_vectors() -> Table:
    return Table(KEY, V, features=["deletionVectors"], properties={VECTORS: "true"}).append(2).append()


def append_only() -> Table:
    return Table(KEY, V, properties={APPEND_ONLY: "true"}).append(2).append()


def timed() -> Table:
    return Table(KEY, V, features=["inCommitTimestamp"], properties={TIMESTAMPS: "true"}).append(2).append()


def mapped(mode: str = "name", **known: Any) -> Table:
    table = Table(KEY, V, S, features=["columnMapping"], properties={MODE: mode}, **known)
    return table.append(2).rename_column("v", "w").append()


def mapped_late() -> Table:
    """Mapped on top of an existing table: physical names are the columns' own."""
    return Table(KEY, V, S).append(2).enable_mapping().append()


def mapped_partitions() -> Table:
    return mapped(partition_by=["id"])


def tracking_usage() -> Table:
    """Mapped under the columns' own names, with nothing dropped or renamed."""
    return Table(KEY, V, S).append(2).support(USAGE, **{_DROPPED: "false"}).enable_mapping().append()


def used() -> Table:
    """A column was dropped, and tracked."""
    return tracking_usage().drop_column("v", **{_DROPPED: "true"}).append()


def widening(**properties: str) -> Table:
    table = Table(KEY, V, field("n", "short"), features=["typeWidening"], properties={WIDENING: "true", **properties})
    return table.append(2).widen("n", "integer").append()


def tracked() -> Table:
    return Table(KEY, V, features=["rowTracking"], properties={TRACKING: "true"}).append(2).append()


def tracked_vectors() -> Table:
    features, properties = ["rowTracking", "deletionVectors"], {TRACKING: "true", VECTORS: "true"}
    return Table(KEY, V, features=features, properties=properties).append(2).append()


def supported() -> Table:
    """Row tracking that is not enabled."""
    return Table(KEY, V, features=["rowTracking"]).append(2).append()


def _delete_last(table: Table) -> Table:
    return table.delete(table.paths[-1])


def clustered() -> Table:
    table = mapped()
    table.support("clustering")
    return table


# -- commits --------------------------------------------------------------------------------------


def append(table: Table) -> Table:
    return table.append()


def enable_vectors(table: Table) -> Table:
    return table.support("deletionVectors", delta__enableDeletionVectors="true")


def set_property(table: Table) -> Table:
    return table.set_properties(owner="somebody")


def add_column(table: Table) -> Table:
    return table.add_column(field("extra", "string"))


def carry_on(table: Table) -> Table:
    """What comes after a damage: data, and metadata that carry it along."""
    return table.append().set_properties(note="innocent").append()


def only_append(table: Table) -> Table:
    return table.append().append()


def nothing_that_reads(table: Table) -> Table:
    """Commits that an engine can make which does not look at what is broken."""
    for number in range(2):
        add = {"path": f"raw-{number}.parquet", "partitionValues": {}, "size": 10, "dataChange": True}
        table.commit("WRITE", {"add": {**add, "modificationTime": 1}}, mode="Append")
    return table


# -- damages --------------------------------------------------------------------------------------


def protocol(**changes: Any) -> Damage:
    """Other fields in the protocol action; None takes one away."""

    def damage(actions: Actions) -> None:
        _edit(body(actions, "protocol"), changes)

    return damage


def extra_protocol(**listed: Any) -> Damage:
    """A protocol action where there was none to be."""

    def damage(actions: Actions) -> None:
        actions.insert(1, {"protocol": listed})

    return damage


def metadata(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "metaData"), changes)

    return damage


def configured(**changes: Any) -> Damage:
    """Other properties; ``__`` stands for a dot."""

    def damage(actions: Actions) -> None:
        configuration = body(actions, "metaData")["configuration"]
        _edit(configuration, {key.replace("__", "."): value for key, value in changes.items()})

    return damage


def schema(change: Callable[[Json], Any]) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "metaData")
        parsed = json.loads(wire["schemaString"])
        change(parsed)
        wire["schemaString"] = json.dumps(parsed)

    return damage


def column(of: str, /, **changes: Any) -> Damage:
    """Another field of a column; ``metadata`` are merged, None takes a key away."""

    def change(parsed: Json) -> None:
        wire = column_of(parsed, of)
        _edit(wire["metadata"], changes.get("metadata", {}))
        _edit(wire, {key: value for key, value in changes.items() if key != "metadata"})

    return schema(change)


def column_of(parsed: Json, name: str) -> Json:
    found: Json = next(wire for wire in parsed["fields"] if wire["name"] == name)
    return found


def added(number: int = 0, **changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "add", number), changes)

    return damage


def removed(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "remove"), changes)

    return damage


def info(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "commitInfo"), changes)

    return damage


def marked(configuration: str) -> Damage:
    def damage(actions: Actions) -> None:
        body(actions, "domainMetadata")["configuration"] = configuration

    return damage


def extra(action: Json) -> Damage:
    def damage(actions: Actions) -> None:
        actions.append(action)

    return damage


def twice(kind: str, **changes: Any) -> Damage:
    """The first action of a kind once more, with other fields."""

    def damage(actions: Actions) -> None:
        actions.append({kind: {**body(actions, kind), **changes}})

    return damage


def without(kind: str) -> Damage:
    def damage(actions: Actions) -> None:
        actions[:] = [action for action in actions if kind not in action]

    return damage


def both(*damages: Damage) -> Damage:
    def damage(actions: Actions) -> None:
        for one in damages:
            one(actions)

    return damage


def nothing(actions: Actions) -> None:
    """The commit is a damage by itself."""


def last_first(actions: Actions) -> None:
    actions.append(actions.pop(0))


def statistics(change: Callable[[Json], Any]) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "add")
        stats = json.loads(wire["stats"])
        change(stats)
        wire["stats"] = json.dumps(stats)

    return damage


def _renamed_in_statistics(stats: Json) -> None:
    for bound in ("minValues", "maxValues", "nullCount"):
        physical = list(stats[bound])
        stats[bound] = {"id": 1, "w": 1, "s": {"x": 1}} | dict.fromkeys(physical[3:], 1)


def _edit(wire: Json, changes: Json) -> None:
    for key, value in changes.items():
        if value is None:
            wire.pop(key, None)
        else:
            wire[key] = value


def _domain(name: str, configuration: str = "{}") -> Json:
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": False}}


def _duplicate_name(parsed: Json) -> None:
    parsed["fields"].append({**column_of(parsed, "v"), "name": "ID"})


def _undo_mapping(parsed: Json) -> None:
    for wire in parsed["fields"]:
        wire["metadata"] = {}
        if isinstance(wire["type"], dict):
            for below in wire["type"]["fields"]:
                below["metadata"] = {}


def _swap_extra(parsed: Json) -> None:
    """The column that is added lies where a dropped one lay."""
    column_of(parsed, "extra")["metadata"][NAME] = column_of(parsed, "id")["metadata"][NAME]


def dropped() -> Table:
    """A mapped table that has lost a column which lay under its own name."""
    return mapped_late().drop_column("v").append()


CASES = (
    # -- protocol
    Case("TF01", plain, enable_vectors, protocol(readerFeatures=None), "minReaderVersion", healed_by=UNDO),
    Case("TF02", plain, enable_vectors, protocol(writerFeatures=None), "minWriterVersion", healed_by=KEPT),
    Case("TF03", plain, enable_vectors, protocol(minReaderVersion=1), "readerFeatures", healed_by=UNDO),
    Case(
        "TF04",
        plain,
        lambda t: t.support("rowTracking"),
        protocol(minWriterVersion=6),
        "writerFeatures",
        then=only_append,
        healed_by=UNDO,
    ),
    Case("TF05", plain, enable_vectors, protocol(minWriterVersion=5), '"minWriterVersion": 5', healed_by=UNDO),
    Case(
        "TF06",
        plain,
        enable_vectors,
        protocol(writerFeatures=["appendOnly", "invariants"]),
        "readerFeatures",
        healed_by=UNDO,
    ),
    Case(
        "TF07",
        plain,
        enable_vectors,
        protocol(minReaderVersion=1, readerFeatures=None),
        "deletionVectors",
        healed_by=UNDO,
    ),
    Case(
        "TF08",
        plain,
        lambda t: t.support("rowTracking"),
        protocol(writerFeatures=["appendOnly", "invariants", "rowTracking"]),
        "rowTracking",
        follows={"AC05"},
        healed_by=UNDO,
    ),
    Case(
        "TF09", plain, enable_vectors, twice("protocol", writerFeatures=["deletionVectors"]), "protocol", healed_by=KEPT
    ),
    Case(
        "TF11",
        tracked_vectors,
        lambda t: t.support("typeWidening"),
        protocol(
            readerFeatures=["typeWidening"],
            writerFeatures=["domainMetadata", "rowTracking", "appendOnly", "invariants", "typeWidening"],
        ),
        "writerFeatures",
        follows={"TF15"},
        healed_by=KEPT,
    ),
    Case(
        "TF11",
        tracked,
        lambda t: t.support("typeWidening"),
        protocol(writerFeatures=["domainMetadata", "appendOnly", "invariants", "typeWidening"]),
        "writerFeatures",
        follows={"RT01"},
        name="row tracking",
        healed_by=KEPT,
    ),
    Case(
        "TF11",
        tracked,
        lambda t: t.support("typeWidening"),
        protocol(writerFeatures=["rowTracking", "appendOnly", "invariants", "typeWidening"]),
        "writerFeatures",
        follows={"TF08", "AC05"},
        name="domain metadata",
        healed_by=KEPT,
    ),
    Case(
        "TF12",
        with_vectors,
        append,
        extra_protocol(minReaderVersion=1, minWriterVersion=2),
        '"minReaderVersion": 1',
        follows={"TF15"},
        healed_by=KEPT,
    ),
    Case(
        "TF12",
        mapped,
        append,
        extra_protocol(minReaderVersion=1, minWriterVersion=2),
        '"minReaderVersion": 1',
        follows={"CM01"},
        name="column mapping",
        healed_by=KEPT,
    ),
    Case(
        "TF12",
        widening,
        append,
        extra_protocol(minReaderVersion=1, minWriterVersion=2),
        '"minReaderVersion": 1',
        follows={"TW01", "TW02", "TW15"},
        name="type widening",
        healed_by=KEPT,
    ),
    Case(
        "TF14",
        legacy,
        lambda t: t.support("rowTracking"),
        protocol(writerFeatures=["appendOnly", "invariants", "domainMetadata", "rowTracking"]),
        "writerFeatures",
        follows={"TF15"},
        healed_by=KEPT,
    ),
    Case("TF15", plain, set_property, configured(delta__enableDeletionVectors="true"), VECTORS, healed_by=KEPT),
    Case(
        "TF16",
        plain,
        lambda t: t.support("typeWidening"),
        protocol(
            readerFeatures=["typeWidening", "typeWidening-preview"],
            writerFeatures=["appendOnly", "invariants", "typeWidening", "typeWidening-preview"],
        ),
        "typeWidening-preview",
        healed_by=UNDO,
    ),
    Case(
        "TF17",
        plain,
        lambda t: t.support("domainMetadata"),
        protocol(writerFeatures=["appendOnly", "invariants", "domainMetadata", "timeTravelToday"]),
        "timeTravelToday",
        healed_by=UNDO,
    ),
    Case(
        "TF20",
        plain,
        lambda t: t.support("domainMetadata"),
        protocol(minWriterVersion=8),
        '"minWriterVersion": 8',
        healed_by=UNDO,
    ),
    Case(
        "TF21",
        plain,
        enable_vectors,
        protocol(readerFeatures=["deletionVectors", "appendOnly"]),
        "readerFeatures",
        healed_by=UNDO,
    ),
    Case(
        "TF22",
        plain,
        add_column,
        column("extra", type="timestamp_ntz"),
        "timestamp_ntz",
        column="extra",
    ),
    # -- metadata
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
    # -- column mapping
    Case("CM01", plain, set_property, configured(delta__columnMapping__mode="name"), MODE, healed_by=KEPT),
    Case("CM02", mapped, add_column, column("extra", metadata={ID: None}), "schemaString", column="extra"),
    Case("CM03", mapped, add_column, column("extra", metadata={NAME: None}), "schemaString", column="extra"),
    Case("CM04", mapped, add_column, column("extra", metadata={ID: 1}), "schemaString", column="extra"),
    Case("CM05", mapped, add_column, schema(_swap_extra), "schemaString", column="extra"),
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
    Case("CM10", mapped, set_property, configured(delta__columnMapping__maxColumnId="3"), MAX, follows={"CM07"}),
    Case("CM11", mapped, set_property, column("w", metadata={NAME: "w"}), "schemaString", column="w"),
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
        column("extra", name="v", metadata={NAME: "v"}),
        "schemaString",
        column="v",
    ),
    Case(
        "CM17",
        clustered,
        append,
        extra(_domain("delta.clustering", '{"clusteringColumns":[["w"]]}')),
        "delta.clustering",
        column="w",
        healed_by=UNDO,
    ),
    # -- usage tracking
    Case(
        "UT01",
        mapped,
        lambda t: t.support(USAGE, **{_DROPPED: "true"}),
        configured(**{_DROPPED: None}),
        MODE,
        healed_by=UNDO,
    ),
    Case("UT02", mapped, set_property, configured(**{_DROPPED: "false"}), "hasDropped", healed_by=KEPT),
    Case(
        "UT03",
        tracking_usage,
        add_column,
        column("extra", metadata={NAME: "elsewhere"}),
        "schemaString",
        column="extra",
        healed_by=KEPT,
    ),
    Case("UT04", used, set_property, configured(**{_DROPPED: "false"}), "hasDropped", healed_by=KEPT),
    Case(
        "UT05",
        mapped_late,
        lambda t: t.support(USAGE, **{_DROPPED: "true"}),
        configured(**{_DROPPED: "false"}),
        "hasDropped",
        healed_by=UNDO,
    ),
    Case(
        "UT06",
        tracking_usage,
        lambda t: t.drop_column("v", **{_DROPPED: "true"}),
        configured(**{_DROPPED: "false"}),
        "hasDropped",
        column="v",
        healed_by=KEPT,
    ),
    Case(
        "UT07",
        used,
        add_column,
        column("extra", metadata={NAME: "extra"}),
        "schemaString",
        column="extra",
    ),
    # -- type widening
    Case("TW01", plain, set_property, configured(delta__enableTypeWidening="true"), WIDENING, healed_by=KEPT),
    Case(
        "TW02",
        plain,
        set_property,
        column("v", metadata={CHANGES: [{"fromType": "short", "toType": "integer"}]}),
        "schemaString",
        column="v",
    ),
    Case("TW03", widening, lambda t: t.widen("v", "long"), column("v", metadata={CHANGES: "x"}), "schema", column="v"),
    Case(
        "TW04",
        widening,
        lambda t: t.widen("v", "long"),
        column(
            "v",
            metadata={
                CHANGES: [{"fromType": "string", "toType": "integer"}, {"fromType": "integer", "toType": "long"}]
            },
        ),
        "schemaString",
        column="v",
    ),
    Case(
        "TW05",
        widening,
        lambda t: t.widen("v", "long"),
        column(
            "v",
            metadata={
                CHANGES: [
                    {"fromType": "integer", "toType": "long"},
                    {"fromType": "integer", "toType": "long", "fieldPath": "element"},
                ]
            },
        ),
        "schemaString",
        column="v",
    ),
    Case(
        "TW06",
        widening,
        lambda t: t.widen("v", "long"),
        column(
            "v",
            metadata={CHANGES: [{"fromType": "float", "toType": "double"}, {"fromType": "integer", "toType": "long"}]},
        ),
        "schemaString",
        column="v",
    ),
    Case(
        "TW07",
        widening,
        set_property,
        column("v", metadata={CHANGES: [{"fromType": "integer", "toType": "long"}]}),
        "schemaString",
        column="v",
    ),
    Case(
        "TW08",
        widening,
        lambda t: t.widen("v", "long"),
        column("v", type="string", metadata={CHANGES: None}),
        "schemaString",
        column="v",
    ),
    Case(
        "TW08",
        widening,
        lambda t: t.widen("v", "long"),
        column("v", type="byte", metadata={CHANGES: None}),
        "schemaString",
        column="v",
        name="narrowed",
    ),
    Case(
        "TW08",
        widening,
        set_property,
        column("n", type="string"),
        "schemaString",
        column="n",
        follows={"TW07"},
        name="widened before",
    ),
    Case("TW09", widening, lambda t: t.widen("v", "long"), column("v", metadata={CHANGES: None}), "schema", column="v"),
    Case(
        "TW09",
        widening,
        set_property,
        column("n", type="long"),
        "schema",
        column="n",
        follows={"TW07"},
        name="widened before",
    ),
    Case(
        "TW10",
        widening,
        lambda t: t.widen("v", "long"),
        column("v", metadata={CHANGES: [{"fromType": "integer", "toType": "long", "tableVersion": 4}]}),
        "schemaString",
        column="v",
    ),
    Case("TW11", plain, set_property, column("v", type="long"), "schemaString", column="v"),
    Case(
        "TW11",
        lambda: widening().set_properties(delta__enableTypeWidening="false"),
        set_property,
        column("v", type="long"),
        "schemaString",
        column="v",
        follows={"TW09"},
        name="feature without property",
    ),
    Case("TW12", widening, set_property, column("n", metadata={CHANGES: None}), "schemaString", column="n"),
    Case(
        "TW12",
        widening,
        lambda t: t.widen("n", "long"),
        column("n", metadata={CHANGES: [{"fromType": "integer", "toType": "long"}]}),
        "schemaString",
        column="n",
        name="rewritten",
    ),
    Case(
        "TW13",
        lambda: (
            Table(
                KEY,
                V,
                features=["typeWidening", "icebergCompatV2"],
                properties={WIDENING: "true", MODE: "name", "delta.enableIcebergCompatV2": "true"},
            )
            .append(2)
            .append()
        ),
        lambda t: t.widen("v", "double"),
        nothing,
        "schemaString",
        column="v",
    ),
    Case(
        "TW14",
        lambda: Table(KEY, field("d", "date"), features=["typeWidening"], properties={WIDENING: "true"}).append(2),
        lambda t: t.widen("d", "timestamp_ntz"),
        nothing,
        "schemaString",
        column="d",
    ),
    Case(
        "TW15",
        widening,
        lambda t: t.drop_feature("typeWidening"),
        nothing,
        "writerFeatures",
        follows={"TW01", "TW02"},
        column="n",
        healed_by=KEPT,
    ),
    # -- row tracking
    Case("RT01", plain, set_property, configured(delta__enableRowTracking="true"), TRACKING, healed_by=KEPT),
    Case(
        "RT02",
        tracked,
        set_property,
        configured(delta__rowTrackingSuspended="true"),
        SUSPENDED,
        follows={"RT05"},
        healed_by=KEPT,
    ),
    Case(
        "RT03",
        tracked,
        set_property,
        configured(**{key.replace(".", "__"): None for key in (ROW_ID, COMMIT_VERSION)}),
        TRACKING,
        healed_by=KEPT,
    ),
    Case(
        "RT04",
        tracked,
        set_property,
        configured(**{ROW_ID.replace(".", "__"): "V"}),
        ROW_ID,
        column="v",
        follows={"RT17"},
        healed_by=KEPT,
    ),
    Case("RT05", tracked, append, added(baseRowId=None), "defaultRowCommitVersion", healed_by=FILES),
    Case(
        "RT05",
        tracked,
        append,
        both(added(baseRowId=None, defaultRowCommitVersion=None), without("domainMetadata")),
        "part-",
        name="a writer that does not know row tracking",
        healed_by=FILES,
    ),
    Case("RT06", tracked, append, added(stats=None), "baseRowId", healed_by=FILES),
    Case("RT07", tracked, append, without("domainMetadata"), "baseRowId", follows={"RT08"}),
    Case("RT08", tracked, lambda t: t.append(2), added(1, baseRowId=35), '"baseRowId": 35', healed_by=FILES),
    Case(
        "RT09",
        tracked,
        append,
        added(defaultRowCommitVersion=99),
        '"defaultRowCommitVersion": 99',
        follows={"RT16"},
        healed_by=FILES,
    ),
    Case(
        "RT10",
        tracked,
        append,
        marked('{"highWaterMark":39}'),
        "highWaterMark",
        follows={"RT07", "RT08", "RT11", "RT15"},
        healed_by=frozenset({"undo", "replace"}),
    ),
    Case("RT11", tracked, append, marked('{"rowIdHighWaterMark":9}'), DOMAIN, follows={"RT07", "RT08"}),
    Case(
        "RT11",
        tracked,
        set_property,
        extra(_domain(DOMAIN, '{"rowIdHighWaterMark":9}')),
        DOMAIN,
        follows={"RT08"},
        name="alone",
    ),
    Case("RT12", tracked, lambda t: t.delete(t.paths[1]), removed(baseRowId=0), '"baseRowId": 0', healed_by=NEVER),
    Case("RT13", supported, append, added(baseRowId=None), "defaultRowCommitVersion", healed_by=FILES),
    Case(
        "RT14",
        tracked_vectors,
        lambda t: t.mark_deleted(t.paths[1]),
        both(added(baseRowId=30), extra(_domain(DOMAIN, '{"rowIdHighWaterMark":39}'))),
        '"baseRowId": 30',
        healed_by=FILES,
    ),
    Case(
        "RT14",
        tracked_vectors,
        lambda t: t.mark_deleted(t.paths[1]),
        added(baseRowId=0),
        '"baseRowId": 0',
        follows={"RT08"},
        name="those of another file",
        healed_by=FILES,
    ),
    Case("RT15", tracked, append, added(baseRowId=0), '"baseRowId": 0', follows={"RT08"}, healed_by=FILES),
    Case(
        "RT15",
        lambda: _delete_last(tracked().append()),
        append,
        added(baseRowId=30),
        '"baseRowId": 30',
        name="ids of rows that are gone",
        healed_by=FILES,
    ),
    Case("RT16", tracked, append, added(defaultRowCommitVersion=1), '"defaultRowCommitVersion": 1', healed_by=FILES),
    Case("RT17", tracked, set_property, configured(**{ROW_ID.replace(".", "__"): "_other"}), "_other"),
    Case("RT18", tracked, lambda t: t.update(t.paths[0]), info(tags=None), "UPDATE", healed_by=NEVER),
    # -- actions of a commit, and the log
    Case("LG03", plain, append, twice("add"), "add", healed_by=FILES),
    Case(
        "LG04", with_vectors, lambda t: t.mark_deleted(t.paths[0]), without("remove"), "deletionVector", healed_by=FILES
    ),
    Case("LG06", timed, lambda t: t.support("catalogManaged"), nothing, "catalogManaged", healed_by=UNDO),
    Case("AC01", timed, append, info(inCommitTimestamp=None), "commitInfo", healed_by=NEVER),
    Case("AC01", timed, append, last_first, "commitInfo", healed_by=NEVER, name="not first"),
    Case("AC02", timed, append, info(inCommitTimestamp=1), '"inCommitTimestamp": 1', healed_by=NEVER),
    Case("AC03", append_only, lambda t: t.delete(t.paths[0]), nothing, "remove", healed_by=frozenset({"restore"})),
    Case("AC04", tracked, append, twice("domainMetadata"), DOMAIN, then=set_property, healed_by=FILES),
    Case("AC05", plain, append, extra(_domain("mine")), "mine", healed_by=UNDO),
    Case("AC06", plain, lambda t: t.mark_deleted(t.paths[0]), nothing, "deletionVector", healed_by=FILES),
    Case("AC08", plain, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there"),
    Case("AC08", partitioned, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there, needed"),
    Case("AC08", mapped, append, added(partitionValues=None), "stats", healed_by=FILES, name="not there, mapped"),
    Case("AC08", partitioned, append, added(partitionValues={}), "partitionValues", column="p", healed_by=FILES),
    Case(
        "AC08",
        partitioned,
        append,
        added(partitionValues={"p": "1", "q": "1"}),
        "partitionValues",
        column="q",
        healed_by=FILES,
        name="one too many",
    ),
    Case(
        "AC07",
        plain,
        append,
        both(*[extra({"txn": {"appId": "a", "version": n}}) for n in (1, 2)]),
        "txn",
        healed_by=NEVER,
    ),
)
