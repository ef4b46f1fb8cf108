"""Values of this process, shipped to Spark as rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

#: Maximum number of rows in one string.
_TOGETHER = 1000


def ship(spark: SparkSession, rows: Sequence[Mapping[str, Any]], columns: str) -> DataFrame:
    """Return ``rows`` as a data frame: few as a literal in the plan, more as strings that tasks parse.

    :param columns: columns as in ``struct<…>``
    """
    texts = [json.dumps(rows[start : start + _TOGETHER]) for start in range(0, len(rows), _TOGETHER)]
    if len(texts) <= 1:
        whole = spark.range(1).select(sql.lit(texts[0] if texts else "[]").alias("text"))
    else:
        whole = spark.createDataFrame([(text,) for text in texts], "text string")
    return whole.select(sql.inline(sql.from_json("text", f"array<struct<{columns}>>")))
