"""What goes with Iceberg compatibility, and what does not."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.data_type import ArrayType, MapType, PrimitiveType, StructType
from airflow_delta_provider.domain.delta.table_state import TableState
from tests.unit.check_families import check_state
from tests.unit.states import LEGACY, field, state_of, struct

LONG = PrimitiveType("long")
PLAIN = struct(field("id", "long"))
LISTS = struct(field("id", "long"), field("s", struct(field("list", ArrayType(LONG)))))
MAPS = struct(field("id", "long"), field("m", MapType(LONG, LONG)))
VARIANT = struct(field("id", "long"), field("s", struct(field("v", "variant"))))
MAPPED = {"delta.columnMapping.mode": "name"}
V1, V2, V3 = ({f"delta.enableIcebergCompatV{n}": "true"} for n in (1, 2, 3))
TRACKED = {"delta.enableRowTracking": "true"}
VECTORS = {"delta.enableDeletionVectors": "true"}


def table(*features: str, schema: StructType = PLAIN, **properties: str) -> TableState:
    listed = LEGACY.supporting(["columnMapping", *features])
    return state_of(schema, protocol=listed, configuration=properties)


FITTING = {
    "plain": table("icebergCompatV1", **V1, **MAPPED),
    "by id": table("icebergCompatV2", **V2, **{"delta.columnMapping.mode": "id"}),
    "lists in the second version": table("icebergCompatV2", schema=LISTS, **V2, **MAPPED),
    "vectors that are off": table("icebergCompatV2", "deletionVectors", **V2, **MAPPED),
    "listed, and off": table("icebergCompatV1", "icebergCompatV2", "deletionVectors", schema=LISTS, **V2, **MAPPED),
    "not listed": table("deletionVectors", schema=VARIANT, **V1, **V2, **VECTORS),
}


def with_default(text: str) -> TableState:
    schema = struct(field("id", "long", CURRENT_DEFAULT=text))
    features = ("icebergCompatV3", "rowTracking", "allowColumnDefaults")
    return table(*features, schema=schema, **V3, **MAPPED, **TRACKED)


FITTING |= {f"default {text}": with_default(text) for text in ("-1", "NULL", "'current_date() || 1'", "1L")}
UNFIT = {
    "no mapping": (table("icebergCompatV2", **V2), "icebergCompatV2", "the column mapping mode is none"),
    "vectors": (
        table("icebergCompatV2", "deletionVectors", **V2, **MAPPED, **VECTORS),
        "icebergCompatV2",
        "deletion vectors are enabled",
    ),
    "vectors that are off, in the first version": (
        table("icebergCompatV1", "deletionVectors", **V1, **MAPPED),
        "icebergCompatV1",
        "the protocol has deletionVectors",
    ),
    "both versions": (
        table("icebergCompatV1", "icebergCompatV2", **V1, **V2, **MAPPED),
        "icebergCompatV2",
        "icebergCompatV1 is also enabled",
    ),
    "lists in the first version": (
        table("icebergCompatV1", schema=LISTS, **V1, **MAPPED),
        "icebergCompatV1",
        "the column s.list is of the type array<long>",
    ),
    "maps in the first version": (table("icebergCompatV1", schema=MAPS, **V1, **MAPPED), "icebergCompatV1", "map<"),
    **{
        f"default {text}": (with_default(text), "icebergCompatV3", f"the column id is no literal: {text}")
        for text in ("1 + 1", "'a' || 'b'", "localtimestamp", "session_user", "CAST('1' AS BIGINT)")
    },
    "a type": (table("icebergCompatV2", schema=VARIANT, **V2, **MAPPED), "icebergCompatV2", "s.v is of the type"),
}


@pytest.mark.parametrize("state", FITTING.values(), ids=FITTING)
def test_what_goes_with_it_is_silent(state: TableState) -> None:
    assert check_state(state, "TF25") == []


@pytest.mark.parametrize(("state", "compat", "said"), UNFIT.values(), ids=UNFIT)
def test_what_does_not_go_with_it_is_said(state: TableState, compat: str, said: str) -> None:
    (finding,) = check_state(state, "TF25")
    assert (finding.code, finding.subject, finding.version) == ("TF25", compat, state.version)
    assert said in finding.message
