"""The histories that damages happen to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.delta.data_type import ArrayType, DecimalType, MapType, PrimitiveType
from tests.unit.log_builder import INDEXED, TIMESTAMPS, TRACKING, WIDENING, Actions, Table, body
from tests.unit.mapped_tables import MODE, NAME
from tests.unit.states import field, struct

KEY = field("id", "long")
V = field("v", "integer")
S = field("s", struct(field("x", "integer")))
VECTORS = "delta.enableDeletionVectors"
USAGE = "columnMappingUsageTracking"
DROPPED = "delta__columnMapping__hasDroppedOrRenamed"
APPEND_ONLY = "delta.appendOnly"


def plain() -> Table:
    return Table(KEY, V).append(2).append()


def legacy() -> Table:
    """Of a time before table features: writer version 4 implies change data feed."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 4}
    return Table(KEY, V, protocol=protocol, properties={"delta.enableChangeDataFeed": "true"}).append(2).append()


def partitioned() -> Table:
    return Table(KEY, V, field("p", "integer"), partition_by=["p"]).append(2).append()


def partitioned_structs() -> Table:
    return Table(KEY, S, field("p", "integer"), partition_by=["p"]).append(2)


def priced() -> Table:
    """With a decimal that has more digits than a double."""
    return Table(KEY, V, field("price", DecimalType(18, 2))).append(2).append()


def with_vectors() -> Table:
    return Table(KEY, V, features=["deletionVectors"], properties={VECTORS: "true"}).append(2).append()


def vectors_off() -> Table:
    """Deletion vectors that were enabled once."""
    return with_vectors().set_properties(delta__enableDeletionVectors="false")


def deletions_off() -> Table:
    """Two rows are deleted by a deletion vector, before vectors are disabled."""
    table = with_a_vector()
    return table.mark_deleted(table.paths[-1]).set_properties(delta__enableDeletionVectors="false")


def append_only() -> Table:
    return Table(KEY, V, properties={APPEND_ONLY: "true"}).append(2).append()


def fed() -> Table:
    """With a change data feed."""
    properties = {"delta.enableChangeDataFeed": "true"}
    return Table(KEY, V, features=["changeDataFeed"], properties=properties).append(2).append()


def with_a_vector() -> Table:
    """A row is deleted by a deletion vector."""
    table = with_vectors()
    return table.mark_deleted(table.paths[0])


def partitioned_by(data_type: str | DecimalType) -> Table:
    return Table(KEY, V, field("p", data_type), features=["timestampNtz"], partition_by=["p"])


def timed() -> Table:
    return Table(KEY, V, features=["inCommitTimestamp"], properties={TIMESTAMPS: "true"}).append(2).append()


def timed_late() -> Table:
    """In-commit timestamps on top of an existing table."""
    return plain().support("inCommitTimestamp", delta__enableInCommitTimestamps="true").append()


def mapped(mode: str = "name", **known: Any) -> Table:
    table = Table(KEY, V, S, features=["columnMapping"], properties={MODE: mode}, **known)
    return table.append(2).rename_column("v", "w").append()


def mapped_late() -> Table:
    """Mapped on top of an existing table: physical names are the columns' own."""
    return Table(KEY, V, S).append(2).enable_mapping().append()


def mapped_partitions() -> Table:
    return mapped(partition_by=["id"])


def mapped_empty() -> Table:
    return mapped().delete_all()


def clustered() -> Table:
    table = mapped()
    table.support("clustering")
    return table


def clustered_unmapped() -> Table:
    table = plain()
    table.support("clustering")
    return table


def iceberg(version: int) -> Table:
    """Compatible with Apache Iceberg."""
    properties = {MODE: "name", f"delta.enableIcebergCompatV{version}": "true"}
    features = ["columnMapping", f"icebergCompatV{version}"]
    if version == 3:
        features.append("rowTracking")
        properties[TRACKING] = "true"
    return Table(KEY, V, features=features, properties=properties).append(2)


def counted() -> Table:
    """With an identity column."""
    marks = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.highWaterMark": 20}
    number = field("number", "long", **marks, **{"delta.identity.allowExplicitInsert": True})
    return Table(KEY, number, V, features=["identityColumns"]).append(2)


def exact() -> Table:
    """With an identity column of which users give no values: 1, 3, 5 and so on."""
    marks = {"delta.identity.start": 1, "delta.identity.step": 2, "delta.identity.highWaterMark": 21}
    number = field("number", "long", **marks, **{"delta.identity.allowExplicitInsert": False})
    return Table(KEY, number, V, features=["identityColumns"]).append(2)


def unused() -> Table:
    """With an identity column of which users give no values, and that has assigned none: -1, -2, -3 and so on."""
    identity = {"delta.identity.start": -1, "delta.identity.step": -1, "delta.identity.allowExplicitInsert": False}
    return Table(KEY, field("number", "long", **identity), V, features=["identityColumns"])


def checked() -> Table:
    """With a CHECK constraint, an invariant, a generated column and a default."""
    columns = (
        KEY,
        field("v", "integer", **{"delta.invariants": '{"expression":{"expression":"v > 3"}}'}),
        field("g", "integer", **{"delta.generationExpression": "v + 1"}),
        field("d", "integer", CURRENT_DEFAULT="7"),
        S,
    )
    features = ["checkConstraints", "generatedColumns", "allowColumnDefaults"]
    return Table(*columns, features=features, properties={"delta.constraints.c": "v > 0"}).append(2)


def required() -> Table:
    """With a column that cannot be NULL."""
    return Table(replace(KEY, nullable=False), V).append(2)


def mapped_pairs() -> Table:
    """Mapped, with a map between structs."""
    pairs = field("m", MapType(struct(field("x", "integer"), field("k", "integer")), struct(field("y", "integer"))))
    return Table(KEY, pairs, features=["columnMapping"], properties={MODE: "name"}).append(2)


def counted_and_mapped() -> Table:
    """With an identity column in a mapped table."""
    table = counted().enable_mapping()
    return table.append()


def structured() -> Table:
    return Table(KEY, S).append(2)


def nested_required() -> Table:
    """With structs that cannot be NULL, one of them in an array."""
    return Table(KEY, replace(S, nullable=False), field("a", ArrayType(struct(field("x", "integer"))))).append(2)


def variants() -> Table:
    features = ["variantType", "generatedColumns", "allowColumnDefaults"]
    return Table(KEY, field("w", "variant"), features=features).append(2)


def clustered_by_key() -> Table:
    """Clustered, with columns that no table can be clustered by."""
    columns = (KEY, V, field("w", "variant"), field("p", "integer"))
    table = Table(*columns, features=["clustering", "variantType"]).append()
    configuration = '{"clusteringColumns":[["id"]]}'
    action = {"domain": "delta.clustering", "configuration": configuration, "removed": False}
    table.commit("CLUSTER BY", {"domainMetadata": action})
    return table.append(2)


def partly_described() -> Table:
    """With files from before statistics of the second column were kept."""
    table = Table(KEY, V, features=["clustering"], properties={INDEXED: "1"}).append(2)
    return table.set_properties(delta__dataSkippingNumIndexedCols="2").append()


def with_domains() -> Table:
    return Table(KEY, V, features=["domainMetadata"]).append(2).append()


def iceberg_nested() -> Table:
    """Compatible with Apache Iceberg, with ids for what is in arrays and maps."""
    properties = {MODE: "name", "delta.enableIcebergCompatV2": "true"}
    number = PrimitiveType("integer")
    columns = (KEY, field("a", ArrayType(MapType(number, number))))
    features = ["columnMapping", "icebergCompatV2"]
    return Table(*columns, features=features, properties=properties, damage=_with_nested_ids).append(2)


def _with_nested_ids(actions: Actions) -> None:
    metadata = body(actions, "metaData")
    parsed = json.loads(metadata["schemaString"])
    wire = parsed["fields"][1]["metadata"]
    paths = ("element", "element.key", "element.value")
    wire["delta.columnMapping.nested.ids"] = {f"{wire[NAME]}.{path}": 3 + n for n, path in enumerate(paths)}
    metadata["schemaString"] = json.dumps(parsed)
    metadata["configuration"]["delta.columnMapping.maxColumnId"] = "5"


def iceberg_partitioned() -> Table:
    properties = {MODE: "name", "delta.enableIcebergCompatV1": "true"}
    columns, features = (KEY, V, field("p", "integer")), ["columnMapping", "icebergCompatV1"]
    return Table(*columns, features=features, properties=properties, partition_by=["p"]).append(2)


def dropped() -> Table:
    """A mapped table that has lost a column which lay under its own name."""
    return mapped_late().drop_column("v").append()


def tracking_usage() -> Table:
    """Mapped under the columns' own names, with nothing dropped or renamed."""
    return Table(KEY, V, S).append(2).support(USAGE, **{DROPPED: "false"}).enable_mapping().append()


def tracking_usage_empty() -> Table:
    return tracking_usage().delete_all()


def used() -> Table:
    """A column was dropped, and tracked."""
    return tracking_usage().drop_column("v", **{DROPPED: "true"}).append()


def widening(**properties: str) -> Table:
    table = Table(KEY, V, field("n", "short"), features=["typeWidening"], properties={WIDENING: "true", **properties})
    return table.append(2).widen("n", "integer").append()


def widening_empty() -> Table:
    return widening().delete_all()


def tracked() -> Table:
    return Table(KEY, V, features=["rowTracking"], properties={TRACKING: "true"}).append(2).append()


def tracked_vectors() -> Table:
    features, properties = ["rowTracking", "deletionVectors"], {TRACKING: "true", VECTORS: "true"}
    return Table(KEY, V, features=features, properties=properties).append(2).append()


def supported() -> Table:
    """Row tracking that is not enabled."""
    return Table(KEY, V, features=["rowTracking"]).append(2).append()
