"""Runs statements in a session that has a catalog: ``python -m tests.catalogs.make_tables FILE``, a JSON list."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from airflow_delta_provider.jobs.spark.session import own_session


def main(file: str) -> None:
    """Run the statements of a file."""
    spark = own_session("make tables", "local[2]")
    for statement in json.loads(Path(file).read_text()):
        spark.sql(statement)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
