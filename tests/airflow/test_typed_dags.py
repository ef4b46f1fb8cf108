"""What mypy says of DAGs that use the operators."""

from __future__ import annotations

import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, BaseOperator, BaseSensorOperator

from airflow_delta_provider.hooks.command import OWNED_ARGUMENTS
from airflow_delta_provider.operators import arguments
from airflow_delta_provider.operators.enable_feature import DeltaEnableFeatureOperator

CHECKOUT = Path(__file__).resolve().parents[2]
DAGS = Path(__file__).parent / "typed_dags"
#: Where mypy finds something, and what.
_FOUND = re.compile(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)")


def mypy(*paths: Path) -> list[tuple[str, int, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, paths)], capture_output=True, text=True, check=False, cwd=CHECKOUT
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = filter(None, map(_FOUND.fullmatch, done.stdout.splitlines()))
    return [(Path(match["file"]).name, int(match["line"]), match["text"]) for match in found]


def test_each_mistake_in_a_dag_is_found_and_what_works_is_taken() -> None:
    wrong = {
        number: line.rpartition("  # ")[2].split(", ")
        for number, line in enumerate((DAGS / "wrong.py").read_text().splitlines(), 1)
        if line.startswith("    Delta") or line.startswith("    Paimon")
    }
    pytest.importorskip("mypy")
    found = mypy(DAGS, CHECKOUT / "dags_examples")
    assert {file for file, _, _ in found} == {"wrong.py"}
    assert {line for _, line, _ in found} == set(wrong)
    for _, line, text in found:
        assert any(f'"{word}"' in text or f"'{word}'" in text for word in wrong[line]), text


def test_dag_that_mypy_takes_is_taken_by_airflow() -> None:
    loaded = runpy.run_path(str(DAGS / "right.py"))
    assert {"a", "b", "c", "d", "e", "f", "g"} < set(loaded["dag"].task_ids)


@pytest.mark.parametrize(
    ("base", "typed"),
    [
        (BaseOperator, arguments.TaskArguments),
        (SparkSubmitOperator, arguments.SparkSubmitArguments),
        (BaseSensorOperator, arguments.SensorTaskArguments),
    ],
)
def test_types_have_every_argument_of_airflow(base: type, typed: type) -> None:
    taken = set(inspect.signature(base.__init__).parameters) - {"self", "kwargs", "args"}  # type: ignore[misc]  # of a class
    own = {*OWNED_ARGUMENTS, "mode"}  # of the sensors' mode the default is their own
    assert taken - own <= set(typed.__annotations__)


def test_argument_that_is_misspelt_is_refused_at_runtime_by_mapped_tasks_too() -> None:
    with pytest.raises(TypeError, match="featuers"):
        DeltaEnableFeatureOperator.partial(task_id="t", featuers=["typeWidening"])
    with pytest.raises(TypeError, match="retires"):
        DeltaEnableFeatureOperator(task_id="t", table="/t", features=["typeWidening"], retires=1)  # type: ignore  # the mistake
    with DAG("defaults", default_args={"on_violation": "warn", "pool": "p", "retries": 3}):
        operator = DeltaEnableFeatureOperator(task_id="t", table="/t", features=["typeWidening"])
    assert (operator.on_violation, operator.pool, operator.retries) == ("warn", "p", 3)
