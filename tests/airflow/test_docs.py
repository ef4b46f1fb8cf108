"""The DAGs that the README and the docs show are DAGs."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from scripts.operators_page import public_classes
from scripts.sample_blocks import CHECKOUT, pages

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PLATFORM = re.compile(r"^from airflow\.providers\.(amazon|apache\.livy|databricks|google)\.", re.MULTILINE)
BLOCKS = [(page, code) for page in pages() for code in _PYTHON.findall(page.read_text(encoding="utf-8"))]
#: DAGs with the operators of a platform, whose provider is not installed here: `make platforms` runs these.
PLATFORM_DAGS = [(page, code) for page, code in BLOCKS if "with DAG(" in code and _PLATFORM.search(code)]
SHOWN = [(page, code) for page, code in BLOCKS if "with DAG(" in code and not _PLATFORM.search(code)]


@pytest.mark.parametrize(
    ("page", "code"), SHOWN, ids=[f"{page.relative_to(CHECKOUT)}-{number}" for number, (page, _) in enumerate(SHOWN)]
)
def test_dag_has_tasks(page: Path, code: str, monkeypatch: pytest.MonkeyPatch):
    slack = ModuleType("slack")  # of a provider that is not installed
    slack.SlackNotifier = lambda **_: lambda context: None
    monkeypatch.setitem(sys.modules, "airflow.providers.slack.notifications.slack", slack)
    dags: list = []
    exec(compile(code.replace("with DAG(", "with _dag("), str(page), "exec"), {"_dag": kept(dags)})
    assert dags
    assert dags[0].tasks


#: Blocks that are no part of a DAG, by a piece of their text, and the test that runs them.
_ELSEWHERE = {
    "write_deltalake(": "tests/unit/scripts/test_lost_rows.py",
    "airflow_delta_provider.api": "tests/unit/jobs/test_api.py",
    'detail("lake/orders")': "tests/unit/jobs/test_api.py",
    'audit("s3://lake/**", storage=': "tests/unit/jobs/test_api.py",
    "spark=spark": "tests/unit/jobs/test_api.py",
    "run_delta_provider.py": "tests/platforms/test_guides.py",
    "from airflow_delta_provider.domain.checks": "tests/unit/checks/test_rules.py",
    "configure_spark_with_delta_pip": "tests/spark/test_delta_provider.py",
    ".restore(": "tests/spark/test_delta_provider.py",
    "Case(": "tests/unit/audit/test_audit_damaged.py",
}
#: Tasks that pages mention before a piece.
EARLIER = ("audit", "check", "detail", "plan", "read_orders", "run_job")
PIECES = [
    (page, code)
    for page, code in BLOCKS
    if "with DAG(" not in code and not any(piece in code for piece in _ELSEWHERE) and "@dag" not in code
]


@pytest.mark.parametrize(
    ("page", "code"), PIECES, ids=[f"{page.relative_to(CHECKOUT)}-{number}" for number, (page, _) in enumerate(PIECES)]
)
def test_piece_of_a_dag_is_one(page: Path, code: str, tmp_path: Path):
    """A piece stands in a DAG, after the tasks and imports that its page has explained."""
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import DAG, task

    spec = "table: s3://lake/orders\ncolumns: [{name: id, type: bigint}]"
    (tmp_path / "tables").mkdir()
    for name, text in {
        "delta-provider.toml": 'tables = ["s3://lake/**"]',
        "fleet.yaml": yaml_of_guide("compatibility", "policy"),
        "policy.yaml": yaml_of_guide("migrations", "waivers"),
        "orders.yaml": spec,
        "tables/orders.yaml": spec,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    known = {
        name.rpartition(".")[2]: class_at(name) for name in (*public_classes("operators"), *public_classes("sensors"))
    }
    with DAG("d") as dag:
        dag.fileloc = str(tmp_path / "shown.py")
        earlier = {name: EmptyOperator(task_id=f"earlier_{name}") for name in EARLIER}
        exec(compile(code, str(page), "exec"), {"task": task, **known, **earlier})


def yaml_of_guide(name: str, key: str) -> str:
    """Return the first example of YAML in a guide that has a key."""
    guide = (CHECKOUT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if f"{key}:" in block)


def class_at(name: str) -> type:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def test_what_examples_import_is_there():
    lines = [line for _, code in BLOCKS for line in code.splitlines() if line.startswith("from airflow_delta_provider")]
    for line in sorted(set(lines)):
        exec(line, {})


def kept(dags: list):
    """Return what makes DAGs and keeps them in a list."""
    from airflow.sdk import DAG

    def make(*arguments, **named):
        dags.append(DAG(*arguments, **named))
        dags[-1].fileloc = str(CHECKOUT / "dags_examples" / "shown.py")  # where the files are that it names
        return dags[-1]

    return make
