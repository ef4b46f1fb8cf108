"""Schemas of data files against the schema of their table: footers that PyArrow writes, and forms that it does not."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.checks.data_files.schema import FileSchemas
from airflow_delta_provider.domain.delta.data_type import ArrayType, DataType, DecimalType, MapType, PrimitiveType
from airflow_delta_provider.domain.delta.features.columns import TYPE_CHANGES_KEY
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import parse_footer
from airflow_delta_provider.domain.formats.parquet.schema import (
    LogicalKind,
    LogicalType,
    PhysicalType,
    Repetition,
    SchemaElement,
    TimeUnit,
)
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.mapped_tables import MAX, MODE, at, configured, edited, mapped, said, without
from tests.unit.states import LEGACY, field, metadata_of, struct

Elements = tuple[SchemaElement, ...]
UUID = "01234567-89ab-cdef-0123-456789abcdef"

#: What Arrow calls the Delta types.
ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(38,10)": pa.decimal128(38, 10),
}
#: Types that files hold alike, so that nobody can tell them apart.
ALIKE = ({"byte", "short", "integer"}, {"string", "binary"})
#: Types that files tell apart by isAdjustedToUTC only.
TIMESTAMPS = {"timestamp", "timestamp_ntz"}


def footer(*fields: tuple[str, pa.DataType] | pa.Field, **options: Any) -> Elements:
    """The schema of a file without rows."""
    file = io.BytesIO()
    schema = pa.schema([f if isinstance(f, pa.Field) else pa.field(*f) for f in fields])
    pq.write_table(schema.empty_table(), file, **options)
    return parse_footer(file.getvalue()).schema


def typed(name: str) -> DataType:
    precision, _, scale = name.removeprefix("decimal(").removesuffix(")").partition(",")
    return DecimalType(int(precision), int(scale)) if name.startswith("decimal(") else PrimitiveType(name)


def changed(*steps: str, path: str | None = None) -> dict[str, Any]:
    """The record of a field that had these types in turn."""
    changes = [{"fromType": old, "toType": new} for old, new in pairwise(steps)]
    return {TYPE_CHANGES_KEY: [change | ({"fieldPath": path} if path else {}) for change in changes]}


def column(data_type: DataType | str, **metadata: Any) -> Metadata:
    """A table of one column ``c``."""
    return metadata_of(struct(field("c", data_type, **metadata)))


def found(metadata: Metadata, elements: Elements) -> list[tuple[str, str | None]]:
    return said(FileSchemas(metadata, LEGACY).check(elements, "f.parquet"))


# -- variants --------------------------------------------------------------------------------------

WHOLE = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
SHREDDED = pa.struct([*WHOLE, pa.field("typed_value", pa.int64())])


@pytest.mark.parametrize("feature", [None, "variantShredding", "variantShredding-preview"])
@pytest.mark.parametrize("stored", [WHOLE, SHREDDED])
def test_shredded_variants_need_the_feature(feature: str | None, stored: pa.DataType) -> None:
    declared = struct(
        field("v", "variant"),
        field("l", ArrayType(struct(field("v", "variant")))),
        field("s", struct(field("typed_value", "long"))),
    )
    elements = footer(
        ("v", stored),
        ("l", pa.list_(pa.struct([pa.field("v", stored)]))),
        ("s", pa.struct([pa.field("typed_value", pa.int64())])),
    )
    protocol = LEGACY.supporting([feature] if feature else [])
    wrong = [] if feature or stored is WHOLE else [("TF29", "v"), ("TF29", "l.element.v")]
    assert said(FileSchemas(metadata_of(declared), protocol).check(elements, "f.parquet")) == wrong


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ARROW)
@pytest.mark.parametrize("declared", ARROW)
def test_column_of_each_type_holds_that_type_and_those_stored_alike(declared, written):
    fine = declared == written or any({declared, written} <= group for group in ALIKE)
    fine |= declared == "date" and written == "integer"  # what an INT32 counts it does not say
    wrong = [] if fine else [("DF11" if {declared, written} <= TIMESTAMPS else "TW16", "c")]
    assert found(column(typed(declared)), footer(("c", ARROW[written]))) == wrong


@pytest.mark.parametrize(
    ("declared", "written", "options"),
    [
        ("timestamp", pa.timestamp("ns"), {"use_deprecated_int96_timestamps": True}),
        ("timestamp_ntz", pa.timestamp("ns"), {"use_deprecated_int96_timestamps": True}),
        ("timestamp", pa.timestamp("ms", "UTC"), {}),
        ("timestamp_ntz", pa.timestamp("ms"), {}),
        ("byte", pa.uint8(), {}),
        ("integer", pa.uint32(), {}),
        ("long", pa.uint64(), {}),
        ("string", pa.large_string(), {}),
        ("string", pa.dictionary(pa.int32(), pa.string()), {}),
        ("binary", pa.binary(16), {}),
        ("decimal(9,2)", pa.decimal128(9, 2), {"store_decimal_as_integer": True}),
        ("long", pa.null(), {}),
        ("void", pa.int32(), {}),
        ("variant", pa.struct([("metadata", pa.binary()), ("value", pa.binary())]), {}),
        ("interval day to second", pa.int64(), {}),
        ("long", pa.time64("us"), {}),
    ],
    ids=str,
)
def test_whatever_engines_are_known_to_write_is_not_judged(declared, written, options):
    assert found(column(typed(declared)), footer(("c", written), **options)) == []


@pytest.mark.parametrize(
    ("declared", "zone", "severity"), [("timestamp", None, Severity.WARNING), ("timestamp_ntz", "UTC", Severity.ERROR)]
)
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_timestamps_that_say_they_are_of_the_other_kind(declared, zone, severity, unit):
    nested = struct(field("l", ArrayType(PrimitiveType(declared))))
    elements = footer(("l", pa.list_(pa.timestamp(unit, zone))))
    (finding,) = FileSchemas(metadata_of(nested), LEGACY).check(elements, "f.parquet")
    assert (finding.code, finding.column, finding.severity) == ("DF11", "l.element", severity)
    assert f"isAdjustedToUTC {str(zone is not None).lower()}; it must be " in finding.message


@pytest.mark.parametrize("declared", sorted(TIMESTAMPS, key=str))
def test_timestamps_of_which_the_file_says_nothing_itself_may_be_of_either_kind(declared):
    converted = LogicalType(LogicalKind.TIMESTAMP, unit=TimeUnit.MICROS, adjusted_to_utc=True, inferred=True)
    element = leaf("c")._replace(logical_type=converted)
    assert found(column(declared), (group("root", 1), element)) == []


@pytest.mark.parametrize(("declared", "zone"), [("timestamp", "UTC"), ("timestamp_ntz", None)])
def test_nanoseconds_are_no_timestamps(declared, zone):
    (finding,) = FileSchemas(column(declared), LEGACY).check(footer(("c", pa.timestamp("ns", zone))), "f.parquet")
    assert finding.code == "TW16"
    assert "INT64 (timestamp in nanoseconds)" in finding.message


@pytest.mark.parametrize("kind", [LogicalKind.ENUM, LogicalKind.JSON, LogicalKind.BSON, LogicalKind.UNKNOWN, None])
def test_text_may_be_annotated_as_anything(kind):
    element = leaf("c", PhysicalType.BYTE_ARRAY, kind)
    assert found(column("string"), (group("root", 1), element)) == []


@pytest.mark.parametrize(
    ("steps", "older"),
    [
        (("byte", "short", "integer", "long"), ["byte", "short", "integer", "long"]),
        (("integer", "double"), ["integer", "double"]),
        (("float", "double"), ["float", "double"]),
        (("date", "timestamp_ntz"), ["date", "timestamp_ntz"]),
        (("decimal(9,2)", "decimal(38,10)"), ["decimal(9,2)", "decimal(38,10)"]),
        (("long", "decimal(38,10)"), ["long", "decimal(38,10)"]),
    ],
    ids=str,
)
def test_widened_column_holds_any_type_that_it_had_and_no_other(steps, older):
    metadata = column(typed(steps[-1]), **changed(*steps))
    allowed = {name for name in ARROW if name in older or any(name in g and g & set(older) for g in ALIKE)}
    allowed |= {"integer"} if "date" in older else set()
    for name, written in ARROW.items():
        code = "DF11" if {name, steps[-1]} <= TIMESTAMPS else "TW16"
        assert (name, found(metadata, footer(("c", written)))) == (name, [] if name in allowed else [(code, "c")])


def test_record_that_is_malformed_says_nothing():
    assert found(column("long", **{TYPE_CHANGES_KEY: "?"}), footer(("c", pa.int32()))) == []


def test_message_names_both_types_what_it_does_and_what_to_do():
    metadata = column("long", **changed("byte", "long"))
    (finding,) = FileSchemas(metadata, LEGACY).check(footer(("c", pa.float32())), "p=1/f.parquet")
    assert (finding.path, finding.column, finding.severity) == ("p=1/f.parquet", "c", Severity.ERROR)
    assert finding.message.startswith("p=1/f.parquet stores c as FLOAT, which is neither long, ")
    for part in ("(byte)", "wrong values", "RESTORE"):
        assert part in finding.message


def test_columns_that_only_one_of_the_two_has_are_fine():
    metadata = metadata_of(struct(field("a", "long"), field("b", "long")))
    assert found(metadata, footer(("b", pa.int64()), ("z", pa.string()), ("_change_type", pa.string()))) == []
    assert found(metadata, footer(("z", pa.string()))) == []


def test_names_are_found_without_regard_to_case_unless_they_are_ambiguous():
    metadata = metadata_of(struct(field("Ab", "long")))
    assert found(metadata, footer(("aB", pa.string()))) == [("TW16", "Ab")]
    assert found(metadata, footer(("aB", pa.string()), ("AB", pa.string()))) == []
    assert found(metadata, footer(("aB", pa.string()), ("Ab", pa.int64()))) == []


def test_partition_columns_are_not_looked_for_in_files():
    metadata = replace(metadata_of(struct(field("p", "date"), field("c", "long"))), partition_columns=("p",))
    assert found(metadata, footer(("p", pa.string()), ("c", pa.int64()))) == []


def test_schema_that_cannot_be_read_says_nothing():
    assert found(Metadata("id", "{"), footer(("c", pa.int64()))) == []


# -- nesting ---------------------------------------------------------------------------------------

INNER = struct(field("x", "long"), field("y", "string"))
NESTED = struct(
    field("s", struct(field("t", INNER))),
    field("a", ArrayType(PrimitiveType("long"))),
    field("aa", ArrayType(ArrayType(INNER))),
    field("m", MapType(PrimitiveType("string"), INNER)),
    field("ma", MapType(PrimitiveType("date"), ArrayType(PrimitiveType("long")))),
)


def nested(x: pa.DataType, key: pa.DataType, element: pa.DataType) -> list[tuple[str, pa.DataType]]:
    inner = pa.struct([("x", x), ("y", pa.string())])
    return [
        ("s", pa.struct([("t", inner)])),
        ("a", pa.list_(element)),
        ("aa", pa.list_(pa.list_(inner))),
        ("m", pa.map_(pa.string(), inner)),
        ("ma", pa.map_(key, pa.list_(element))),
    ]


@pytest.mark.parametrize("compliant", [True, False], ids=["element", "item"])
def test_every_level_is_compared(compliant):
    right = nested(pa.int64(), pa.date32(), pa.int64())
    assert found(metadata_of(NESTED), footer(*right, use_compliant_nested_type=compliant)) == []
    wrong = nested(pa.int32(), pa.string(), pa.float64())
    assert found(metadata_of(NESTED), footer(*wrong, use_compliant_nested_type=compliant)) == [
        ("TW16", name)
        for name in ("s.t.x", "a.element", "aa.element.element.x", "m.value.x", "ma.key", "ma.value.element")
    ]


def test_change_is_recorded_for_the_place_that_it_names_only():
    data_type = MapType(PrimitiveType("long"), ArrayType(PrimitiveType("long")))
    metadata = column(data_type, **changed("integer", "long", path="value.element"))
    old, new = pa.int32(), pa.int64()
    assert found(metadata, footer(("c", pa.map_(new, pa.list_(old))))) == []
    assert found(metadata, footer(("c", pa.map_(old, pa.list_(new))))) == [("TW16", "c.key")]


@pytest.mark.parametrize(
    ("declared", "written", "wrong"),
    [
        (INNER, pa.int64(), "c"),
        (INNER, pa.list_(pa.int64()), "c"),
        (INNER, pa.map_(pa.string(), pa.int64()), "c"),
        (ArrayType(PrimitiveType("long")), pa.int64(), "c"),
        (ArrayType(PrimitiveType("long")), pa.map_(pa.int64(), pa.int64()), "c"),
        (ArrayType(INNER), pa.list_(pa.list_(pa.int64())), "c.element"),
        (MapType(PrimitiveType("long"), INNER), pa.list_(pa.int64()), "c"),
        (PrimitiveType("string"), pa.struct([("x", pa.string())]), "c"),
        (PrimitiveType("long"), pa.list_(pa.int64()), "c"),
    ],
    ids=str,
)
def test_values_that_nest_otherwise_are_a_contradiction(declared, written, wrong):
    assert found(column(declared), footer(("c", written))) == [("TW16", wrong)]


def leaf(
    name: str,
    physical: PhysicalType = PhysicalType.INT64,
    kind: LogicalKind | None = None,
    repetition: Repetition = Repetition.OPTIONAL,
) -> SchemaElement:
    return SchemaElement(name, physical, repetition, logical_type=None if kind is None else LogicalType(kind))


def group(
    name: str, children: int, kind: LogicalKind | None = None, repetition: Repetition = Repetition.OPTIONAL
) -> SchemaElement:
    logical = None if kind is None else LogicalType(kind)
    return SchemaElement(name, None, repetition, children, logical_type=logical)


REPEATED = Repetition.REPEATED
LIST, MAP = LogicalKind.LIST, LogicalKind.MAP
LONGS = ArrayType(PrimitiveType("long"))
STRUCTS = ArrayType(struct(field("x", "long")))


@pytest.mark.parametrize("physical", [PhysicalType.INT64, PhysicalType.DOUBLE])
@pytest.mark.parametrize(
    ("declared", "form", "wrong"),
    [
        (LONGS, [leaf("c", repetition=REPEATED)], "c.element"),
        (LONGS, [group("c", 1, LIST), leaf("array", repetition=REPEATED)], "c.element"),
        (LONGS, [group("c", 1, LIST), group("bag", 1, repetition=REPEATED), leaf("array")], "c.element"),
        (LONGS, [group("c", 1), group("list", 1, repetition=REPEATED), leaf("element")], "c.element"),
        (STRUCTS, [group("c", 1, LIST), group("array", 1, repetition=REPEATED), leaf("x")], "c.element.x"),
        (STRUCTS, [group("c", 1, LIST), group("c_tuple", 1, repetition=REPEATED), leaf("x")], "c.element.x"),
        (STRUCTS, [group("c", 1, LIST), group("any", 1, repetition=REPEATED), leaf("x")], "c.element.x"),
        (STRUCTS, [group("c", 1, LIST), group("any", 2, repetition=REPEATED), leaf("y"), leaf("x")], "c.element.x"),
        (STRUCTS, [group("c", 1, repetition=REPEATED), leaf("x")], "c.element.x"),
        (
            ArrayType(LONGS),
            [group("c", 1, LIST), group("array", 1, LIST, REPEATED), leaf("array", repetition=REPEATED)],
            "c.element.element",
        ),
        (
            MapType(PrimitiveType("string"), PrimitiveType("long")),
            [
                group("c", 1, MAP),
                group("map", 2, MAP, REPEATED),
                leaf("k", PhysicalType.BYTE_ARRAY),
                leaf("v"),
            ],
            "c.value",
        ),
        # Forms that stand for no list and no map: nobody can tell what they mean.
        (LONGS, [group("c", 2, LIST), leaf("a"), leaf("b")], None),
        (MapType(PrimitiveType("long"), PrimitiveType("long")), [group("c", 1, MAP), leaf("a")], None),
    ],
)
def test_legacy_forms_of_lists_and_maps_are_understood(declared, form, wrong, physical):
    elements = [e._replace(physical_type=physical) if e.physical_type is PhysicalType.INT64 else e for e in form]
    expected = [("TW16", wrong)] if physical is PhysicalType.DOUBLE and wrong else []
    assert found(column(declared), (group("root", 1), *elements)) == expected


def test_files_of_one_schema_are_compared_once():
    schemas = FileSchemas(column("long"), LEGACY)
    elements = footer(("c", pa.string()))
    again = footer(("c", pa.string()))
    first, second, other = (schemas.check(e, p) for e, p in ((elements, "1"), (again, "2"), (elements, "3")))
    assert [f.path for f in (*first, *second, *other)] == ["1", "2", "3"]
    assert len(schemas._known) == 1


# -- column mapping --------------------------------------------------------------------------------

MAPPED = struct(
    field("a", "long"),
    field("s", struct(field("z", "long"))),
    field("l", ArrayType(struct(field("z", "string")))),
    field("p", "string"),
)


def made_up(name: str, number: int) -> str:
    return f"col-{UUID[:-2]}{number:02d}"


def table(schema: Mapping[str, Any], mode: str, **configuration: str) -> Metadata:
    known = {**configured(dict(schema), mode), **configuration}
    return Metadata("id", json.dumps(schema), ("p",), known)


def written(schema: dict[str, Any], names: str = "physical", ids: bool = True, **other: int | None) -> Elements:
    """The file of a mapped schema's columns, all bigint or text.

    :param names: ``physical`` or ``logical``
    :param other: ids that some columns have instead, by logical name
    """

    def arrow(wire: Any) -> pa.DataType:
        if isinstance(wire, str):
            return ARROW[wire]
        if wire["type"] == "array":
            return pa.list_(arrow(wire["elementType"]))
        return pa.struct([arrow_field(f) for f in wire["fields"]])

    def arrow_field(f: dict[str, Any]) -> pa.Field:
        said = f["metadata"]
        name = said["delta.columnMapping.physicalName"] if names == "physical" else f["name"]
        number = other.get(f["name"], said["delta.columnMapping.id"])
        metadata = {"PARQUET:field_id": str(number)} if ids and number is not None else None
        return pa.field(name, arrow(f["type"]), metadata=metadata)

    return footer(*(arrow_field(f) for f in schema["fields"] if f["name"] != "p"))


SCHEMA = mapped(MAPPED, made_up)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_as_engines_write_them_are_fine_in_both_modes(mode):
    assert found(table(SCHEMA, mode), written(SCHEMA)) == []
    assert found(table(without(SCHEMA, "a"), mode), written(SCHEMA)) == []
    assert found(table(SCHEMA, mode), written(without(SCHEMA, "a"))) == []


def test_ids_do_not_matter_in_mode_name_nor_names_in_mode_none():
    assert found(table(SCHEMA, "name"), written(SCHEMA, ids=False)) == []
    assert found(table(SCHEMA, "none"), written(SCHEMA, names="logical", ids=False)) == []


@pytest.mark.parametrize("mode", ["name", "id"])
def test_types_are_compared_by_what_columns_are_found_by(mode):
    schema = json.loads(json.dumps(SCHEMA))
    at(schema, "a")["type"] = "date"
    at(schema, "l.element.z")["type"] = "long"
    assert found(table(schema, mode), written(SCHEMA)) == [("TW16", "a"), ("TW16", "l.element.z")]


@pytest.mark.parametrize("names", ["physical", "logical"])
def test_file_without_any_field_id_cannot_be_read_in_mode_id(names):
    metadata = table(SCHEMA, "id")
    (finding,) = FileSchemas(metadata, LEGACY).check(written(SCHEMA, names, ids=False), "f")
    assert (finding.code, finding.column, finding.path) == ("CM18", None, "f")
    assert "no field ids" in finding.message
    assert found(metadata, footer(("other", pa.int64()))) == []


@pytest.mark.parametrize("number", [None, 2, 99])
def test_column_with_another_id_than_its_name_belongs_to_is_named(number):
    metadata = table(SCHEMA, "id")
    assert found(metadata, written(SCHEMA, a=number)) == [("CM18", "a")]
    below = [("CM18", "s.z"), ("CM18", "l.element.z")]
    assert found(metadata, written(SCHEMA, z=number)) == below


def test_names_of_converted_tables_are_no_identity_in_mode_id():
    schema = mapped(MAPPED, lambda name, number: name)
    assert found(table(schema, "id"), written(schema, a=99)) == []


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_without_their_mapping_are_not_looked_for(mode):
    schema = edited(SCHEMA, "a", {"delta.columnMapping.id": None, "delta.columnMapping.physicalName": None})
    assert found(table(schema, mode), written(SCHEMA)) == []


def test_file_with_logical_names_is_named_in_mode_name():
    metadata = table(SCHEMA, "name")
    (finding,) = FileSchemas(metadata, LEGACY).check(written(SCHEMA, "logical"), "f")
    assert (finding.code, finding.column) == ("CM18", "a")
    assert "3 columns under logical names" in finding.message
    assert repr(at(SCHEMA, "a")["metadata"]["delta.columnMapping.physicalName"]) in finding.message


def test_logical_name_may_be_that_of_a_dropped_column():
    renamed = mapped(struct(field("a", "long"), field("b", "long")), made_up)
    old = footer(("a", pa.string()))
    assert found(table(renamed, "name", **{MAX: "3"}), old) == []
    assert found(table(renamed, "name"), old) == [("CM18", "a")]
    assert found(table(renamed, "name", **{MAX: "3"}), footer(("a", pa.int64()), ("b", pa.int64()))) == [("CM18", "a")]
    assert found(replace(table(renamed, "name"), configuration={MODE: "name"}), old) == []


@pytest.mark.parametrize(
    ("stored", "path", "codes"),
    [
        ({("a",)}, "f", []),
        ({("other",)}, "f", ["CM18"]),
        ({("s", "a")}, "f", ["CM18"]),
        (None, "f", []),
        ({("other",)}, "file:/elsewhere/f", []),
    ],
    ids=["stored", "another one", "within a struct", "unknown", "file from elsewhere"],
)
def test_logical_name_that_no_column_ever_had_in_files_is_foreign(stored, path, codes):
    metadata = table(mapped(struct(field("a", "long"), field("b", "long")), made_up), "name", **{MAX: "3"})
    schemas = FileSchemas(metadata, LEGACY, lambda: None if stored is None else frozenset(stored))
    assert [finding.code for finding in schemas.check(footer(("a", pa.string())), path)] == codes


def test_logical_name_that_is_a_physical_one_is_that_column():
    schema = mapped(struct(field("a", "long"), field("b", "string")), lambda name, n: {"b": "a"}.get(name, f"col-{n}"))
    assert found(table(schema, "name"), footer(("a", pa.string()))) == []
    assert found(table(schema, "name"), footer(("a", pa.int64()))) == [("TW16", "b")]


def test_nested_logical_names_are_foreign_too():
    elements = footer(
        (
            at(SCHEMA, "s")["metadata"]["delta.columnMapping.physicalName"],
            pa.struct([("z", pa.int64())]),
        )
    )
    assert found(table(SCHEMA, "name"), elements) == [("CM18", "s.z")]
