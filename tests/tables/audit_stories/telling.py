"""How a story is told: its steps, one after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

Step = str | Callable[[SparkSession, Path], None]
Story = tuple[Step, ...]

#: What only slows small statements down.
_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_DAY = 24 * 60 * 60


def story(*steps: Step | Iterable[Step]) -> Story:
    """The steps of a story, of which some come several at once."""
    flat: list[Step] = []
    for step in steps:
        flat.extend([step] if isinstance(step, str) or callable(step) else step)
    return tuple(flat)


def tell(spark: SparkSession, path: Path, steps: Iterable[Step]) -> None:
    """Let a story happen to the table at ``path``."""
    with configured(spark, _SETTINGS):
        for step in steps:
            _take(spark, path, step)


def _take(spark: SparkSession, path: Path, step: Step) -> None:
    if callable(step):
        step(spark, path)
    else:
        spark.sql(filled(step, path)).collect()


def _named(step: Step) -> str:
    return step.__name__ if callable(step) else step


@contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


def filled(statement: str, path: Path) -> str:
    return statement.replace("{t}", f"delta.`{path}`").replace("{d}", str(path.parent))


def refused(refused_step: Step) -> Step:
    """A step that the engine refuses: it leaves no trace, or the part of one."""

    def step(spark: SparkSession, path: Path) -> None:
        try:
            _take(spark, path, refused_step)
        except Exception:
            return
        raise AssertionError(f"not refused: {_named(refused_step)}")

    step.__name__ = f"refused {_named(refused_step)}"
    return step


def with_settings(statement: str, **settings: str) -> Step:
    """A statement under other settings, whose names have ``__`` for ``.``."""

    def step(spark: SparkSession, path: Path) -> None:
        with configured(spark, {key.replace("__", "."): value for key, value in settings.items()}):
            spark.sql(filled(statement, path)).collect()

    step.__name__ = f"{settings} {statement}"
    return step


def wrote(rows: str, mode: str, **options: str) -> Step:
    """A DataFrame that is written."""

    def step(spark: SparkSession, path: Path) -> None:
        spark.sql(rows).write.format("delta").mode(mode).options(**options).save(str(path))

    step.__name__ = f"{mode} {options} {rows}"
    return step


def aged(spark: SparkSession, path: Path) -> None:
    """Let all that is there have been there for forty days."""
    for file in path.joinpath("_delta_log").rglob("*"):
        if file.is_file():
            then = file.stat().st_mtime - 40 * _DAY
            os.utime(file, (then, then))


def concurrently(*statements: str) -> Step:
    """Statements that run at once; which of them are refused is up to chance."""

    def step(spark: SparkSession, path: Path) -> None:
        def run(statement: str) -> None:
            own = spark.newSession()
            try:
                with configured(own, _SETTINGS):
                    for one in statement.split(";"):
                        own.sql(filled(one, path)).collect()
            except Exception as refusal:
                if "CONCURRENT" not in str(refusal).upper() and "CHANGED" not in str(refusal).upper():
                    raise

        threads = [threading.Thread(target=run, args=(statement,)) for statement in statements]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return step
