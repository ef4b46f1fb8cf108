"""Checksums of all rows of a version of a table."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.engine.sql_identifier import quote
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession

#: A prime below 2**31: a sum of remainders does not overflow for four billion rows.
_MODULUS = 2147483647


def row_sums(session: DeltaSession, location: str, version: int) -> tuple[int, dict[str, int]]:
    """Read all rows of a version; return their number and, by top-level column, a sum of hashes of its values."""
    rows: Any = session.spark.read.format("delta").option("versionAsOf", version).load(location)
    hashes = [
        f"sum(xxhash64(to_json(named_struct('value', {quote(name)}, 'is null', {quote(name)} IS NULL))) % {_MODULUS})"
        for name in rows.columns
    ]
    (found,) = rows.selectExpr("count(*)", *hashes).collect()
    return found[0], {name: found[index] or 0 for index, name in enumerate(rows.columns, start=1)}
