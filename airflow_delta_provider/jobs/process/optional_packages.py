"""Optional packages of the driver's Python that speed up slow work."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec

#: Packages that PySpark looks for. This package also uses NumPy and PyArrow.
_SOUGHT = ("numpy", "pandas", "pyarrow")


class MissingPackageError(Exception):
    """A required Python package is not installed.

    :param purpose: beginning of a sentence that says why the package is needed
    """

    def __init__(self, purpose: str, package: str) -> None:
        super().__init__(f"{purpose}, the Python package {package} is needed, and it is not installed")
        self.package = package


def forgo_pandas() -> None:
    """Keep PySpark from importing pandas, NumPy and PyArrow when it starts.

    They are optional for PySpark, but PySpark 4.2 looks for them at its first call into the JVM, which takes more
    than a second if they are installed. They stay hidden until :func:`have` is called.
    """
    for package in _SOUGHT:
        sys.modules.setdefault(package, None)  # type: ignore[arg-type]  # a None in sys.modules makes an import fail


def has_pyspark() -> bool:
    """Return True if PySpark and Py4J are installed. pyspark-client, which comes with Airflow, has no Py4J."""
    return find_spec("pyspark") is not None and find_spec("py4j") is not None


@cache
def have(*modules: str) -> bool:
    """Import modules; return True if all of them are installed."""
    for package in _SOUGHT:  # all of them: PyArrow looks for pandas and fails if it is hidden
        if package in sys.modules and sys.modules[package] is None:
            del sys.modules[package]
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        return False
    return True
