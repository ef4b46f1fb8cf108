"""Packages that the driver's Python may have, for what is slow without them."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec

#: What PySpark looks for. NumPy and PyArrow are of use to us as well.
_SOUGHT = ("numpy", "pandas", "pyarrow")


class MissingPackageError(Exception):
    """A Python package that is not installed is needed.

    :param purpose: what for, the beginning of a sentence
    """

    def __init__(self, purpose: str, package: str) -> None:
        super().__init__(f"{purpose}, the Python package {package} is needed, and it is not installed")
        self.package = package


def forgo_pandas() -> None:
    """Keep PySpark from importing pandas, NumPy and PyArrow when it starts.

    PySpark 4.2 looks for them at its first call into the JVM: more than a second where they are
    installed. To it they are optional. They are hidden until :func:`have` is asked.
    """
    for package in _SOUGHT:
        sys.modules.setdefault(package, None)  # type: ignore[arg-type]  # Python's way to say: not to be had


def has_pyspark() -> bool:
    """Whether PySpark is installed with what reaches a JVM; pyspark-client, which comes with Airflow, has no Py4J."""
    return find_spec("pyspark") is not None and find_spec("py4j") is not None


@cache
def have(*modules: str) -> bool:
    """Import modules; whether all of them are there."""
    for package in _SOUGHT:  # all of them: PyArrow does not bear that pandas, which it looks for, is hidden
        if package in sys.modules and sys.modules[package] is None:
            del sys.modules[package]
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        return False
    return True
