"""Another release of Spark than the tests' own, with a release of Delta: ``make matrix`` gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.pair import Pair


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spark-binaries", help="the folder of spark-submit, in a virtual environment")
    parser.addoption("--spark", help="the version of Spark there")
    parser.addoption("--delta", help="the version of Delta to run with it")


@pytest.fixture(scope="session")
def pair(pytestconfig: pytest.Config) -> Pair:
    binaries, spark, delta = map(pytestconfig.getoption, ("--spark-binaries", "--spark", "--delta"))
    if not binaries:
        pytest.skip("needs --spark-binaries, --spark and --delta, as `make matrix` gives them")
    return Pair(Path(binaries).absolute(), spark, delta)
