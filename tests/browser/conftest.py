"""Options of this tier."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--images", help="the folder that gets the pictures of the docs")
