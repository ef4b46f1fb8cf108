"""Benchmarks run by hand, and seldom: what they use of the package must not be gone by then."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import pytest

import benchmarks

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", [module.name for module in iter_modules(benchmarks.__path__)])
def test_benchmark_can_be_imported(name: str) -> None:
    assert import_module(f"benchmarks.{name}").__doc__
