"""Spark's own record of a job: which processes did its work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

#: The executor of a driver that does the work itself, as on a local master.
_DRIVER = "driver"


def recorded_in(folder: Path) -> Mapping[str, str]:
    """Return settings by which a job leaves its record in a folder of this machine."""
    folder.mkdir(exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def tasks_by_executor(folder: Path) -> Counter[str]:
    """Return how many tasks each executor has done, of the jobs whose record a folder has."""
    events = [json.loads(line) for file in folder.iterdir() if file.is_file() for line in file.open(encoding="utf-8")]
    assert events, "no record was left"
    return Counter(event["Task Info"]["Executor ID"] for event in events if event["Event"] == "SparkListenerTaskEnd")


def assert_worked_elsewhere(folder: Path) -> None:
    """Fail unless all tasks of the recorded jobs were done by executors that are processes of their own."""
    done = tasks_by_executor(folder)
    assert done
    assert _DRIVER not in done
