"""Types of operators' arguments, and files on the worker that an argument names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NewType, TypedDict, cast

from airflow.providers.common.compat.sdk import Context
from airflow.sdk import XComArg
from typing_extensions import Required

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.formats.yaml_documents import YamlError, unmarked
from airflow_delta_provider.domain.request.config_file import Config, ConfigError, parse_config
from airflow_delta_provider.domain.request.option import Document as DocumentType
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.report_store import read_text

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
RepairLevel = Literal["log", "footers"] | Template | XComArg
PaimonLevel = Literal["metadata", "data"] | Template | XComArg
PaimonSource = Literal["auto", "native", "catalog"] | Template | XComArg
FailOn = Literal["error", "warning"] | Template | XComArg
Strategy = Literal["auto", "metadata-only", "rewrite"] | Template | XComArg
VerifyMapping = Literal["footers", "full"] | Template | XComArg
FeatureStateName = Literal["supported", "enabled", "absent"]
Mode = Literal["poke", "reschedule"]
#: The engine that reads the tables.
EngineName = Literal["spark", "python"]
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


class SubmitArguments(TaskArguments, total=False):
    """The arguments of ``SparkSubmitHook``, except for arguments that this provider sets itself."""

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


class SparkSubmitArguments(SubmitArguments, total=False):
    """The arguments of ``SparkSubmitOperator``, except for arguments that this provider sets itself."""

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


class JobSensorArguments(SensorArguments, SubmitArguments, total=False):
    """The arguments of all sensors that submit jobs, except the table."""

    delta_jars: Names | None
    spark_log_level: str | None
    result_path: Text | None
    report_path: Text | None


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


class DagFiles:
    """The files that an operator's arguments name, and whether a name contains a template.

    :param files: files by argument, as written in the DAG
    """

    def __init__(self, files: Mapping[str, Any]) -> None:
        self._bounded = {name: not is_literal(file) for name, file in files.items()}

    def path(self, operator: Any, argument: str, value: str, context: Context | None) -> Path:
        """Return the file that an argument names, relative to the DAG's file.

        :param context: context of the task; None while the DAG is parsed
        :raises DeltaRequestError: if the DAG itself names no file in this argument, or the file is outside the allowed
            folders
        """
        if argument not in self._bounded:
            raise DeltaRequestError(
                f"{argument} was rendered to {value!r}. A file is read only if the DAG itself names it: write the "
                "argument so that its own text ends in .yaml or .yml, or in / for a folder of specs."
            )
        return file_of(operator, argument, value, context, bounded=self._bounded[argument])


def file_of(operator: Any, argument: str, value: str, context: Context | None, *, bounded: bool) -> Path:
    """Return a file, relative to the DAG's file.

    :param bounded: True if the file must be in the DAG's folder or bundle, or in an allowed location
    :raises DeltaRequestError: if the file is outside the allowed folders
    """
    folder = Path(operator.dag.fileloc).parent if cast("Any", operator).has_dag() else Path()
    file = folder / value
    if context is not None:
        access = Access.of(context)
        bundle = getattr(getattr(context["ti"], "bundle_instance", None), "path", None) or folder
        if (bounded or access.allowed) and not access.allows_file(file, (folder, Path(bundle))):
            raise DeltaRequestError(
                f"{argument} is {value!r}, which lies neither with the DAGs nor in the allowed locations, links "
                "followed. Put the file below the folder of the DAG's file, or of its bundle."
            )
    return file


_SUFFIXES = (".yaml", ".yml")


def names_file(value: Any) -> bool:
    """Return True if an argument, as written in the DAG, names a file: it ends in a suffix of YAML files.

    Do not pass a rendered value: a value from elsewhere must never make a task read a file.
    """
    return isinstance(value, str) and value.endswith(_SUFFIXES)


def read_entries(argument: str, file: Path) -> Sequence[Any]:
    """Return the list in a YAML file, whose entries are strings or mappings.

    :raises DeltaRequestError: if there is none; the message names the place, and quotes nothing from the file
    """
    entries = unmarked(read_document(argument, file, DocumentType()))
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise DeltaRequestError(f"{argument}: {file} holds no list. Put one entry per line, each after '- '.")
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, (str, Mapping)):
            raise DeltaRequestError(f"{argument}: entry {number} of {file} is neither a string nor a mapping")
    return entries


def read_document(argument: str, place: Path, document: DocumentType) -> Any:
    """Return the content of a file, or of the files in a folder. YAML values carry their positions.

    :raises DeltaRequestError: if it cannot be read; the message names the place, and quotes nothing from the file
    """
    file = place
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        texts = []
        for file in files:
            if file == place or document.takes_file(file.name):
                texts.append((str(file), read_text(file)))
        if not texts:
            raise DeltaRequestError(f"{argument}: {place} is a folder without files that are read here")
        return document.of_files(texts)
    except OSError as error:
        raise DeltaRequestError(f"{argument}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"{argument}: {file} is not UTF-8 text") from None
    except YamlError as error:
        where = f" in line {error.line}, column {error.column}" if error.line else f": {error}"
        raise DeltaRequestError(f"{argument}: {place} is not YAML{where}") from None
    except RequestError as error:
        raise DeltaRequestError(f"{argument}: {error}") from None


def read_config_file(file: Path) -> Config:
    """Return the configuration in a file, with absolute paths because tasks do not run in the file's folder.

    :raises DeltaRequestError: if it cannot be read, or has a setting that an operator does not support
    """
    folder = file.parent.absolute().as_posix()
    try:
        config = parse_config(read_text(file), str(file), folder).with_absolute_names(folder)
    except OSError as error:
        raise DeltaRequestError(f"config: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DeltaRequestError(f"config: {file} is not UTF-8 text") from None
    except ConfigError as error:
        raise DeltaRequestError(f"config: {error}") from None
    if config.fail_on == "never":
        raise DeltaRequestError(f"config: {file} has fail_on = 'never'. Pass fail_on, and on_violation='warn'.")
    return config
