"""``delta-provider`` whose JVM ends at a step, as if the machine had killed it.

``python -m tests.spark.ended_session TABLE ARGUMENT…`` runs the command line, and ends the JVM after the first commit
to ``TABLE``.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyspark import SparkContext

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.jobs.changes.table_change import TableChange

_execute = TableChange._execute


def _ending(table: str) -> Any:
    def executed(change: TableChange, *arguments: Any) -> Any:
        done = _execute(change, *arguments)
        if change.table.name.text == table:
            gateway: Any = SparkContext._gateway
            os.kill(gateway.proc.pid, signal.SIGKILL)
            gateway.proc.wait()
        return done

    return executed


if __name__ == "__main__":
    TableChange._execute = _ending(sys.argv[1])  # type: ignore[method-assign]  # a stand-in
    sys.exit(main(sys.argv[2:]))
