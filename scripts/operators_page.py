"""Renders the reference pages of operators, sensors and notifiers, which autodoc fills: ``make docs``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow_delta_provider.get_provider_info import get_provider_info

_CHECKOUT = Path(__file__).resolve().parents[1]
_REFERENCE = _CHECKOUT / "docs" / "reference"
_ON_THE_SITE = "The arguments are shown on the site: in a checkout, `make site` builds it."
_MARK = "<!-- Written by `make docs` from the classes that airflow_delta_provider/get_provider_info.py names. -->"
_OPERATOR_BASES = (
    "airflow_delta_provider.operators.delta_job.DeltaJobOperator",
    "airflow_delta_provider.operators.delta_task.DeltaChangeOperator",
)
_SENSOR_BASES = (
    "airflow_delta_provider.sensors.table_sensor.TableSensor",
    "airflow_delta_provider.sensors.job_sensor.JobSensor",
)
#: The trigger that people use themselves; the others belong to sensors.
_EVENT_TRIGGER = "airflow_delta_provider.triggers.table_event.DeltaTableEventTrigger"
_FUNCTIONS = (
    "airflow_delta_provider.xcom.violated_tables",
    "airflow_delta_provider.xcom.tables_with",
    "airflow_delta_provider.xcom.all_findings",
    "airflow_delta_provider.xcom.whole_report",
    "airflow_delta_provider.operators.reporting.table_asset",
)

#: Groups of tasks; the first is decorated, and what it decorates has its arguments.
_GROUPS = {
    "delta_migration": "airflow_delta_provider.migration.delta_migration.function",
    "delta_migrations": "airflow_delta_provider.migration.delta_migrations",
    "delta_repair": "airflow_delta_provider.repair.delta_repair.function",
}

OPERATORS_PAGE = _REFERENCE / "operators.md"
SENSORS_PAGE = _REFERENCE / "sensors.md"
NOTIFIERS_PAGE = _REFERENCE / "notifiers.md"


def operators() -> str:
    """Return the page of the operators."""
    page = _page(
        "Operators",
        "Operators run one job through `spark-submit` and share the arguments of "
        "[DeltaJobOperator](#deltajoboperator). Operators that change tables also have the arguments of "
        "[DeltaChangeOperator](#deltachangeoperator). Two operators run no job: DeltaApproveMigrationOperator "
        "asks people, and DeltaReportOperator evaluates reports of other jobs.",
        [*_OPERATOR_BASES, *public_classes("operators")],
    )
    return page + "".join(f"\n## {name}\n\n{_directive('autofunction', path)}\n" for name, path in _GROUPS.items())


def sensors() -> str:
    """Return the page of the sensors."""
    return _page(
        "Sensors",
        "The sensors wait in the triggerer, without Spark. Sensors of tables share the arguments of "
        "[TableSensor](#tablesensor), and sensors that submit jobs those of [JobSensor](#jobsensor). "
        "[DeltaTableEventTrigger](#deltatableeventtrigger) is for an `AssetWatcher`.",
        [*_SENSOR_BASES, *public_classes("sensors"), _EVENT_TRIGGER],
    )


def notifiers() -> str:
    """Return the page of the notifier, and of the functions for tasks of your own."""
    classes = [str(name) for name in get_provider_info()["notifications"]]
    page = _page("Notifier and helpers", "For [alerts](../guides/alerts.md) and for tasks of your own.", classes)
    return page + "".join(f"\n## {_last(name)}\n\n{_directive('autofunction', name)}\n" for name in _FUNCTIONS)


def public_classes(kind: str) -> list[str]:
    """Return the ``operators`` or ``sensors`` that the provider registers with Airflow, without importing it."""
    modules = [module for entry in get_provider_info()[kind] for module in entry["python-modules"]]
    return sorted((name for module in modules for name in _classes(module)), key=_last)


def _classes(module: str) -> Iterator[str]:
    source = (_CHECKOUT / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"{module}.{node.name}"


def _page(title: str, about: str, classes: Sequence[str]) -> str:
    blocks = [f"# {title}", _MARK, f"{about} {_ON_THE_SITE}"]
    for name in classes:
        blocks += [f"## {_last(name)}", _directive("autoclass", name)]
    return "\n\n".join(blocks) + "\n"


def _directive(directive: str, name: str) -> str:
    return f"```{{eval-rst}}\n.. {directive}:: {name}\n```"


def _last(name: str) -> str:
    return name.rpartition(".")[2]
