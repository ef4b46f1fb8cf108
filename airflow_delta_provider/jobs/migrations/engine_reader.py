"""Reads a table with one engine and prints digests of its rows, in a process of its own.

``python -m airflow_delta_provider.jobs.migrations.engine_reader ENGINE LOCATION [PREDICATE …]`` prints a JSON list: the
digest of all rows, then two for each predicate: of its rows, and of all others. In place of a digest, ``{"failed": …}``
has the engine's message; ``missing`` is true if the failure says nothing about the table. Standard input has the
options of an object store, as a JSON object with the names of the package ``deltalake``.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from functools import cache
from hashlib import blake2b
from typing import Any

#: Function that yields the rows of a table, or of a predicate on it, as batches of Arrow; it gets the store's options.
Read = Callable[[str, "str | None", Mapping[str, str]], Iterable[Any]]
_MASK = (1 << 64) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ALL_DIGITS = Context(prec=100)


class NotTriedError(Exception):
    """The engine was not tried. The message says why."""


@dataclass
class ColumnDigest:
    """A digest of a column's values, whatever their order.

    :param total: sum of the hashes of the values, modulo 2^64
    """

    total: int = 0
    nulls: int = 0


@dataclass
class RowsDigest:
    """Digests of rows and of each column."""

    rows: int = 0
    total: int = 0
    columns: dict[str, ColumnDigest] = field(default_factory=dict)

    def take(self, batch: Any) -> None:
        """Add the rows of a batch."""
        names = sorted(batch.schema.names)
        known = [values(batch.column(name)) for name in names]
        self.rows += batch.num_rows
        for name, texts in zip(names, known, strict=True):
            column = self.columns.setdefault(name, ColumnDigest())
            column.nulls += texts.count(None)
            column.total = (column.total + sum(map(_hash, texts))) & _MASK
        self.total = (self.total + sum(map(_hash, map(repr, zip(*known, strict=True))))) & _MASK


def _hash(text: str | None) -> int:
    return 0 if text is None else int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def values(column: Any) -> list[str | None]:
    """Return the values of a column of Arrow as texts, the same for all types that engines give to a type of Delta."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(kind):  # also beyond the years of Python
        column = column.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    return [None if value is None else _text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return format(value.normalize(_ALL_DIGITS), "f")
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return str((aware - _EPOCH) // timedelta(microseconds=1))
    if isinstance(value, date):
        return str((value - _EPOCH.date()).days)
    if isinstance(value, Mapping):
        return repr([(name, None if each is None else _text(each)) for name, each in sorted(value.items())])
    if isinstance(value, (list, tuple)):
        return repr([None if each is None else _text(each) for each in value])
    return str(value)


def _statement(source: str, where: str | None) -> str:
    return f"SELECT * FROM {source}" + (f" WHERE {where}" if where else "")


def _duckdb_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text_literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True)
class S3Access:
    """Access to a store of S3, by options or by the environment; unknown parts are empty."""

    key: str
    secret: str
    token: str
    region: str
    endpoint: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> S3Access:
        """Read the options of the package ``deltalake``, and the variables of Amazon's tools for missing ones."""

        def found(*names: str) -> str:
            given = (options.get(name.lower(), "") for name in names)
            known = (os.environ.get(f"AWS_{name}", "") for name in names)
            return next(filter(None, (*given, *known)), "")

        return cls(
            key=found("ACCESS_KEY_ID"),
            secret=found("SECRET_ACCESS_KEY"),
            token=found("SESSION_TOKEN", "TOKEN"),
            region=found("REGION", "DEFAULT_REGION"),
            endpoint=found("ENDPOINT_URL_S3", "ENDPOINT_URL", "ENDPOINT"),
        )


def _is_s3(location: str) -> bool:
    return location.startswith("s3://")


def _deltalake(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    import pyarrow as pa
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(location, storage_options=dict(options))
    rows: Any = QueryBuilder().register("t", table).execute(_statement("t", where))
    yield from rows if isinstance(rows, list) else pa.RecordBatchReader.from_stream(rows)


def _deltalake_pyarrow(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    from deltalake import DeltaTable

    if where:
        raise NotTriedError("it reads no SQL predicates")
    yield from DeltaTable(location, storage_options=dict(options)).to_pyarrow_dataset().to_batches()


def _polars(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    import polars

    frame = polars.scan_delta(location, storage_options=dict(options) or None)
    if where:
        frame = polars.SQLContext(t=frame).execute(_statement("t", where))
    yield from frame.collect().to_arrow().to_batches()


def _duckdb(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    _load(connection, "delta", duckdb.Error)
    if _is_s3(location):
        _load(connection, "httpfs", duckdb.Error)
        connection.execute(duckdb_secret(S3Access.of(options)))
    found = connection.execute(_statement(f"delta_scan({_duckdb_literal(location)})", where))
    try:
        batches = found.fetch_record_batch(65_536)
    except OSError as error:  # its errors about tables are no OSError
        raise NotTriedError(f"Arrow has no type for its rows: {error}") from error
    yield from batches


def duckdb_secret(access: S3Access) -> str:
    """Return the statement that lets DuckDB reach a store."""
    scheme, _, host = access.endpoint.rpartition("://")
    parts = {
        "KEY_ID": access.key,
        "SECRET": access.secret,
        "SESSION_TOKEN": access.token,
        "REGION": access.region,
        "ENDPOINT": host,
        "URL_STYLE": "path" if host else "",
    }
    known = [f"{name} {_duckdb_literal(value)}" for name, value in parts.items() if value]
    if scheme == "http":
        known.append("USE_SSL false")
    return f"CREATE SECRET ({', '.join(['TYPE s3', *known])})"


def _load(connection: Any, extension: str, error: type[Exception]) -> None:
    """Load an extension of DuckDB: of a package, of an earlier installation, or from the network."""
    from importlib.util import find_spec
    from pathlib import Path

    packed = find_spec(f"duckdb_extension_{extension}")
    found = Path(packed.origin or "").parent.rglob(f"{extension}.duckdb_extension") if packed else ()
    try:
        for path in found:
            connection.execute(f"LOAD '{path}'")
            return
        connection.execute(f"INSTALL {extension}")
        connection.execute(f"LOAD {extension}")
    except error as failure:
        raise NotTriedError(f"its extension {extension} cannot be loaded: {failure}") from failure


def _daft(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    import daft

    config = None
    if _is_s3(location):
        access = S3Access.of(options)
        config = daft.io.IOConfig(
            s3=daft.io.S3Config(
                key_id=access.key or None,
                access_key=access.secret or None,
                session_token=access.token or None,
                region_name=access.region or None,
                endpoint_url=access.endpoint or None,
                use_ssl=not access.endpoint.startswith("http://"),
            )
        )
    frame = daft.read_deltalake(location, io_config=config)
    for table in (frame.where(where) if where else frame).to_arrow_iter():
        yield from table.to_batches() if hasattr(table, "to_batches") else [table]


def _clickhouse(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    os.chdir("/")  # it reads files below its folder only
    import chdb

    if _is_s3(location):
        bucket, _, path = location.removeprefix("s3://").partition("/")
        access = S3Access.of(options)
        region = access.region or "us-east-1"
        base = (
            f"{access.endpoint.rstrip('/')}/{bucket}"
            if access.endpoint
            else f"https://{bucket}.s3.{region}.amazonaws.com"
        )
        keys = [access.key, access.secret, *filter(None, [access.token])] if access.key else []
        source = f"deltaLake({', '.join(map(_text_literal, [f'{base}/{path}/', *keys]))})"
    elif "://" in location:
        raise NotTriedError("only local tables and those on S3 are tried with it")
    else:
        source = f"deltaLakeLocal({_text_literal(location)})"
    yield from chdb.query(_statement(source, where), "ArrowTable").to_batches()


def _sail(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    if _is_s3(location):
        access = S3Access.of(options)
        names = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION", "ENDPOINT")
        values = (access.key, access.secret, access.token, access.region, access.endpoint)
        os.environ |= {f"AWS_{name}": value for name, value in zip(names, values, strict=True) if value}
        if access.endpoint.startswith("http://"):
            os.environ["AWS_ALLOW_HTTP"] = "true"
    _, spark = sail_session()
    yield from _by_spark(spark, location, where)


@cache
def sail_session() -> tuple[Any, Any]:
    """Return Sail's server, which ends when it is no longer referred to, and a session with it."""
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
    return server, spark


def _spark(location: str, where: str | None, options: Mapping[str, str]) -> Iterator[Any]:
    del options  # Spark has settings of its own
    from airflow_delta_provider.domain.request.kinds import load

    try:
        spark = load("jobs.spark.session:own_session")("try-engines", settings={"spark.ui.enabled": "false"})
    except Exception as error:
        raise NotTriedError(f"Spark does not start: {' '.join(str(error).split())}") from error
    yield from _by_spark(spark, location, where)


def _by_spark(spark: Any, location: str, where: str | None) -> Iterator[Any]:
    """Yield the rows of a table, read by a session of Spark or of an engine with its interface."""
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = spark.read.format("delta").load(location)
    yield from (frame.where(where) if where else frame).toArrow().to_batches()


#: Function that reads a table with each engine.
READS: Mapping[str, Read] = {
    "delta-spark": _spark,
    "deltalake": _deltalake,
    "deltalake-pyarrow": _deltalake_pyarrow,
    "polars": _polars,
    "duckdb": _duckdb,
    "daft": _daft,
    "clickhouse": _clickhouse,
    "sail": _sail,
}
#: Parts of messages about servers that cannot be reached: of Python, Rust, C++ and Java.
_UNREACHABLE = (
    "error sending request",
    "dns error",
    "tcp connect error",
    "connection refused",
    "connection timed out",
    "operation timed out",
    "network is unreachable",
    "name resolution",
    "name or service not known",
    "could not resolve host",
    "could not establish connection",
    "unknownhostexception",
    "java.net.connectexception",
)
_NOT_ASKED = {"failed": "no opposite", "missing": True}
_CASE = "CASE WHEN {} THEN FALSE ELSE TRUE END"
#: Opposites of predicates, also true for NULL, as each engine evaluates them right: Polars takes IS NOT TRUE for NOT,
#: deltalake forgets filters with CASE on partition columns, and Daft has neither.
_OPPOSITES: Mapping[str, str] = {
    "delta-spark": _CASE,
    "deltalake": "({}) IS NOT TRUE",
    "polars": _CASE,
    "duckdb": _CASE,
    "clickhouse": _CASE,
    "sail": _CASE,
}


def read(engine: str, location: str, where: str | None, options: Mapping[str, str]) -> dict[str, Any]:
    """Return the digests of the rows that an engine reads, or its message."""
    digest = RowsDigest()
    try:
        for batch in READS[engine](location, where, options):
            digest.take(batch)
    except (ImportError, NotTriedError, MemoryError) as error:
        return {"failed": f"{error}" or type(error).__name__, "missing": True}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if isinstance(error, (ConnectionError, TimeoutError)) or is_of_network(message):
            return {"failed": f"it needs the network: {message}", "missing": True}
        return {"failed": message}
    return asdict(digest)


def is_of_network(message: str) -> bool:
    """Return True if a message says that a server could not be reached, which says nothing about the table."""
    return any(text in message.lower() for text in _UNREACHABLE)


def main() -> None:
    """Print the answer of one engine; what the engine itself prints goes to standard error."""
    answer = os.dup(1)
    os.dup2(2, 1)
    engine, location, *predicates = sys.argv[1:]
    options = json.loads(sys.stdin.read() or "{}")
    found = [read(engine, location, None, options)]
    for one in predicates:
        opposite = _OPPOSITES.get(engine)
        found.append(read(engine, location, one, options))
        found.append(read(engine, location, opposite.format(one), options) if opposite else _NOT_ASKED)
    with open(answer, "w", encoding="utf-8") as opened:
        print(json.dumps(found), file=opened)
    os._exit(0)  # some engines hang or abort at the end, and the server of Sail does not end


if __name__ == "__main__":
    main()
