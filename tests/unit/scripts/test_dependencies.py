"""What the package imports on Airflow's side is what it declares, so that pip brings it."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import tomllib
from packaging.requirements import Requirement
from packaging.version import Version

CHECKOUT = Path(__file__).parents[3]
#: Distributions by what they are imported as, the longest name first.
DISTRIBUTIONS = {
    "argcomplete": "argcomplete",  # by the extra
    "airflow.providers.apache.spark": "apache-airflow-providers-apache-spark",
    "airflow.providers.common.compat": "apache-airflow-providers-common-compat",
    "airflow.providers.standard": "apache-airflow-providers-standard",
    "airflow.providers.openlineage": "apache-airflow-providers-openlineage",  # by the extra
    "airflow.providers.cncf.kubernetes": "apache-airflow-providers-cncf-kubernetes",  # by the extra
    "airflow": "apache-airflow",
    "asgiref": "asgiref",
    "fastapi": "fastapi",
    "fsspec": "fsspec",
    "openlineage": "apache-airflow-providers-openlineage",  # by the extra
    "deltalake": "deltalake",  # by the extra
    "psutil": "psutil",
    "pyarrow": "pyarrow",  # by the extra
    "requests": "requests",
    "rich": "rich",  # by the extra
    "sqlalchemy": "sqlalchemy",
    "typing_extensions": "typing-extensions",
    "yaml": "pyyaml",
}


def imported() -> Iterator[tuple[str, str]]:
    """Yield each module of others that is imported when the package runs on Airflow, and the file that does it."""
    package = CHECKOUT / "airflow_delta_provider"
    for path in package.rglob("*.py"):
        if path.relative_to(package).parts[0] not in ("domain", "jobs"):
            for name in _modules(ast.parse(path.read_text(encoding="utf-8"))):
                if name.partition(".")[0] not in {*sys.stdlib_module_names, package.name}:
                    yield name, str(path.relative_to(CHECKOUT))


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        else:
            yield from _modules(node)


def test_everything_that_is_imported_is_declared() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    requirements = [
        *project["dependencies"],
        *extras["kubernetes"],
        *extras["sensor"],
        *extras["cli"],
        *extras["lineage"],
        *extras["findings"],
    ]
    declared = {re.split(r"[\[<>=~! ]", requirement)[0].lower() for requirement in requirements}
    missing = {}
    for module, file in imported():
        found = next((name for name in DISTRIBUTIONS if f"{module}.".startswith(f"{name}.")), module)
        if DISTRIBUTIONS.get(found) not in declared:
            missing[module] = file
    assert missing == {}


def test_matrix_tries_the_lowest_release_of_each_dependency() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tried = ("cli", "kubernetes", "lineage", "local", "object-store", "sensor")
    requirements = map(Requirement, [*project["dependencies"], *(each for name in tried for each in extras[name])])
    lines = (CHECKOUT / "tests" / "airflow_versions" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    listed = dict(line.lower().split("==") for line in lines if not line.startswith("#"))

    lowest = {
        requirement.name.lower(): next(part.version for part in requirement.specifier if part.operator == ">=")
        for requirement in requirements
    }
    assert {name: Version(listed[name]) for name in lowest} == {name: Version(each) for name, each in lowest.items()}


def test_command_line_alone_asks_for_the_same_releases() -> None:
    project, alone = (
        tomllib.loads((CHECKOUT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in ("", "standalone")
    )
    extras = project["optional-dependencies"]
    known = {*project["dependencies"], *extras["cli"], *extras["object-store"]}
    assert set(alone["optional-dependencies"]["all"]) <= known
    assert alone["scripts"] == project["scripts"]
    assert "dependencies" not in alone
