"""Renders the reference pages of operators, sensors and notifiers from their docstrings: ``make docs``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from airflow_delta_provider.get_provider_info import get_provider_info

_CHECKOUT = Path(__file__).resolve().parents[1]
_REFERENCE = _CHECKOUT / "docs" / "reference"
_MARK = "<!-- Written by `make docs` from the classes that airflow_delta_provider/get_provider_info.py names. -->"
_OPERATOR_BASES = (
    "airflow_delta_provider.operators.delta_job.DeltaJobOperator",
    "airflow_delta_provider.operators.delta_task.DeltaReadOperator",
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
    "airflow_delta_provider.assets.table_asset",
)

#: Groups of tasks.
_GROUPS = (
    "airflow_delta_provider.migration.delta_migration",
    "airflow_delta_provider.migration.delta_migrations",
    "airflow_delta_provider.repair.delta_repair",
)

OPERATORS_PAGE = _REFERENCE / "operators.md"
SENSORS_PAGE = _REFERENCE / "sensors.md"
NOTIFIERS_PAGE = _REFERENCE / "notifiers.md"


def operators() -> str:
    """Return the page of the operators."""
    return _page(
        "Operators",
        "Operators run one job through `spark-submit` and share the arguments of "
        "[DeltaJobOperator](#deltajoboperator). Operators that only read also have the arguments of "
        "[DeltaReadOperator](#deltareadoperator), and operators that change tables those of "
        "[DeltaChangeOperator](#deltachangeoperator). Two operators run no job: DeltaApproveMigrationOperator "
        "asks people, and DeltaReportOperator evaluates reports of other jobs.",
        [*_OPERATOR_BASES, *public_classes("operators"), *_GROUPS],
    )


def sensors() -> str:
    """Return the page of the sensors."""
    return _page(
        "Sensors",
        "The sensors wait in the triggerer, without Spark. Sensors of tables share the arguments of "
        "[TableSensor](#tablesensor), and sensors that submit jobs those of [JobSensor](#jobsensor). "
        "[DeltaTableEventTrigger](#deltatableeventtrigger) is for an `AssetWatcher`.",
        [*_SENSOR_BASES, *public_classes("sensors"), _EVENT_TRIGGER],
    )


_TARGETS = "airflow_delta_provider.notifications.incident_targets"


def notifiers() -> str:
    """Return the page of the notifier, and of the functions for tasks of your own."""
    names = [str(name) for name in get_provider_info()["notifications"]]
    names += [f"{_TARGETS}.{name}" for name in ("PagerDutyIncidents", "OpsgenieIncidents", "JiraIncidents")]
    names += _FUNCTIONS
    return _page("Notifier and helpers", "For [alerts](../guides/alerts.md) and for tasks of your own.", names)


def public_classes(kind: str) -> list[str]:
    """Return the ``operators`` or ``sensors`` that the provider registers with Airflow, without importing it."""
    modules = [module for entry in get_provider_info()[kind] for module in entry["python-modules"]]
    return sorted((name for module in modules for name in _classes(module)), key=_last)


def _classes(module: str) -> Iterator[str]:
    for node in _parsed(module).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"{module}.{node.name}"


def _parsed(module: str) -> ast.Module:
    return ast.parse((_CHECKOUT / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8"))


def _page(title: str, about: str, names: Sequence[str]) -> str:
    shown = frozenset(map(_last, names))
    blocks = [f"# {title}", _MARK, about]
    for name in names:
        module, _, own = name.rpartition(".")
        blocks += [f"## {own}", f"`from {module} import {own}`", *_described(name, shown)]
    return "\n\n".join(blocks) + "\n"


def _described(name: str, shown: frozenset[str]) -> Iterator[str]:
    """Yield the docstring of a class or function as Markdown, with its arguments as a table.

    :param shown: names that have a section on the page
    """
    module, _, own = name.rpartition(".")
    node = next(node for node in _parsed(module).body if getattr(node, "name", None) == own)
    assert isinstance(node, (ast.ClassDef, ast.FunctionDef)), name
    prose, fields = _split(ast.get_docstring(node) or "")
    arguments = [(field.removeprefix("param "), text) for field, text in fields if field.startswith("param ")]
    rows = [f"| `{name}` | {_default(node, name)} | {_markdown(text, shown, cell=True)} |" for name, text in arguments]
    yield from (_markdown(paragraph, shown) for paragraph in prose)
    if rows:
        yield "\n".join(["| argument | default | meaning |", "|---|---|---|", *rows])
    for field, text in fields:
        if field.startswith("raises "):
            yield f"Raises `{field.removeprefix('raises ')}` {_markdown(text, shown)}."


def _split(docstring: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the paragraphs of a docstring, and its fields, each with its text in one line."""
    prose, fields = [], []
    for paragraph in docstring.split("\n\n"):
        if paragraph.startswith(":") and not paragraph.startswith(":class:"):
            found = re.findall(r"^:(\w+ \w+): (.*?)(?=^:|\Z)", paragraph, re.DOTALL | re.MULTILINE)
            fields += [(field, " ".join(text.split())) for field, text in found]
        else:
            prose.append(paragraph)
    return prose, fields


def _default(node: ast.ClassDef | ast.FunctionDef, argument: str) -> str:
    """Return the default of an argument as code, or "required"; empty for arguments of a base."""
    if isinstance(node, ast.ClassDef):
        functions = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    else:
        functions = [node]
    for function in functions:
        given = function.args
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
        for known, default in zip([*positional, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True):
            if known.arg == argument:
                return "required" if default is None else f"`{ast.unparse(default)}`"
    return ""


_ROLE = re.compile(r":(?:class|func):`~?(?:[\w.]+\.)?(\w+)`")


def _markdown(text: str, shown: frozenset[str], *, cell: bool = False) -> str:
    """Return text of a docstring as Markdown: spans of code, links to sections of the page, and notes."""
    text = _ROLE.sub(lambda role: f"[{role[1]}](#{role[1].lower()})" if role[1] in shown else f"`{role[1]}`", text)
    text = text.replace("``", "`").replace(".. seealso:: ", "See also: ")
    return text.replace("|", "\\|") if cell else text


def _last(name: str) -> str:
    return name.rpartition(".")[2]
