"""Settings of Spark sessions: only what the platform left open."""

from __future__ import annotations

import pytest

from airflow_delta_provider.domain.engine.spark_library import (
    DELTA_CATALOG,
    DELTA_EXTENSION,
    EXTENSIONS,
    LEAN_JAVA_OPTIONS,
    SESSION_CATALOG,
    UnknownSparkError,
    default_delta_jars,
    delta_coordinates,
    is_local,
    missing_settings,
    own_settings,
    parse_defaults,
)
from airflow_delta_provider.jobs.spark.engine_errors import understand

DELTA = {EXTENSIONS: DELTA_EXTENSION, SESSION_CATALOG: DELTA_CATALOG}
CLUSTERS = ["yarn", "spark://m:7077", "k8s://https://api:6443", "local-cluster[2,1,1024]", ""]
COORDINATES = "io.delta:delta-spark_4.2_2.13:4.4.0"


@pytest.mark.parametrize("master", CLUSTERS)
def test_session_of_a_cluster_gets_what_delta_needs_and_nothing_else(master):
    assert not is_local(master)
    assert missing_settings(master, {}) == DELTA
    assert own_settings(master, "provided", {}, "4.2.0") == {**DELTA, "spark.log.level": "ERROR"}
    assert default_delta_jars(master) == "provided"


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_local_session_is_lean(master):
    settings = missing_settings(master, {})
    assert settings.items() > DELTA.items()
    assert settings["spark.sql.shuffle.partitions"] == "2"
    assert own_settings(master, "packages", {}, "4.2.0") == {
        **settings,
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": LEAN_JAVA_OPTIONS,
        "spark.jars.packages": COORDINATES,
    }
    assert default_delta_jars(master) == "packages"


@pytest.mark.parametrize("master", ["local[2]", "yarn"])
def test_nothing_that_is_set_is_set_again(master):
    present = {**own_settings(master, "packages", {}, "4.2.0"), SESSION_CATALOG: "com.example.Catalog"}
    assert missing_settings(master, present) == {}
    assert own_settings(master, "packages", present, "4.2.0") == {}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("com.example.One", f"com.example.One,{DELTA_EXTENSION}"),
        ("com.example.One,com.example.Two", f"com.example.One,com.example.Two,{DELTA_EXTENSION}"),
        (f"{DELTA_EXTENSION},com.example.One", None),
    ],
)
def test_extension_of_delta_joins_those_of_the_platform(listed, expected):
    assert missing_settings("yarn", {EXTENSIONS: listed}).get(EXTENSIONS) == expected


@pytest.mark.parametrize(
    ("delta_jars", "present", "expected"),
    [
        ("packages", {"spark.jars.packages": "g:a:1"}, {"spark.jars.packages": f"g:a:1,{COORDINATES}"}),
        ("packages", {"spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.1"}, {}),
        ("/d.jar,/e.jar", {"spark.jars": "/own.jar"}, {"spark.jars": "/own.jar,/d.jar,/e.jar"}),
        ("provided", {"spark.jars": "/own.jar"}, {}),
        (COORDINATES, {}, {"spark.jars.packages": COORDINATES}),
        (COORDINATES, {"spark.jars.packages": "g:a:1"}, {"spark.jars.packages": f"g:a:1,{COORDINATES}"}),
        (f"s3://b/d.jar, {COORDINATES}", {}, {"spark.jars": "s3://b/d.jar", "spark.jars.packages": COORDINATES}),
    ],
)
def test_jars_of_delta_join_those_of_the_platform(delta_jars, present, expected):
    settings = own_settings("yarn", delta_jars, present, "4.2.0")
    assert {key: value for key, value in settings.items() if key.startswith("spark.jars")} == expected


@pytest.mark.parametrize(
    ("spark", "coordinates"),
    [
        ("4.2.0", COORDINATES),
        ("4.1.0", "io.delta:delta-spark_4.1_2.13:4.3.1"),
        ("4.1.4", "io.delta:delta-spark_4.1_2.13:4.3.1"),
        ("4.0.1", "io.delta:delta-spark_2.13:4.0.1"),
        ("3.5.6", "io.delta:delta-spark_2.12:3.3.3"),
        ("3.5.12-SNAPSHOT", "io.delta:delta-spark_2.12:3.3.3"),
        ("3.5.2", "io.delta:delta-spark_2.12:3.3.3"),
    ],
)
def test_release_of_delta_follows_that_of_spark(spark, coordinates):
    assert delta_coordinates(spark) == coordinates


def test_spark_without_a_known_release_of_delta_is_said_with_the_remedy():
    known = r"The known releases of Spark are 4\.2 from 4\.2\.0.*3\.5 from 3\.5\.2.*delta_jars"
    for spark in ("9.9.9", "4.3.0", "3.5.1", "3.5.0", "3.4.4"):
        with pytest.raises(UnknownSparkError, match=rf"Spark {spark}\. {known}"):
            delta_coordinates(spark)


def test_unknown_spark_is_no_defect_of_the_provider():
    with pytest.raises(UnknownSparkError) as unknown:
        own_settings("local[2]", "packages", {}, "4.3.0")
    understood = understand(unknown.value)
    assert (understood.rule.code, understood.retryable) == ("RQ05", False)
    assert understood.message == str(unknown.value)
    assert own_settings("local[2]", "io.delta:delta-spark_4.2_2.13:4.4.0", {}, "4.3.0")["spark.jars.packages"]


def test_defaults_are_read_as_java_properties():
    text = (
        "# a comment\n! another\n\n"
        "spark.master            spark://m:7077\n"
        "  spark.a = with spaces  \r\n"
        "spark.b:c=d\n"
        "spark.extra -Da=b -Dc=d\n"
        "spark.jars.packages g:a:1,\\\n    g:b:2\n"
        "spark.empty=\n"
    )
    assert parse_defaults(text) == {
        "spark.master": "spark://m:7077",
        "spark.a": "with spaces",
        "spark.b": "c=d",
        "spark.extra": "-Da=b -Dc=d",
        "spark.jars.packages": "g:a:1,g:b:2",
        "spark.empty": "",
    }
