"""Types of the operators' arguments, for type checkers: a templated argument also accepts a template or an XCom.

If an argument is one of a few words, write a template as ``Template("{{ … }}")``. A plain string is then checked to be
one of the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NewType, TypedDict

from airflow.sdk import XComArg
from typing_extensions import Required

if TYPE_CHECKING:
    from airflow.sdk import DAG, TaskGroup

#: A Jinja template instead of one of a few words. At runtime it is its string.
Template = NewType("Template", str)

#: A value that may have to be rendered first: templates are strings.
Text = str | XComArg
Names = Sequence[str] | str | XComArg
Types = Mapping[str, str] | Sequence[Mapping[str, str]] | str | XComArg
Flag = bool | str | XComArg
Document = Mapping[str, Any] | str | XComArg | None
Specs = Mapping[str, Any] | Sequence[Any] | str | XComArg
Version = int | str | XComArg | None

OnViolation = Literal["fail", "warn", "skip"]
OnUndetermined = Literal["warn", "fail", "ignore"]
Level = Literal["log", "footers", "data"] | Template | XComArg
PaimonLevel = Literal["metadata", "data"] | Template | XComArg
PaimonSource = Literal["auto", "native", "catalog"] | Template | XComArg
FailOn = Literal["error", "warning"] | Template | XComArg
Strategy = Literal["auto", "metadata-only", "rewrite"] | Template | XComArg
VerifyMapping = Literal["footers", "full"] | Template | XComArg
FeatureStateName = Literal["supported", "enabled", "absent"]
Mode = Literal["poke", "reschedule"]
VerifyValues = Literal["data", "log"] | Template | XComArg


class TaskArguments(TypedDict, total=False):
    """The arguments of ``BaseOperator``, which every task accepts."""

    task_id: Required[str]
    owner: str
    email: str | Sequence[str] | None
    email_on_retry: bool
    email_on_failure: bool
    retries: int | None
    retry_delay: timedelta | float
    retry_exponential_backoff: float
    max_retry_delay: timedelta | float | None
    retry_policy: Any
    start_date: datetime | None
    end_date: datetime | None
    depends_on_past: bool
    ignore_first_depends_on_past: bool
    wait_for_past_depends_before_skipping: bool
    wait_for_downstream: bool
    dag: DAG | None
    params: Any
    default_args: dict[str, Any] | None
    priority_weight: int
    weight_rule: Any
    queue: str
    pool: str | None
    pool_slots: int
    sla: timedelta | None
    execution_timeout: timedelta | None
    on_execute_callback: Any
    on_failure_callback: Any
    on_success_callback: Any
    on_retry_callback: Any
    on_skipped_callback: Any
    pre_execute: Any
    post_execute: Any
    trigger_rule: str
    resources: dict[str, Any] | None
    run_as_user: str | None
    map_index_template: str | None
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    executor: str | None
    executor_config: dict[str, Any] | None
    do_xcom_push: bool
    multiple_outputs: bool
    inlets: Any
    outlets: Any
    task_group: TaskGroup | None
    doc: str | None
    doc_md: str | None
    doc_json: str | None
    doc_yaml: str | None
    doc_rst: str | None
    task_display_name: str | None
    logger_name: str | None
    allow_nested_operators: bool
    render_template_as_native_obj: bool | None


class SparkSubmitArguments(TaskArguments, total=False):
    """The arguments of ``SparkSubmitOperator``, except for arguments that this provider sets itself."""

    conf: dict[Any, Any] | str | XComArg | None
    conn_id: str
    files: Text | None
    py_files: Text | None
    archives: str | None
    driver_class_path: Text | None
    jars: Text | None
    packages: Text | None
    exclude_packages: Text | None
    repositories: str | None
    total_executor_cores: int | None
    executor_cores: int | None
    executor_memory: str | None
    driver_memory: str | None
    keytab: Text | None
    principal: Text | None
    proxy_user: Text | None
    name: Text
    num_executors: int | None
    status_poll_interval: int
    env_vars: dict[str, Any] | str | XComArg | None
    verbose: bool
    spark_binary: str | None
    properties_file: Text | None
    yarn_queue: str | None
    deploy_mode: Literal["client", "cluster"] | None
    use_krb5ccache: bool
    post_submit_commands: list[str] | str | XComArg | None
    track_driver_via_k8s_api: bool
    yarn_track_via_rm_api: bool
    yarn_rm_auth: Any
    openlineage_inject_parent_job_info: bool
    openlineage_inject_transport_info: bool
    durable: bool | None
    reconnect_on_retry: bool | None


class JobArguments(SparkSubmitArguments, total=False):
    """The arguments of all operators that run a job of this provider."""

    table: Text | None
    tables: Sequence[Any] | str | XComArg | None
    on_violation: OnViolation
    on_undetermined: OnUndetermined
    delta_jars: Names | None
    spark_log_level: str | None
    report_path: Text | None
    storage_conn_id: Text | None


class ChangeArguments(JobArguments, total=False):
    """The arguments of all operators that change tables."""

    dry_run: Flag
    allow_unsafe_log_store: Flag


class SensorTaskArguments(TaskArguments, total=False):
    """The arguments of ``BaseSensorOperator``."""

    poke_interval: timedelta | float
    timeout: timedelta | float
    soft_fail: bool
    exponential_backoff: bool
    max_wait: timedelta | float | None
    silent_fail: bool
    never_fail: bool


class SensorArguments(SensorTaskArguments, total=False):
    """The arguments of all sensors that watch a table, except the table."""

    storage_conn_id: Text | None
    deferrable: bool
    mode: Mode | None


_JINJA = ("{{", "{%", "{#")


def is_literal(value: Any) -> bool:
    """Return True if ``value`` is not changed by rendering: it has no template and no XComArg."""
    if isinstance(value, str):
        return not any(mark in value for mark in _JINJA)
    if isinstance(value, Mapping):
        return all(is_literal(key) and is_literal(item) for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(is_literal(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, datetime))
