"""Migrations of which people approve one."""

from __future__ import annotations

from datetime import time, timedelta

from airflow.sdk import DAG, Param, task

from airflow_delta_provider.migration import delta_migration

SPEC = {"columns": [{"name": "id", "comment": "Order number"}], "constraints": {"counted": "quantity >= 0"}}
ARGUMENTS = {"spec": SPEC, "allow_protocol_upgrade": True}

with DAG("unapproved_migrations", schedule=None, params={"tables": Param([], type="array")}):

    @task
    def tables(params: dict | None = None) -> list[str]:
        """Return the tables."""
        return (params or {})["tables"]

    in_window = delta_migration.override(group_id="in_window")
    in_window.partial(**ARGUMENTS, quiet_window=(time(0), time(23, 59))).expand(table=tables())
    for group_id, known in {
        "rejected": {},
        "rejected_fails": {"fail_on_reject": True},
        "unanswered": {"approval_timeout": timedelta(seconds=15)},
    }.items():
        delta_migration.override(group_id=group_id)(table="{{ params.tables[0] }}", **ARGUMENTS, **known)
