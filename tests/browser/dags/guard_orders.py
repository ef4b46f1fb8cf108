"""Tasks whose reports the browser looks at; ``lake`` is the folder of their tables."""

from airflow.sdk import DAG, task

from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.plan_migration import DeltaPlanMigrationOperator
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator

WANTED = {
    "table": "{{ params.lake }}/orders",
    "columns": [
        {"name": "id", "type": "bigint"},
        {"name": "amount", "type": "decimal(12,2)"},
        {"name": "shop", "type": "string", "renamed_from": "store"},
        {"name": "currency", "type": "string", "renamed_from": None},
    ],
    "features": ["deletionVectors"],
    "drop": ["note"],
}

with DAG("guard_orders", schedule=None, params={"lake": "/"}):
    audit = DeltaAuditProtocolOperator(
        task_id="audit", table="{{ params.lake }}/orders", engine="python", on_violation="warn"
    )
    every = DeltaAuditProtocolOperator(
        task_id="every", table="{{ params.lake }}/*", engine="python", on_violation="warn"
    )
    plan = DeltaPlanMigrationOperator(task_id="plan", spec=WANTED, engine="python", on_violation="warn")
    mapped = DeltaTableDetailOperator.partial(task_id="mapped", engine="python").expand(
        table=["{{ params.lake }}/orders", "{{ params.lake }}/returns"]
    )

    @task
    def no_table() -> None:
        """Push nothing."""

    audit >> [every, plan, mapped, no_table()]
