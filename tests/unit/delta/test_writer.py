from __future__ import annotations

import pytest

from airflow_delta_provider.domain.delta.commit import signature_of, writer_of


@pytest.mark.parametrize(
    ("info", "writer"),
    [
        ({"engineInfo": "Apache-Spark/4.2.0 Delta-Lake/4.4.0"}, "Delta Spark 4.4.0"),
        ({"engineInfo": "Apache-Spark/3.4.3.5.3.20240828.1 Delta-Lake/2.4.0.19"}, "Delta Spark 2.4.0.19"),
        ({"engineInfo": "Databricks-Runtime/15.4.x-scala2.12"}, "Databricks Runtime 15.4.x-scala2.12"),
        ({"engineInfo": "delta-rs:0.17.3"}, "delta-rs 0.17.3"),
        ({"engineInfo": "delta-rs:py-1.6.6"}, "delta-rs 1.6.6"),
        ({"clientVersion": "delta-rs.1.0.0"}, "delta-rs 1.0.0"),
        ({"engineInfo": "DuckDB"}, "DuckDB"),
        ({"clusterId": "trino-470-node-1", "userName": "ann"}, "Trino 470"),
        ({"engineInfo": "SomeEngine v1.2"}, "SomeEngine 1.2"),
        ({"engineInfo": "me"}, None),
        ({"clusterId": "0612-1234"}, None),
        ({"engineInfo": 7, "clusterId": None}, None),
        ({}, None),
    ],
)
def test_writer_is_recognised_by_its_signature(info, writer):
    assert writer_of(info) == writer


def test_signature_is_the_engines_own_words():
    assert signature_of({"engineInfo": "me", "clientVersion": "delta-rs.1.0.0"}) == "me"
    assert signature_of({"clientVersion": "delta-rs.1.0.0"}) == "delta-rs.1.0.0"
    assert signature_of({"clusterId": "trino-470-x"}) == "trino-470-x"
    assert signature_of({"clusterId": "0612-1234"}) is None
