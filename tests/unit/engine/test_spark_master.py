from __future__ import annotations

import pytest

from airflow_delta_provider.domain.engine.spark_library import MasterError, MasterKind, SparkMaster


@pytest.mark.parametrize(
    ("text", "kind", "addresses"),
    [
        ("local", MasterKind.LOCAL, ()),
        ("local[4]", MasterKind.LOCAL, ()),
        ("local[*]", MasterKind.LOCAL, ()),
        ("local[2,3]", MasterKind.LOCAL, ()),
        ("local[*, 3]", MasterKind.LOCAL, ()),
        ("local-cluster[2,1,1024]", MasterKind.LOCAL, ()),
        ("yarn", MasterKind.YARN, ()),
        ("spark://m:7077", MasterKind.STANDALONE, (("m", 7077),)),
        ("spark://m-1.lake.io:7077,10.0.0.2:7078", MasterKind.STANDALONE, (("m-1.lake.io", 7077), ("10.0.0.2", 7078))),
        ("spark://[::1]:7077", MasterKind.STANDALONE, (("::1", 7077),)),
        ("k8s://https://api:6443", MasterKind.KUBERNETES, (("api", 6443),)),
        ("k8s://https://kubernetes.default.svc", MasterKind.KUBERNETES, (("kubernetes.default.svc", 443),)),
        ("k8s://http://127.0.0.1/k8s/clusters/c-1", MasterKind.KUBERNETES, (("127.0.0.1", 80),)),
        ("k8s://api:6443", MasterKind.KUBERNETES, (("api", 6443),)),
        ("k8s://https://[fd00::1]:6443", MasterKind.KUBERNETES, (("fd00::1", 6443),)),
        ("mesos://zk://z:2181/mesos", MasterKind.MESOS, ()),
    ],
)
def test_each_form_that_spark_knows_is_read(text, kind, addresses):
    assert SparkMaster.parse(text) == SparkMaster(text, kind, addresses)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is malformed"),
        ("lokal", "is malformed"),
        ("local[0]", "has no thread"),
        ("local[two]", "is malformed"),
        ("local[2", "is malformed"),
        ("spark:/m:7077", "is malformed"),
        ("spark://", "'' is not HOST:PORT"),
        ("spark://m", "'m' is not HOST:PORT"),
        ("spark://m:7077,n", "'n' is not HOST:PORT"),
        ("spark://m:7077,spark://n:7077", "'spark://n:7077' is not HOST:PORT"),
        ("spark://m:7077/", "'m:7077/' is not HOST:PORT"),
        ("spark://me:pw@m:7077", "is not HOST:PORT"),
        ("spark://spark_master:7077", "a host name with an underscore"),
        ("spark://m:99999", "there is no port 99999"),
        ("yarn-client", "is malformed"),
        ("yarn://rm:8032", "is malformed"),
        ("k8s://", "k8s://https://HOST:PORT"),
        ("k8s://ftp://api:21", "k8s://https://HOST:PORT"),
        ("sc://connect:15002", "is malformed"),
    ],
)
def test_anything_else_is_refused_with_what_it_may_be(text, says):
    with pytest.raises(MasterError) as caught:
        SparkMaster.parse(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
