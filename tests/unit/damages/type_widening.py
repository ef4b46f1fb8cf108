"""Damages of type widening: codes TW."""

from __future__ import annotations

from operator import methodcaller

from airflow_delta_provider.domain.delta.data_type import SHORT, MapType, PrimitiveType
from tests.unit.damages.case import KEPT, UNDO, Case
from tests.unit.damages.edits import column, column_of, configured, nothing, protocol, schema
from tests.unit.damages.histories import KEY, V, plain, widening, widening_empty
from tests.unit.damages.steps import set_property
from tests.unit.log_builder import CHANGES, WIDENING, Table
from tests.unit.mapped_tables import MODE, Json, fields_of
from tests.unit.states import field


def _nested() -> Table:
    columns = KEY, field("m", MapType(PrimitiveType("string"), SHORT))
    return Table(*columns, features=["typeWidening"], properties={WIDENING: "true"}).append(2)


def _widen_value(parsed: Json, record: list[Json] | None, to: str = "integer") -> None:
    wire = column_of(parsed, "m")
    wire["type"]["valueType"] = to
    if record is not None:
        wire["metadata"][CHANGES] = record


def _iceberg(version: int) -> Table:
    return Table(
        KEY,
        V,
        field("d", "date"),
        field("e", "decimal(6,2)"),
        features=["typeWidening", "timestampNtz", f"icebergCompatV{version}"],
        properties={WIDENING: "true", MODE: "name", f"delta.enableIcebergCompatV{version}": "true"},
    ).append(2)


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
        "TW01",
        plain,
        lambda t: t.support("typeWidening", delta__enableTypeWidening="true"),
        protocol(readerFeatures=[]),
        WIDENING,
        follows={"TF07"},
        healed_by=UNDO,
        name="required of writers only",
    ),
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
        "TW03",
        widening,
        lambda t: t.widen("v", "long"),
        column("v", metadata={CHANGES: [{"toType": "long"}]}),
        "schemaString",
        column="v",
        name="no fromType",
    ),
    Case(
        "TW03",
        widening,
        lambda t: t.widen("v", "long"),
        column("v", metadata={CHANGES: [{"fromType": "integer"}]}),
        "schemaString",
        column="v",
        name="no toType",
    ),
    Case(
        "TW05",
        _nested,
        set_property,
        schema(lambda parsed: _widen_value(parsed, [{"fromType": "short", "toType": "integer"}])),
        "schemaString",
        column="m",
        follows={"TW09"},
        name="none for the value of a map",
    ),
    Case(
        "TW08",
        _nested,
        set_property,
        schema(lambda parsed: _widen_value(parsed, None, "byte")),
        "schemaString",
        column="m.value",
        name="value of a map",
    ),
    Case(
        "TW09",
        _nested,
        set_property,
        schema(lambda parsed: _widen_value(parsed, None)),
        "schemaString",
        column="m.value",
        name="value of a map",
    ),
    *(
        Case(
            "TW13",
            lambda: _iceberg(1),
            methodcaller("widen", name, wider),
            nothing,
            "schemaString",
            column=name,
            name=f"{name} to {wider}",
        )
        for name, wider in (("v", "double"), ("d", "timestamp_ntz"), ("e", "decimal(8,3)"), ("v", "decimal(12,1)"))
    ),
    Case(
        "TW13",
        lambda: _iceberg(1).set_properties(delta__enableIcebergCompatV1="false"),
        lambda t: t.widen("v", "double"),
        nothing,
        "schemaString",
        column="v",
        name="supported",
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
    Case(
        "TW11",
        lambda: widening().add_column(field("b", "byte")).set_properties(delta__enableTypeWidening="false"),
        set_property,
        column("b", type="short"),
        "schemaString",
        column="b",
        name="stored alike",
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
        follows={"TF22"},
        column="d",
    ),
    Case(
        "TW15",
        lambda: plain().support("typeWidening", delta__enableTypeWidening="true"),
        lambda t: t.drop_feature("typeWidening"),
        nothing,
        "writerFeatures",
        follows={"TW01"},
        healed_by=KEPT,
        about_operation=True,
        name="property left",
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
