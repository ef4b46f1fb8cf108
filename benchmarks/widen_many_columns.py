"""Ten columns widened: our job against ten ALTER TABLE statements, inside one running session.

Ours also checks beforehand and reads the log again, and in the first row compares the data of the
ten columns, which ``verify="log"`` leaves out. The statements run twice: with Spark's and Delta's
default numbers of partitions, and with the few that our local profile sets.
"""

from __future__ import annotations

from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from benchmarks.side_by_side import compare, job, script
from benchmarks.wide_table import COLUMNS, make_table

_WIDER = dict.fromkeys(COLUMNS, "bigint")
_STATEMENTS = [f"ALTER COLUMN {column} TYPE bigint" for column in COLUMNS]


def main() -> None:
    """Run the benchmark and print its table."""
    variants = {
        "ours": job(WidenTypesOptions(columns=_WIDER)),
        'ours, verify="log"': job(WidenTypesOptions(columns=_WIDER, verify="log")),
        "ten ALTER, defaults": script(_STATEMENTS, by_default=True),
        "ten ALTER, our profile": script(_STATEMENTS, by_default=False),
    }
    compare(__doc__, lambda session, path: make_table(session.spark, path), variants)


if __name__ == "__main__":
    main()
