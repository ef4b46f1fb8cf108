"""What checkpoints have parsed of partition values and statistics: as engines write it, and wrong."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.parsed_fields import parsed_differences
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.jobs.delta import arrow_checkpoint, python_checkpoint
from tests.unit.audits_in_parts import Kept, told
from tests.unit.checkpoint_builder import as_parquet, classic_name, reconciled
from tests.unit.log_builder import MODE, Actions, Table, body
from tests.unit.states import field

Json = dict[str, Any]
#: By column: its type, its type in the checkpoint, a value as text, the value itself, and another value.
COLUMNS: dict[str, tuple[str, pa.DataType, str, Any, Any]] = {
    "b": ("byte", pa.int8(), "5", 5, 6),
    "l": ("long", pa.int64(), "9007199254740993", 9007199254740993, 9007199254740992),
    "f": ("float", pa.float32(), "1.1", 1.1, 1.2),
    "d": ("double", pa.float64(), "1.0E-30", 1e-30, 2e-30),
    "m": ("decimal(10,2)", pa.decimal128(10, 2), "12.34", Decimal("12.34"), Decimal("1234.00")),
    "s": ("string", pa.string(), "Zürich", "Zürich", "Zug"),
    "a": ("date", pa.date32(), "2024-02-29", date(2024, 2, 29), date(2024, 3, 1)),
    "t": (
        "timestamp",
        pa.timestamp("us", "UTC"),
        "2024-03-31T04:30:00.123+02:00",
        datetime(2024, 3, 31, 2, 30, 0, 123_456, timezone.utc),
        datetime(2024, 3, 31, 4, 30, tzinfo=timezone.utc),
    ),
    "n": (
        "timestamp_ntz",
        pa.timestamp("us"),
        "2024-03-31T04:30:00.123",
        datetime(2024, 3, 31, 4, 30, 0, 123_456),
        datetime(2024, 3, 31, 2, 30),
    ),
}
_IN_JSON = {"b": int, "l": int, "f": float, "d": float, "m": float}
#: Partition values without a zone are in that of the writer.
_IN_NO_ZONE = datetime(2024, 4, 2, tzinfo=timezone.utc)
PARTITIONED = {"t": "2024-03-31 02:30:00.123456", "n": "2024-03-31 04:30:00.123456"}


def _no_change(add: Json) -> None:
    pass


def table(*partition_by: str, mode: str = "none") -> Table:
    """A table of all types, with one file."""
    columns = [field(name, type_) for name, (type_, *_) in COLUMNS.items()]
    features = ["timestampNtz", *(["columnMapping"] if mode != "none" else [])]
    table = Table(*columns, features=features, partition_by=partition_by, properties={MODE: mode})
    names = {wire["name"]: _physical(wire) for wire in table.schema["fields"]}
    written = table._written([10])
    add = written[0]["add"]
    add["partitionValues"] = {names[name]: PARTITIONED.get(name, COLUMNS[name][2]) for name in partition_by}
    bounds = {names[name]: _IN_JSON.get(name, str)(COLUMNS[name][2]) for name in COLUMNS if name not in partition_by}
    nulls: Json = dict.fromkeys(bounds, 0)
    add["stats"] = json.dumps({"numRecords": 10, "minValues": bounds, "maxValues": bounds, "nullCount": nulls})
    table.commit("WRITE", *written)
    return table.append()


def _physical(wire: Json) -> str:
    return str(wire["metadata"].get("delta.columnMapping.physicalName", wire["name"]))


def checkpoint(table: Table, change: Callable[[Json], Any] = _no_change, *, text: bool = True) -> Kept:
    """The log with a checkpoint that has parsed everything.

    :param change: what is wrong with the first file
    :param text: whether statistics are there as JSON, too
    """
    storage, at = Kept(table.commits), table.version - 1
    actions: Actions = copy.deepcopy(reconciled(table.commits[: at + 1]))
    names = {wire["name"]: _physical(wire) for wire in table.schema["fields"] if wire["name"] in COLUMNS}
    partition_by = table.now.metadata["partitionColumns"]
    (add,) = (action["add"] for action in actions if "add" in action)
    values = {names[name]: COLUMNS[name][3] for name in names}
    bounds = {name: value for name, value in values.items() if name not in add["partitionValues"]}
    add["stats_parsed"] = {
        "numRecords": 10,
        "minValues": bounds,
        "maxValues": dict(bounds),
        "nullCount": dict.fromkeys(bounds, 0),
        "tightBounds": True,
    }
    add["partitionValues_parsed"] = {names[name]: values[names[name]] for name in partition_by}
    change(add)
    if not text:
        del add["stats"]
    of = {names[name]: COLUMNS[name][1] for name in names}
    each = pa.struct([(name, type_) for name, type_ in of.items() if name in bounds])
    counts = pa.struct([(name, pa.int64()) for name in bounds])
    parsed = [pa.field("partitionValues_parsed", pa.struct([(name, of[name]) for name in add["partitionValues"]]))]
    parts = [("numRecords", pa.int64()), ("minValues", each), ("maxValues", each), ("nullCount", counts)]
    parsed.append(pa.field("stats_parsed", pa.struct([*parts, ("tightBounds", pa.bool_())])))
    storage.files[classic_name(at)] = as_parquet(actions, parsed if partition_by else parsed[1:])
    return storage


def of_checkpoint(storage: Kept) -> list[Finding]:
    """What the audit says of the log, without the times that each engine reads in another zone."""
    return [finding for finding in told(storage)[0] if finding.code != "AC40"]


def differences(storage: Kept) -> str:
    """What the audit says of the checkpoint."""
    (found,) = of_checkpoint(storage)
    assert (found.code, found.path) == ("LG07", f"_delta_log/{classic_name(1)}")
    return str(found.evidence)


ALL = list(COLUMNS)
PARTITIONS: list[tuple[str, ...]] = [(), ("b", "f", "t"), ("l", "d", "n", "s"), ("m", "a")]


@pytest.mark.parametrize("text", [True, False], ids=["JSON, too", "struct alone"])
@pytest.mark.parametrize("mode", ["none", "name", "id"])
@pytest.mark.parametrize("partition_by", PARTITIONS)
def test_what_is_parsed_as_engines_do_is_silent(partition_by: tuple[str, ...], mode: str, text: bool) -> None:
    assert of_checkpoint(checkpoint(table(*partition_by, mode=mode), text=text)) == []


@pytest.mark.parametrize("text", [True, False], ids=["JSON, too", "struct alone"])
@pytest.mark.parametrize("part", ["minValues", "maxValues"])
@pytest.mark.parametrize("column", ALL)
def test_bound_of_another_value_is_found(column: str, part: str, text: bool) -> None:
    def change(add: Json) -> None:
        add["stats_parsed"][part] = {**add["stats_parsed"][part], column: COLUMNS[column][4]}

    assert f"stats_parsed ({part} of {column} is " in differences(checkpoint(table(), change, text=text))


@pytest.mark.parametrize("column", ALL)
def test_partition_value_of_another_value_is_found(column: str) -> None:
    other = _IN_NO_ZONE if column == "t" else COLUMNS[column][4]
    storage = checkpoint(table(column), lambda add: add["partitionValues_parsed"].update({column: other}))
    assert f"partitionValues_parsed ({column} is " in differences(storage)


def test_time_in_another_zone_is_silent() -> None:
    other = COLUMNS["t"][4]
    assert of_checkpoint(checkpoint(table("t"), lambda add: add["partitionValues_parsed"].update(t=other))) == []


@pytest.mark.parametrize("column", ALL)
def test_partition_value_that_is_lost_is_found(column: str) -> None:
    storage = checkpoint(table(column), lambda add: add["partitionValues_parsed"].update({column: None}))
    assert f"partitionValues_parsed ({column} is null, not " in differences(storage)


@pytest.mark.parametrize("text", [True, False], ids=["JSON, too", "struct alone"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"numRecords": 9}, "numRecords is 9, not 10"),
        ({"nullCount": {"b": 10}}, "nullCount of b is 10, not 0"),
    ],
)
def test_counts_that_differ_are_found(changes: Json, said: str, text: bool) -> None:
    storage = checkpoint(table(), lambda add: add["stats_parsed"].update(changes), text=text)
    assert f"stats_parsed ({said})" in differences(storage)


@pytest.mark.parametrize(
    "changes",
    [
        {"minValues": None},
        {"minValues": {}, "maxValues": {"b": None}},
        {"nullCount": None, "numRecords": None, "tightBounds": None},
    ],
)
def test_what_is_left_out_is_silent(changes: Json) -> None:
    assert of_checkpoint(checkpoint(table(), lambda add: add["stats_parsed"].update(changes))) == []


def test_statistics_that_no_commit_has_are_not_compared() -> None:
    without = table()
    body(without.commits[1], "add").pop("stats")
    assert of_checkpoint(checkpoint(without, _no_change)) == []


#: A bound in the checkpoint that differs from ``COLUMNS`` as little as its type allows, towards the values.
LEAST: list[tuple[str, Any, Any]] = [
    ("b", 6, 4),
    ("l", 9007199254740994, 9007199254740992),
    ("f", 1.1000001430511475, 1.0999999046325684),
    ("d", math.nextafter(1e-30, 1), math.nextafter(1e-30, 0)),
    ("m", Decimal("12.35"), Decimal("12.33")),
    ("s", "Zürich\0", "Züric"),
    ("a", date(2024, 3, 1), date(2024, 2, 28)),
    ("t", COLUMNS["t"][3].replace(microsecond=124_000), COLUMNS["t"][3].replace(microsecond=122_000)),
    ("n", COLUMNS["n"][3].replace(microsecond=124_000), COLUMNS["n"][3].replace(microsecond=122_000)),
]


@pytest.mark.parametrize("text", [True, False], ids=["JSON, too", "struct alone"])
@pytest.mark.parametrize(("column", "above", "below"), LEAST)
def test_bound_that_excludes_the_next_value_is_found(column: str, above: Any, below: Any, text: bool) -> None:
    for part, value in (("minValues", above), ("maxValues", below)):

        def change(add: Json) -> None:
            add["stats_parsed"][part] = {**add["stats_parsed"][part], column: value}  # noqa: B023

        assert f"stats_parsed ({part} of {column} is " in differences(checkpoint(table(), change, text=text))


def test_maximum_that_is_lower_by_less_than_a_millisecond_is_silent() -> None:
    """Readers allow for that, as times in JSON are cut to milliseconds."""
    high = COLUMNS["t"][3].replace(microsecond=122_001)

    def change(add: Json) -> None:
        add["stats_parsed"]["maxValues"] = {**add["stats_parsed"]["maxValues"], "t": high}

    assert of_checkpoint(checkpoint(table(), change)) == []


@pytest.mark.parametrize(("column", "value"), [("f", 1.1000001430511475), ("d", math.nextafter(1e-30, 1))])
def test_partition_value_of_the_next_float_is_found(column: str, value: float) -> None:
    storage = checkpoint(table(column), lambda add: add["partitionValues_parsed"].update({column: value}))
    assert f"partitionValues_parsed ({column} is " in differences(storage)


def test_number_of_rows_that_is_lost_is_found_if_the_file_has_a_deletion_vector() -> None:
    """PROTOCOL.md requires it there: a commit that deletes more rows repeats it."""
    add = {"stats_parsed": {"numRecords": None}, "deletionVector": {"storageType": "i"}}
    metadata = Metadata.from_json(table().now.metadata)
    assert len(parsed_differences(add, metadata, '{"numRecords": 10}')) == 1
    for sound in ({**add, "stats": '{"numRecords": 10}'}, {**add, "deletionVector": None}):
        assert parsed_differences(sound, metadata, '{"numRecords": 10}') == []


@pytest.mark.parametrize(
    ("column", "wrong", "sound"),
    [
        ("m", "12.33", "12.340"),
        ("d", "9.999999999999999E-31", "1.0000000000000001E-30"),
        ("f", "1.0999999", "1.10000002"),
    ],
)
def test_bound_that_an_engine_wrote_again_as_json_excludes_no_value(column: str, wrong: str, sound: str) -> None:
    for number, is_found in ((wrong, True), (sound, False)):

        def change(add: Json) -> None:
            stats = json.loads(add["stats"])
            stats["maxValues"][column] = "@"
            add["stats"] = json.dumps(stats).replace('"@"', number)  # noqa: B023
            del add["stats_parsed"]

        found = of_checkpoint(checkpoint(table(), change))
        assert [finding.code for finding in found] == (["LG07"] if is_found else [])


@pytest.mark.parametrize("by_pyarrow", [True, False], ids=["with PyArrow", "without"])
@pytest.mark.parametrize("counted", [True, False])
def test_statistics_of_files_whose_bounds_are_not_compared_count_as_there(monkeypatch, by_pyarrow, counted):
    monkeypatch.setattr(arrow_checkpoint, "is_available", lambda: by_pyarrow)
    for reader in (arrow_checkpoint, python_checkpoint):
        monkeypatch.setattr(reader, "MOST_PARSED", 1)
    made = Table(field("id", "long")).append(4).append()
    actions: Actions = copy.deepcopy(reconciled(made.commits[:2]))
    adds = [action["add"] for action in actions if "add" in action]
    for add in adds:
        rows = json.loads(add.pop("stats"))["numRecords"]
        add["stats_parsed"] = {"numRecords": rows} if counted or add is adds[0] else {}
    storage = Kept(made.commits)
    parts = pa.struct([("numRecords", pa.int64())])
    storage.files[classic_name(1)] = as_parquet(actions, [pa.field("stats_parsed", parts)])

    assert [finding.code for finding in of_checkpoint(storage)] == ([] if counted else ["LG27"])
