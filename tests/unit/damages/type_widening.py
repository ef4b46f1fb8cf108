"""Damages of type widening: codes TW."""

from __future__ import annotations

from tests.unit.damages.case import KEPT, Case
from tests.unit.damages.edits import column, configured, nothing
from tests.unit.damages.histories import KEY, V, plain, widening, widening_empty
from tests.unit.damages.steps import set_property
from tests.unit.log_builder import CHANGES, WIDENING, Table
from tests.unit.mapped_tables import MODE, fields_of
from tests.unit.states import field


def _drop_with_records(table: Table) -> None:
    """Drop the feature and its records in one commit, and rewrite no file."""
    schema = table.schema
    for wire in fields_of(schema):
        wire["metadata"].pop(CHANGES, None)
    lists = {
        key: [n for n in names if n != "typeWidening"]
        for key, names in table.now.protocol.items()
        if isinstance(names, list)
    }
    protocol = {**table.now.protocol, **lists}
    table.commit("DROP FEATURE", table._changed(schema), {"protocol": protocol}, featureName="typeWidening")


CASES = (
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
        "TW08",
        widening_empty,
        set_property,
        column("v", type="byte"),
        "schemaString",
        column="v",
        name="without files",
    ),
    Case("TW09", widening_empty, set_property, column("v", type="long"), "schema", column="v", name="without files"),
    Case(
        "TW11",
        lambda: plain().delete_all(),
        set_property,
        column("v", type="long"),
        "schemaString",
        column="v",
        name="without files",
    ),
    Case(
        "TW12",
        lambda: widening().set_properties(delta__enableTypeWidening=None),
        set_property,
        column("n", metadata={CHANGES: None}),
        "schemaString",
        column="n",
        name="property unset",
    ),
    Case(
        "TW12",
        lambda: widening().set_properties(delta__enableTypeWidening=None),
        _drop_with_records,
        nothing,
        "schemaString",
        column="n",
        name="feature dropped",
        about_operation=True,
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
        about_operation=True,
    ),
)
