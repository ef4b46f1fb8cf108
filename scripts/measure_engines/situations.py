"""Tables in which features, types, values and earlier changes meet, made by Delta Spark, with the rows that are right.

Engines read them in full and by predicates, since a reader can skip files or columns that it should not skip.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.jobs.delta.engines import stored_types
from airflow_delta_provider.jobs.delta.session import python_session
from scripts.measure_engines.try_engine import comparable, condition

#: Fields of live files that conditions of engines are about.
_FILE = ("path", "size", "partitionValues", "modificationTime", "stats", "deletionVector")
#: A column, an operator, and a value: a plain one, or one with its SQL type.
Predicate = tuple[str, str, Any]
_MICROS = "SET spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"
_INT96 = "SET spark.sql.parquet.outputTimestampType=INT96"
_MAPPED = "delta.columnMapping.mode=name"
_MAP = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
_VECTORS = "delta.enableDeletionVectors=true"
_VECTORS_OFF = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"


@dataclass(frozen=True)
class Situation:
    """A table to read.

    :param statements: statements that make it; ``{t}`` is its name, ``{base}`` that of a table that it clones
    :param predicates: predicates to read it by
    :param decimals: values of the column ``d DECIMAL(18,2)``, which deltalake writes; there are no statements then
    """

    statements: tuple[str, ...]
    predicates: tuple[Predicate, ...] = ()
    decimals: tuple[str, ...] = ()


def _table(columns: str, *statements: str, by: str = "", properties: str = "") -> tuple[str, ...]:
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in (pair.split("=") for pair in properties.split()))
    partitions = f" PARTITIONED BY ({by})" if by else ""
    more = f" TBLPROPERTIES ({listed})" if listed else ""
    return f"CREATE TABLE {{t}} ({columns}) USING delta{partitions}{more}", *statements


_TWO = "INSERT INTO {t} VALUES (1, 'a', 1), (2, 'b', 2)"
_BY_PARTITIONS: tuple[Predicate, ...] = (("p", "=", "a"), ("q", ">", 1), ("id", "=", 2))


def _partitions() -> Iterator[tuple[str, Situation]]:
    columns = "id INT, p STRING, q INT"
    for mode in ("name", "id"):
        made = _table(columns, _TWO, by="p, q", properties=f"delta.columnMapping.mode={mode}")
        yield f"mapping by {mode}, partitioned, created", Situation(made, _BY_PARTITIONS)
    made = _table(columns, _TWO, by="p", properties=_MAPPED)
    yield "mapping, one partition column, created", Situation(made, _BY_PARTITIONS)
    upgraded = _table(columns, _TWO, _MAP, by="p, q")
    yield "mapping, partitioned, upgraded", Situation(upgraded, _BY_PARTITIONS)
    more = "ALTER TABLE {t} RENAME COLUMN id TO key", "INSERT INTO {t} VALUES (3, 'c', 3)"
    by_key: tuple[Predicate, ...] = (("p", "=", "a"), ("q", ">", 1), ("key", "=", 2))
    yield "mapping, partitioned, upgraded, data column renamed", Situation((*upgraded, *more), by_key)
    more = "ALTER TABLE {t} RENAME COLUMN p TO part", "INSERT INTO {t} VALUES (3, 'c', 3)"
    by_part: tuple[Predicate, ...] = (("part", "=", "a"), ("q", ">", 1), ("id", "=", 2))
    yield "mapping, partitioned, upgraded, partition column renamed", Situation((*upgraded, *more), by_part)
    more = "ALTER TABLE {t} ADD COLUMNS (v INT)", "INSERT INTO {t} VALUES (3, 'c', 3, 30)"
    yield "mapping, partitioned, upgraded, column added", Situation((*upgraded, *more), _BY_PARTITIONS)
    nested = (
        "INSERT INTO {t} VALUES (1, 'a', NAMED_STRUCT('x', 1)), (2, 'b', NAMED_STRUCT('x', 2))",
        _MAP,
        "ALTER TABLE {t} RENAME COLUMN s.x TO z",
        "INSERT INTO {t} VALUES (3, 'c', NAMED_STRUCT('z', 3))",
    )
    by_p: tuple[Predicate, ...] = (("p", "=", "a"), ("id", "=", 2))
    nested = _table("id INT, p STRING, s STRUCT<x: INT>", *nested, by="p")
    yield "mapping, partitioned, upgraded, field renamed", Situation(nested, by_p)
    rows = "INSERT INTO {t} VALUES (1, NULL, NULL), (2, 'a', 1), (3, '', 2), (4, 'a/b', 3), (5, 'a b%', 4)"
    odd: tuple[Predicate, ...] = (("p", "=", "a/b"), ("p", "is null", None), ("q", "is null", None))
    yield "partitions, odd strings", Situation(_table(columns, rows, by="p, q"), odd)
    rows = "INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, NULL)"
    paths = _table("id INT, p STRING", rows, by="p", properties="delta.randomizeFilePrefixes=true")
    by_id: tuple[Predicate, ...] = (("p", "=", "a"), ("p", "is null", None), ("id", "=", 1))
    yield "partitions, random file prefixes", Situation(paths, by_id)
    base = [each.replace("{t}", "{base}") for each in _table("id INT, p STRING", rows)]
    yield "shallow clone", Situation((*base, "CREATE TABLE {t} SHALLOW CLONE {base}"), by_id)
    rows = "INSERT INTO {t} VALUES (1, X'61'), (2, NULL)"
    yield "partitions, binary", Situation(_table("id INT, p BINARY", rows, by="p"))
    rows = "INSERT INTO {t} VALUES (1, 1.5), (2, 2.25), (3, NULL)"
    by_decimal: tuple[Predicate, ...] = (("p", "=", 2.25), ("p", ">", 1))
    yield "partitions, decimal", Situation(_table("id INT, p DECIMAL(9,3)", rows, by="p"), by_decimal)
    rows = "INSERT INTO {t} VALUES (1, 1, DATE'2026-01-01', true), (2, 2, DATE'9999-12-31', false)"
    typed: tuple[Predicate, ...] = (("p", "=", 1), ("d", "=", {"DATE": "9999-12-31"}), ("b", "=", True))
    yield "partitions, typed", Situation(_table("id INT, p BIGINT, d DATE, b BOOLEAN", rows, by="p, d, b"), typed)


def _mapping() -> Iterator[tuple[str, Situation]]:
    columns = "id INT, a STRING, b INT"
    rows = "INSERT INTO {t} VALUES (1, 'x', 10), (2, 'y', 20)"
    exchanged = (
        "ALTER TABLE {t} RENAME COLUMN a TO c",
        "ALTER TABLE {t} RENAME COLUMN b TO a",
        "INSERT INTO {t} VALUES (3, 'z', 30)",
    )
    by_new: tuple[Predicate, ...] = (("c", "=", "x"), ("a", ">", 15))
    for mode in ("name", "id"):
        made = _table(columns, rows, *exchanged, properties=f"delta.columnMapping.mode={mode}")
        yield f"mapping by {mode}, renamed to a former name", Situation(made, by_new)
    yield "mapping, upgraded, renamed to a former name", Situation(_table(columns, rows, _MAP, *exchanged), by_new)
    again = (
        "ALTER TABLE {t} DROP COLUMN a",
        "ALTER TABLE {t} ADD COLUMNS (a STRING)",
        "INSERT INTO {t} VALUES (3, 30, 'z')",
    )
    by_again: tuple[Predicate, ...] = (("a", "=", "x"), ("a", "is null", None))
    yield "mapping, dropped and added again", Situation(_table(columns, rows, *again, properties=_MAPPED), by_again)
    nested = _table(
        "id INT, s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<q: INT>>",
        "INSERT INTO {t} VALUES (1, NAMED_STRUCT('x', 1, 'y', 'a'), ARRAY(NAMED_STRUCT('q', 7)))",
        "ALTER TABLE {t} RENAME COLUMN s.x TO z",
        "ALTER TABLE {t} RENAME COLUMN l.element.q TO k",
        "INSERT INTO {t} VALUES (2, NAMED_STRUCT('z', 2, 'y', 'b'), ARRAY(NAMED_STRUCT('k', 8)))",
        properties=_MAPPED,
    )
    yield "mapping, nested, renamed", Situation(nested)
    inner = _table(
        "id INT, l ARRAY<STRUCT<x: INT, y: STRING>>",
        "INSERT INTO {t} VALUES (1, ARRAY(NAMED_STRUCT('x', 1, 'y', 'a')))",
        _MAP,
        "ALTER TABLE {t} RENAME COLUMN l.element.x TO z",
        "INSERT INTO {t} VALUES (2, ARRAY(NAMED_STRUCT('z', 2, 'y', 'b')))",
    )
    yield "mapping, upgraded, field in an array renamed", Situation(inner)
    arrays = "INSERT INTO {t} VALUES (1, ARRAY(7), MAP('k', 1)), (2, ARRAY(), MAP())"
    made = _table("id INT, l ARRAY<INT>, m MAP<STRING, INT>", arrays, properties=_MAPPED)
    yield "mapping, arrays and maps", Situation(made, (("id", "=", 1),))
    made = _table("id INT, l ARRAY<INT>", "INSERT INTO {t} VALUES (1, ARRAY(7)), (2, ARRAY())", properties=_MAPPED)
    yield "mapping, arrays", Situation(made, (("id", "=", 1),))
    names = _table(
        "id INT, `a b` INT, `c.d` INT, `ü` INT, `X` INT", "INSERT INTO {t} VALUES (1, 2, 3, 4, 5)", properties=_MAPPED
    )
    yield "mapping, names with blanks and dots", Situation(names, (("a b", "=", 2), ("c.d", "=", 3)))


#: Type, later type, a value of each, and the SQL type of the values in predicates.
_WIDENINGS = (
    ("TINYINT", "INT", "7", "70000"),
    ("SMALLINT", "BIGINT", "7", "5000000000"),
    ("INT", "BIGINT", "7", "5000000000"),
    ("FLOAT", "DOUBLE", "0.1", "0.3D"),
    ("INT", "DOUBLE", "7", "7.5D"),
    ("TINYINT", "DOUBLE", "7", "7.5D"),
    ("INT", "DECIMAL(12,1)", "7", "7.5"),
    ("BIGINT", "DECIMAL(22,2)", "7", "7.25"),
    ("DECIMAL(5,2)", "DECIMAL(12,4)", "1.25", "1.2512"),
    ("DECIMAL(5,2)", "DECIMAL(12,2)", "1.25", "12345.12"),
    ("DATE", "TIMESTAMP_NTZ", "DATE'2020-01-02'", "TIMESTAMP_NTZ'2020-01-02 00:00:01'"),
)


def _widenings() -> Iterator[tuple[str, Situation]]:
    for old, new, first, second in _WIDENINGS:
        made = _table(
            f"id INT, c {old}",
            f"INSERT INTO {{t}} VALUES (1, CAST({first} AS {old}))",
            f"ALTER TABLE {{t}} ALTER COLUMN c TYPE {new}",
            f"INSERT INTO {{t}} VALUES (2, {second})",
            properties="delta.enableTypeWidening=true delta.feature.timestampNtz=supported",
        )
        value: Any
        if old == "DATE":
            value = {"TIMESTAMP": "2020-01-02 00:00:01"}, {"TIMESTAMP": "2020-01-01 12:00:00"}
        elif old == "FLOAT":
            value = {"DOUBLE": "0.1000000015"}, {"DOUBLE": "0.1"}
        elif new == "DECIMAL(12,1)":
            value = 7.2, 6.9
        else:
            value = float(second.rstrip("D")) if "." in second else int(second), float(first) - 0.001
        predicates: tuple[Predicate, ...] = (("c", "=", value[0]), ("c", "<", value[0]), ("c", ">", value[1]))
        yield f"widening, {old.lower()} to {new.lower()}", Situation(made, predicates)
    nested = _table(
        "id INT, s STRUCT<x: INT>, l ARRAY<INT>",
        "INSERT INTO {t} VALUES (1, NAMED_STRUCT('x', 7), ARRAY(7))",
        "ALTER TABLE {t} ALTER COLUMN s.x TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN l.element TYPE BIGINT",
        "INSERT INTO {t} VALUES (2, NAMED_STRUCT('x', 5000000000), ARRAY(5000000000))",
        properties="delta.enableTypeWidening=true",
    )
    yield "widening, int to bigint, nested", Situation(nested, (("id", "=", 2),))
    partition = _table(
        "id INT, p TINYINT",
        "INSERT INTO {t} VALUES (1, CAST(7 AS TINYINT))",
        "ALTER TABLE {t} ALTER COLUMN p TYPE BIGINT",
        "INSERT INTO {t} VALUES (2, 5000000000)",
        by="p",
        properties="delta.enableTypeWidening=true",
    )
    yield "widening, partition column", Situation(partition, (("p", "=", 5000000000), ("p", "=", 7)))


def _vectors() -> Iterator[tuple[str, Situation]]:
    rows = (
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ CAST(id AS INT), CONCAT('v', id), CAST(id % 2 AS INT) FROM RANGE(50)"
    )
    delete = "DELETE FROM {t} WHERE id % 7 = 0"
    columns, single = "id INT, a STRING, p INT", [f"INSERT INTO {{t}} VALUES ({n}, 'n', 1)" for n in (100, 101, 102)]
    found: tuple[Predicate, ...] = (("id", "=", 7), ("id", "=", 8), ("p", "=", 1))
    yield "vectors", Situation(_table(columns, rows, delete, properties=_VECTORS), found)
    yield "vectors, partitioned", Situation(_table(columns, rows, delete, by="p", properties=_VECTORS), found)
    yield "vectors, mapping", Situation(_table(columns, rows, delete, properties=f"{_VECTORS} {_MAPPED}"), found)
    both = f"{_VECTORS} {_MAPPED}"
    yield "vectors, mapping, partitioned", Situation(_table(columns, rows, delete, by="p", properties=both), found)
    off = _table(columns, rows, delete, _VECTORS_OFF, properties=_VECTORS)
    yield "vectors, property off later", Situation(off, found)
    unset = "ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.enableDeletionVectors')"
    yield "vectors, property unset later", Situation(_table(columns, rows, delete, unset, properties=_VECTORS), found)
    kept = f"{_VECTORS} delta.checkpointInterval=3"
    yield (
        "vectors, property off, checkpoint",
        Situation(_table(columns, rows, delete, _VECTORS_OFF, *single, properties=kept), found),
    )
    made = _table(columns, rows, *single[:2], delete, _VECTORS_OFF, properties=kept)
    yield "vectors, property off, checkpoint before them", Situation(made, found)
    purged = "REORG TABLE {t} APPLY (PURGE)"
    made = _table(columns, rows, delete, single[0], _VECTORS_OFF, purged, properties=kept)
    yield "vectors, property off, purged after the checkpoint", Situation(made, found)
    made = _table(columns, rows, delete, single[0], _VECTORS_OFF, purged, *single[1:], properties=kept)
    yield "vectors, property off, purged before the checkpoint", Situation(made, found)
    tracked = f"{_VECTORS} delta.enableRowTracking=true"
    updated = "UPDATE {t} SET a = 'u' WHERE id % 5 = 0"
    yield "vectors, row tracking", Situation(_table(columns, rows, delete, updated, properties=tracked), found)


def _checkpoints() -> Iterator[tuple[str, Situation]]:
    single = [f"INSERT INTO {{t}} VALUES ({n}, 'v')" for n in range(5)]
    by: tuple[Predicate, ...] = (("id", "=", 3), ("id", ">", 1))
    made = _table("id INT, a STRING", *single, "DELETE FROM {t} WHERE id = 2", properties="delta.checkpointInterval=2")
    yield "checkpoint, classic", Situation(made, by)
    kept = "delta.checkpointPolicy=v2 delta.checkpointInterval=2"
    made = _table("id INT, a STRING", *single, "DELETE FROM {t} WHERE id = 2", properties=kept)
    yield "checkpoint, V2", Situation(made, by)
    kept = "delta.checkpointInterval=2 delta.checkpoint.writeStatsAsJson=false delta.checkpoint.writeStatsAsStruct=true"
    yield "checkpoint, statistics as structs only", Situation(_table("id INT, a STRING", *single, properties=kept), by)


def _values() -> Iterator[tuple[str, Situation]]:
    far = "TIMESTAMP'2021-01-01 12:00:00.123456'", "TIMESTAMP'1500-01-01'", "TIMESTAMP'9999-12-31 23:59:59.999999'"
    rows = [f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(far)]
    later: tuple[Predicate, ...] = (
        ("t", ">", {"TIMESTAMP": "2200-01-01 00:00:00"}),
        ("t", "<", {"TIMESTAMP": "1600-01-01 00:00:00"}),
        ("id", "=", 2),
    )
    made = _table("id INT, t TIMESTAMP", *rows)
    yield "timestamps beyond 1677 to 2262, INT96", Situation((_INT96, *made), later)
    yield "timestamps beyond 1677 to 2262, INT64", Situation((_MICROS, *made, _INT96), later)
    ends = "TIMESTAMP'9999-12-31 23:59:59.999'", "TIMESTAMP'2021-01-01 12:00:00.123'"
    whole = [f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(ends)]
    made = (_MICROS, *_table("id INT, t TIMESTAMP", *whole), _INT96)
    yield "timestamps with milliseconds, up to the end of 9999, INT64", Situation(made, later)
    one = "INSERT INTO {t} VALUES (1, NAMED_STRUCT('t', TIMESTAMP'9999-12-31'), ARRAY(TIMESTAMP'9999-12-31'))"
    made = _table("id INT, s STRUCT<t: TIMESTAMP>, l ARRAY<TIMESTAMP>", one)
    yield "timestamps beyond 1677 to 2262, INT96, nested", Situation((_INT96, *made))
    edge = "TIMESTAMP'1677-09-21 00:12:44'", "TIMESTAMP'2262-04-11 23:47:16'"
    made = _table("id INT, t TIMESTAMP", *[f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(edge)])
    yield "timestamps within 1677 to 2262, INT96", Situation((_INT96, *made), later)
    by_t = _table("id INT, t TIMESTAMP", *rows, by="t")
    yield "timestamps beyond 1677 to 2262, partition", Situation(by_t, later)
    made = _table("id INT, t TIMESTAMP_NTZ", *(row.replace("TIMESTAMP'", "TIMESTAMP_NTZ'") for row in rows))
    yield "timestamps without zone beyond 1677 to 2262", Situation(made, later)
    days = "DATE'0001-01-01'", "DATE'1582-10-04'", "DATE'1582-10-15'", "DATE'9999-12-31'"
    made = _table("id INT, d DATE", *[f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(days)])
    yield "dates, far", Situation(made, (("d", ">", {"DATE": "2200-01-01"}), ("d", "<", {"DATE": "1582-10-10"})))
    floats = "1.5D", "DOUBLE('NaN')", "DOUBLE('Infinity')", "-0.0D"
    single = [f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(floats)]
    by_x: tuple[Predicate, ...] = (("x", ">", 1.0), ("x", "=", 1.5), ("x", "<", 2.0), ("id", "=", 1))
    yield "doubles, NaN in a file of its own", Situation(_table("id INT, x DOUBLE", *single), by_x)
    together = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1.5D), (2, DOUBLE('NaN')), (3, 2.5D)"
    yield "doubles, NaN beside numbers", Situation(_table("id INT, x DOUBLE", together), by_x)
    near = "9999999999999997.01", "9999999999999998.99"
    tests = (">=", "9999999999999998.50"), ("=", near[1]), ("<", "9999999999999997.50")
    by_price = tuple(("d", test, {"DECIMAL(18,2)": text}) for test, text in tests)
    yield "decimals, bounds of deltalake", Situation((), by_price, near)
    flags = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, true), (2, false), (3, NULL)"
    by_b: tuple[Predicate, ...] = (("b", "=", True), ("b", "is null", None), ("b", "is not null", None))
    yield "booleans", Situation(_table("id INT, b BOOLEAN", flags), by_b)
    digits = "12345678901234567890.123456789012345678", "-0.000000000000000001", "0"
    single = [f"INSERT INTO {{t}} VALUES ({n}, {value})" for n, value in enumerate(digits)]
    yield "decimals, 38 digits", Situation(_table("id INT, d DECIMAL(38,18)", *single), (("d", ">", 1), ("d", "<", 0)))
    long = "INSERT INTO {t} VALUES (1, 123456789012345678.12)"
    made = _table("id INT, d DECIMAL(20,2)", long)
    yield "decimals, more digits than doubles", Situation(made, (("d", ">", 1), ("id", "=", 1)))
    made = _table(
        "id INT, d DECIMAL(20,2)",
        long,
        "INSERT INTO {t} VALUES (2, 1)",
        properties="delta.checkpointInterval=2 delta.checkpoint.writeStatsAsStruct=true",
    )
    yield "decimals, more digits than doubles, checkpoint", Situation(made, (("d", ">", 1), ("id", "=", 1)))
    short = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 1234567.891BD), (2, 2.5BD)"
    yield (
        "decimals, digits of doubles",
        Situation(_table("id INT, d DECIMAL(38,18)", short), (("d", ">", 2), ("d", "<", 3))),
    )
    beside = "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 9007199254740993), (2, NULL)"
    made = _table("id INT, n BIGINT", beside, "INSERT INTO {t} VALUES (3, 9007199254740993)")
    yield "whole numbers beyond doubles, beside NULL", Situation(made, (("n", "=", 9007199254740993),))
    empty = "INSERT INTO {t} VALUES (1, ''), (2, NULL), (3, ' ')"
    by_a: tuple[Predicate, ...] = (("a", "=", ""), ("a", "is null", None))
    yield "strings, empty", Situation(_table("id INT, a STRING", empty), by_a)
    few = _table("id INT, a STRING", "INSERT INTO {t} VALUES (1, NULL)", "INSERT INTO {t} VALUES (2, 'a')")
    few = (few[0] + " TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '1')", *few[1:])
    yield "strings, without statistics", Situation(few, (("a", "is null", None), ("a", "=", "a")))
    structs = (
        "INSERT INTO {t} VALUES (1, NULL, NULL)",
        "INSERT INTO {t} VALUES (2, NAMED_STRUCT('x', NULL), ARRAY(NULL))",
        "INSERT INTO {t} VALUES (3, NAMED_STRUCT('x', 1), ARRAY(NAMED_STRUCT('x', NULL)))",
    )
    yield "NULL in structs", Situation(_table("id INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>", *structs))
    made = _table("id INT, v VARCHAR(5)", "INSERT INTO {t} VALUES (1, 'ab'), (2, 'abcde')")
    yield "VARCHAR", Situation(made, (("v", "=", "ab"),))
    yield "void", Situation(_table("id INT, v VOID", "INSERT INTO {t} (id) VALUES (1)"))
    added = (
        "INSERT INTO {t} VALUES (1)",
        "ALTER TABLE {t} ADD COLUMNS (a STRING, s STRUCT<x: INT>)",
        "INSERT INTO {t} VALUES (2, 'a', NAMED_STRUCT('x', 2))",
    )
    yield "columns added", Situation(_table("id INT", *added), (("a", "is null", None), ("a", "=", "a")))


SITUATIONS: dict[str, Situation] = dict(
    case for made in (_partitions, _mapping, _widenings, _vectors, _checkpoints, _values) for case in made()
)


def make(spark: Any, folder: Path, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Make tables below a folder; return the predicates of each, the rows that are right, and the log's entries.

    :param spark: session with Delta, in the time zone UTC
    :param names: the situations to make
    """
    made = {}
    for number, (name, situation) in enumerate(SITUATIONS.items()):
        if name not in names:
            continue
        path, base = folder / f"s{number}", folder / f"s{number}-base"
        for each in (path, base):
            shutil.rmtree(each, ignore_errors=True)
        for statement in situation.statements:
            spark.sql(statement.replace("{t}", f"delta.`{path}`").replace("{base}", f"delta.`{base}`"))
        if situation.decimals:
            _write_decimals(path, situation.decimals)
        expected = expected_rows(spark, path, situation.predicates)
        made[name] = {"path": str(path), "predicates": situation.predicates, "expected": expected, **entries_of(path)}
        values = f"pa.array(map(Decimal, {list(situation.decimals)}), pa.decimal128(18, 2))"
        made[name]["statements"] = situation.statements or (f"write_deltalake('{{t}}', pa.table({{'d': {values}}}))",)
    return made


def _write_decimals(path: Path, values: Iterable[str]) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    write_deltalake(str(path), pa.table({"d": pa.array(map(Decimal, values), pa.decimal128(18, 2))}))


def expected_rows(spark: Any, path: Path, predicates: tuple[Predicate, ...]) -> list[list[str]]:
    """Return all rows of a table, and those of each predicate, which is applied to rows that were read in full."""
    frame = spark.read.format("delta").load(str(path))
    rows = frame.collect()
    copied = spark.createDataFrame(rows, frame.schema)
    found = [rows, *(copied.where(condition(predicate, "`")).collect() for predicate in predicates)]
    return [comparable(row.asDict(recursive=True) for row in each) for each in found]


def entries_of(path: Path) -> dict[str, Any]:
    """Return protocol, metadata and live files of a table, with the types that files store."""
    table = python_session().open_table(str(path))
    log, data = table.log, python_session().data_files(table.location)
    state = log.read_state(with_files=True)
    listed: list[Mapping[str, Any]] = []
    adds = {add["path"]: add for add in log.live_adds(state, complete=True, note_listed=listed.append)}
    files = {name: {key: add[key] for key in _FILE if key in add} for name, add in adds.items()}
    for name, file in files.items():
        if adds[name].get("stats_parsed") is not None:
            file["stats_parsed"] = {}  # only that they are there matters
        types = stored_types(data, LiveFile(name, file["size"], None, None))
        file["types"] = {"/".join(parts): kind for parts, kind in dict(types).items()}
    metadata = state.metadata.to_json()
    kept = {key: metadata[key] for key in ("schemaString", "partitionColumns", "configuration")}
    names = [name for name in log.list_names() if ".checkpoint." in name]
    found = {
        "protocol": state.protocol.to_json(),
        "metaData": kept,
        "files": list(files.values()),
        "checkpoints": names,
    }
    if names:
        found["checkpoint_vectors"] = [add["path"] for add in listed if add.get("deletionVector")]
    return found
