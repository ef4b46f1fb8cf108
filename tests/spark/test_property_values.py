"""The values that plans let through are those that Delta Spark sets."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.delta.table_properties import SETTABLE, why_not_set
from tests.unit.migrations.test_engine_rules import ACCEPTED_VALUES, REFUSED_VALUES

pytestmark = pytest.mark.nightly

_VALUES = ("true", "False", "0", "1", "-1", "+7", "2147483648", "none", "V2", "classic", "2 weeks", "1 month", "", "x")


@pytest.fixture(scope="module")
def configs(spark) -> Any:
    return getattr(getattr(spark._jvm.org.apache.spark.sql.delta, "DeltaConfigs$"), "MODULE$")


def accepts(configs: Any, spark: Any, name: str, value: str) -> bool:
    empty = getattr(getattr(spark._jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
    set_together = empty.updated(name, value)
    if name.lower() == "delta.logretentionduration":  # which must not be shorter than the other one
        set_together = set_together.updated("delta.deletedFileRetentionDuration", "0 days")
    elif name.lower() == "delta.deletedfileretentionduration":
        set_together = set_together.updated("delta.logRetentionDuration", "1000 weeks")
    try:
        configs.validateConfigurations(set_together)
    except (Py4JJavaError, PySparkException):  # PySpark replaces some
        return False
    return True


def test_every_property_that_delta_spark_has_is_known(configs):
    entries = configs.getAllConfigs().keys().mkString(",").split(",")
    assert {name.lower() for name in SETTABLE} == set(entries)


@pytest.mark.parametrize(("name", "value"), [*REFUSED_VALUES, *ACCEPTED_VALUES])
def test_value_is_judged_as_delta_spark_judges_it(name: str, value: str, configs, spark):
    assert (why_not_set(name, value) is None) == accepts(configs, spark, name, value)


def test_odd_values_of_every_property_are_judged_as_delta_spark_judges_them(configs, spark):
    passed_on = {name for name, form in SETTABLE.items() if form.name == "any text"}
    differ = [
        (name, value)
        for name in SETTABLE.keys() - passed_on
        for value in _VALUES
        if (why_not_set(f"delta.{name}", value) is None) != accepts(configs, spark, f"delta.{name}", value)
    ]
    assert differ == []
