"""Random files and statistics: the truth is computed from the rows, and odd input is never a crash."""

from __future__ import annotations

import io
import json
import math
import random
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_delta_provider.domain.checks.actions.statistics import check_statistics
from airflow_delta_provider.domain.checks.data_files.statistics import FileStatistics, StatisticsComparison
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.parsed_fields import parsed_differences
from airflow_delta_provider.domain.formats.parquet.footer import Footer, parse_footer
from airflow_delta_provider.domain.formats.parquet.statistics import ChunkStatistics, GroupStatistics
from airflow_delta_provider.domain.report.answers import ABSENT
from tests.unit.states import field, struct, type_to_json

EPOCH, DAY, MILLISECOND = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(days=1), timedelta(milliseconds=1)
EXACT = Context(prec=60)


class Kind(NamedTuple):
    """A type: how Arrow stores it, a value, its bound, the JSON of a bound, and the bound that is next to one."""

    arrow: pa.DataType
    value: Callable[[random.Random], Any]
    bound: Callable[[Any], Any]
    form: Callable[[Any], Any]
    next: Callable[[Any, int], Any]


def decimals(precision: int, scale: int) -> Kind:
    def value(chance: random.Random) -> Decimal:
        return Decimal(chance.randrange(2 - 10**precision, 10**precision - 1)).scaleb(-scale, EXACT)

    def beside(bound: Decimal, step: int) -> Decimal:
        return EXACT.add(bound, Decimal(step).scaleb(-scale))

    return Kind(pa.decimal128(precision, scale), value, lambda value: value, str, beside)


def same(value: Any) -> Any:
    return value


TYPES = {
    "long": Kind(pa.int64(), lambda c: c.randrange(-(2**63) + 1, 2**63 - 1), same, same, lambda v, n: v + n),
    "integer": Kind(pa.int32(), lambda c: c.randrange(-9, 9), same, same, lambda v, n: v + n),
    "double": Kind(pa.float64(), lambda c: c.uniform(-1, 1), same, same, lambda v, n: math.nextafter(v, n * math.inf)),
    "decimal(38,10)": decimals(38, 10),
    "decimal(9,2)": decimals(9, 2),
    "date": Kind(
        pa.date32(),
        lambda c: date(1, 1, 2) + DAY * c.randrange(3_000_000),
        same,
        date.isoformat,
        lambda v, n: v + DAY * n,
    ),
    "timestamp": Kind(
        pa.timestamp("us", "UTC"),
        lambda c: EPOCH + timedelta(microseconds=c.randrange(-(10**15), 10**17)),
        lambda v: v - timedelta(microseconds=v.microsecond % 1000),
        lambda v: v.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        lambda v, n: v + MILLISECOND * n,
    ),
    # a string is followed by itself and U+0000; to end in the last character counts as cut
    "string": Kind(
        pa.string(),
        lambda c: "".join(c.choice("az\uffff\U00010000é") for _ in range(c.randrange(40))),
        same,
        same,
        lambda v, n: f"{v}\0",
    ),
}


def written(rows: pa.Table, **options: Any) -> Footer:
    out = io.BytesIO()
    pq.write_table(rows, out, **options)
    return parse_footer(out.getvalue())


def check(footer: Footer, columns: dict[str, str], stats: Any, rows: int) -> StatisticsComparison:
    metadata = Metadata("t", json.dumps(type_to_json(struct(*(field(name, of) for name, of in columns.items())))))
    file = LiveFile("f", 1, None, None, rows)
    return FileStatistics(metadata, has_vectors=False).check(footer, file, json.dumps(stats))


@pytest.mark.parametrize("seed", range(60))
def test_verdict_is_the_truth_about_the_rows(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 40)
    columns = chance.sample(list(TYPES), 4)
    values = {of: [None if chance.random() < 0.2 else TYPES[of].value(chance) for _ in range(count)] for of in columns}
    options = {
        "row_group_size": chance.choice([1, 7, 100]),
        "use_dictionary": chance.random() < 0.5,
        "data_page_version": chance.choice(["1.0", "2.0"]),
        "store_decimal_as_integer": chance.random() < 0.5,
    }
    stats: dict[str, Any] = {"numRecords": count, "minValues": {}, "maxValues": {}, "nullCount": {}}
    expected = {}
    for of in columns:
        known = sorted((v for v in values[of] if v is not None), key=str.encode if of == "string" else same)
        nulls = stats["nullCount"][of] = count - len(known)
        if not known:
            continue
        kind, low, high = TYPES[of], *map(TYPES[of].bound, (known[0], known[-1]))
        change = chance.choice(["", "least", "greatest", "wide", "nulls"])
        if change == "least":
            low, expected[of] = kind.next(low, 1), "DF14"
        elif change == "greatest" and of != "string":
            high, expected[of] = kind.next(high, -1), "DF14"
        elif change == "wide" and of != "string":
            low, expected[of] = kind.next(low, -1), "DF17"
        elif change == "nulls":
            said = stats["nullCount"][of] = chance.choice([n for n in range(count + 2) if n != nulls])
            expected[of] = "DF15" if said in (0, count) else "DF16"
        stats["minValues"][of], stats["maxValues"][of] = kind.form(low), kind.form(high)
    rows = pa.table({of: pa.array(values[of], TYPES[of].arrow) for of in columns})
    result = check(written(rows, **options), {of: of for of in columns}, stats, count)
    assert {finding.column: finding.code for finding in result.findings} == expected
    assert (result.compared, list(result.left_out)) == (4, [])
    assert {right.column for right in result.corrected} == {(of,) for of in expected}
    for right in result.corrected:
        (of,) = right.column
        for part, value in (("minValues", right.min), ("maxValues", right.max), ("nullCount", right.nulls)):
            stats[part].pop(of, None)
            if value is not ABSENT:
                stats[part][of] = (
                    json.loads(value) if of in ("long", "integer", "double") and part != "nullCount" else value
                )
        assert of == "double" or right.missing is ABSENT
    again = check(written(rows, **options), {of: of for of in columns}, stats, count)
    assert (list(again.findings), again.compared) == ([], 4)


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    "",
    "NaN",
    "1e999",
    "\ud800",
    "9" * 5000,
    [],
    [1],
    {},
    {"x": 1},
    {"": None},
]
MANY = {of: of for of in (*TYPES, "float", "boolean", "binary", "timestamp_ntz", "byte", "variant", "decimal(0,0)")}
ARROW = {"float": pa.float32(), "boolean": pa.bool_(), "binary": pa.binary(), "timestamp_ntz": pa.timestamp("us")}
ARROW |= {"byte": pa.int8(), "variant": pa.int32(), "decimal(0,0)": pa.int32()}


def test_statistics_of_odd_forms_are_findings_or_not_compared() -> None:
    chance = random.Random(11)
    values = {of: pa.array([TYPES[of].value(chance), None], TYPES[of].arrow) for of in TYPES}
    values |= {of: pa.array([None, None], arrow) for of, arrow in ARROW.items()}
    footer = written(pa.table(values))
    metadata = Metadata("t", json.dumps(type_to_json(struct(*(field(name, of) for name, of in MANY.items())))))
    for _ in range(400):
        stats = _odd_statistics(chance)
        check(footer, MANY, stats, 2)
        text = json.dumps(stats)
        list(check_statistics({"path": "f", "stats": text}, metadata, is_new=True))
        parsed_differences({"stats_parsed": _odd_statistics(chance), "partitionValues": {}}, metadata, text)


def _odd_statistics(chance: random.Random) -> Any:
    stats: Any = {part: {of: chance.choice(ODD) for of in MANY} for part in ("minValues", "maxValues", "nullCount")}
    stats |= {"numRecords": chance.choice(ODD), "tightBounds": chance.choice(ODD)}
    if chance.random() < 0.2:
        stats[chance.choice(list(stats))] = chance.choice(ODD)
    return stats if chance.random() < 0.9 else chance.choice(ODD)


def test_footer_statistics_of_odd_forms_are_findings_or_not_compared() -> None:
    chance = random.Random(12)
    values = {of: pa.array([TYPES[of].value(chance) for _ in range(9)], TYPES[of].arrow) for of in TYPES}
    footer = written(pa.table(values), row_group_size=3)
    sound, writer = footer.statistics()
    stats: dict[str, Any] = {"numRecords": 9, "nullCount": dict.fromkeys(TYPES, 0)}
    stats["minValues"] = {of: kind.form(kind.bound(values[of][0].as_py())) for of, kind in TYPES.items()}
    stats["maxValues"] = stats["minValues"]
    for _ in range(400):
        chunks = [[_odd(chunk, chance) for chunk in group.chunks] for group in sound]
        if chance.random() < 0.1:
            chunks[1] = chunks[1][: chance.randrange(len(chunks[1]))]
        groups = [GroupStatistics.of(group) for group in chunks]
        if chance.random() < 0.1:
            groups.pop()
        odd = writer._replace(
            in_type_order=writer.in_type_order[: chance.randrange(9)],
            created_by=chance.choice(["", "parquet-rs version 52."]),
        )
        object.__setattr__(footer, "statistics", lambda: (groups, chance.choice([odd, writer])))  # noqa: B023
        check(footer, {of: of for of in TYPES}, stats, 9)


def test_shortcut_for_equal_statistics_finds_what_is_found_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It packs the bounds of all columns together: neither a wrong length nor a neighbour may hide a difference."""
    chance = random.Random(13)
    names = {"a": "long", "b": "integer", "c": "double", "d": "string", "e": "date", "f": "integer"}
    low = {"a": -(2**53) - 1, "b": 5, "c": 0.0, "d": "a", "e": date(1, 1, 1), "f": -1}
    high = {"a": 2**53 + 1, "b": 6, "c": 0.5, "d": "é", "e": date(9999, 12, 31), "f": 0}
    rows = {name: pa.array([low[name], high[name], None], TYPES[of].arrow) for name, of in names.items()}
    footer = written(pa.table(rows))
    (group,), writer = footer.statistics()
    sound = group.chunks
    stats: dict[str, Any] = {"numRecords": 3, "nullCount": dict.fromkeys(names, 1)}
    for part, values in (("minValues", low), ("maxValues", high)):
        stats[part] = {name: TYPES[of].form(values[name]) for name, of in names.items()}
    assert check(footer, names, stats, 3) == StatisticsComparison((), 6)
    moved = [list(sound), list(sound)]  # the bytes of two neighbours, divided otherwise
    for chunks, field_ in zip(moved, ("minimum", "maximum")):
        both = getattr(sound[0], field_) + getattr(sound[1], field_)
        chunks[0], chunks[1] = sound[0]._replace(**{field_: both[:4]}), sound[1]._replace(**{field_: both[4:]})
    odd = [*moved, *([_odd(chunk, chance) for chunk in sound] for _ in range(200)), sound[:3], sound[::-1]]
    for chunks in odd:
        group = GroupStatistics.of(chunks)
        said = json.loads(json.dumps(stats))
        if chance.random() < 0.5:
            said[chance.choice(["minValues", "maxValues", "nullCount"])][chance.choice("abcdef")] = chance.choice(ODD)
        object.__setattr__(footer, "statistics", lambda: ([group], writer))  # noqa: B023
        fast = check(footer, names, said, 3)
        with monkeypatch.context() as patch:
            patch.setattr(
                "airflow_delta_provider.domain.checks.data_files.statistics._EqualityTest.passes", lambda *_: False
            )
            patch.setattr(
                "airflow_delta_provider.domain.checks.data_files.statistics._unequal", lambda leaves, *_: list(leaves)
            )
            slow = check(footer, names, said, 3)
        assert (fast.findings, fast.compared, fast.left_out) == (slow.findings, slow.compared, slow.left_out)


def _odd(chunk: ChunkStatistics, chance: random.Random) -> ChunkStatistics:
    changes: list[dict[str, Any]] = [
        {},
        {"minimum": chance.randbytes(chance.randrange(20)), "maximum": chance.randbytes(chance.randrange(20))},
        {"minimum": None},
        {"maximum": None, "null_count": None},
        {"minimum": None, "maximum": None, "null_count": 3},
        {"null_count": -1},
        {"null_count": 2**62},
        {"num_values": -5},
        {"path": b"other"},
        {"is_deprecated": True, "is_exact": False},
    ]
    return chunk._replace(**chance.choice(changes))


def test_ten_thousand_columns_and_a_row_group_without_statistics() -> None:
    names = [f"c{number}" for number in range(10_000)]
    footer = written(pa.table({name: pa.array([1, 2], pa.int32()) for name in names}), row_group_size=1)
    groups, writer = footer.statistics()
    nothing = (None,) * len(names)
    groups[1] = groups[1]._replace(minima=nothing, maxima=nothing, null_counts=nothing)
    object.__setattr__(footer, "statistics", lambda: (groups, writer))
    stats: dict[str, Any] = {part: dict.fromkeys(names, 0) for part in ("minValues", "maxValues", "nullCount")}
    result = check(footer, dict.fromkeys(names, "integer"), {"numRecords": 2, **stats}, 2)
    assert (len(result.findings), len(result.left_out), len(result.undecided)) == (10_000, 10_000, 10_000)
