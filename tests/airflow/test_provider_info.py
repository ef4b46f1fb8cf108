"""What the package tells Airflow about itself."""

from __future__ import annotations

import importlib
import importlib.resources
import inspect
import json
from importlib.metadata import entry_points
from typing import Any

import jsonschema
import pytest
from airflow.providers.common.compat.sdk import BaseNotifier, BaseOperator, BaseOperatorLink
from airflow.providers_manager import ProvidersManager

from airflow_delta_provider.get_provider_info import get_provider_info
from airflow_delta_provider.operators.approve_migration import DeltaApproveMigrationOperator
from scripts.sample_blocks import CHECKOUT

try:
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime
except ImportError:  # Airflow 3.1
    ProvidersManagerTaskRuntime = ProvidersManager

#: What only the source file of a provider in Airflow's own repository has to say.
OF_AIRFLOWS_REPOSITORY = {"state": "ready", "source-date-epoch": 0, "versions": ["0.1.0"]}


def shipped_schema(name: str) -> dict[str, Any]:
    return json.loads(importlib.resources.files("airflow").joinpath(name).read_text())


@pytest.mark.parametrize(
    ("schema", "further"),
    [("provider_info.schema.json", {}), ("provider.yaml.schema.json", OF_AIRFLOWS_REPOSITORY)],
)
def test_provider_info_fits_the_schemas_that_airflow_ships(schema: str, further: dict[str, Any]) -> None:
    jsonschema.validate({**get_provider_info(), **further}, shipped_schema(schema))


def test_no_key_is_unknown_to_airflow() -> None:
    # The schema lets unknown keys pass, so that a mistyped one would go unnoticed.
    assert set(get_provider_info()) <= set(shipped_schema("provider_info.schema.json")["properties"])


def test_every_listed_module_imports_and_holds_its_class() -> None:
    info = get_provider_info()
    for section, suffix in (
        ("operators", "Operator"),
        ("sensors", "Sensor"),
        ("triggers", "Trigger"),
        ("hooks", "Hook"),
    ):
        for entry in info[section]:
            for path in entry["python-modules"]:
                module = importlib.import_module(path)
                own = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == path]
                assert any(c.__name__.endswith(suffix) for c in own), path


def test_every_listed_link_is_one_and_of_every_operator_that_makes_a_report() -> None:
    paths = [path.rpartition(".") for path in get_provider_info()["extra-links"]]
    links = [getattr(importlib.import_module(module), name) for module, _, name in paths]
    assert all(issubclass(link, BaseOperatorLink) for link in links)
    for entry in get_provider_info()["operators"]:
        for listed in entry["python-modules"]:
            operators = [c for c in vars(importlib.import_module(listed)).values() if inspect.isclass(c)]
            own = [c for c in operators if c.__module__ == listed and issubclass(c, BaseOperator)]
            assert own != []
            reporting = [c for c in own if not issubclass(c, DeltaApproveMigrationOperator)]
            assert [[type(each) for each in c.operator_extra_links] for c in reporting] == [links] * len(reporting)


def test_every_listed_notifier_is_one() -> None:
    for path in get_provider_info()["notifications"]:
        module, _, name = path.rpartition(".")
        assert issubclass(getattr(importlib.import_module(module), name), BaseNotifier)


def test_entry_point_leads_to_the_provider_info() -> None:
    (point,) = [
        p for p in entry_points(group="apache_airflow_provider") if p.value.startswith("airflow_delta_provider.")
    ]
    assert point.load()() == get_provider_info()


def test_airflow_discovers_the_provider() -> None:
    assert "airflow-delta-provider" in ProvidersManager().providers


def test_connection_type_spark_stays_with_the_spark_provider() -> None:
    assert "connection-types" not in get_provider_info()
    hook = ProvidersManagerTaskRuntime().hooks["spark"]
    assert hook is not None
    assert hook.package_name == "apache-airflow-providers-apache-spark"


def test_guides_and_logos_are_in_the_repository() -> None:
    for integration in get_provider_info()["integrations"]:
        for place in (integration["logo"], *integration["how-to-guide"]):
            assert (CHECKOUT / place.lstrip("/")).is_file(), place
