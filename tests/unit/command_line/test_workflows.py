"""The workflows of the guide to CI, and the action of this repository: their steps, run in a shell as a runner does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.small_s3 import SmallS3
from tests.unit.command_line.tables import damaged, sound
from tests.unit.command_line.test_guide import with_program

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "guides" / "ci.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)]
SCANNING, COMMENTED, PLANS, GITLAB = BLOCKS
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
USES = "OWNER/airflow-delta-provider@main"
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


class GitHub:
    """Comments of a repository, behind the part of GitHub's interface that writes them."""

    def __init__(self, others: int = 0) -> None:
        self.comments = [{"id": number, "body": "looks good"} for number in range(1, others + 1)]
        self.status = 200

    @contextmanager
    def running(self) -> Iterator[str]:
        github = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = int(re.findall(r"[?&]page=(\d+)", self.path)[0])
                self._answer(github.comments[100 * (page - 1) : 100 * page])

            def do_POST(self) -> None:
                github.comments.append({"id": len(github.comments) + 1, **self._body()})
                self._answer({})

            def do_PATCH(self) -> None:
                github.comments[int(self.path.rpartition("/")[2]) - 1].update(self._body())
                self._answer({})

            def _body(self) -> Any:
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, wire: Any) -> None:
                assert self.headers["Authorization"] == "Bearer secret"
                self.send_response(github.status)
                self.end_headers()
                self.wfile.write(json.dumps(wire).encode())

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()


class Runner:
    """A runner of workflows: the environment that steps share, and the outputs of steps."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.temporary = folder / "runner"
        self.repository = folder / "repository"
        for made in (self.temporary, self.repository / ".git"):
            made.mkdir(parents=True, exist_ok=True)
        event = {"pull_request": {"number": 7}}
        (self.temporary / "event.json").write_text(json.dumps(event))
        self.environment = {
            **with_program(folder),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary.md"),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_EVENT_PATH": str(self.temporary / "event.json"),
            **environment,
        }
        self.printed = ""

    def shell(self, script: str, environment: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        """Run a step, and return its exit code and outputs."""
        outputs = self.temporary / "outputs"
        outputs.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.repository,
            env={**self.environment, **environment, "GITHUB_OUTPUT": str(outputs)},
            capture_output=True,
            text=True,
            check=False,
        )
        self.printed += done.stdout + done.stderr
        return done.returncode, dict(line.split("=", 1) for line in outputs.read_text().splitlines())

    def action(self, given: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        """Run the action's steps, and return the exit code and the outputs."""
        assert given.keys() <= ACTION["inputs"].keys()
        inputs = {name: given.get(name, known["default"]) for name, known in ACTION["inputs"].items()}
        known = {f"inputs.{name}": str(value) for name, value in inputs.items()}
        known |= {"github.action_path": str(ROOT), "inputs.token": "secret"}
        for step in ACTION["runs"]["steps"]:
            assert step["shell"] == "bash"
            assert "${{" not in step["run"], "an input could be a command"
            environment = {name: _filled(str(value), known) for name, value in step.get("env", {}).items()}
            code, outputs = self.shell(step["run"], environment)
            known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            if code:
                break
        return code, {name: _filled(output["value"], known) for name, output in ACTION["outputs"].items()}


def _filled(text: str, known: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: known.get(found[1], ""), text)


def used(workflow: Any) -> dict[str, str]:
    """Return the inputs that a workflow gives the action, without packages to install."""
    ((job),) = workflow["jobs"].values()
    (step,) = (step for step in job["steps"] if step.get("uses") == USES)
    return {**step["with"], "packages": ""}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[SmallS3]:
    """A bucket with two tables, one of them damaged."""
    pytest.importorskip("obstore")
    damaged(tmp_path / "here" / "bad", "AC08")
    sound(tmp_path / "here" / "good")
    with SmallS3().running() as server:
        for path in sorted((tmp_path / "here").rglob("*")):
            if path.is_file():
                server.put(str(path.relative_to(tmp_path / "here")), path.read_bytes())
        yield server


def baseline(server: SmallS3, runner: Runner, tables: str) -> None:
    """Write the baseline by the command of the guide."""
    (line,) = re.findall(r"^\$ (delta-provider audit .*)$", GUIDE, re.MULTILINE)
    code, _ = runner.shell(line.replace("'s3://lake/**'", tables), {})
    assert code == 0, runner.printed


@pytest.mark.parametrize(("known", "expected"), [("s3://lake/good", 1), ("'s3://lake/**'", 0)])
def test_scanning_fails_on_new_findings_and_uploads_what_github_accepts(tmp_path, lake, known, expected):
    runner = Runner(tmp_path, **lake.environment)
    baseline(lake, runner, known)
    code, outputs = runner.action(used(SCANNING))
    assert code == expected, runner.printed
    assert outputs["exit-code"] == str(expected)
    upload = SCANNING["jobs"]["audit"]["steps"][-1]
    assert upload["with"]["sarif_file"] == "${{ steps.audit.outputs.sarif }}"
    (result,) = json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert (place["uri"], place["uriBaseId"]) == ("lake/bad/_delta_log/00000000000000000003.json", "S3")
    assert result["baselineState"] == ("new" if expected else "unchanged")
    assert "AC08" in (tmp_path / "runner" / "summary.md").read_text()


def test_table_that_cannot_be_read_gives_no_sarif(tmp_path, lake):
    runner = Runner(tmp_path, **lake.environment)
    baseline(lake, runner, "'s3://lake/**'")
    lake.fault = lambda method, key: (403, "AccessDenied") if method == "GET" and key.startswith("good/") else None
    code, outputs = runner.action(used(SCANNING))
    assert (code, outputs["sarif"]) == (4, "")


def test_pull_request_has_one_comment_that_each_run_updates(tmp_path):
    github = GitHub(others=150)
    with github.running() as address:
        runner = Runner(tmp_path, GITHUB_API_URL=address)
        damaged(runner.repository / "lake" / "bad", "AC08")
        code, _ = runner.action(used(COMMENTED))
        assert code == 1
        assert "::error file=lake/bad/_delta_log/00000000000000000003.json" in runner.printed
        assert "AC08" in github.comments[-1]["body"]
        shutil.rmtree(runner.repository / "lake" / "bad")
        sound(runner.repository / "lake" / "good")
        code, _ = runner.action(used(COMMENTED))
    assert code == 0, runner.printed
    assert len(github.comments) == 151
    assert "AC08" not in github.comments[-1]["body"]
    assert "pass" in github.comments[-1]["body"]
    assert all(comment["body"] == "looks good" for comment in github.comments[:-1])


def test_comment_that_github_refuses_is_said_with_the_permission(tmp_path):
    github = GitHub()
    github.status = 403
    with github.running() as address:
        runner = Runner(tmp_path, GITHUB_API_URL=address)
        sound(runner.repository / "lake" / "good")
        code, _ = runner.action(used(COMMENTED))
    assert code == 1
    assert "The token needs pull-requests: write." in runner.printed


def test_long_result_is_cut_where_github_would_refuse_it(tmp_path):
    github = GitHub()
    with github.running() as address:
        runner = Runner(tmp_path, GITHUB_API_URL=address, GITHUB_TOKEN="secret")
        (runner.repository / "long.md").write_text("x" * 70_000)
        script = f"{sys.executable} {ROOT}/scripts/pull_request_comment.py name long.md"
        assert runner.shell(script, {})[0] == 0, runner.printed
    assert len(github.comments[0]["body"]) == 65_536
    assert github.comments[0]["body"].endswith("in the summary of the run.\n")


@pytest.mark.parametrize(
    ("inputs", "code", "said"),
    [
        ({"tables": "lake/none"}, 3, "no such directory"),
        ({"tables": "", "arguments": ""}, 2, "name at least one table"),
        ({"tables": "lake/*", "format": "xml"}, 2, "The input format is 'xml'"),
        ({"tables": "./$(touch pwned)"}, 3, "no such directory"),
        ({"tables": "lake/*\nlake/other", "arguments": "--exclude=lake/other\n--exclude=lake/bad"}, 0, ""),
    ],
)
def test_inputs_of_the_action(tmp_path, inputs, code, said):
    runner = Runner(tmp_path)
    sound(runner.repository / "lake" / "good")
    damaged(runner.repository / "lake" / "bad", "AC08")
    assert runner.action({"packages": "", **inputs})[0] == code, runner.printed
    assert said in runner.printed
    assert not (runner.repository / "pwned").exists()


@pytest.mark.parametrize(("wanted", "expected"), [("bigint", 0), ("map<int>", 2)])
def test_pull_request_gets_the_plans_of_the_specs_that_it_changes(wanted, expected, tmp_path):
    github = GitHub()
    with github.running() as address:
        runner = Runner(tmp_path, GITHUB_API_URL=address, GITHUB_TOKEN="secret")
        shutil.rmtree(runner.repository / ".git")
        sound(tmp_path / "lake" / "orders")
        specs = runner.repository / "migrations"
        specs.mkdir()
        (specs / "same.yaml").write_text("table: /nowhere\ncolumns: [{name: id, type: int}]\n")
        (specs / "README.md").write_text("About specs\n")

        def git(*words: str) -> str:
            identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
            return subprocess.check_output(["git", *identity, *words], cwd=runner.repository, text=True).strip()

        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "before")
        (specs / "orders.yaml").write_text(
            f"table: {tmp_path}/lake/orders\ncolumns: [{{name: extra, type: '{wanted}'}}]\n", encoding="utf-8"
        )
        (specs / "README.md").write_text("About all specs\n")
        base = git("rev-parse", "HEAD")
        git("add", ".")
        git("commit", "-qm", "after")
        (runner.repository / ".delta-provider").symlink_to(ROOT)
        steps = {step.get("name"): step["run"] for step in PLANS["jobs"]["plan"]["steps"] if "run" in step}
        checked, _ = runner.shell(steps["Check"], {})
        code, _ = runner.shell(steps["Plan"], {"BASE": base})
        assert runner.shell(steps["Comment"], {})[0] == 0, runner.printed
    assert (checked, code) == (expected, expected), runner.printed
    plan = (runner.repository / "plan.md").read_text(encoding="utf-8")
    assert (tmp_path / "runner" / "summary.md").read_text(encoding="utf-8") == plan
    assert ("add extra bigint" in plan) is (expected == 0)
    assert ("::error file=migrations/orders.yaml,line=2" in runner.printed) is (expected == 2)
    assert "nowhere" not in plan
    assert [comment["body"] for comment in github.comments] == [f"<!-- migration plans -->\n{plan}"]


def test_gitlab_gets_a_test_per_table(tmp_path, lake):
    runner = Runner(tmp_path, **lake.environment)
    baseline(lake, runner, "s3://lake/good")
    (line,) = (line for line in GITLAB["audit"]["script"] if line.startswith("delta-provider"))
    assert runner.shell(line, {})[0] == 1
    report = runner.repository / GITLAB["audit"]["artifacts"]["reports"]["junit"]
    assert re.findall(r'tests="(\d+)" failures="(\d+)"', report.read_text())[0] == ("2", "1")


def installing(text: str) -> list[str]:
    return re.findall(r"(?:\$|- run:|-) (pipx? install .*)", text)


def test_lines_that_install_are_the_same_everywhere():
    """What they install is enough: see the next test."""
    assert set(installing(GUIDE)) == {"pip install './.delta-provider/standalone[all]'"}
    assert len(installing(GUIDE)) == 2


INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


@pytest.mark.soak
@pytest.mark.parametrize("line", [line for line in installing(INSTALL) if "standalone" in line])
def test_command_line_installs_alone(tmp_path, lake, line):
    """In an empty environment, with packages of the index."""
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    runner = Runner(tmp_path, **lake.environment, PIPX_HOME=str(tmp_path / "pipx"), PIPX_BIN_DIR=str(programs))
    runner.environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    del runner.environment["PYTHONPATH"]
    leave_out = shutil.ignore_patterns(".venv*", ".git", "build", "dist", "__pycache__", ".*cache")
    shutil.copytree(ROOT, runner.repository / "airflow-delta-provider", ignore=leave_out)
    if line.startswith("pipx"):
        assert runner.shell("pip install -q pipx", {})[0] == 0, runner.printed
    assert runner.shell(line, {})[0] == 0, runner.printed
    (runner.repository / "orders.yaml").write_text("table: lake/orders\ncolumns: [{name: id, type: int}]\n")
    assert runner.shell("delta-provider check-files orders.yaml", {})[0] == 0, runner.printed
    assert runner.shell("delta-provider audit 's3://lake/**'", {})[0] == 1, runner.printed
    assert runner.shell(line.replace("install", "list").partition(" './")[0], {})[0] == 0
    assert "apache-airflow" not in runner.printed


@pytest.mark.soak
def test_action_installs_its_packages(tmp_path, lake):
    """Into an environment of its own, with packages of the index: the runner's Python stays as it is."""
    venv.create(tmp_path / "empty", with_pip=True)
    runner = Runner(tmp_path, **lake.environment)
    runner.environment["PATH"] = f"{tmp_path / 'empty' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    runner.environment["PYTHONPATH"] = ""
    code, outputs = runner.action({"tables": "s3://lake/**", "format": "sarif"})
    assert (code, bool(outputs["sarif"])) == (1, True), runner.printed
    assert not list((tmp_path / "empty" / "lib").glob("*/site-packages/obstore"))
