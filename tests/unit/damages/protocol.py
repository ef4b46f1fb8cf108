"""Damages of the protocol: codes TF."""

from __future__ import annotations

from tests.unit.damages.case import FILES, KEPT, UNDO, Case
from tests.unit.damages.edits import (
    added,
    both,
    column,
    column_of,
    configured,
    extra_protocol,
    metadata,
    nothing,
    protocol,
    schema,
    twice,
)
from tests.unit.damages.histories import (
    VECTORS,
    iceberg,
    iceberg_nested,
    iceberg_partitioned,
    legacy,
    mapped,
    plain,
    tracked,
    tracked_vectors,
    widening,
    with_vectors,
)
from tests.unit.damages.steps import add_column, append, enable_vectors, only_append, set_property
from tests.unit.log_builder import Table
from tests.unit.mapped_tables import Json

EXPLICIT = "delta.identity.allowExplicitInsert"
NESTED = "delta.columnMapping.nested.ids"


def _by_logical_name(parsed: Json) -> None:
    ids = column_of(parsed, "a")["metadata"][NESTED]
    ids["a.element"] = ids.pop(next(iter(ids)))


def _drop_vectors(table: Table) -> None:
    """A drop that leaves the property as it is."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", "invariants"]}
    table.commit("DROP FEATURE", {"protocol": protocol}, featureName="deletionVectors")


INTS = {"type": "array", "elementType": "integer", "containsNull": True}

CASES = (
    Case("TF01", plain, enable_vectors, protocol(readerFeatures=None), "minReaderVersion", healed_by=UNDO),
    Case("TF02", plain, enable_vectors, protocol(writerFeatures=None), "minWriterVersion", healed_by=KEPT),
    Case(
        "TF02",
        tracked,
        enable_vectors,
        protocol(writerFeatures=None),
        "minWriterVersion",
        follows={"RT01"},
        then=only_append,
        name="row tracking",
        healed_by=KEPT,
    ),
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
    Case("TF25", lambda: iceberg(2), enable_vectors, nothing, VECTORS, healed_by=KEPT),
    Case(
        "TF25",
        lambda: iceberg(1),
        lambda t: t.support("deletionVectors"),
        nothing,
        "deletionVectors",
        healed_by=UNDO,
        name="supported is too much",
    ),
    Case("TF25", lambda: iceberg(1), add_column, column("extra", type=INTS), "metaData", name="array"),
    Case("TF25", lambda: iceberg(2), add_column, column("extra", type="void"), "metaData", name="void"),
    Case("TF25", iceberg_nested, set_property, column("a", metadata={NESTED: None}), "metaData", name="no nested ids"),
    Case("TF25", iceberg_nested, set_property, schema(_by_logical_name), "metaData", name="nested id by logical name"),
    Case("TF26", lambda: iceberg(1), append, added(stats=None), "add", healed_by=FILES),
    Case("TF26", lambda: iceberg(2), append, added(stats=None), "add", healed_by=FILES, name="V2"),
    Case(
        "TF27",
        iceberg_partitioned,
        lambda t: t.overwrite(t.schema),
        both(metadata(partitionColumns=[]), added(partitionValues={})),
        "metaData",
        healed_by=frozenset({"restore"}),
    ),
    Case(
        "TF12",
        with_vectors,
        _drop_vectors,
        nothing,
        "writerFeatures",
        follows={"TF15"},
        healed_by=KEPT,
        name="dropped while in use",
        about_operation=True,
    ),
    Case(
        "TF28",
        plain,
        lambda t: t.support("domainMetadata"),
        protocol(minReaderVersion=0),
        '"minReaderVersion": 0',
        healed_by=UNDO,
        name="below one",
    ),
    Case(
        "TF22",
        plain,
        set_property,
        configured(delta__constraints__c="v > 0"),
        "delta.constraints.c",
        name="constraint",
        healed_by=KEPT,
    ),
    Case(
        "TF22",
        plain,
        set_property,
        column("v", metadata={"delta.generationExpression": "1"}),
        "schemaString",
        column="v",
        name="generated column",
    ),
    Case(
        "TF22",
        plain,
        set_property,
        column("v", metadata={"CURRENT_DEFAULT": "1"}),
        "schemaString",
        column="v",
        name="default",
    ),
    Case(
        "TF22",
        plain,
        set_property,
        column("id", metadata={f"delta.identity.{name}": 1 for name in ("start", "step")} | {EXPLICIT: True}),
        "schemaString",
        column="id",
        name="identity column",
    ),
    Case("TF22", plain, add_column, column("extra", type="variant"), "variant", column="extra", name="variant"),
    Case(
        "TF15",
        plain,
        set_property,
        configured(delta__enableVariantShredding="true"),
        "Shredding",
        healed_by=KEPT,
        name="shredding",
    ),
    Case(
        "TF08",
        plain,
        lambda t: t.support("clustering"),
        protocol(writerFeatures=["appendOnly", "invariants", "clustering"]),
        "clustering",
        healed_by=UNDO,
        name="clustering",
    ),
)
