"""What runs where: ``domain`` anywhere with Python, ``jobs`` anywhere with Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Imports every module below a package while the modules named are blocked, then prints how many.
_IMPORT_ALL = """
import importlib, pkgutil, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Block())
package = importlib.import_module({package!r})
found = pkgutil.walk_packages(package.__path__, {package!r} + ".")
modules = [module.name for module in found if not module.name.endswith("__main__")]
for name in modules:
    importlib.import_module(name)
print(len(modules))
"""


def import_all(package: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    code = _IMPORT_ALL.format(package=package, blocked=set(blocked))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("package", "blocked"),
    [
        ("airflow_delta_provider.domain", ("airflow", "pyspark", "py4j", "delta", "pyarrow")),
        ("airflow_delta_provider.jobs", ("airflow",)),
    ],
)
def test_layer_imports_without_what_it_must_not_need(package, blocked):
    done = import_all(package, *blocked)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_blocked_import_fails_so_that_the_test_above_means_something():
    done = import_all("airflow_delta_provider.domain", "difflib")
    assert done.returncode != 0
    assert "difflib is blocked" in done.stderr
