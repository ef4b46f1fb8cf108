"""Tries one engine, in the environment that has it, on tables: needs no package that the provider needs.

    python -m scripts.measure_engines.try_engine ENGINE TABLES ANSWERS JARS SECONDS

TABLES is a JSON file. Answers are added to the file ANSWERS, one per line: what a read or an append gave, the rows, or
why it was refused. A table with predicates is read in full and by each of them. JARS are Delta's, for Spark. A read or
append that takes more than SECONDS ends the process.
"""

from __future__ import annotations

import json
import operator
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from airflow_delta_provider.jobs.migrations.engine_reader import sail_session
from scripts.measure_engines import java_kernel, sharing, trino

Try = Callable[[str, list[str], list[str]], Any]
Reader = Callable[[str, Any], Iterable[Mapping[str, Any]]]
#: A row to append, by the types of columns.
_VALUES: dict[str, Any] = {
    "integer": 9,
    "long": 9,
    "string": "9",
    "timestamp_ntz": datetime(2026, 1, 3),
    "variant": {"metadata": b"\x01\x00\x00", "value": b"\x0c\x09"},  # 9, in the encoding of files
}
#: The values of types that have literals of their own in SQL.
_LITERALS = {"timestamp_ntz": f"TIMESTAMP_NTZ'{_VALUES['timestamp_ntz']}'", "variant": "parse_json('9')"}
_TRINO_LITERALS = {"timestamp_ntz": f"TIMESTAMP'{_VALUES['timestamp_ntz']}'", "variant": "JSON '9'"}


def _rows(columns: dict[str, list[Any]], names: list[str]) -> list[list[Any]]:
    first, second = (columns[name] for name in names[:2])
    return sorted([one, str(_plain(two))] for one, two in zip(first, second))


def _arrow(columns: list[str], types: list[str]) -> Any:
    import pyarrow as pa

    known = {
        "integer": pa.int32(),
        "long": pa.int64(),
        "string": pa.string(),
        "timestamp_ntz": pa.timestamp("us"),
        "variant": pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("metadata", "value")]),
    }
    return pa.table({name: pa.array([_VALUES[kind]], known[kind]) for name, kind in zip(columns, types)})


def _deltalake_query(path: str, columns: list[str], types: list[str]) -> Any:
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    del types
    result = QueryBuilder().register("t", DeltaTable(path)).execute("select * from t")
    if hasattr(result, "fetchall"):
        result = result.fetchall()
    table = pa.Table.from_batches(result) if isinstance(result, list) else pa.table(result)
    return _rows(table.select(columns[:2]).to_pydict(), columns)


def _deltalake_arrow(path: str, columns: list[str], types: list[str]) -> Any:
    from deltalake import DeltaTable

    del types
    return _rows(DeltaTable(path).to_pyarrow_table(columns=columns[:2]).to_pydict(), columns)


def _deltalake_append(path: str, columns: list[str], types: list[str]) -> Any:
    from deltalake import DeltaTable, write_deltalake

    before = DeltaTable(path).version()
    write_deltalake(path, _arrow(columns, types), mode="append")
    return DeltaTable(path).version() - before


def _polars_read(path: str, columns: list[str], types: list[str]) -> Any:
    import polars

    del types
    return _rows(polars.scan_delta(path).collect().select(columns[:2]).to_dict(as_series=False), columns)


def _polars_append(path: str, columns: list[str], types: list[str]) -> Any:
    import polars
    from deltalake import DeltaTable

    before = DeltaTable(path).version()
    polars.from_arrow(_arrow(columns, types)).write_delta(path, mode="append")  # type: ignore[union-attr]  # a frame
    return DeltaTable(path).version() - before


def _duckdb() -> Any:
    import duckdb
    import duckdb_extension_delta

    folder = os.path.join(os.path.dirname(duckdb_extension_delta.__file__), "extensions")
    (release,) = os.listdir(folder)
    connection = duckdb.connect()
    connection.execute(f"LOAD '{folder}/{release}/delta.duckdb_extension'")
    return connection


def _duckdb_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    named = ", ".join(f'"{name}"' for name in columns[:2])
    rows = _duckdb().execute(f"SELECT {named} FROM delta_scan('file://{path}')").fetchall()
    return sorted([one, str(two)] for one, two in rows)


def _duckdb_append(path: str, columns: list[str], types: list[str]) -> Any:
    connection, before = _duckdb(), len(os.listdir(os.path.join(path, "_delta_log")))
    connection.execute(f"ATTACH 'file://{path}' AS t (TYPE delta)")
    connection.execute(f"INSERT INTO t VALUES ({', '.join('?' for _ in columns)})", [_VALUES[kind] for kind in types])
    return len(os.listdir(os.path.join(path, "_delta_log"))) - before


def _daft_read(path: str, columns: list[str], types: list[str]) -> Any:
    import daft

    del types
    return _rows(daft.read_deltalake(path).select(*columns[:2]).to_pydict(), columns)


def _daft_append(path: str, columns: list[str], types: list[str]) -> Any:
    import daft
    from deltalake import DeltaTable

    before = DeltaTable(path).version()
    daft.from_arrow(_arrow(columns, types)).write_deltalake(path, mode="append")
    return DeltaTable(path).version() - before


def _chdb_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    rows = _chdb_rows(path, None)
    return _rows({name: [row[name] for row in rows] for name in columns[:2]}, columns)


def _sail_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    rows = _sail_rows(path, None)
    return _rows({name: [row[name] for row in rows] for name in columns[:2]}, columns)


def _sail_append(path: str, columns: list[str], types: list[str]) -> Any:
    _, spark = sail_session()
    log = os.path.join(path, "_delta_log")
    before = _commits(log)
    values = [f"{_LITERALS.get(kind, repr(_VALUES[kind]))} AS {name}" for name, kind in zip(columns, types)]
    spark.sql(f"SELECT {', '.join(values)}").write.format("delta").mode("append").save(path)
    return _commits(log) - before


def _commits(log: str) -> int:
    return sum(name.removesuffix(".json").isdigit() for name in os.listdir(log))


def _kernel_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    rows = java_kernel.rows(path, None)
    return _rows({name: [row[name] for row in rows] for name in columns[:2]}, columns)


def _kernel_append(path: str, columns: list[str], types: list[str]) -> Any:
    return java_kernel.append(path, columns, [_VALUES.get(kind) for kind in types])


def _trino_read(path: str, columns: list[str], types: list[str]) -> Any:
    del types
    rows = trino.rows(path)
    # it leaves out columns that it does not read
    return _rows({name: [row.get(name) for row in rows] for name in columns[:2]}, columns)


def _trino_append(path: str, columns: list[str], types: list[str]) -> Any:
    return trino.append(path, columns, [_TRINO_LITERALS.get(kind, repr(_VALUES[kind])) for kind in types])


def _sharing_read(reader: Reader) -> Try:
    def read(path: str, columns: list[str], types: list[str]) -> Any:
        del types
        rows = list(reader(path, None))
        return _rows({name: [row[name] for row in rows] for name in columns[:2]}, columns)

    return read


WAYS: dict[str, dict[str, Try]] = {
    "deltalake": {"query": _deltalake_query, "pyarrow": _deltalake_arrow, "append": _deltalake_append},
    "polars": {"read": _polars_read, "append": _polars_append},
    "duckdb": {"read": _duckdb_read, "append": _duckdb_append},
    "daft": {"read": _daft_read, "append": _daft_append},
    "kernel": {"read": _kernel_read, "append": _kernel_append},
    "chdb": {"read": _chdb_read},
    "sail": {"read": _sail_read, "append": _sail_append},
    "trino": {"read": _trino_read, "append": _trino_append},
    "sharing": {way: _sharing_read(reader) for way, reader in sharing.READERS.items()},
}


_COMPARISONS = {"=": operator.eq, "<": operator.lt, ">": operator.gt, ">=": operator.ge}


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rows as strings that are the same for each engine, sorted."""
    return sorted(json.dumps(_plain(row), sort_keys=True) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        value = dict(value)  # a map of Arrow
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()} or []  # Arrow does not tell an empty map
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return str(value.astimezone(timezone.utc).replace(tzinfo=None) if value.tzinfo else value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (date, Decimal)):
        return str(value)
    return str(value) if isinstance(value, float) else value


def condition(predicate: Any, quote: str = '"') -> str:
    """Return a predicate as SQL."""
    column, comparison, value = predicate
    name = f"{quote}{column}{quote}"
    if value is None:
        return f"{name} {comparison.upper()}"
    if isinstance(value, Mapping):
        ((kind, text),) = value.items()
        return f"{name} {comparison} CAST('{text}' AS {kind})"
    literal = "'" + value + "'" if isinstance(value, str) else str(value).lower()
    return f"{name} {comparison} {literal}"


def _where(predicate: Any) -> str:
    return f" WHERE {condition(predicate)}" if predicate else ""


def _python_value(value: Any, *, zone: bool) -> Any:
    """Return the value of a predicate for engines that take expressions.

    :param zone: True if timestamps have a time zone
    """
    if not isinstance(value, Mapping):
        return value
    ((kind, text),) = value.items()
    if kind == "DOUBLE":
        return float(text)
    if kind.startswith("DECIMAL"):
        return Decimal(text)
    if kind == "DATE":
        return date.fromisoformat(text)
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc if zone else None)


def _expression(column: Any, predicate: Any, *, zone: bool = False) -> Any:
    _, comparison, value = predicate
    if value is None:
        return column.is_null() if comparison == "is null" else ~column.is_null()
    return _COMPARISONS[comparison](column, _python_value(value, zone=zone))


def _query_rows(path: str, predicate: Any) -> Any:
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    result = QueryBuilder().register("t", DeltaTable(path)).execute(f"SELECT * FROM t{_where(predicate)}")
    if hasattr(result, "fetchall"):
        result = result.fetchall()
    elif hasattr(result, "read_all"):
        result = result.read_all()
    if isinstance(result, list) and not result:  # no row, so no schema
        return []
    table = pa.Table.from_batches(result) if isinstance(result, list) else pa.table(result)
    return table.to_pylist()


def _arrow_rows(path: str, predicate: Any) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from deltalake import DeltaTable

    if not predicate:
        return DeltaTable(path).to_pyarrow_table().to_pylist()
    data = DeltaTable(path).to_pyarrow_dataset()
    field, (_, comparison, value) = ds.field(predicate[0]), predicate
    if value is None:
        return data.to_table(filter=_expression(field, predicate)).to_pylist()
    kind = data.schema.field(predicate[0]).type
    scalar = pa.scalar(_python_value(value, zone=bool(getattr(kind, "tz", None))))
    return data.to_table(filter=_COMPARISONS[comparison](field, scalar)).to_pylist()


def _polars_rows(path: str, predicate: Any) -> Any:
    import polars as pl

    frame = pl.scan_delta(path)
    if predicate:
        kind = frame.collect_schema()[predicate[0]]
        zone = bool(getattr(kind, "time_zone", None))
        frame = frame.filter(_expression(pl.col(predicate[0]), predicate, zone=zone))
    return frame.collect().to_arrow().to_pylist()


def _duckdb_rows(path: str, predicate: Any) -> Any:
    connection = _duckdb()
    connection.execute("SET TimeZone = 'UTC'")
    result = connection.execute(f"SELECT * FROM delta_scan('file://{path}'){_where(predicate)}")
    names = [column[0] for column in result.description]
    return [dict(zip(names, row)) for row in result.fetchall()]


def _daft_rows(path: str, predicate: Any) -> Any:
    import daft

    frame = daft.read_deltalake(path)
    if predicate:
        kind = str(frame.schema()[predicate[0]].dtype)
        frame = frame.where(_expression(daft.col(predicate[0]), predicate, zone="UTC" in kind))
    return frame.to_arrow().to_pylist()


#: Types of ClickHouse for values that its DATE, which ends in 2149, and its TIMESTAMP, which ends in 2106, do not have.
_CLICKHOUSE_TYPES = {"DATE": "Date32", "TIMESTAMP": "DateTime64(6, 'UTC')"}


def _chdb_rows(path: str, predicate: Any) -> Any:
    os.chdir("/")  # it reads files below its folder only
    import chdb

    where = _where(predicate)
    for name, wide in _CLICKHOUSE_TYPES.items():
        where = where.replace(f" AS {name})", f" AS {wide})")
    result = chdb.query(f"SELECT * FROM deltaLakeLocal('{path}'){where}", "ArrowTable")
    return result.to_pylist()


def _sail_rows(path: str, predicate: Any) -> Any:
    _, spark = sail_session()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = spark.read.format("delta").load(path)
    if predicate:
        frame = frame.where(condition(predicate, "`"))
    return [row.asDict(recursive=True) for row in frame.collect()]


def _trino_rows(path: str, predicate: Any) -> Any:
    return trino.rows(path, _where(predicate))


#: Ways to read a table in full or by a predicate.
READERS: dict[str, dict[str, Reader]] = {
    "deltalake": {"query": _query_rows, "pyarrow": _arrow_rows},
    "polars": {"read": _polars_rows},
    "duckdb": {"read": _duckdb_rows},
    "daft": {"read": _daft_rows},
    "kernel": {"read": java_kernel.rows},
    "chdb": {"read": _chdb_rows},
    "sail": {"read": _sail_rows},
    "trino": {"read": _trino_rows},
    "sharing": sharing.READERS,
}


def read_situation(reader: Reader, path: str, predicate: Any) -> dict[str, Any]:
    """Return the rows that one way gives for a predicate, or for none."""
    try:
        return {"gave": comparable(reader(path, predicate))}
    except ImportError as error:
        return {"not measured": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # a panic of Rust is no Exception
        return {"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"}


def attempt(way: Try, path: str, columns: list[str], types: list[str]) -> dict[str, Any]:
    """Return what one way gives."""
    try:
        return {"gave": way(path, columns, types)}
    except (ImportError, KeyError) as error:
        return {"not tried": f"{type(error).__name__}: {error}"}
    except BaseException as error:  # a panic of Rust is no Exception
        return {"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:240]}"}


def _spark(jars: str) -> tuple[dict[str, Try], dict[str, Reader]]:
    """Return how Delta Spark reads and appends, and how it reads by predicates."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    builder = builder.config(
        "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    ).config("spark.jars.packages", jars)
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    # Delta reads each log in 50 parts otherwise, which takes most of the time of small tables
    builder = builder.config("spark.databricks.delta.snapshotPartitions", "1")
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def read(path: str, columns: list[str], types: list[str]) -> Any:
        del types
        rows = spark.read.format("delta").load(path).select(*columns[:2]).collect()
        return sorted([row[0], str(row[1])] for row in rows)

    def append(path: str, columns: list[str], types: list[str]) -> Any:
        before = len(os.listdir(os.path.join(path, "_delta_log")))
        values = [_LITERALS.get(kind, repr(_VALUES[kind])) for kind in types]
        spark.sql(f"INSERT INTO delta.`{path}` ({', '.join(columns)}) VALUES ({', '.join(values)})")
        return int(len(os.listdir(os.path.join(path, "_delta_log"))) > before)

    def rows(path: str, predicate: Any) -> Any:
        frame = spark.read.format("delta").load(path)
        found = frame.where(condition(predicate, "`")) if predicate else frame
        return [row.asDict(recursive=True) for row in found.collect()]

    return {"read": read, "append": append}, {"read": rows}


def _all(ways: Mapping[str, Try], readers: Mapping[str, Reader]) -> None:
    """Try all tables of a file in this process, and add a line for each answer to another file."""
    with open(sys.argv[2]) as opened:
        tables = json.load(opened)
    seconds = float(sys.argv[5])
    with open(sys.argv[3], "a") as answers:
        print(
            file=answers, flush=True
        )  # shows that this process has started; ends a line that another one left half written
        for name, table in tables.items():
            for line in _lines(table, ways, readers, seconds):
                print(json.dumps({"table": name, **line}), file=answers, flush=True)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _lines(
    table: Mapping[str, Any], ways: Mapping[str, Try], readers: Mapping[str, Reader], seconds: float
) -> Iterator[Any]:
    """Yield the answers about one table."""
    if "predicates" in table:
        for number, asked in enumerate([None, *table["predicates"]]):
            for way, reader in readers.items():
                signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends the process
                yield {"way": way, "number": number, "found": read_situation(reader, table["path"], asked)}
        return
    for way, function in ways.items():
        signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal ends the process
        yield {"way": way, "found": attempt(function, table["path"], table["columns"], table["types"])}


if __name__ == "__main__":
    if sys.argv[1] == "spark":
        _all(*_spark(sys.argv[4]))
    else:
        if sys.argv[1] == "trino":
            trino.started()  # without a time limit of a table
        _all(WAYS[sys.argv[1]], READERS[sys.argv[1]])
        os._exit(0)
