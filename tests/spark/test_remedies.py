"""Remedies by Delta Spark, on each damage that they are for: they do what the page of remedies says."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.session import configured
from tests.tables.restoring import outcomes, outcomes_of_statements, recorded

pytestmark = pytest.mark.soak

#: The damaged tables have no data files, and their commits are of long ago.
_OF_LOGS = {
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
}


def test_restore_does_to_each_damage_what_is_recorded(session: SparkDeltaSession, tmp_path: Path) -> None:
    with configured(session.spark, _OF_LOGS):
        found = outcomes(
            lambda path, version: _run(session, path, f"RESTORE TABLE {{table}} TO VERSION AS OF {version}"), tmp_path
        )
    assert found == recorded("Delta Spark", found)


def test_other_remedies_do_to_each_damage_what_is_recorded(session: SparkDeltaSession, tmp_path: Path) -> None:
    with configured(session.spark, _OF_LOGS):
        found = outcomes_of_statements(partial(_run, session), tmp_path)
    assert found == recorded("statements of Delta Spark", found)


def _run(session: SparkDeltaSession, path: Path, statement: str) -> str | None:
    try:
        session.spark.sql(statement.format(table=f"delta.`{path}`")).collect()
    except Exception as error:
        return understand(error).condition or type(error).__name__
    return None
