"""Other releases of Spark than the tests' own, each in a virtual environment: ``make engines`` builds them."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engines", help="the folder of virtual environments, by Spark's version")


@pytest.fixture(scope="session")
def engines(pytestconfig: pytest.Config) -> Path:
    folder = pytestconfig.getoption("--engines")
    if not folder:
        pytest.skip("needs --engines, as `make engines` gives it")
    return Path(folder).absolute()
