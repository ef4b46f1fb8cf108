"""The rules of the metaData action, one healthy value broken in one place at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.metadata import FAMILY
from airflow_delta_provider.domain.checks.metadata.state import no_metadata
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.data_type import ArrayType, DecimalType, MapType, PrimitiveType, StructType
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.check_families import check_change, check_first, check_state
from tests.unit.damages.metadata import CASES
from tests.unit.states import LEGACY, field, metadata_of, struct

LONG = PrimitiveType("long")
ID, DAY = field("id", "long"), field("day", "date")
SIMPLE = struct(ID, DAY, field("Region", "string"))


def metadata(
    schema: StructType = SIMPLE,
    configuration: Mapping[str, str] | None = None,
    *,
    by: tuple[str, ...] = (),
    created: int | None = 1000,
    **known: Any,
) -> Metadata:
    return replace(metadata_of(schema, configuration), partition_columns=by, created_time=created, **known)


def raw(**fields: Any) -> Metadata:
    """An action with a schema of one field whose JSON is ``fields``."""
    wire = {"name": "id", "type": "long", "nullable": True, "metadata": {}} | fields
    return Metadata("id", json.dumps({"type": "struct", "fields": [wire]}))


def state(value: Metadata, version: int = 3) -> TableState:
    return TableState(version, LEGACY, value)


def codes(findings: Any) -> list[str]:
    return [finding.code for finding in findings]


TYPES = "string long integer short byte float double boolean binary date timestamp timestamp_ntz void variant".split()
HEALTHY = {
    "no columns": metadata(struct()),
    "every type": metadata(struct(*(field(f"c_{name}", name) for name in TYPES))),
    "decimals": metadata(struct(field("a", DecimalType(38, 38)), field("b", DecimalType(1, 0)))),
    "old names of types": metadata(struct(field("a", "decimal"), field("b", "null"))),
    "geospatial types": metadata(struct(field("a", "geometry(OGC:CRS84)"), field("b", "geography(OGC:CRS84)"))),
    "partitions": metadata(by=("day", "Region")),
    "the same name at two places": metadata(struct(ID, field("s", struct(ID)), field("a", ArrayType(struct(ID))))),
    "names that fold to others": metadata(struct(field("straße", "long"), field("strasse", "long"))),
    "properties": metadata(configuration={"delta.appendOnly": "true"}),
    "no time of creation": metadata(created=None),
}


@pytest.mark.parametrize("value", HEALTHY.values(), ids=HEALTHY)
def test_healthy_metadata_has_no_finding(value: Metadata) -> None:
    assert check_state(state(value), "MD") == []


DEEP = '{"type":"array","containsNull":true,"elementType":' * 5000 + '"long"' + "}" * 5000
BROKEN = {
    "MD01 no id": (metadata(id=""), "MD01", "ERROR"),
    "MD02 no schema": (metadata(schema_string=""), "MD02", "ERROR"),
    "MD02 truncated": (metadata(schema_string='{"type":"str', by=("gone",)), "MD02", "ERROR"),
    "MD02 not a struct": (metadata(schema_string='"long"'), "MD02", "ERROR"),
    "MD02 no fields": (metadata(schema_string='{"type":"struct"}'), "MD02", "ERROR"),
    "MD02 an object, no text": (metadata(schema_string={"type": "struct", "fields": []}), "MD02", "ERROR"),
    "MD02 a field without name": (metadata(schema_string='{"type":"struct","fields":[{}]}'), "MD02", "ERROR"),
    "MD02 a name that is no text": (raw(name=7), "MD02", "ERROR"),
    "MD02 metadata that is no map": (raw(metadata=["x"]), "MD02", "ERROR"),
    "MD02 nullable that is not a boolean": (raw(nullable="x"), "MD02", "ERROR"),
    "MD02 a type that is no type": (raw(type=7), "MD02", "ERROR"),
    "MD02 endless nesting": (
        Metadata("id", f'{{"type":"struct","fields":[{{"name":"a","type":{DEEP},"nullable":true,"metadata":{{}}}}]}}'),
        "MD02",
        "ERROR",
    ),
    "MD05 no such column": (metadata(by=("day", "gone")), "MD05", "ERROR"),
    "MD05 a nested column": (metadata(struct(field("s", struct(ID))), by=("id",)), "MD05", "ERROR"),
    "MD05 twice": (metadata(by=("day", "day")), "MD05", "ERROR"),
    "MD05 a struct": (metadata(struct(field("s", struct(ID))), by=("s",)), "MD05", "ERROR"),
    "MD05 an array": (metadata(struct(field("a", ArrayType(LONG))), by=("a",)), "MD05", "ERROR"),
    "MD05 a variant": (metadata(struct(field("v", "variant")), by=("v",)), "MD05", "ERROR"),
    "MD05 all columns": (metadata(by=("id", "day", "region")), "MD05", "WARNING"),
    "MD05 in another case": (metadata(by=("DAY",)), "MD05", "WARNING"),
    "MD06 at the top": (metadata(struct(ID, field("ID", "string"))), "MD06", "ERROR"),
    "MD06 the same case": (metadata(struct(ID, ID)), "MD06", "ERROR"),
    "MD06 in a struct": (metadata(struct(field("s", struct(ID, field("Id", "long"))))), "MD06", "ERROR"),
    "MD06 in a map": (metadata(struct(field("m", MapType(LONG, struct(ID, field("iD", "long")))))), "MD06", "ERROR"),
    "MD06 a struct, but not what is in it": (
        metadata(struct(field("s", struct(ID)), field("S", struct(ID)))),
        "MD06",
        "ERROR",
    ),
    "MD07 another format": (metadata(format_provider="orc"), "MD07", "ERROR"),
    "MD07 options": (metadata(format_options={"compression": "zstd"}), "MD07", "WARNING"),
    "MD13 a number": (
        Metadata.from_json({**metadata().to_json(), "configuration": {"delta.appendOnly": True}}),
        "MD13",
        "ERROR",
    ),
    "MD18 no step": (raw(metadata={"delta.identity.start": 1, "delta.identity.step": 0}), "MD18", "ERROR"),
    "MD18 no number": (raw(metadata={"delta.identity.start": "1", "delta.identity.step": 1}), "MD18", "ERROR"),
    "MD13 an unknown type": (metadata(struct(field("a", "bigint"))), "MD13", "ERROR"),
    "MD13 a nested one": (metadata(struct(field("a", ArrayType(PrimitiveType("Long"))))), "MD13", "ERROR"),
    "MD13 too precise": (metadata(struct(field("a", DecimalType(39, 2)))), "MD13", "ERROR"),
    "MD13 more scale than precision": (metadata(struct(field("a", DecimalType(5, 6)))), "MD13", "ERROR"),
    "MD13 a type of Spark's own": (
        raw(type={"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "sqlType": "long"}),
        "MD13",
        "WARNING",
    ),
}


@pytest.mark.parametrize(("value", "code", "severity"), BROKEN.values(), ids=BROKEN)
def test_broken_metadata_has_one_finding(value: Metadata, code: str, severity: str) -> None:
    (finding,) = check_state(state(value), "MD")
    assert (finding.code, finding.severity.value, finding.version) == (code, severity, 3)
    assert len(finding.message) < 800


def test_findings_name_the_column() -> None:
    (finding,) = check_state(state(metadata(struct(field("s", struct(ID, field("Id", "long")))))), "MD")
    assert finding.column == "s.Id"
    (finding,) = check_state(state(metadata(by=("gone",))), "MD")
    assert finding.column == "gone"


names = st.text("abcXYZ", min_size=1, max_size=6)
types = st.recursive(
    st.sampled_from([PrimitiveType(name) for name in TYPES]) | st.builds(DecimalType, st.just(38), st.integers(0, 38)),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(MapType, inner, inner)
        | st.lists(st.tuples(names, inner), max_size=3, unique_by=lambda pair: pair[0].lower()).map(
            lambda pairs: struct(*(field(name, kind) for name, kind in pairs))
        )
    ),
    max_leaves=8,
)


@given(columns=st.lists(st.tuples(names, types), max_size=4, unique_by=lambda pair: pair[0].lower()), data=st.data())
def test_metadata_of_any_schema_is_in_order(columns: list[tuple[str, Any]], data: Any) -> None:
    simple = [name for name, kind in columns if isinstance(kind, PrimitiveType)]
    by = data.draw(st.lists(st.sampled_from(simple), unique=True) if simple else st.just([]))
    assume(not by or len(by) < len(columns))  # MD05
    value = metadata(struct(*(field(name, kind) for name, kind in columns)), by=tuple(by))
    assert check_state(state(value), "MD") == []


@given(text=st.text(max_size=60) | st.text('{}[]":,typestructfields', max_size=60))
def test_any_schema_text_is_read_or_said_to_be_damaged(text: str) -> None:
    value = metadata(schema_string=text)
    expected = [] if value.readable_columns is not None else ["MD02"]
    assert codes(check_state(state(value), "MD"))[:1] == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"type":"struct","fields":[{"name":"a","type": {"type" :"udt","sqlType":"long"}}]}', "MD13"),
        ('"type":"udt"', "MD02"),
        ('["type","udt"]', "MD02"),
        ('{"type":"struct","fields":[{"name":"\\"type\\":\\"udt\\""}]}', "MD02"),
    ],
)
def test_type_of_spark_alone_is_a_type_of_the_schema(text: str, code: str) -> None:
    assert codes(check_state(state(metadata(schema_string=text)), "MD"))[:1] == [code]


# -- commits ----------------------------------------------------------------------------------------------


def commit(*values: Metadata, version: int = 4, **known: Any) -> Commit:
    return Commit(version, {"engineInfo": "Some-Engine/1.0", "operation": "WRITE"}, metadata=values, **known)


def transition(before: Metadata, *values: Metadata, **known: Any) -> Transition:
    made = commit(*values, **known)
    return Transition(state(before), made, state(values[-1] if values else before, 4), {})


def mapped(name: str, physical: str = "day") -> StructType:
    return struct(ID, field(name, "date", delta__columnMapping__physicalName=physical))


BY_NAME = {"delta.columnMapping.mode": "name"}
BEFORE = metadata(by=("day",))
QUIET = {
    "no metadata": transition(BEFORE),
    "a property": transition(BEFORE, replace(BEFORE, configuration={"delta.appendOnly": "true"})),
    "a column": transition(BEFORE, metadata(struct(*SIMPLE.fields, field("new", "long")), by=("day",))),
    "partitions in another order": transition(
        metadata(by=("day", "Region")), metadata(SIMPLE, {}, by=("Region", "day"))
    ),
    "the same with a protocol action": transition(BEFORE, BEFORE, protocols=(LEGACY,)),
    "a time of creation where there was none": transition(metadata(created=None), metadata(configuration={"a": "b"})),
    "a partition column renamed": transition(
        metadata(mapped("day"), BY_NAME, by=("day",)), metadata(mapped("date"), BY_NAME, by=("date",))
    ),
    "mapped for the first time": transition(
        metadata(struct(ID, DAY), by=("day",)), metadata(mapped("day"), BY_NAME, by=("day",))
    ),
    "another physical name, which CM11 judges": transition(
        metadata(mapped("day"), BY_NAME, by=("day",)), metadata(mapped("day", "other"), BY_NAME, by=("day",))
    ),
    "a partition column lost, which MD05 judges": transition(
        BEFORE, metadata(struct(ID, field("Region", "string")), by=("day",))
    ),
    "an id lost, which MD01 judges": transition(BEFORE, replace(BEFORE, id="")),
    "a schema lost, which MD02 judges": transition(BEFORE, replace(BEFORE, schema_string="", partition_columns=())),
}


@pytest.mark.parametrize("made", QUIET.values(), ids=QUIET)
def test_commit_as_it_should_be_has_no_finding(made: Transition) -> None:
    assert check_change(made, "MD") == []


def numbered(step: Any, highest: Any = None) -> Metadata:
    """With an identity column."""
    marks = {"delta.identity.start": 1, "delta.identity.step": step}
    if highest is not None:
        marks["delta.identity.highWaterMark"] = highest
    return metadata(struct(field("id", "long", **marks)))


WRONG = {
    "MD03 two": (transition(BEFORE, BEFORE, replace(BEFORE, id="other")), "MD03"),
    "MD03 the same twice": (transition(BEFORE, BEFORE, BEFORE), "MD03"),
    "MD08 another id": (transition(BEFORE, replace(BEFORE, id="other")), "MD08"),
    "MD08 and another time": (transition(BEFORE, replace(BEFORE, id="other", created_time=2)), "MD08"),
    "MD10 another time": (transition(BEFORE, replace(BEFORE, created_time=2)), "MD10"),
    "MD11 no partitions": (transition(BEFORE, metadata()), "MD11"),
    "MD11 other partitions": (transition(BEFORE, metadata(by=("Region",))), "MD11"),
    "MD11 partitions at last": (transition(metadata(), BEFORE), "MD11"),
    "MD12 the same": (transition(BEFORE, BEFORE), "MD12"),
    "MD16 gone": (transition(metadata(), metadata(struct(ID, DAY))), "MD16"),
    "MD15 set back": (transition(numbered(1, 20), numbered(1, 19)), "MD15"),
    "MD15 set back, counting down": (transition(numbered(-2, -20), numbered(-2, -18)), "MD15"),
    "MD15 to its start": (transition(numbered(1, 20), numbered(1)), "MD15"),
}
SEVERITIES = {"MD10": "WARNING", "MD12": "WARNING", "MD15": "WARNING", "MD16": "WARNING"}


@pytest.mark.parametrize(("made", "code"), WRONG.values(), ids=WRONG)
def test_wrong_commit_has_one_finding_that_names_it(made: Transition, code: str) -> None:
    (finding,) = check_change(made, "MD")
    assert (finding.code, finding.severity.value) == (code, SEVERITIES.get(code, "ERROR"))
    assert (finding.version, finding.engine, finding.operation) == (4, "Some-Engine/1.0", "WRITE")


def test_metadata_made_anew_is_a_warning_as_an_engine_does_so_when_it_adds_columns() -> None:
    before = replace(BEFORE, created_time=1)
    (finding,) = check_change(transition(before, replace(before, id="other", created_time=2)), "MD")
    assert (finding.code, finding.severity) == ("MD08", Severity.WARNING)
    (finding,) = check_change(transition(before, replace(before, id="other", created_time=0)), "MD")
    assert (finding.code, finding.severity) == ("MD08", Severity.ERROR)


REPLACED = {
    "another id": ({"id": "other", "created_time": 2}, [("MD08", Severity.WARNING)]),
    "other partitions": ({"partition_columns": ("Region",)}, []),
    "another time": ({"created_time": 2, "configuration": {"a": "b"}}, []),
}


@pytest.mark.parametrize(("changed", "expected"), REPLACED.values(), ids=REPLACED)
def test_commit_that_replaces_every_file_may_change_more(
    changed: dict[str, Any], expected: list[tuple[str, Severity]]
) -> None:
    made = transition(BEFORE, replace(BEFORE, **changed))
    found = check_change(replace(made, replaces_all=True), "MD")
    assert [(finding.code, finding.severity) for finding in found] == expected
    assert check_change(replace(made, restores=True), "MD") == []


def test_first_version_needs_one_metadata() -> None:
    assert check_first(commit(BEFORE, version=0), "MD") == []
    (finding,) = check_first(commit(version=0), "MD")
    assert (finding.code, finding.version, finding.engine) == ("MD04", 0, "Some-Engine/1.0")
    assert codes(check_first(commit(BEFORE, BEFORE, version=0), "MD")) == ["MD03"]


def test_clustering_by_what_has_no_order_is_said() -> None:
    schema = struct(ID, field("w", "variant"), field("a", ArrayType(LONG)))
    domains = {"delta.clustering": '{"clusteringColumns":[["id"],["w"],["a"]]}'}
    protocol = LEGACY.supporting(["clustering", "variantType"])
    found = check_state(TableState(3, protocol, metadata(schema), domains), "MD")
    assert [(finding.code, finding.column) for finding in found] == [("MD29", "w"), ("MD29", "a")]


def test_variant_that_is_an_object_as_in_the_protocol_s_example_is_read() -> None:
    assert check_state(state(raw(type={"type": "variant"})), "MD") == []


def test_log_without_metadata_is_said() -> None:
    finding = no_metadata(7)
    assert (finding.code, finding.severity, finding.version) == ("MD09", Severity.ERROR, 7)


def test_every_metadata_rule_has_its_test() -> None:
    tested = {name[:4] for name in (*BROKEN, *WRONG)} | {case.code for case in CASES} | {"MD04", "MD09"}
    assert tested == {rule.code for rule in FAMILY.rules}


@pytest.mark.parametrize(
    ("gone", "subject", "severity"),
    [
        (("format",), "format", Severity.ERROR),
        (("partitionColumns",), "partitionColumns", Severity.ERROR),
        (("configuration",), "configuration", Severity.ERROR),
        (("configuration", "format"), "format", Severity.ERROR),
        ((), "format.provider", Severity.ERROR),
    ],
)
def test_required_field_that_is_missing_is_named_and_stays_missing_in_what_is_remembered(gone, subject, severity):
    wire = metadata_of(SIMPLE).to_json()
    for key in gone:
        del wire[key]
    if not gone:
        del wire["format"]["provider"]
    for read in (Metadata.from_json(wire), Metadata.from_json(Metadata.from_json(wire).to_json())):
        (finding,) = check_state(TableState(3, LEGACY, read), "MD")
        assert (finding.code, finding.subject, finding.severity) == ("MD17", subject, severity)
    assert [key for key in gone if key not in finding.message] == []
