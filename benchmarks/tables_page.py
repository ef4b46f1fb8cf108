"""How long the page "Delta tables" takes with 100,000 task instances in Airflow's database (SQLite)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from statistics import median
from typing import Any
from uuid import uuid4

_TASKS, _DAGS, _TABLES = 100_000, 200, 3


def main() -> None:
    """Print a row per page."""
    with tempfile.TemporaryDirectory(prefix="airflow-home-") as home:
        os.environ |= {"AIRFLOW_HOME": home, "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
        os.environ["AIRFLOW__CORE__AUTH_MANAGER"] = "tests.airflow.one_dag_auth_manager.OneDagAuthManager"
        _measure()


def _measure() -> None:
    from airflow.api_fastapi.app import create_app
    from fastapi.testclient import TestClient

    from tests.airflow.airflow_database import make_database, push_all
    from tests.airflow.one_dag_auth_manager import token_of

    make_database()
    push_all(_pushed())
    app = create_app(apps="core")
    client = TestClient(app)
    for share, name in (("all DAGs", "root"), ("one of 200 DAGs", "ann")):
        headers = {"Authorization": f"Bearer {token_of(app.state.auth_manager, name)}"}

        def get(headers: Any = headers) -> None:
            assert client.get("/delta-provider/tables?page=2", headers=headers).status_code == 200

        print(f"{_TASKS:,} task instances, the user may read {share}: {_seconds(get):.2f} s")


def _pushed() -> Iterator[tuple[str, str, str, int, datetime, dict[str, Any]]]:
    now = datetime.now(timezone.utc)
    for number in range(_TASKS):
        dag = number % _DAGS
        rows = [[f"s3://lake/schema_{dag}/table_{each}", "PASS", number, 0] for each in range(_TABLES)]
        at = now - timedelta(days=30 * number / _TASKS)
        values = {
            "delta_tables": {"kind": "audit", "tables": rows, "omitted": 0},
            "return_value": {"verdict": "PASS", "tables": ["x" * 1000]},
        }
        yield "mine" if dag == 0 else f"dag_{dag}", f"scheduled__{uuid4()}", "audit", -1, at, values


def _seconds(call: Callable[[], object], times: int = 7) -> float:
    call()
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return median(spent)


if __name__ == "__main__":
    main()
