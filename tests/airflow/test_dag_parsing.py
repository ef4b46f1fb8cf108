"""The example DAGs, parsed as Airflow's DAG processor does."""

from __future__ import annotations

from scripts.sample_blocks import CHECKOUT

try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:  # Airflow 3.1
    from airflow.models.dagbag import DagBag


def test_example_dags_are_parsed_without_an_error() -> None:
    folder = CHECKOUT / "dags_examples"
    parsed = DagBag(folder)
    assert parsed.import_errors == {}
    holding = {path.name for path in folder.glob("*.py") if "with DAG(" in path.read_text(encoding="utf-8")}
    assert holding <= {dag.fileloc.rpartition("/")[2] for dag in parsed.dags.values()}
    assert all(dag.tasks for dag in parsed.dags.values())
