"""An Airflow of its own for this tier: nothing of the machine's own installation is read or written."""

from __future__ import annotations

import os
import tempfile

_HOME = tempfile.TemporaryDirectory(prefix="airflow-home-", ignore_cleanup_errors=True)  # goes with the process
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "True"
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
