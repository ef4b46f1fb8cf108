"""Random specs, and random tables, for tests of what is so with every one."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st

from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)
from airflow_delta_provider.domain.spec.table_spec import (
    UNDECLARED,
    ColumnSpec,
    Rows,
    TableSpec,
    View,
    struct_of,
)

_PRIMITIVES = (
    *("byte", "short", "integer", "long", "float", "double", "boolean", "string", "binary", "date", "timestamp"),
    *("timestamp_ntz", "variant", "void"),
)
LEAVES = st.sampled_from(
    [*map(PrimitiveType, _PRIMITIVES), DecimalType(10, 0), DecimalType(38, 38), DecimalType(12, 2)]
)
_ODD_NAMES = (
    "no",
    "on",
    "1",
    "null",
    "a.b",
    "a`b",
    "größe",
    "名前",
    "a b",
    "{x}",
    "2024-01-01",
    "element",
    "key",
    "value",
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(_ODD_NAMES)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(_ODD_NAMES)
EXPRESSIONS = TEXTS.map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "''") + "'") | st.sampled_from(
    ["1", "true", "current_timestamp()", "r'\\d'", "X'1F'", "transform(array(1), x -> x + 1)", "'a' || \"b\""]
)
_SAID = st.just(UNDECLARED) | st.none() | TEXTS


def _unique(names: list[str]) -> list[str]:
    return list({name.lower(): name for name in names}.values())


@st.composite
def _columns(draw: st.DrawFn, types: st.SearchStrategy[DataType], *, top: bool = False) -> tuple[ColumnSpec, ...]:
    names = _unique(draw(st.lists(NAMES, max_size=4)))
    old = [
        name for name in _unique(draw(st.lists(NAMES, max_size=2))) if name.lower() not in {n.lower() for n in names}
    ]
    columns = []
    for number, name in enumerate(names):
        default = draw(st.just(UNDECLARED) | st.none() | EXPRESSIONS) if top else UNDECLARED
        columns.append(
            ColumnSpec(
                name=name,
                data_type=draw(st.none() | types),
                nullable=draw(st.none() | st.booleans()),
                comment=draw(_SAID),
                default=default,
                generated=draw(st.none() | EXPRESSIONS) if top and default in (UNDECLARED, None) else None,
                renamed_from=old[number] if number < len(old) else draw(st.just(UNDECLARED) | st.none()),
                rewrite=draw(st.booleans()),
                null_on_loss=draw(st.booleans()),
            )
        )
    return tuple(columns)


DECLARED: st.SearchStrategy[DataType] = st.recursive(
    LEAVES,
    lambda inside: st.builds(ArrayType, inside) | st.builds(MapType, inside, inside) | _columns(inside).map(struct_of),
    max_leaves=8,
)


@st.composite
def specs(draw: st.DrawFn) -> TableSpec:
    """Draw a spec that does not contradict itself."""
    columns = draw(_columns(DECLARED, top=True))
    taken = {name.lower() for column in columns for name in (column.name, str(column.renamed_from))}
    free = [name for name in _unique(draw(st.lists(NAMES, max_size=3))) if name.lower() not in taken]
    partitioned = draw(st.booleans())
    keys = tuple(_unique(draw(st.lists(NAMES, max_size=3))))
    keys = tuple(key for key in keys if key.lower() not in {name.lower() for name in free})
    return TableSpec(
        table=draw(st.none() | st.just("s3://lake/orders")),
        table_id=draw(st.none() | TEXTS),
        columns=columns,
        drop=tuple((name,) for name in free),
        properties=draw(st.dictionaries(TEXTS, st.none() | TEXTS | st.just(""), max_size=3)),
        features=tuple(draw(st.sets(st.sampled_from(["rowTracking", "appendOnly", "futureFeature"])))),
        drop_features=tuple(draw(st.sets(st.sampled_from(["deletionVectors", "typeWidening"])))),
        constraints=draw(st.dictionaries(TEXTS, st.none() | EXPRESSIONS, max_size=3)),
        partition_by=keys if partitioned else None,
        cluster_by=None if partitioned else draw(st.none() | st.just(tuple((key, "x") for key in keys))),
        comment=draw(_SAID),
        like=draw(st.none() | st.just("lake.sales.orders")),
        after=draw(st.just(()) | st.just(("/a", "b.c"))),
        views=draw(st.just(()) | st.just((View("v"), View("w.x", (("a", "b"), ("c.d",)))))),
        freshness=draw(st.none() | st.timedeltas(timedelta(seconds=1), timedelta(days=999)).map(_whole)),
        rows=draw(st.none() | st.sampled_from([Rows(0), Rows(None, 7), Rows(3, 3)])),
        only_additive=draw(st.booleans()),
        exact=draw(st.booleans()) if columns else False,
        rewrite=draw(st.booleans()),
        null_on_loss=draw(st.booleans()),
        time_zone=draw(st.none() | st.sampled_from(["UTC", "Europe/Berlin", "-03:30"])),
    )


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=int(duration.total_seconds()))


@st.composite
def _fields(draw: st.DrawFn, types: st.SearchStrategy[DataType], *, least: int = 0) -> tuple[StructField, ...]:
    names = _unique(draw(st.lists(NAMES, min_size=least, max_size=5)))
    return tuple(
        StructField(name, draw(types), draw(st.booleans()), draw(_METADATA) if draw(st.booleans()) else {})
        for name in names
    )


_METADATA = st.fixed_dictionaries({}, optional={"comment": TEXTS | st.just(""), "CURRENT_DEFAULT": st.just("1")})
TYPES: st.SearchStrategy[DataType] = st.recursive(
    LEAVES | st.builds(PrimitiveType, st.sampled_from(["geometry(OGC:CRS84)", "unknown", "null"])),
    lambda inside: (
        st.builds(ArrayType, inside, st.booleans())
        | st.builds(MapType, inside, inside, st.booleans())
        | st.builds(StructType, _fields(inside))
    ),
    max_leaves=8,
)
SCHEMAS = st.builds(StructType, _fields(TYPES, least=1))
