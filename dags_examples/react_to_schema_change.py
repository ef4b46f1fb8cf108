"""Run a DAG because the schema of a table changed: tell who did it, and what else reads the column.

A trigger watches the table's log in the triggerer, without Spark. Its event has the columns that changed, and the
commit, engine and user behind it. Each change is delivered at least once, also over restarts of the triggerer.
"""

from __future__ import annotations

import os
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, task

from airflow_delta_provider.assets import table_asset
from airflow_delta_provider.triggers.table_event import DeltaTableEventTrigger

TABLE = os.environ.get("WATCHED_TABLE", "/data/lake/orders")
ORDERS_SCHEMA = Asset(
    name="orders schema",
    uri=f"{table_asset(TABLE).uri}/_delta_log",  # an asset of its own: other events of the table do not run this DAG
    watchers=[AssetWatcher(name="orders_schema", trigger=DeltaTableEventTrigger(TABLE, on="schema", poke_interval=10))],
)

with DAG(dag_id="react_to_schema_change", schedule=[ORDERS_SCHEMA], tags=["delta", "example"]):

    @task
    def tell(triggering_asset_events: Any = None) -> list[str]:
        """Write what changed into the log; return it."""
        changes = []
        for event in triggering_asset_events[ORDERS_SCHEMA]:
            change = event.extra["payload"]
            columns = ", ".join(f"{column['change']} {column['column']}" for column in change["schema"]["columns"])
            changes.append(f"version {change['to_version']}, {change['user'] or 'somebody'}: {columns}")
        print("\n".join(changes))
        return changes

    tell()
