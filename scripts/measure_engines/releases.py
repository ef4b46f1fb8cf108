"""The releases that are measured: of each engine three ages or more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A release of an engine.

    :param name: of its profile
    :param engine: how ``try_engine.py`` calls it
    :param packages: what pip installs
    :param jars: Maven coordinates of Delta, for Spark, Kernel and Delta Sharing, or of the server of Trino
    """

    name: str
    version: str
    engine: str
    packages: tuple[str, ...]
    jars: str = ""


def _deltalake(version: str) -> Measured:
    arrow = "pyarrow<18" if version.startswith("0.") else "pyarrow"
    return Measured("delta-rs", version, "deltalake", (f"deltalake=={version}", arrow))


def _polars(version: str, deltalake: str) -> Measured:
    packages = (f"polars=={version}", f"deltalake=={deltalake}", "pyarrow")
    return Measured("Polars", version, "polars", packages)


def _duckdb(version: str) -> Measured:
    packages = (f"duckdb=={version}", f"duckdb-extension-delta=={version}", "pytz")
    return Measured("DuckDB", version, "duckdb", packages)


def _daft(version: str, deltalake: str = "1.6.3") -> Measured:
    packages = (f"daft=={version}", f"deltalake=={deltalake}", "pyarrow", "pyiceberg", "packaging")
    return Measured("Daft", version, "daft", packages)


def _spark(delta: str, spark: str, artifact: str) -> Measured:
    packages = (f"pyspark=={spark}", "setuptools==80.9.0")
    return Measured("Delta Spark", delta, "spark", packages, jars=f"io.delta:{artifact}:{delta}")


def _kernel(version: str) -> Measured:
    jars = ",".join(f"io.delta:delta-kernel-{part}:{version}" for part in ("defaults", "api"))
    return Measured("Delta Kernel", version, "kernel", ("py4j==0.10.9.9",), jars)


def _clickhouse(version: str, chdb: str) -> Measured:
    return Measured("ClickHouse", version, "chdb", (f"chdb=={chdb}", "pyarrow"))


def _sail(version: str) -> Measured:
    return Measured("Sail", version, "sail", (f"pysail=={version}", "pyspark-client==4.0.1"))


def _trino(version: str) -> Measured:
    return Measured("Trino", version, "trino", ("moto[server]==5.2.5",), jars=f"io.trino:trino-server:{version}:tar.gz")


def _sharing(version: str, kernel: str) -> Measured:
    packages = (f"delta-sharing=={version}", "moto[server]==5.2.5", "py4j==0.10.9.9")
    jars = ",".join(f"io.delta:delta-kernel-{part}:{kernel}" for part in ("defaults", "api"))
    return Measured("Delta Sharing", version, "sharing", packages, jars)


RELEASES = (
    *map(_deltalake, ("0.19.2", "0.25.5", "1.0.2", "1.2.1", "1.3.0", "1.4.0", "1.5.1", "1.6.1", "1.6.3", "1.6.6")),
    _polars("1.0.0", "0.18.2"),
    _polars("1.9.0", "0.20.2"),
    _polars("1.30.0", "0.25.5"),
    _polars("1.36.1", "1.2.1"),
    _polars("1.40.0", "1.5.1"),
    _polars("2.0.0", "1.6.1"),
    _polars("2.1.0", "1.6.3"),
    *map(_duckdb, ("1.2.0", "1.2.1", "1.2.2", "1.3.0", "1.3.1", "1.3.2")),
    *map(_duckdb, ("1.4.0", "1.4.1", "1.4.2", "1.4.3", "1.4.4", "1.5.0", "1.5.5")),
    _daft("0.6.0", "1.2.1"),
    _daft("0.7.26"),
    _spark("3.2.1", "3.5.9", "delta-spark_2.12"),
    _spark("3.3.2", "3.5.9", "delta-spark_2.12"),
    _spark("4.0.1", "4.0.5", "delta-spark_2.13"),
    _spark("4.1.0", "4.1.0", "delta-spark_4.1_2.13"),
    _spark("4.2.0", "4.1.0", "delta-spark_4.1_2.13"),
    _spark("4.3.1", "4.1.4", "delta-spark_4.1_2.13"),
    _spark("4.4.0", "4.2.0", "delta-spark_4.2_2.13"),
    *map(_kernel, ("3.2.1", "3.3.2", "4.0.1", "4.2.0", "4.3.1", "4.4.0")),
    _clickhouse("25.8", "4.0.0"),
    _clickhouse("26.9", "4.4.0"),
    *map(_sail, ("0.5.0", "0.6.0", "0.6.6", "0.7.2")),
    *map(_trino, ("470", "476")),
    _sharing("1.4.2", "3.2.0"),
)

#: Libraries whose tables are audited as they write them by default.
DEFAULT_WRITERS = (
    *map(_deltalake, ("0.18.2", "1.0.2", "1.6.6")),
    _polars("2.1.0", "1.6.3"),
    _daft("0.7.26"),
    _spark("3.3.2", "3.5.9", "delta-spark_2.12"),
)
