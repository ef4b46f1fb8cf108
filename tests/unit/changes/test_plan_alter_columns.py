"""What changes of columns are planned, and what is refused: no table is touched."""

from __future__ import annotations

import cProfile
import json
from dataclasses import replace

import pytest

from airflow_delta_provider.domain.changes.alter_columns.plan import plan_altering, verify_altered
from airflow_delta_provider.domain.changes.alter_columns.resolution import needs_past_columns, resolve
from airflow_delta_provider.domain.changes.schema import PastColumns
from airflow_delta_provider.domain.changes.usage_tracking import plan_altering_tracked
from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, PrimitiveType
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.request.change_options import AlterColumnsOptions
from tests.unit.mapped_tables import ID, MAPPING, NAME, added, at, configured, mapped, without
from tests.unit.mapped_tables import table as mapped_table
from tests.unit.states import ENGINE, LEGACY, TABLE, field, struct

INT = PrimitiveType("integer")
SCHEMA = struct(
    field("id", "long"),
    field("qty", "integer"),
    field("a.b", "integer"),
    field("s", struct(field("x", "integer"), field("y", "string"))),
    field("lines", ArrayType(struct(field("price", "double"), field("tax", "double")))),
    field("attrs", MapType(PrimitiveType("string"), struct(field("v", "integer"), field("w", "integer")))),
)
MAPPED = mapped(SCHEMA)
TRACKING = LEGACY.supporting(["columnMapping", USAGE_TRACKING.name])


def sql_table(schema=MAPPED, protocol=MAPPING, domains=None, partition_columns=(), **configuration) -> TableState:
    settings = configured(schema) | {key.replace("__", "."): value for key, value in configuration.items()}
    return mapped_table(schema, settings, protocol=protocol, domains=domains, partition_columns=partition_columns)


def unmapped_table(protocol=LEGACY, **configuration) -> TableState:
    schema = json.loads(json.dumps(MAPPED))
    for column in schema["fields"]:
        column["metadata"] = {}
    settings = {key.replace("__", "."): value for key, value in configuration.items()}
    return mapped_table(without(schema, "a.b"), settings, protocol=protocol)


def remember(*states: TableState) -> PastColumns:
    return PastColumns.of([state.metadata for state in states])


def plan(state=None, *, memory=None, engine=ENGINE, **asked):
    state = sql_table() if state is None else state
    known = remember(state) if memory is None else memory
    options = AlterColumnsOptions(**asked)
    if USAGE_TRACKING.name in state.protocol.features:
        return plan_altering_tracked(TABLE, options, state, known)
    return plan_altering(TABLE, options, state, engine, known)


def statements(planned):
    assert planned.refusals == ()
    return [(step.sql(TABLE) or "").removeprefix("ALTER TABLE delta.`/lake/t` ") for step in planned.plan.steps]


def refusal(planned):
    (finding,) = planned.refusals
    return finding


def test_drops_are_one_statement_then_each_rename_then_all_adds():
    planned = plan(
        add={"note": "string", "s.z": "array<int>"},
        rename={"qty": "quantity", "lines.element.tax": "vat"},
        drop=["`a.b`", "attrs.value.w"],
    )
    assert statements(planned) == [
        "DROP COLUMNS (`a.b`, `attrs`.`value`.`w`)",
        "RENAME COLUMN `lines`.`element`.`tax` TO `vat`",
        "RENAME COLUMN `qty` TO `quantity`",
        "ADD COLUMNS (`note` string, `s`.`z` array<int>)",
    ]
    assert planned.plan.commits == 4
    assert "Each statement is its own commit: 4" in planned.plan.notes[0]
    assert not planned.plan.upgrades_protocol


@pytest.mark.parametrize("change", ["drop", "rename", "add", "drop twice", "rename again", "drop nested"])
def test_work_grows_with_the_names_and_not_with_their_square(change):
    def calls(count: int) -> int:
        names = [f"c{n}" for n in range(count)]
        columns = [field(name, INT) for name in names]
        state = sql_table(mapped(struct(*columns, field("s", struct(*columns)))))
        renamed = {name: f"r{name}" for name in names}
        before = sql_table(mapped(struct(*(field(f"o{name}", INT) for name in names))))
        asked, memory = {
            "drop": ({"drop": names}, state),
            "rename": ({"rename": renamed}, state),
            "add": ({"add": {f"s.{new}": "int" for new in renamed.values()}}, state),
            "drop twice": ({"drop": [*names, *map(str.upper, names)]}, state),
            "rename again": ({"rename": {f"o{name}": name for name in names}}, before),
            "drop nested": ({"drop": ["s", *(f"s.{name}" for name in names)]}, state),
        }[change]
        past, options = remember(memory, state), AlterColumnsOptions(**asked)

        def work() -> None:
            needs_past_columns(options, state.metadata)
            plan(state, memory=past, **asked)

        profile = cProfile.Profile()
        profile.runcall(work)
        return sum(entry.callcount for entry in profile.getstats())

    assert calls(200) < 3 * calls(100)


def test_table_with_usage_tracking_is_changed_in_one_commit_without_sql():
    state = sql_table(protocol=TRACKING, **{DROPPED_OR_RENAMED: "false"})
    planned = plan(state, add={"note": "string"}, rename={"qty": "quantity"}, drop=["`a.b`"])
    (step,) = planned.plan.steps
    assert step.sql(TABLE) is None
    assert step.explanation == (
        "drop `a.b`, then rename qty to quantity, then add note string, in one commit by this provider (1 commit)"
    )
    assert planned.plan.notes == ()
    assert step.drops == (("a.b",),)


def test_paths_are_found_in_any_case_and_keep_the_schemas_spelling():
    assert statements(plan(drop=["QTY"], rename={"S.X": "z"}, add={"LINES.element.n": "int"})) == [
        "DROP COLUMNS (`qty`)",
        "RENAME COLUMN `s`.`x` TO `z`",
        "ADD COLUMNS (`lines`.`element`.`n` int)",
    ]


def test_added_columns_lie_in_the_schema_as_it_is_after_drops_and_renames():
    planned = plan(rename={"s": "t", "s.x": "z"}, add={"t.n": "int"})
    assert statements(planned) == [
        "RENAME COLUMN `s`.`x` TO `z`",
        "RENAME COLUMN `s` TO `t`",
        "ADD COLUMNS (`t`.`n` int)",
    ]
    finding = refusal(plan(rename={"s": "t"}, add={"s.n": "int"}))
    assert finding.code == "RQ10"
    assert "'s.n' cannot be added: There is no column '`s`'" in finding.message


def test_names_that_were_freed_in_the_same_call_can_be_taken():
    assert statements(plan(drop=["qty"], rename={"id": "qty"}, add={"id": "string"})) == [
        "DROP COLUMNS (`qty`)",
        "RENAME COLUMN `id` TO `qty`",
        "ADD COLUMNS (`id` string)",
    ]


@pytest.mark.parametrize("name", ["a.b", "x y", "back`tick", "quo'te\"s", "größe", ",;{}()=", "a\tb"])
def test_odd_names_are_quoted_and_no_rename_leads_out_of_its_struct(name):
    quoted = "`" + name.replace("`", "``") + "`"
    assert statements(plan(add={f"s.{quoted}": "int"})) == [f"ADD COLUMNS (`s`.{quoted} int)"]
    assert statements(plan(rename={"s.x": quoted})) == [f"RENAME COLUMN `s`.`x` TO {quoted}"]


# -- again ----------------------------------------------------------------------------------------


def test_column_that_is_there_with_its_type_is_not_added_again():
    assert plan(add={"QTY": "int", "s": "struct<x:int,y:string>"}).plan.steps == ()
    assert statements(plan(add={"qty": "int", "note": "string"})) == ["ADD COLUMNS (`note` string)"]


def test_dropped_column_is_done_only_where_the_history_has_it():
    before, after = sql_table(), sql_table(without(MAPPED, "qty"))
    assert plan(after, memory=remember(before, after), drop=["Qty"]).plan.steps == ()
    finding = refusal(plan(after, memory=remember(after), drop=["qty"]))
    assert finding.code == "RQ10"
    assert "There is no column 'qty'" in finding.message


def test_dropped_column_that_somebody_renamed_is_refused_by_its_new_name():
    after = sql_table(renamed(MAPPED, "qty", "quantity"))
    finding = refusal(plan(after, memory=remember(sql_table(), after), drop=["qty"]))
    assert finding.code == "RQ10"
    assert "it was renamed to quantity" in finding.message


def test_renamed_column_is_done_only_where_it_is_the_same_column():
    after = sql_table(renamed(MAPPED, "qty", "quantity"))
    assert plan(after, memory=remember(sql_table(), after), rename={"qty": "quantity"}).plan.steps == ()
    another = sql_table(added(without(MAPPED, "qty"), new("quantity", 40)))
    finding = refusal(plan(another, memory=remember(sql_table(), another), rename={"qty": "quantity"}))
    assert finding.code == "RQ10"


def test_typo_in_a_rename_is_not_taken_for_done():
    finding = refusal(plan(rename={"qtty": "id"}))
    assert finding.code == "RQ10"
    assert "Did you mean 'qty'" in finding.message


REPLACE = {"drop": ["qty"], "rename": {"id": "qty"}}
SHIFT = {"rename": {"qty": "old_qty", "id": "qty"}}
RENEW = {"rename": {"qty": "old_qty"}, "add": {"qty": "string"}}
RENEW_ABOVE = {"rename": {"s": "old_s", "s.x": "z"}, "add": {"s": "struct<x:int>"}}


@pytest.mark.parametrize("asked", [REPLACE, SHIFT, RENEW, RENEW_ABOVE])
def test_request_that_uses_a_name_again_goes_on_after_each_of_its_commits_and_then_is_done(asked):
    states = [sql_table()]
    first = plan(states[0], **asked)
    for number in range(len(first.plan.steps)):
        planned = plan(states[-1], memory=remember(*states), **asked)
        assert statements(planned) == statements(first)[number:]
        states.append(carried_out(states[-1], planned.plan.steps[0]))
    assert plan(states[-1], memory=remember(*states), **asked).plan.steps == ()


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        ({"drop": ["qty"], "rename": {"s.x": "z"}, "add": {"qty": "int"}}, False),
        ({"drop": ["gone"]}, True),
        ({"rename": {"gone": "qty"}}, True),
        ({"rename": {"qty": "id"}}, True),
        ({"rename": {"s.x": "`Y`"}}, True),
    ],
)
def test_history_is_read_where_a_column_is_gone_or_its_new_name_is_taken(asked, needed):
    assert needs_past_columns(AlterColumnsOptions(**asked), sql_table().metadata) is needed


def test_nested_rename_under_a_renamed_column_is_done_too():
    asked = {"rename": {"s": "t", "s.x": "z"}}
    states = [sql_table()]
    for step in plan(states[0], **asked).plan.steps:
        states.append(carried_out(states[-1], step))
    assert plan(states[-1], memory=remember(*states), **asked).plan.steps == ()


def test_column_that_is_dropped_and_added_is_emptied_each_time_and_the_plan_says_so():
    planned = plan(drop=["qty"], add={"qty": "int"})
    assert statements(planned) == ["DROP COLUMNS (`qty`)", "ADD COLUMNS (`qty` int)"]
    assert "every run of this request empties it again" in planned.plan.notes[1]


def renamed(schema, path, name):
    copied = json.loads(json.dumps(schema))
    at(copied, path)["name"] = name
    return copied


def new(name, number, data_type="integer"):
    return {"name": name, "type": data_type, "nullable": True, "metadata": {ID: number, NAME: f"col-{number}"}}


def carried_out(state: TableState, step) -> TableState:
    """The table after Delta has done one statement: done here on JSON, by hand."""
    schema = json.loads(state.metadata.schema_string)
    highest = max(f["metadata"].get(ID, 0) for f in schema["fields"]) + 50
    if hasattr(step, "column"):
        schema = renamed(schema, ".".join(step.column.parts), step.column.new)
    elif isinstance(step.columns[0], tuple):
        for parts in step.columns:
            schema = without(schema, parts[0])
    else:
        for column in step.columns:
            x = {"type": "struct", "fields": [new("x", highest + 1)]}
            schema = added(
                schema, new(column.parts[0], highest, x if column.type == "struct<`x`:int>" else column.type)
            )
    return sql_table(schema)


# -- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "code", "message"),
    [
        ({"drop": ["qtty"]}, "RQ10", "Did you mean 'qty'"),
        ({"drop": ["attrs.value"]}, "RQ10", "'attrs.value' is the value of a type, not a named column"),
        ({"rename": {"lines.element": "x"}}, "RQ10", "is the element of a type"),
        ({"add": {"nope.x": "int"}}, "RQ10", "Put a name that contains a dot in backticks"),
        ({"add": {"lines.x": "int"}}, "RQ10", "lines.element.price"),
        ({"add": {"qty": "string"}}, "RQ50", "it already exists as int"),
        ({"add": {"QTY": "string"}}, "RQ50", "The column qty exists, and names must differ by more than case"),
        ({"rename": {"qty": "QTY"}}, "RQ50", "rename the column to another name first"),
        ({"rename": {"qty": "ID"}}, "RQ50", "qty cannot be renamed to 'ID'"),
        ({"rename": {"qty": "n"}, "add": {"N": "int"}}, "RQ50", "renames another column to it"),
        ({"rename": {"qty": "n", "id": "n"}}, "RQ50", "id cannot be renamed to 'n'"),
        ({"rename": {"s.x": "t.y"}}, "RQ53", "a rename does not move a column"),
        ({"rename": {"qty": "a`b"}}, "RQ53", "a backtick in it doubled"),
        ({"add": {"a..b": "int"}}, "RQ10", "is not a column path"),
        ({"drop": ["qty"], "rename": {"`QTY`": "n"}}, "RQ18", "qty would be changed twice. Request"),
        ({"drop": ["qty", "`qty`"]}, "RQ18", "qty would be changed twice. Request"),
        ({"drop": ["s", "s.x"]}, "RQ18", "dropping one also drops the other"),
        ({"drop": ["s"], "rename": {"s.x": "n"}}, "RQ18", "dropping one also drops the other"),
        ({"rename": {"qty": "n", "Qty": "m"}}, "RQ18", "qty would be changed twice. Request"),
        ({"add": {"n": "int", "`N`": "int"}}, "RQ18", "'n' and '`N`' are the same column"),
        ({"add": {"n": "int NOT NULL"}}, "RQ52", "NOT NULL is not possible here"),
        ({"add": {"n": "int DEFAULT 1"}}, "RQ52", "DEFAULT is not possible here"),
        ({"add": {"n": "bigint GENERATED ALWAYS AS IDENTITY"}}, "RQ52", "GENERATED is not possible here"),
        ({"add": {"n": "itn"}}, "RQ52", "Did you mean 'int'"),
        ({"add": {"n": "void"}}, "RQ52", "it could never store a value"),
        ({"add": {"n": "timestamp_ntz"}}, "RQ52", "needs the table feature timestampNtz"),
        ({"add": {"n": "array<struct<v:variant>>"}}, "RQ52", "needs the table feature variantType"),
        ({"drop": ["s.x", "s.y"]}, "RQ51", "the last column of s"),
        ({"drop": ["id", "qty", "`a.b`", "s", "lines", "attrs"], "add": {"n": "int"}}, "RQ51", "of the table"),
    ],
)
def test_request_that_cannot_be_is_refused_with_what_is_wrong(asked, code, message):
    finding = refusal(plan(**asked))
    assert finding.code == code
    assert message in finding.message


@pytest.mark.parametrize("feature", ["timestampNtz", "variantType", "variantType-preview"])
def test_type_whose_feature_the_protocol_lists_is_added(feature):
    state = sql_table(protocol=MAPPING.supporting([feature]))
    name = "timestamp_ntz" if feature == "timestampNtz" else "variant"
    assert statements(plan(state, add={"n": name})) == [f"ADD COLUMNS (`n` {name})"]


STATS = "delta.dataSkippingStatsColumns"
CHANGES = [{"drop": ["qty"]}, {"rename": {"qty": "count"}}]


@pytest.mark.parametrize("asked", CHANGES)
@pytest.mark.parametrize(
    ("state", "message"),
    [
        (sql_table(**{"delta.constraints.positive": "QTY > 0"}), "CHECK constraint 'positive' uses it (QTY > 0)"),
        (
            sql_table(added(MAPPED, new("twice", 40) | {"metadata": {"delta.generationExpression": "qty * 2"}})),
            "generated column twice uses it (qty * 2)",
        ),
        (
            sql_table(
                added(
                    MAPPED,
                    new("n", 40) | {"metadata": {"delta.invariants": '{"expression":{"expression":"n > qty"}}'}},
                )
            ),
            "the invariant of n uses it",
        ),
    ],
    ids=["constraint", "generated", "invariant"],
)
def test_column_that_other_metadata_names_is_neither_dropped_nor_renamed(state, message, asked):
    finding = refusal(plan(state, **asked))
    assert finding.code == "RQ51"
    assert finding.column == "qty"
    assert message in finding.message
    assert plan(state, drop=["s.x"]).refusals == ()


def test_column_of_a_struct_that_other_metadata_names_is_kept_with_its_parent():
    clustered = sql_table(domains={"delta.clustering": '{"clusteringColumns":[["col-4","col-5"]]}'})
    for asked in ({"drop": ["s"]}, {"drop": ["s.x"]}):
        assert refusal(plan(clustered, **asked)).code == "RQ51"
    for asked in ({"rename": {"s": "t"}}, {"rename": {"s.x": "z"}}, {"drop": ["s.y"]}):
        assert plan(clustered, **asked).refusals == ()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (sql_table(partition_columns=("qty",)), "the table is partitioned by it"),
        (sql_table(domains={"delta.clustering": '{"clusteringColumns":[["col-2"]]}'}), "the table is clustered by it"),
    ],
    ids=["partition", "clustering"],
)
def test_column_that_the_files_are_laid_out_by_is_not_dropped_but_may_be_renamed(state, message):
    finding = refusal(plan(state, drop=["qty"]))
    assert (finding.code, finding.column) == ("RQ51", "qty")
    assert message in finding.message
    assert plan(state, rename={"qty": "count"}).refusals == ()


@pytest.mark.parametrize("asked", [*CHANGES, {"drop": ["s.y"]}])
def test_columns_with_statistics_may_be_changed_the_engine_keeps_the_list(asked):
    assert plan(sql_table(**{STATS: "id,`qty`,s"}), **asked).refusals == ()


def test_generated_column_may_be_renamed_and_dropped_and_a_column_it_used_is_renamed_once_it_is_dropped():
    state = sql_table(added(MAPPED, new("twice", 40) | {"metadata": {"delta.generationExpression": "qty * 2"}}))
    assert plan(state, rename={"twice": "double"}).refusals == ()
    assert plan(state, drop=["twice"], rename={"qty": "count"}).refusals == ()
    assert "or drop twice before, in a request of its own" in refusal(plan(state, drop=["twice", "qty"])).message


def test_remedy_that_the_next_rule_refuses_is_not_given():
    generated = added(MAPPED, new("twice", 40) | {"metadata": {"delta.generationExpression": "qty * 2"}})
    for asked in CHANGES:
        message = refusal(plan(sql_table(generated, partition_columns=("twice",)), **asked)).message
        assert "twice cannot be dropped either: copy the table to a new one" in message


def test_own_invariant_goes_with_a_dropped_column_and_would_not_know_a_renamed_one():
    invariant = {"metadata": {"delta.invariants": '{"expression":{"expression":"n > 0"}}'}}
    state = sql_table(added(MAPPED, new("n", 40) | invariant))
    assert plan(state, drop=["n"]).refusals == ()
    assert "the invariant of n uses it" in refusal(plan(state, rename={"n": "m"})).message


def test_last_column_beside_partition_columns_is_kept():
    schema = mapped(struct(field("p", "string"), field("v", "integer")))
    assert refusal(plan(sql_table(schema, partition_columns=("p",)), drop=["v"])).code == "RQ51"


def test_names_that_writers_keep_for_themselves_are_refused_where_they_use_them():
    state = sql_table(
        **{
            "delta.enableChangeDataFeed": "true",
            "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-1",
        }
    )
    for name in ("_change_type", "_ROW-id-col-1"):
        assert refusal(plan(state, add={name: "int"})).code == "RQ53"
        assert refusal(plan(state, rename={"qty": name})).code == "RQ53"
    assert plan(state, add={"s._change_type": "int"}).refusals == ()
    assert plan(add={"_change_type": "int"}).refusals == ()


@pytest.mark.parametrize("protocol", [LEGACY, TRACKING])
def test_table_without_mapping_takes_new_columns_and_sends_others_to_column_mapping(protocol):
    tracking = {DROPPED_OR_RENAMED: "false"} if protocol is TRACKING else {}
    state = unmapped_table(protocol, **tracking)
    assert len(plan(state, add={"note": "string", "s.n": "int"}).plan.steps) == 1
    for asked in CHANGES:
        finding = refusal(plan(state, **asked))
        assert finding.code == "RQ54"
        assert "Enable the feature columnMapping first" in finding.message
    for name in ("x y", "s.`a,b`"):
        assert refusal(plan(state, add={name: "int"})).code == "RQ53"
    assert refusal(plan(state, add={"n": "struct<`x y`:int>"})).code == "RQ53"


def test_property_and_feature_of_usage_tracking_have_to_fit():
    orphan = refusal(plan(sql_table(**{DROPPED_OR_RENAMED: "false"}), add={"n": "int"}))
    assert orphan.code == "RQ35"
    assert "UNSET TBLPROPERTIES" in orphan.message
    for value in ({}, {DROPPED_OR_RENAMED: "maybe"}):
        missing = refusal(plan(sql_table(protocol=TRACKING, **value), add={"n": "int"}))
        assert missing.code == "RQ35"
        assert "Drop the feature, then enable it again" in missing.message


def test_table_that_this_engine_must_not_touch_is_refused():
    managed = sql_table(protocol=MAPPING.supporting(["catalogManaged"]))
    assert refusal(plan(managed, add={"n": "int"})).code == "RQ04"
    unknown = replace(MAPPING.supporting(["timestampNtz"]), writer_features=frozenset({"columnMapping", "fancy"}))
    assert refusal(plan(sql_table(protocol=unknown), add={"n": "int"})).code == "RQ05"


def test_all_that_is_wrong_is_said_at_once():
    planned = plan(drop=["nope"], rename={"gone": "x"})
    assert [finding.code for finding in planned.refusals] == ["RQ10", "RQ10"]


# -- afterwards -----------------------------------------------------------------------------------


def judged(after, **asked):
    before = sql_table()
    planned = plan(before, **asked)
    alteration, _ = resolve(AlterColumnsOptions(**asked), before.metadata, remember(before))
    assert planned.refusals == ()
    return [(finding.code, finding.column) for finding in verify_altered(alteration, before, after)]


def test_columns_as_asked_for_pass():
    schema = added(renamed(without(MAPPED, "qty"), "s.x", "z"), new("note", 40, "string"))
    assert judged(sql_table(schema), drop=["qty"], rename={"s.x": "z"}, add={"note": "string"}) == []


def test_column_that_is_not_as_asked_for_is_found():
    asked = {"drop": ["qty"], "rename": {"s.x": "z"}, "add": {"note": "string"}}
    assert judged(sql_table(), **asked) == [("CM19", "qty"), ("CM19", "s.x"), ("CM19", "note")]
    other_type = added(renamed(without(MAPPED, "qty"), "s.x", "z"), new("note", 40))
    assert judged(sql_table(other_type), **asked) == [("CM19", "note")]


def test_new_column_where_another_one_lay_is_found():
    schema = added(without(MAPPED, "qty"), {**new("qty", 2)})
    assert ("CM16", "qty") in judged(sql_table(schema), drop=["qty"], add={"qty": "int"})


def test_memory_remembers_paths_and_ids_of_mapped_versions_only():
    state = sql_table()
    other = sql_table(renamed(without(MAPPED, "id"), "qty", "n"))
    memory = remember(unmapped_table(), state, other)
    assert memory.is_complete
    assert ("col-1",) in memory.paths
    assert ("qty",) not in memory.paths
    assert memory.ids_at(("QTY",)) == memory.ids_at(("n",)) == (2,)
    assert remember(state, unmapped_table(), other).ids_at(("qty",)) == ()
    damaged = PastColumns.of([Metadata("id", "{"), state.metadata])
    assert not damaged.is_complete
