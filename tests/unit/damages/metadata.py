"""Damages of the metadata action: codes MD."""

from __future__ import annotations

from tests.unit.damages.case import KEPT, Case
from tests.unit.damages.edits import column, column_of, configured, domain, extra, metadata, schema, twice
from tests.unit.damages.histories import counted, mapped, partitioned, plain
from tests.unit.damages.steps import add_column, nothing_that_reads, only_append, set_property
from tests.unit.log_builder import Table
from tests.unit.mapped_tables import Json

MARK, STEP = "delta.identity.highWaterMark", "delta.identity.step"


def _duplicate_name(parsed: Json) -> None:
    parsed["fields"].append({**column_of(parsed, "v"), "name": "ID"})


def partitioned_rows(table: Table) -> None:
    """Rows by an engine that goes by the files which are there."""
    add = next(iter(table.now.files.values()))
    table.commit("WRITE", {"add": {**add, "path": "another.parquet"}})


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
        healed_by=frozenset({"undo", "replace"}),
    ),
    Case("MD15", counted, set_property, column("number", metadata={MARK: 19}), MARK, column="number"),
    Case("MD15", counted, set_property, column("number", metadata={MARK: None}), STEP, column="number", name="lost"),
    Case("MD17", plain, set_property, metadata(format=None), "schemaString", name="format"),
    Case("MD17", plain, set_property, metadata(format={"options": {}}), "schemaString", name="provider"),
    Case("MD18", counted, set_property, column("number", metadata={STEP: 0}), STEP, column="number"),
    Case("MD16", plain, set_property, schema(lambda parsed: parsed["fields"].pop()), "schemaString", column="v"),
)
