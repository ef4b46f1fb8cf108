from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_delta_provider.domain.changes.widen_types import plan_widening, resolve_widenings, verify_widened
from airflow_delta_provider.domain.delta.data_type import ArrayType, DecimalType, MapType, PrimitiveType, parse_path
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from tests.unit.states import ENGINE, LEGACY, TABLE, WIDENING, WIDENING_ON, field, metadata_of, state_of, struct

INT = PrimitiveType("integer")
SCHEMA = struct(
    field("id", "long"),
    field("quantity", "integer"),
    field("day", "date"),
    field("lines", ArrayType(struct(field("price", DecimalType(10, 2))))),
    field("attrs", MapType(PrimitiveType("short"), INT)),
    field("note", "string"),
)
READY = state_of(SCHEMA, protocol=WIDENING, configuration=WIDENING_ON)


def plan(columns, state=READY, engine=ENGINE, **options):
    return plan_widening(TABLE, WidenTypesOptions(columns=columns, **options), state, engine)


def statements(planned):
    assert planned.refusals == ()
    return [step.sql(TABLE) for step in planned.plan.steps]


def refusal(planned):
    (finding,) = planned.refusals
    return finding


def test_all_columns_are_one_statement_in_the_order_of_the_request():
    planned = plan({"quantity": "bigint", "Lines.element.PRICE": "decimal(12,2)", "attrs.key": "int"})
    assert statements(planned) == [
        "ALTER TABLE delta.`/lake/t` ALTER COLUMN `quantity` TYPE bigint, "
        "`lines`.`element`.`price` TYPE decimal(12,2), `attrs`.`key` TYPE int"
    ]
    assert planned.plan.commits == 1
    assert not planned.plan.upgrades_protocol


def test_engine_before_spark_4_2_changes_one_column_a_commit_and_the_plan_says_so():
    older = replace(ENGINE, spark="4.0.1", delta="4.0.1")
    planned = plan({"quantity": "bigint", "attrs.key": "int"}, engine=older)
    assert len(statements(planned)) == 2
    assert planned.plan.commits == 2
    assert "one column per commit: 2 commits" in planned.plan.notes[0]


def test_engine_before_delta_4_widens_to_int_and_refuses_each_other_change_by_name():
    older = replace(ENGINE, spark="3.5.9", delta="3.3.3")
    assert len(statements(plan({"attrs.key": "int"}, engine=older))) == 1
    planned = plan({"attrs.key": "int", "quantity": "bigint", "attrs.value": "double"}, engine=older)
    assert planned.plan is None
    assert [(finding.code, finding.message.split(":")[0]) for finding in planned.refusals] == [
        ("RQ05", "Delta 3.3.3 on Spark 3.5.9 cannot widen quantity from int to bigint"),
        ("RQ05", "Delta 3.3.3 on Spark 3.5.9 cannot widen attrs.value from int to double"),
    ]
    assert all("Use Delta 4.0 or later" in finding.message for finding in planned.refusals)


def test_engine_before_delta_4_is_told_the_feature_lest_it_adds_the_preview():
    older = replace(ENGINE, spark="3.5.9", delta="3.3.3")
    planned = plan(
        {"attrs.key": "int"},
        state_of(SCHEMA, protocol=LEGACY),
        older,
        enable_type_widening=True,
        allow_protocol_upgrade=True,
    )
    assert statements(planned)[0].endswith(
        "SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.typeWidening' = 'supported')"
    )


def test_engine_that_has_no_type_widening_is_refused_with_the_release_that_has():
    older = Engine("3.5.9", "3.2.1", ENGINE.features - {"typewidening"})
    finding = refusal(plan({"attrs.key": "int"}, state_of(SCHEMA, protocol=LEGACY), older, enable_type_widening=True))
    assert finding.code == "RQ05"
    assert "needs typeWidening, which Delta 3.2.1 on Spark 3.5.9 does not support. Use Delta 3.3" in finding.message


def test_column_that_has_its_type_already_is_left_out():
    assert plan({"quantity": "int"}).plan.steps == ()
    (step,) = plan({"quantity": "int", "attrs.key": "int"}).plan.steps
    assert [column.parts for column in step.columns] == [("attrs", "key")]


def test_feature_and_property_are_a_step_before_and_need_both_permissions():
    state = state_of(SCHEMA)
    assert refusal(plan({"quantity": "bigint"}, state)).code == "RQ13"
    assert refusal(plan({"quantity": "bigint"}, state, allow_protocol_upgrade=True)).code == "RQ13"
    upgrade = refusal(plan({"quantity": "bigint"}, state, enable_type_widening=True))
    assert upgrade.code == "RQ09"
    assert "widen quantity int -> bigint" in upgrade.message
    planned = plan({"quantity": "bigint"}, state, enable_type_widening=True, allow_protocol_upgrade=True)
    assert statements(planned)[0] == (
        "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    )
    assert planned.plan.commits == 2
    assert planned.plan.protocol_after == LEGACY.supporting(["typeWidening"])


def test_timestamp_ntz_is_prepared_where_the_table_lacks_it():
    planned = plan({"day": "timestamp_ntz"}, allow_protocol_upgrade=True)
    assert statements(planned)[0] == (
        "ALTER TABLE delta.`/lake/t` SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')"
    )
    assert "timestampNtz" in planned.plan.protocol_after.features
    assert refusal(plan({"day": "timestamp_ntz"})).code == "RQ09"
    has_it = state_of(SCHEMA, protocol=WIDENING.supporting(["timestampNtz"]), configuration=WIDENING_ON)
    assert len(plan({"day": "timestamp_ntz"}, has_it).plan.steps) == 1


def test_table_with_the_preview_feature_is_not_upgraded_to_the_stable_one():
    preview = Protocol(3, 7, frozenset({"typeWidening-preview"}), frozenset({"typeWidening-preview"}))
    state = state_of(SCHEMA, protocol=preview, configuration=WIDENING_ON)
    planned = plan({"quantity": "bigint"}, state)
    assert planned.refusals == ()
    assert planned.plan.protocol_after == preview


def test_property_without_the_feature_still_needs_the_upgrade():
    planned = plan({"quantity": "bigint"}, state_of(SCHEMA, configuration=WIDENING_ON))
    assert refusal(planned).code == "RQ09"


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "new", "legal"),
    [
        ("id", "int", "Allowed from bigint: decimal(p,s) with p - s >= 20."),
        ("quantity", "string", "Allowed from int: bigint, double, decimal(p,s) with p - s >= 10."),
        (
            "lines.element.price",
            "decimal(12,1)",
            "Allowed from decimal(10,2): decimal(p,s) with s >= 2 and p - s >= 8.",
        ),
        ("note", "binary", "No type is wider."),
        ("lines", "int", "No type is wider."),
        ("attrs.value", "float", "Allowed from int:"),
    ],
)
def test_illegal_pair_is_refused_with_what_is_legal(column, new, legal):
    finding = refusal(plan({column: new}))
    assert (finding.code, finding.column) == ("RQ11", column)
    assert legal in finding.message


@pytest.mark.parametrize(
    ("columns", "code", "message"),
    [
        ({"quantty": "bigint"}, "RQ10", "Did you mean 'quantity'"),
        ({"lines.price": "bigint"}, "RQ10", "Did you mean 'lines.element.price'"),
        ({"quantity": "bigit"}, "RQ11", "Did you mean 'bigint'"),
        ({"quantity": "bigint; DROP TABLE x"}, "RQ11", "not a primitive SQL type"),
        ({"quantity": "bigint", "QUANTITY": "double"}, "RQ18", "'quantity' and 'QUANTITY' are the same column"),
        ({"attrs.key": "int", "`attrs`.`KEY`": "int"}, "RQ18", "same column"),
    ],
)
def test_column_that_is_unknown_or_named_twice_is_refused(columns, code, message):
    finding = refusal(plan(columns))
    assert finding.code == code
    assert message in finding.message


def test_all_that_is_wrong_is_said_at_once():
    planned = plan({"nope": "int", "note": "int", "id": "nonsense"})
    assert sorted(finding.code for finding in planned.refusals) == ["RQ10", "RQ11", "RQ11"]


def test_column_in_a_check_constraint_is_refused_by_the_constraints_name():
    state = state_of(
        SCHEMA, protocol=WIDENING, configuration={**WIDENING_ON, "delta.constraints.positive": "quantity > 0"}
    )
    finding = refusal(plan({"quantity": "bigint"}, state))
    assert finding.code == "RQ12"
    assert "'positive' (quantity > 0)" in finding.message
    assert plan({"attrs.key": "int"}, state).refusals == ()


def test_column_in_a_generated_column_is_refused_by_that_columns_name():
    schema = struct(
        *SCHEMA.fields,
        field("twice", "long", delta__generationExpression="CAST(quantity AS BIGINT) * 2"),
    )
    state = state_of(schema, protocol=WIDENING, configuration=WIDENING_ON)
    finding = refusal(plan({"quantity": "bigint"}, state))
    assert finding.code == "RQ12"
    assert "generated column twice" in finding.message


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_iceberg_compatibility_refuses_what_iceberg_cannot_promote(version):
    protocol = WIDENING.supporting([f"icebergCompat{version}"])
    on = {**WIDENING_ON, f"delta.enableIcebergCompat{version}": "true"}
    state = state_of(SCHEMA, protocol=protocol, configuration=on)
    assert refusal(plan({"quantity": "double"}, state)).code == "RQ14"
    assert plan({"quantity": "bigint"}, state).refusals == ()
    off = state_of(SCHEMA, protocol=protocol, configuration=WIDENING_ON)
    assert plan({"quantity": "double"}, off).refusals == ()


def test_catalog_managed_table_is_refused():
    names = frozenset({"catalogManaged", "typeWidening"})
    assert refusal(plan({"quantity": "bigint"}, state_of(SCHEMA, protocol=Protocol(3, 7, names, names)))).code == "RQ04"


@pytest.mark.parametrize("name", ["a`; DROP TABLE x; --", "a.b", "it's", '"', "sp ace", "列", "\\"])
def test_awkward_names_are_quoted_in_the_statement_and_read_in_the_explanation(name):
    state = state_of(struct(field(name, "integer")), protocol=WIDENING, configuration=WIDENING_ON)
    (step,) = plan({"`" + name.replace("`", "``") + "`": "bigint"}, state).plan.steps
    sql = step.sql(TABLE)
    assert sql.startswith("ALTER TABLE delta.`/lake/t` ALTER COLUMN `")
    assert sql.endswith("` TYPE bigint")
    assert parse_path(sql.removeprefix("ALTER TABLE delta.`/lake/t` ALTER COLUMN ").removesuffix(" TYPE bigint")) == (
        name,
    )
    assert step.explanation.endswith("int -> bigint (1 commit)")


# -- verifying ------------------------------------------------------------------------------------

EARLIER = {"fromType": "short", "toType": "integer"}
CHANGE = {"fromType": "integer", "toType": "long"}


def verified(before, after, columns):
    before, after = metadata_of(before), metadata_of(after)
    widenings, refusals = resolve_widenings(WidenTypesOptions(columns=columns), before)
    assert refusals == []
    return [(f.code, f.column) for f in verify_widened(widenings, before, after, 4)]


def quantity(data_type, *changes):
    metadata = {"delta__typeChanges": list(changes)} if changes else {}
    return struct(field("quantity", data_type, **metadata))


def test_recorded_change_after_earlier_ones_is_right():
    columns = {"quantity": "bigint"}
    assert verified(quantity("integer", EARLIER), quantity("long", EARLIER, CHANGE), columns) == []


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (quantity("integer", EARLIER), "TW17"),
        (quantity("long", EARLIER), "TW09"),
        (quantity("long", CHANGE), "TW12"),
        (quantity("long", EARLIER, {**CHANGE, "fieldPath": "element"}), "TW09"),
        (quantity("long", EARLIER, {"fromType": "short", "toType": "long"}), "TW09"),
        (quantity("long", "nonsense"), "TW12"),
        (struct(field("other", "long")), "TW17"),
    ],
)
def test_schema_that_does_not_say_what_was_done_is_a_finding(after, code):
    found = verified(quantity("integer", EARLIER), after, {"quantity": "bigint"})
    assert code in [finding[0] for finding in found]
    assert {finding[1] for finding in found} == {"quantity"}


def test_record_of_a_column_that_was_not_touched_has_to_stay():
    before = struct(field("a", "integer"), field("b", "integer", delta__typeChanges=[EARLIER]))
    after = struct(field("a", "long", delta__typeChanges=[CHANGE]), field("b", "integer"))
    assert verified(before, after, {"a": "bigint"}) == [("TW12", "b")]


def test_changes_inside_a_map_are_looked_for_on_the_field_that_holds_it():
    before = struct(field("m", MapType(PrimitiveType("short"), INT)))
    after_type = MapType(INT, PrimitiveType("long"))
    record = [
        {"fromType": "short", "toType": "integer", "fieldPath": "key"},
        {"fromType": "integer", "toType": "long", "fieldPath": "value"},
    ]
    columns = {"m.key": "int", "m.value": "bigint"}
    assert verified(before, struct(field("m", after_type, delta__typeChanges=record)), columns) == []
    half = struct(field("m", after_type, delta__typeChanges=record[:1]))
    assert verified(before, half, columns) == [("TW09", "m")]
