"""Directories that are no Delta tables."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def parquet_files(spark: SparkSession, path: Path) -> None:
    """Parquet files without a log."""
    spark.range(1).write.parquet(str(path))


def iceberg(spark: SparkSession, path: Path) -> None:
    """The layout of an Iceberg table with a commit."""
    for name in ("metadata/v1.metadata.json", "metadata/version-hint.text", "data/f.parquet"):
        _touch(path / name)


def empty_iceberg(spark: SparkSession, path: Path) -> None:
    """The layout of an Iceberg table that was created and never written."""
    _touch(path / "metadata" / "00000-3f2c1e4a.metadata.json")


def paimon(spark: SparkSession, path: Path) -> None:
    """The layout of a Paimon table with a snapshot."""
    for name in ("schema/schema-0", "snapshot/snapshot-1", "snapshot/LATEST", "bucket-0/data.parquet"):
        _touch(path / name)


def empty_paimon(spark: SparkSession, path: Path) -> None:
    """The layout of a Paimon table that was created and never written."""
    _touch(path / "schema" / "schema-0")


def hudi(spark: SparkSession, path: Path) -> None:
    """The layout of a Hudi table."""
    _touch(path / ".hoodie" / "hoodie.properties")


def empty_directory(spark: SparkSession, path: Path) -> None:
    """A directory with nothing in it."""
    path.mkdir(parents=True)


def empty_log(spark: SparkSession, path: Path) -> None:
    """A log directory without a commit, as a failed creation leaves it."""
    (path / "_delta_log").mkdir(parents=True)


def plain_files(spark: SparkSession, path: Path) -> None:
    """Plain files, one of them called as a directory of another format."""
    _touch(path / "file")
    _touch(path / "metadata")


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
