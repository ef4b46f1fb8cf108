"""RESTORE by Delta Spark, on each damage whose remedy names it: it does what the page of remedies says."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.spark.session.sql_settings import configured
from tests.tables.restoring import outcomes, recorded

pytestmark = pytest.mark.soak

#: The damaged tables have no data files, and their commits are of long ago.
_OF_LOGS = {
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
}


def test_restore_does_to_each_damage_what_is_recorded(session: SparkDeltaSession, tmp_path: Path) -> None:
    def restore(path: Path, version: int) -> str | None:
        try:
            session.spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {version}").collect()
        except Exception as error:
            return understand(error).condition or type(error).__name__
        return None

    with configured(session.spark, _OF_LOGS):
        found = outcomes(restore, tmp_path)
    assert found == recorded("Delta Spark", found)
