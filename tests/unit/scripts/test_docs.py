"""The docs: pages that are made of the code are up to date, links lead somewhere, and examples are valid."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_delta_provider.command_line import parser
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.request.kinds import KINDS, Kind
from airflow_delta_provider.get_provider_info import get_provider_info
from airflow_delta_provider.sensors import job_sensor
from scripts import operators_page
from scripts.generated_docs import PAGES
from scripts.operators_page import public_classes
from scripts.sample_blocks import CHECKOUT, pages

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = "$ delta-provider "
each_page = pytest.mark.parametrize("page", [*pages()], ids=lambda page: str(page.relative_to(CHECKOUT)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_what_the_code_says_now(page: Path):
    stale = f"{page.name} is stale: run `make docs`, or at least `python -m scripts.generated_docs`"
    assert page.read_text(encoding="utf-8") == PAGES[page](), stale


def test_what_writes_samples_finds_what_it_imports():
    importlib.import_module("scripts.samples")


def test_readme_is_short_and_names_every_operator_sensor_and_notifier():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 180
    classes = [*public_classes("operators"), *public_classes("sensors"), *get_provider_info()["notifications"]]
    named = [name.removeprefix("airflow_delta_provider.") for name in classes]
    assert [name for name in named if f"`{name}`" not in readme] == []


@pytest.mark.parametrize("page", [operators_page.operators, operators_page.sensors], ids=["operators", "sensors"])
def test_reference_describes_every_argument(page: Callable[[], str]):
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page(), re.DOTALL | re.MULTILINE))
    described = {name: set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) for name, section in sections.items()}
    of_bases = described.get("TableSensor", set()) | described.get("DeltaJobOperator", set())
    of_bases |= set(job_sensor._OF_SUBMIT) if "JobSensor" in sections else set()  # it names the class that has them
    for name, section in sections.items():
        [module] = re.findall(rf"^`from (\S+) import {name}`$", section, re.MULTILINE)
        found = getattr(importlib.import_module(module), name)
        call = found.__init__ if inspect.isclass(found) else getattr(found, "function", found)  # of a task group
        taken = {p.name for p in inspect.signature(call).parameters.values() if p.kind is p.KEYWORD_ONLY}
        assert taken <= described[name] | of_bases, name


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.operator], ids=lambda kind: kind.name)
def test_guide_of_an_operator_shows_its_command(kind: Kind):
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    named = str(kind.operator).replace(":", ".")
    [row] = [line for line in readme.splitlines() if line.startswith(f"| `{named}`")]
    guide = CHECKOUT / re.findall(r"\]\(([^)#]+)", row)[0]
    assert re.search(rf"^\$ delta-provider {command_of(kind)} ", guide.read_text(encoding="utf-8"), re.MULTILINE), (
        guide.name
    )


def command_of(kind: Kind) -> str:
    return next(name for name in parser.names() if parser.kind_of(name) is kind)


@pytest.mark.parametrize("guide", ["databricks", "dataproc", "emr", "livy", "managed-airflow"])
def test_guide_of_a_platform_begins_with_what_its_spark_can_do(guide: str):
    readme, text = (CHECKOUT / "README.md").read_text(), (CHECKOUT / "docs" / "guides" / f"{guide}.md").read_text()
    [table] = re.findall(r"^\| \| Delta 3\.2.*?(?=\n\n)", readme, re.DOTALL | re.MULTILINE)
    assert table in text, "the table of README's section What your Spark can do"
    assert text.index(table) < min(text.index("```"), text.index("\n## "))


@each_page
def test_links_lead_to_files_and_headings(page: Path):
    text = page.read_text(encoding="utf-8")
    missing = [
        link for link in _LINK.findall(text) if not link.startswith(("https:", "http:")) and not leads(page, link)
    ]
    assert missing == []


@each_page
def test_python_is_valid(page: Path):
    for language, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            ast.parse(code)


@each_page
def test_commands_are_understood(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "waivers.yaml").write_text("[]", encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text("{}", encoding="utf-8")
    (tmp_path / "orders.yaml").write_text("columns: [{name: id}]", encoding="utf-8")
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "orders.yaml").write_text("columns: [{name: id}]", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for language, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in code.replace("\\\n", " ").splitlines() if language == "console" else ():
            if line.startswith(_COMMAND) and "COMMAND" not in line:
                command, *words = shlex.split(line.removeprefix(_COMMAND), comments=True)
                kind = parser.kind_of(command)
                if kind is not None:
                    parser.table_parser(command, kind).parse_intermixed_args(words)


#: First keys of YAML that is no file of this package, and the test that runs it.
_RUN_ELSEWHERE = {
    "name": "tests/unit/command_line/test_workflows.py",
    "audit": "tests/unit/command_line/test_workflows.py",
    "repos": "tests/unit/command_line/test_pre_commit.py",
    "conn_type": "tests/airflow/test_storage_credentials.py",
}


@each_page
def test_files_are_valid(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    """Specs, policies, fleets, waivers and configurations, as `check-files` sees them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "migrations_policy.yaml").write_text("waivers: []", encoding="utf-8")
    (tmp_path / "fleet.yaml").write_text("engines: []", encoding="utf-8")
    for number, (language, code) in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
        first = re.match(r"[{\s]*\"?(\w+)", code)
        if language not in ("yaml", "toml", "json") or (first and first[1] in _RUN_ELSEWHERE):
            continue
        if not [line for line in code.splitlines() if line.strip() and not line.startswith("#")]:
            continue  # a comment for editors
        (tmp_path / f"{number}.{language}").write_text(code, encoding="utf-8")
        assert main(["check-files", f"{number}.{language}"]) == 0, capsys.readouterr().out


def test_files_that_are_run_elsewhere_are():
    assert all((CHECKOUT / place).is_file() for place in _RUN_ELSEWHERE.values())


_MAKE = re.compile(r"^([a-z-]+):", re.MULTILINE)
#: Lines of other programs, and why no test here runs them.
_NOT_RUN = {
    "pip install": "tests/unit/command_line/test_workflows.py does, with -m soak",
    "pipx install": "tests/unit/command_line/test_workflows.py does, with -m soak",
    "pip install delta-spark": "the environment of these tests has it",
    "pip wheel": "make dist builds the same wheel",
    "airflow connections": "it needs Airflow's database: tests/system has this connection",
    "eval": "tests/unit/command_line/test_completion.py asks as the shell does",
    "python delta-provider.pyz": "tests/unit/scripts/test_dist.py runs the file",
    "spark-submit delta_provider.py": "make platforms runs it",
    "databricks fs": "a client of the platform",
    "gcloud storage": "a client of the platform",
    "aws s3": "a client of the platform",
    "python -m": "a module of this repository",
}


@each_page
def test_every_line_of_a_console_is_tested_or_has_a_reason(page: Path):
    targets = _MAKE.findall((CHECKOUT / "Makefile").read_text(encoding="utf-8"))
    for language, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in code.splitlines() if language == "console" else ():
            if not line.startswith("$ ") or line.startswith(_COMMAND):  # output; or parsed above
                continue
            words = line.removeprefix("$ ").split()
            if words[0] == "make":
                assert words[1] in targets, line
            else:
                assert any(" ".join(words).startswith(known) for known in _NOT_RUN), line


@each_page
def test_commands_without_tables_are_understood(page: Path):
    parsers = {
        "check-files": parser.files_parser,
        "demo": parser.demo_parser,
        "show": parser.show_parser,
        "warm-up": parser.warm_up_parser,
    }
    for language, code in _BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in code.replace("\\\n", " ").splitlines() if language == "console" else ():
            if line.startswith(_COMMAND) and "COMMAND" not in line:
                command, *words = shlex.split(line.removeprefix(_COMMAND), comments=True)
                assert command in (*parser.names(), "--help", "--version"), line
                if command in parsers:
                    parsers[command]().parse_args(words)


def leads(page: Path, link: str) -> bool:
    """Whether a relative link has a target: a file or folder, and the heading or label in it."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    if not anchor:
        return True
    text = _BLOCK.sub("", target.read_text(encoding="utf-8"))
    return (
        anchor in {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)} or f"({anchor})=" in text
    )


def slug(heading: str) -> str:
    """Return what GitHub, and MyST with it, make of a heading in links."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
