"""What is tried: a pair of Spark and Delta, or a release of Airflow on one of Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tomllib

from scripts.sample_blocks import CHECKOUT

_FILE = Path(__file__).with_name("matrix.toml")
_ENVIRONMENTS = CHECKOUT / ".venv-matrix"
#: Tests of parts that use optional packages.
_OF_PACKAGES = (
    "tests/unit/delta/test_python_checkpoint.py",
    "tests/unit/delta/test_checkpoint_readers.py",
    "tests/unit/formats",
    "tests/unit/storage",
)
_PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


class NoInterpreterError(RuntimeError):
    """This machine has no such Python."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A column of the matrix.

    :param short: whether it is part of the short form
    """

    short: bool = False

    @property
    def versions(self) -> dict[str, str]:
        """What it is made of, for the results."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Its versions, joined by dashes: people choose it by the beginning."""
        name = "-".join(f"{part}-{version}" for part, version in self.versions.items())
        return name.replace(", ", "-").replace(" ", "-")

    @property
    def environment(self) -> Path:
        """Where it is installed."""
        raise NotImplementedError

    @property
    def binaries(self) -> Path:
        """The folder of its commands."""
        return self.environment / "bin"

    @cached_property
    def python(self) -> str:
        """The Python that its environment is made by.

        :raises NoInterpreterError: if there is none
        """
        return sys.executable

    def install(self) -> None:
        """Make its environment, unless it is there."""
        done = self.environment / ".installed"
        if done.exists():
            return
        shutil.rmtree(self.environment, ignore_errors=True)
        subprocess.run([self.python, "-m", "venv", str(self.environment)], check=True)
        for wanted in self.requirements:
            command = [str(self.binaries / "python"), *_PIP, "install", "--no-compile", *wanted]
            subprocess.run(command, check=True, cwd=CHECKOUT)
        done.touch()

    @property
    def requirements(self) -> tuple[tuple[str, ...], ...]:
        """What pip is asked to install, one call after the other."""
        raise NotImplementedError

    def pytest(self, *, short: bool) -> list[str]:
        """Return the command that runs the tests."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Engine(Entry):
    """A release of Spark with one of Delta: the tests run here, and ``spark-submit`` there."""

    spark: str
    delta: str

    @property
    def versions(self) -> dict[str, str]:
        """What it is made of."""
        return {"spark": self.spark, "delta": self.delta}

    @property
    def environment(self) -> Path:
        """Where Spark is installed; spark-submit brings Delta."""
        return _ENVIRONMENTS / f"spark-{self.spark}"

    @property
    def requirements(self) -> tuple[tuple[str, ...], ...]:
        """Spark's Python package, and the setuptools that those before 4.0 still import."""
        return ((f"pyspark=={self.spark}", "setuptools==80.9.0"),)

    def pytest(self, *, short: bool) -> list[str]:
        """Return the command that runs the tests of engines; short is every kind of job once."""
        tests = "tests/engines/test_every_kind.py::" if short else "tests/engines"
        tests += "test_every_kind_of_job_is_done_or_refused_with_the_release_that_can" if short else ""
        command = [sys.executable, "-m", "pytest", tests, "--spark-binaries", str(self.binaries)]
        return [*command, "--spark", self.spark, "--delta", self.delta]


@dataclass(frozen=True, kw_only=True)
class Airflow(Entry):
    """A release of Airflow on one of Python: the tests run there.

    :param version: of Airflow
    :param line: of Python
    :param listed: the file that lists everything to install
    :param lowest: whether that is the lowest release of each dependency
    """

    version: str
    line: str
    listed: str
    lowest: bool = False

    @property
    def versions(self) -> dict[str, str]:
        """What it is made of."""
        version = f"{self.version}, lowest dependencies" if self.lowest else self.version
        return {"airflow": version, "python": self.line}

    @property
    def environment(self) -> Path:
        """Where it is installed."""
        return _ENVIRONMENTS / f"airflow-{self.version}-python{self.line}{'-lowest' if self.lowest else ''}"

    @cached_property
    def python(self) -> str:
        """The Python of this line.

        :raises NoInterpreterError: if there is none
        """
        if sys.version_info[:2] == tuple(map(int, self.line.split("."))):
            return sys.executable
        found = shutil.which(f"python{self.line}")
        if found is None or subprocess.run([found, "--version"], capture_output=True, check=False).returncode:
            raise NoInterpreterError(f"python{self.line} is not on the path")
        return found

    @property
    def requirements(self) -> tuple[tuple[str, ...], ...]:
        """The list, which is complete: nothing is resolved."""
        return ("--no-deps", "--requirement", self.listed), ("--no-deps", "--editable", ".")

    def pytest(self, *, short: bool) -> list[str]:
        """Return the command that runs the tests of operators, sensors and triggers; short is imports and parsing."""
        tests = ["tests/airflow/test_provider_info.py", "tests/airflow/test_dag_parsing.py"]
        everything = ["tests/airflow", *(_OF_PACKAGES if self.lowest else ())]
        chosen = tests if short else [*everything, "--numprocesses", "2", "--dist", "loadfile"]
        return [str(self.binaries / "python"), "-m", "pytest", *chosen]


def entries() -> list[Entry]:
    """Return all that is declared."""
    declared: dict[str, list[dict[str, Any]]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return [
        *(Engine(**each) for each in declared["engine"]),
        *(
            Airflow(
                version=each["version"],
                line=each["python"],
                listed=each["requirements"],
                lowest=each.get("lowest", False),
                short=each.get("short", False),
            )
            for each in declared["airflow"]
        ),
    ]
