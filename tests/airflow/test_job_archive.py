"""The zip that a submission ships."""

from __future__ import annotations

import runpy
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

from airflow_delta_provider.hooks.workspace import PACKAGE, write_job_archive

BLOCKED = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ImportError(f"{{name}} is blocked")

sys.meta_path.insert(0, Block())
sys.path.insert(0, {archive!r})
import pkgutil, importlib, airflow_delta_provider
package = importlib.import_module("airflow_delta_provider.{package}")
assert ".zip" in package.__file__
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_python_that_is_too_old_is_named_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18, "final", 0))
    with pytest.raises(
        ImportError, match=r"needs Python 3\.10 or later, and this is Python 3\.9\. .*spark\.pyspark\.python"
    ):
        runpy.run_path(str(PACKAGE / "__init__.py"))


def test_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1.zip", tmp_path / "2.zip"
    write_job_archive(first)
    write_job_archive(second)
    assert first.read_bytes() == second.read_bytes()


def test_all_that_is_versioned_of_what_runs_without_airflow_is_shipped_and_nothing_else(tmp_path: Path) -> None:
    write_job_archive(tmp_path / "jobs.zip")
    names = zipfile.ZipFile(tmp_path / "jobs.zip").namelist()
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed += ["command_line", "domain", "jobs", "__init__.py", "__main__.py"]
    versioned = subprocess.run(listed, cwd=PACKAGE, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(versioned) > 300
    assert sorted(names) == sorted(["__main__.py", *(f"{PACKAGE.name}/{name}" for name in versioned)])


def test_wheel_has_all_that_the_archive_ships(tmp_path: Path) -> None:
    write_job_archive(tmp_path / "jobs.zip")
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"][PACKAGE.name]
    data = {path.relative_to(PACKAGE.parent).as_posix() for pattern in patterns for path in PACKAGE.glob(pattern)}
    names = zipfile.ZipFile(tmp_path / "jobs.zip").namelist()
    assert [name for name in names if not name.endswith(".py") and name not in data] == []


@pytest.mark.parametrize(
    ("package", "blocked"),
    [
        ("domain", {"airflow", "pyspark", "py4j", "delta"}),
        ("jobs", {"airflow"}),
        ("command_line", {"airflow", "pyspark"}),
    ],
    ids=["domain needs neither Airflow nor Spark", "jobs need no Airflow", "the command line needs neither"],
)
def test_every_module_imports_from_the_zip(tmp_path: Path, package: str, blocked: set[str]) -> None:
    archive = tmp_path / "jobs.zip"
    write_job_archive(archive)
    code = BLOCKED.format(archive=str(archive), package=package, blocked=sorted(blocked))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
