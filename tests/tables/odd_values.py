"""Tables of odd values, one column each, as a library writes them; and the truth about their statistics.

    python odd_values.py LIBRARY FOLDER

It runs with the Python of an environment that has the library and needs nothing of this package. LIBRARY is
``deltalake``, ``polars`` or ``daft``. The truth is computed from the rows of the data files by plain PyArrow: no code
of the package is used for it. Prints the columns that the library does not write.
"""

from __future__ import annotations

import datetime
import json
import math
import struct
import sys
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

_UTC = datetime.timezone.utc
_LAST = "\U0010ffff"


class Odd(NamedTuple):
    """A column of odd values."""

    arrow: pa.DataType
    values: list[Any]


def _moments(zone: datetime.tzinfo | None, *texts: str) -> list[Any]:
    return [datetime.datetime.fromisoformat(text).replace(tzinfo=zone) for text in texts]


def _decimals(*texts: str) -> list[Any]:
    return [Decimal(text) for text in texts]


_FIRST, _NINES = datetime.date(1, 1, 1), "9" * 38
_OLD, _NEW, _FAR = "1500-03-04T05:06:07.123456", "2021-03-04T05:06:07.123999", "9999-12-30T05:06:07.123456"
_BEFORE = "1969-12-31T23:59:59.999999"
_NESTED = pa.struct([("x", pa.int64()), ("y.z", pa.string())])
ODD: Mapping[str, Odd] = {
    "long": Odd(pa.int64(), [2**53 + 1, 2**62 + 1, -(2**62) - 1]),
    "long_limits": Odd(pa.int64(), [-(2**63), 2**63 - 1]),
    "integer": Odd(pa.int32(), [-(2**31), 2**31 - 1, None]),
    "short": Odd(pa.int16(), [-(2**15), 2**15 - 1]),
    "byte": Odd(pa.int8(), [-128, 127]),
    "decimal_9_2": Odd(pa.decimal128(9, 2), _decimals("-0.01", "1234567.89", "0.00")),
    "decimal_18_0": Odd(pa.decimal128(18, 0), _decimals("999999999999999998", "999999999999999999")),
    "decimal_18_2": Odd(pa.decimal128(18, 2), _decimals("9999999999999997.01", "9999999999999999.00")),
    "decimal_19_0": Odd(pa.decimal128(19, 0), _decimals("9223372036854775808", "9999999999999999999")),
    "decimal_38_0": Odd(pa.decimal128(38, 0), _decimals(f"-{_NINES}", _NINES)),
    "decimal_38_10": Odd(pa.decimal128(38, 10), _decimals("1234567890123456789012345.0123456789", "0.0000000001")),
    "decimal_38_38": Odd(pa.decimal128(38, 38), _decimals(f"0.{_NINES}", f"-0.{_NINES}")),
    "date": Odd(pa.date32(), [_FIRST, datetime.date(1582, 10, 4), datetime.date(9999, 12, 31), None]),
    "float": Odd(pa.float32(), [0.1, 3.4028234663852886e38, 1e-45]),
    "double": Odd(pa.float64(), [0.1, 1.7976931348623157e308, 5e-324]),
    "double_third": Odd(pa.float64(), [1 / 3, 0.30000000000000004]),
    "double_zeros": Odd(pa.float64(), [-0.0, 0.0]),
    "double_infinite": Odd(pa.float64(), [math.inf, 1.0, -math.inf]),
    "double_greatest_infinite": Odd(pa.float64(), [math.inf, 1.0]),
    "double_nan": Odd(pa.float64(), [math.nan, 1.0, 2.0]),
    "float_nan": Odd(pa.float32(), [1.5, math.nan, None]),
    "double_only_nan": Odd(pa.float64(), [math.nan]),
    "string_orders": Odd(pa.string(), ["a\uffff", "a\U00010000", "z"]),
    "string_long": Odd(pa.string(), ["p" * 300 + "1", "p" * 300 + "2"]),
    "string_wide": Odd(pa.string(), ["é" * 40, "\U0001f600" * 40, "z" * 31 + "\U0001f600z"]),
    "string_last": Odd(pa.string(), [_LAST * 40, _LAST * 33]),
    "string_odd": Odd(pa.string(), ["", 'a"b\\c', "a\0b", "\n"]),
    "string_null": Odd(pa.string(), [None, "NULL", "null"]),
    "instant": Odd(pa.timestamp("us", "UTC"), _moments(_UTC, _NEW, _BEFORE, "1900-01-01")),
    "instant_old": Odd(pa.timestamp("us", "UTC"), _moments(_UTC, _OLD, _NEW)),
    "instant_far": Odd(pa.timestamp("us", "UTC"), _moments(_UTC, _FAR, _NEW)),
    "instant_milliseconds": Odd(pa.timestamp("ms", "UTC"), _moments(_UTC, "2021-03-04T05:06:07.123")),
    "local": Odd(pa.timestamp("us"), _moments(None, _NEW, _BEFORE)),
    "local_far": Odd(pa.timestamp("us"), _moments(None, _FAR, "0001-01-01")),
    "boolean": Odd(pa.bool_(), [False, True, None]),
    "all_null": Odd(pa.int32(), [None, None]),
    "all_null_string": Odd(pa.string(), [None]),
    "dotted.name": Odd(pa.int32(), [1, 2]),
    "struct_x": Odd(_NESTED, [{"x": 2**53 + 1, "y.z": "a"}, {"x": None, "y.z": "b"}, None]),
    "struct_y": Odd(_NESTED, [{"x": 1, "y.z": "é" * 40}, {"x": 2, "y.z": None}, None]),
}


def frame(name: str) -> pa.Table:
    """Return the rows of a table, whose column has the same name."""
    return pa.table({name: pa.array(ODD[name].values, ODD[name].arrow)})


def write(library: str, rows: pa.Table, folder: str) -> None:
    """Write a table with the default settings of a library."""
    if library == "polars":
        import polars

        polars.from_arrow(rows).write_delta(folder)
    elif library == "daft":
        import daft

        daft.from_arrow(rows).write_deltalake(folder)
    elif library == "sail":
        _sail()[1].createDataFrame(rows).coalesce(1).write.format("delta").save(folder)
    elif library == "duckdb":  # it only appends
        import duckdb
        import duckdb_extension_delta  # type: ignore[import-not-found]  # only in the environment of DuckDB
        from deltalake import write_deltalake

        write_deltalake(folder, rows.slice(0, 0))
        connection = duckdb.connect()
        extension = next(Path(duckdb_extension_delta.__file__).parent.rglob("delta.duckdb_extension"))
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"ATTACH '{folder}' AS t (TYPE delta)")
        connection.register("rows", rows).execute("INSERT INTO t SELECT * FROM rows")
    else:
        from deltalake import write_deltalake

        write_deltalake(folder, rows)


@cache
def _sail() -> tuple[Any, Any]:
    """Return a server, which ends when it is forgotten, and its session."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer()
    server.start()
    return server, SparkSession.builder.remote(f"sc://localhost:{server.listening_address[1]}").getOrCreate()


# -- the truth -------------------------------------------------------------------------------------


def truth(folder: Path, name: str) -> set[str]:
    """Return the codes of the rules that the statistics of the live files break: 14 to 17."""
    found = set[str]()
    for version in sorted(folder.joinpath("_delta_log").glob("*.json")):
        for line in version.read_text().splitlines():
            add = json.loads(line).get("add")
            if add is not None and add.get("stats"):
                rows = pq.ParquetFile(folder / add["path"]).read()  # of this file alone, without statistics
                stats = json.loads(add["stats"], parse_float=Decimal)
                for path, of, values in _leaves((name,), ODD[name].arrow, rows.column(0).to_pylist()):
                    found |= _broken(path, of, values, stats)
    return found


def _leaves(
    path: tuple[str, ...], of: pa.DataType, values: list[Any]
) -> Iterator[tuple[tuple[str, ...], pa.DataType, list[Any]]]:
    if not pa.types.is_struct(of):
        yield path, of, values
        return
    for field in of:
        inner = [None if value is None else value[field.name] for value in values]
        yield from _leaves((*path, field.name), field.type, inner)


def _broken(path: tuple[str, ...], of: pa.DataType, values: list[Any], stats: Mapping[str, Any]) -> set[str]:
    known = [value for value in values if value is not None]
    found = _nulls(stats, path, len(values) - len(known), len(known))
    numbers = [_exact(value) for value in known if not (isinstance(value, float) and math.isnan(value))]
    low, high = (_bound(_at(stats.get(part), path), of) for part in ("minValues", "maxValues"))
    if not numbers:
        return found
    slack = 1_000_000 if pa.types.is_timestamp(of) else 0
    if low is not None and (low != low or low > min(numbers)):
        return found | {"DF14"}
    if high is not None and (max(numbers) > high and (not slack or max(numbers) - high >= slack)):
        return found | {"DF14"}
    is_wide = any(
        bound is not None
        and bound == bound
        and _distance(bound, value, upper) > 0
        and not (slack and abs(bound - value) < slack)
        for bound, value, upper in ((low, min(numbers), False), (high, max(numbers), True))
    )
    return found | ({"DF17"} if is_wide and stats.get("tightBounds") is not False else set())


def _nulls(stats: Mapping[str, Any], path: tuple[str, ...], nulls: int, values: int) -> set[str]:
    said = _at(stats.get("nullCount"), path)
    if said is None or said == nulls:
        return set()
    return {"DF15" if (said == 0) or (said == stats["numRecords"] and values) else "DF16"}


def _at(part: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _exact(value: Any) -> Any:
    """Return a value that compares exactly: strings as UTF-8, times as nanoseconds of today's calendar."""
    if isinstance(value, datetime.datetime):
        passed = value.replace(tzinfo=None) - datetime.datetime(1970, 1, 1)
        return (passed.days * 86_400_000_000 + passed.seconds * 1_000_000 + passed.microseconds) * 1000
    if isinstance(value, datetime.date):
        return value.toordinal()
    return value.encode() if isinstance(value, str) else value


def _bound(said: Any, of: pa.DataType) -> Any:
    if said is None:
        return None
    if pa.types.is_timestamp(of):
        # what engines read of a text is cut to microseconds
        return _exact(datetime.datetime.fromisoformat(said.replace("Z", "+00:00")))
    if pa.types.is_date(of):
        return _exact(datetime.date.fromisoformat(said))
    if pa.types.is_float32(of):
        return struct.unpack("<f", struct.pack("<f", float(said)))[0]
    if pa.types.is_floating(of):
        return float(said)
    if pa.types.is_decimal(of):
        number = Decimal(said)  # further digits of a double are rounded, as engines do
        return number.quantize(Decimal(1).scaleb(-of.scale), ROUND_HALF_UP, Context(prec=80))
    return _exact(said)


def _distance(bound: Any, value: Any, upper: bool) -> int:
    """Return 1 if a bound is wider than a value, and no text that was cut."""
    if isinstance(bound, bytes):
        if not upper:
            return int(bound < value and not value.startswith(bound))
        text = bound.decode()
        return int(bound > value and not value.decode().startswith(text[:-1]))
    return int(bound > value if upper else bound < value)


def main(library: str, folder: str) -> None:
    """Write all tables below a folder."""
    for name in ODD:
        try:
            write(library, frame(name), f"{folder}/{name}")
        except BaseException as error:  # a Rust panic is not an Exception
            print(f"{name}: {error}".splitlines()[0])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
