"""The DAGs that the README and the docs show are DAGs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

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
