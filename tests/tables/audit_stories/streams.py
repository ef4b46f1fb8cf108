"""Streams into the table, from a table ``source`` beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.tables.audit_stories.statements import (
    MERGE,
    OPTIMIZE,
    ROW_TRACKING,
    UPDATE,
    VECTORS,
    create,
    insert,
    of_source,
    restore,
    set_properties,
)
from tests.tables.audit_stories.telling import Step, concurrently, story


def _streamed(
    mode: str = "append",
    *,
    each: Callable[[DataFrame, int, Path], None] | None = None,
    aggregate: bool = False,
    **options: str,
) -> Step:
    """What is in the source directory by now is streamed into the table.

    :param each: writes each batch, of which it gets rows and number
    """

    def step(spark: SparkSession, path: Path) -> None:
        source = spark.readStream.format("delta").options(**options).load(str(path.parent / "source"))
        if aggregate:
            source = source.groupBy("name").count()
        name = mode if each is None else each.__name__
        writer = source.writeStream.option("checkpointLocation", str(path.parent / f"stream-{name}"))
        writer = writer.trigger(availableNow=True)
        if each is not None:
            query = writer.foreachBatch(lambda rows, number: each(rows, number, path)).start()
        else:
            query = writer.format("delta").option("mergeSchema", "true").outputMode(mode).start(str(path))
        query.awaitTermination()

    return step


def _merged(rows: DataFrame, number: int, path: Path) -> None:
    rows.createOrReplaceTempView("streamed")
    rows.sparkSession.sql(
        f"MERGE INTO delta.`{path}` t USING streamed s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _written_once(rows: DataFrame, number: int, path: Path) -> None:
    """Write a batch twice, of which the second time is left out."""
    for _ in range(2):
        options = {"txnAppId": "app", "txnVersion": str(number)}
        rows.write.format("delta").mode("append").options(**options).save(str(path))


STORIES = {
    "streamed": story(
        of_source(create()),
        create(**ROW_TRACKING),
        [
            of_source(insert(0, 6)),
            _streamed(),
            of_source(insert(6, 8)),
            _streamed(),
            UPDATE,
            of_source(insert(8, 9)),
            _streamed(),
        ],
        [OPTIMIZE, _streamed(), restore(2), of_source(insert(9, 12)), _streamed(maxFilesPerTrigger="1")],
    ),
    "streamed, complete": story(
        of_source(create()),
        [
            of_source(insert(0, 6)),
            _streamed("complete", aggregate=True),
            of_source(insert(6, 8)),
            _streamed("complete", aggregate=True),
        ],
        set_properties(**ROW_TRACKING, columnMapping__mode="name"),
        [of_source(insert(8, 9)), _streamed("complete", aggregate=True)],
    ),
    "streamed, merged": story(
        of_source(create()),
        create(**ROW_TRACKING, **VECTORS),
        [of_source(insert(0, 6)), _streamed(each=_merged), of_source(insert(3, 8)), _streamed(each=_merged)],
    ),
    "streamed, written once": story(
        of_source(create()),
        create(setTransactionRetentionDuration="interval 1 day"),
        [
            of_source(insert(0, 3)),
            _streamed(each=_written_once),
            of_source(insert(3, 5)),
            _streamed(each=_written_once),
        ],
        [_streamed(), OPTIMIZE, restore(1), of_source(insert(5, 6)), _streamed(each=_written_once), _streamed()],
    ),
    "streamed and written at once": story(
        of_source(create()),
        create(enableChangeDataFeed="true"),
        [of_source(insert(0, 9)), _streamed(each=_written_once), _streamed(), UPDATE, MERGE],
        concurrently(insert(100, 102), insert(200, 202)),
    ),
}
