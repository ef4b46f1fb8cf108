"""An Airflow of its own for this tier: nothing of the machine's own installation is read or written."""

from __future__ import annotations

import os
import tempfile

import pytest

_HOME = tempfile.TemporaryDirectory(prefix="airflow-home-", ignore_cleanup_errors=True)  # goes with the process
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "True"
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"


@pytest.fixture(autouse=True)
def _no_pause_after_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triggers that wait after a failed look would make tests of five failures last minutes."""
    from airflow_delta_provider.triggers.table_trigger import TableTrigger

    monkeypatch.setattr(TableTrigger, "backoff", 0.0)
