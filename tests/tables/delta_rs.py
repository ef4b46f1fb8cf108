"""Tables as delta-rs reads them, another reader than Delta Spark, without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest


class UnreadableError(Exception):
    """A table that this reader cannot read, whoever wrote it: a struct of which a file has none of the fields."""


def rows_by_delta_rs(path: Path) -> list[dict[str, Any]]:
    """Read all rows of a table, in no order; a test that asks for them is skipped where `deltalake` is not there."""
    deltalake = pytest.importorskip("deltalake")
    # Not to_pyarrow_table(), which looks for columns under their own names, mapped or not.
    query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(path))).execute("SELECT * FROM t")
    try:
        found = pyarrow.table(query.read_all())
    except Exception as error:
        if "Cannot cast column" in str(error):
            raise UnreadableError(str(error)) from error
        raise
    rows: list[dict[str, Any]] = found.to_pylist(maps_as_pydicts="strict")
    return rows
