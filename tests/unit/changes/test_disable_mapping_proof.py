"""Whether column mapping can be disabled without a rewrite: what history and footers prove."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnFacts
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey, TableColumns, count_nulls
from airflow_delta_provider.domain.changes.disable_mapping.plan import (
    check_can_disable,
    disable_in_action,
    disable_in_metadata,
    needs_footers,
    prove_disabling,
)
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, PrimitiveType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.formats.parquet.footer import EncryptedFooterError, Footer, FooterError, parse_footer
from tests.unit.mapped_tables import MAX, MODE, NESTED, Json, configured, fields_of, mapped
from tests.unit.states import field, struct

TRACKING = "delta.rowTracking.materializedRowIdColumnName"
UUID = "01234567-89ab-cdef-0123-456789abcdef"
LONG = PrimitiveType("long")
SCHEMA = struct(
    field("a", "long"),
    field("s", struct(field("x", "long"), field("y", "long"))),
    field("l", ArrayType(struct(field("x", "long")), True)),
    field("m", MapType(LONG, struct(field("v", "long")), True)),
)
OWN: Json = mapped(SCHEMA, lambda name, _: name)
S = pa.struct([("x", pa.int64()), ("y", pa.int64())])
L = pa.list_(pa.struct([("x", pa.int64())]))
M = pa.map_(pa.int64(), pa.struct([("v", pa.int64())]))
WHOLE: dict[str, pa.DataType] = {"a": pa.int64(), "s": S, "l": L, "m": M}


def table(schema: Json = OWN, mode: str = "name", **settings: str) -> Metadata:
    configuration = configured(schema, mode) | {key.replace("__", "."): value for key, value in settings.items()}
    return Metadata("id", json.dumps(schema), (), configuration)


def file(columns: dict[str, pa.DataType], rows: int = 0, **options: Any) -> Footer:
    written = io.BytesIO()
    content = pa.table({name: pa.nulls(rows, kind) for name, kind in columns.items()})
    pq.write_table(content, written, **options)
    return parse_footer(written.getvalue())


def survey(metadata: Metadata, *footers: Footer | FooterError) -> FooterSurvey:
    found, columns = FooterSurvey(), TableColumns(metadata)
    for number, footer in enumerate(footers):
        found.take(f"part-{number}", footer, columns)
    return found


FILES: dict[str, tuple[dict[str, pa.DataType], list[tuple[str, ...]]]] = {
    "all columns": (WHOLE, []),
    "older than some columns": ({"a": pa.int64()}, []),
    "a dropped column": (WHOLE | {"b": pa.int64()}, [("b",)]),
    "in other case": ({"A": pa.int64()}, []),
    "twice, in other case": (WHOLE | {"A": pa.int64()}, [("A",)]),
    "a dropped struct, said once": (WHOLE | {"t": S}, [("t",)]),
    "in a struct": (WHOLE | {"s": pa.struct([("x", pa.int64()), ("z", pa.int64())])}, [("s", "z")]),
    "in a list": (WHOLE | {"l": pa.list_(pa.struct([("x", pa.int64()), ("z", S)]))}, [("l", "element", "z")]),
    "in a map": (WHOLE | {"m": pa.map_(pa.int64(), pa.struct([("z", pa.int64())]))}, [("m", "value", "z")]),
    "a leaf where a struct is": (WHOLE | {"s": pa.int64()}, [("s",)]),
    "a struct where a list is": (WHOLE | {"l": S}, [("l",)]),
    "row ids": (WHOLE | {"_row-id-col-1": pa.int64()}, []),
    "row ids of earlier tracking": (WHOLE | {f"_row-commit-version-col-{UUID}": pa.int64()}, []),
    "a column called like row ids": (WHOLE | {"_row-id-col-2": pa.int64()}, [("_row-id-col-2",)]),
    "what engines part change data by": (WHOLE | {"__is_cdc": pa.bool_()}, []),
    "change data feed, empty": (WHOLE | {"_change_type": pa.string()}, []),
}


@pytest.mark.parametrize("compliant", [True, False])
@pytest.mark.parametrize(("columns", "foreign"), FILES.values(), ids=FILES)
def test_columns_of_a_file_that_the_table_has_not(
    columns: dict[str, pa.DataType], foreign: list[tuple[str, ...]], compliant: bool
) -> None:
    metadata = table(**{TRACKING.replace(".", "__"): "_row-id-col-1"})
    footer = file(columns, 3, use_compliant_nested_type=compliant)
    assert list(TableColumns(metadata).compare(footer).foreign) == foreign


def test_change_data_that_holds_values_is_foreign() -> None:
    written = io.BytesIO()
    pq.write_table(pa.table({"a": [1], "_change_type": ["insert"]}), written)
    assert TableColumns(table()).compare(parse_footer(written.getvalue())).foreign == (("_change_type",),)


def test_files_of_a_mapped_table_are_looked_at_by_physical_names_and_ids() -> None:
    other = mapped(SCHEMA)
    names = {"col-1": pa.int64(), "col-2": pa.struct([("col-3", pa.int64())]), "a": pa.int64()}
    assert TableColumns(table(other)).compare(file(names)).foreign == (("a",),)
    by_id = pa.field("anything", pa.int64(), metadata={"PARQUET:field_id": "1"})
    unknown = pa.field("b", pa.int64(), metadata={"PARQUET:field_id": "99"})
    written = io.BytesIO()
    pq.write_table(pa.schema([by_id, unknown]).empty_table(), written)
    assert TableColumns(table(other, "id")).compare(parse_footer(written.getvalue())).foreign == (("b",),)


def test_nulls_are_counted_by_the_names_that_readers_use() -> None:
    written = io.BytesIO()
    rows = {"a": pa.array([1, None]), "s": pa.array([{"x": 1, "y": None}, None], S), "l": pa.array([[{"x": 1}], []], L)}
    pq.write_table(pa.table(rows), written)
    metadata = table()
    footers = [parse_footer(written.getvalue()), file({"a": pa.int64()}, 3)]
    expected = {
        ("a",): 4,
        ("s", "x"): 4,
        ("s", "y"): 5,
        ("l", "element", "x"): 4,
        ("m", "key"): 5,
        ("m", "value", "v"): 5,
    }
    assert count_nulls(metadata, footers) == expected
    assert count_nulls(disable_in_metadata(metadata), footers) == expected
    renamed = json.loads(json.dumps(OWN))
    renamed["fields"][0]["name"] = "c"
    assert count_nulls(table(renamed), footers)[("c",)] == 4
    assert count_nulls(disable_in_metadata(table(renamed)), footers)[("c",)] == 5


PARTLY = ColumnFacts(why_incomplete="the log is kept from version 4 on", since=4)
DROPPED = ColumnFacts(left={("b",): 3})
REUSED = ColumnFacts(reused={("a",): table().mapped_schema.fields[0]})
CLEAN = survey(table(), file(WHOLE), file({"a": pa.int64()}))
HOLDING = survey(table(), file(WHOLE), file(WHOLE | {"b": pa.int64()}))
UNREAD = survey(table(), EncryptedFooterError("its footer is encrypted"))
LOST = survey(table(), EncryptedFooterError("its footer is encrypted"), FooterError("there is no such file"))
RENAMED = json.loads(json.dumps(OWN))
RENAMED["fields"][1]["type"]["fields"][0]["name"] = "z"

PROOFS: dict[str, tuple[Metadata, ColumnFacts, FooterSurvey | None, str | None, list[str]]] = {
    "history": (table(), ColumnFacts(), None, "history", []),
    "history, whatever else lies in files": (table(), ColumnFacts(), HOLDING, "history", []),
    "footers where a column was dropped": (table(), DROPPED, CLEAN, "footers", []),
    "footers where the log was cleaned up": (table(), PARTLY, CLEAN, "footers", []),
    "dropped, footers unknown": (table(), DROPPED, None, None, ["UM03"]),
    "dropped and still there": (table(), DROPPED, HOLDING, None, ["UM03"]),
    "cleaned up, and something there": (table(), PARTLY, HOLDING, None, ["UM03"]),
    "a file that cannot be read": (table(), PARTLY, UNREAD, None, ["UM03"]),
    "nested column renamed": (table(RENAMED), ColumnFacts(), None, None, ["UM02"]),
    "names made up": (table(mapped(SCHEMA)), ColumnFacts(), None, None, ["UM02"]),
    "path used twice": (table(), REUSED, CLEAN, None, ["UM04"]),
}


@pytest.mark.parametrize(("metadata", "known", "footers", "rests_on", "codes"), PROOFS.values(), ids=PROOFS)
def test_proof(
    metadata: Metadata, known: ColumnFacts, footers: FooterSurvey | None, rests_on: str | None, codes: list[str]
) -> None:
    proof = prove_disabling(metadata, known, footers)
    assert (proof.rests_on, [finding.code for finding in proof.missing]) == (rests_on, codes)
    assert bool(proof.missing) == (rests_on is None)


def test_remedy_for_a_file_that_cannot_be_looked_into_is_one_that_helps() -> None:
    (encrypted,), (lost,) = (prove_disabling(table(), PARTLY, footers).missing for footers in (UNREAD, LOST))
    assert "allow_rewrite=True" in encrypted.message
    assert (encrypted.path, lost.path) == ("part-0", "part-1")
    assert "part-1 (and 1 more) cannot be read: there is no such file" in lost.message
    assert "restore it from a backup" in lost.message
    assert "allow_rewrite" not in lost.message


def test_rename_back_is_a_remedy_only_for_what_was_renamed() -> None:
    made_up = table(mapped(struct(field("a", "long")), lambda *_: f"col-{UUID}"))
    (renamed,) = prove_disabling(table(RENAMED), ColumnFacts(), None).missing
    (created,) = prove_disabling(made_up, ColumnFacts(), None).missing
    assert "In data files, s.z is s.x." in renamed.message
    assert (
        "Rename each of them back to its name in data files (alter-columns), or repeat the request" in renamed.message
    )
    assert f"In data files, a is col-{UUID}." in created.message
    assert "An engine generated such names when it added the columns: repeat" in created.message


@pytest.mark.parametrize("known", [ColumnFacts(), PARTLY, DROPPED, REUSED])
@pytest.mark.parametrize("schema", [OWN, RENAMED, mapped(SCHEMA)])
def test_nothing_can_come_back_in_a_table_without_files(schema: Json, known: ColumnFacts) -> None:
    proof = prove_disabling(table(schema), known, FooterSurvey(), is_empty=True)
    assert not proof.missing
    by_itself = prove_disabling(table(schema), known, FooterSurvey())
    assert proof.rests_on == (by_itself.rests_on or "no files")


def test_footers_are_needed_only_where_they_decide() -> None:
    assert needs_footers(table(), DROPPED)
    assert needs_footers(table(), PARTLY)
    assert not needs_footers(table(), ColumnFacts())
    assert not needs_footers(table(RENAMED), PARTLY)
    assert not needs_footers(table(), REUSED)


def named(*names: str) -> Json:
    return mapped(struct(*(field(name, "long") for name in names)), lambda name, _: name)


REFUSED = {
    "mode id": (table(mode="id"), ["UM01"]),
    "IcebergCompatV1": (table(delta__enableIcebergCompatV1="true"), ["UM05"]),
    "IcebergCompatV2": (table(delta__enableIcebergCompatV2="true"), ["UM05"]),
    "IcebergCompatV3": (table(delta__enableIcebergCompatV3="True"), ["UM05"]),
    "UniForm": (table(delta__universalFormat__enabledFormats="iceberg"), ["UM05"]),
    "Iceberg compatibility off": (table(delta__enableIcebergCompatV2="false"), []),
    **{f"name with {char!r}": (table(named(f"x{char}y")), ["UM06"]) for char in " ,;{}()\n\t="},
    "nested name": (table(mapped(struct(field("s", struct(field("x y", "long")))))), ["UM06"]),
    "names that are legal": (table(named("ä.ß", "`q`", "it's", '"', "名", "a-b", "a/b")), []),
}


@pytest.mark.parametrize(("metadata", "codes"), REFUSED.values(), ids=REFUSED)
def test_tables_that_need_their_mapping(metadata: Metadata, codes: list[str]) -> None:
    assert [finding.code for finding in check_can_disable("/lake/t", metadata)] == codes


def test_only_the_mapping_leaves_the_metadata() -> None:
    schema = json.loads(json.dumps(OWN))
    fields_of(schema)[0]["metadata"] |= {
        "comment": "größe",
        "delta.identity.start": 10**18,
        "x": {"metadata": {"y": 1}},
    }
    fields_of(schema)[4]["metadata"][NESTED] = {"l.element": 9}
    kept = {"delta.columnMapping.hasDroppedOrRenamed": "false", "delta.appendOnly": "false"}
    wire = {
        "id": "t",
        "name": None,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema, separators=(",", ":"), ensure_ascii=False),
        "partitionColumns": [],
        "configuration": {MODE: "name", MAX: "9", **kept},
        "createdTime": 5,
        "later": {"kept": True},
    }
    left = disable_in_action(wire)
    assert left["configuration"] == kept
    assert {key: value for key, value in left.items() if key not in ("configuration", "schemaString")} == {
        key: value for key, value in wire.items() if key not in ("configuration", "schemaString")
    }
    for plain in fields_of(schema):
        for key in list(plain["metadata"]):
            if key.startswith("delta.columnMapping"):
                del plain["metadata"][key]
    assert left["schemaString"] == json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
