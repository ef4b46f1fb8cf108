"""Mistakes that mypy finds in a DAG; each line says which by its comment."""

from __future__ import annotations

from airflow.sdk import DAG

from airflow_delta_provider.notifications.violation import DeltaViolationNotifier
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.check_paimon_row_tracking import PaimonCheckRowTrackingOperator
from airflow_delta_provider.operators.check_row_tracking import DeltaCheckRowTrackingOperator
from airflow_delta_provider.operators.disable_column_mapping import DeltaDisableColumnMappingOperator
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator
from airflow_delta_provider.operators.widen_types import DeltaWidenTypesOperator
from airflow_delta_provider.sensors.feature import DeltaFeatureSensor

with DAG("wrong"):
    DeltaAuditProtocolOperator(task_id="a", table="/t", level="footer")  # level
    DeltaAuditProtocolOperator(task_id="b", table="/t", fail_on="warn")  # fail_on
    DeltaAuditProtocolOperator(task_id="c", table="/t", levle="log")  # levle
    DeltaCheckRowTrackingOperator(task_id="d", table="/t", on_violation="ask")  # on_violation
    DeltaCheckRowTrackingOperator(task_id="e", table="/t", on_undetermined="skip")  # on_undetermined
    DeltaEnableFeatureOperator(task_id="f", table="/t", featuers=["x"])  # features, featuers
    DeltaEnableFeatureOperator(task_id="g", table="/t", features=["x"], retires=2)  # retires
    DeltaEnableFeatureOperator(task_id="h", table="/t", features=["x"], dry_rum=True)  # dry_rum
    DeltaEnableFeatureOperator(task_id="i", table="/t", features=["x"], drivermemory="2g")  # drivermemory
    DeltaEnableFeatureOperator(task_id="j", table="/t", features=["x"], deploy_mode="remote")  # deploy_mode
    DeltaEnableFeatureOperator(table="/t", features=["x"])  # task_id
    DeltaWidenTypesOperator(task_id="k", table="/t", columns=7)  # columns
    DeltaWidenTypesOperator(task_id="l", table="/t", columns={"q": "int"}, verify="all")  # verify
    DeltaDisableColumnMappingOperator(task_id="m", table="/t", strategy="metadata_only")  # strategy
    DeltaTableDetailOperator(task_id="n", table=7)  # table
    PaimonCheckRowTrackingOperator(task_id="o", table="/t", source="files")  # source
    DeltaFeatureSensor(task_id="p", table="/t", features="x", state="on")  # state
    DeltaFeatureSensor(task_id="q", table="/t", features="x", poke_intervall=5)  # poke_intervall
    DeltaFeatureSensor(task_id="r", table="/t", features="x", mode="poll")  # mode
    DeltaViolationNotifier(notifiers=[], remind_afer=None)  # remind_afer
    DeltaViolationNotifier(notifiers=[], severities=["error"])  # error
