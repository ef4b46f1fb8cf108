"""The unit tier: the domain alone, no Spark. The same examples at every run, none kept on disk."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from tests.tables.paimon.archive import unpack

set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "airflow-delta-provider-hypothesis")
settings.register_profile(
    "unit",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unit")


@pytest.fixture(scope="session")
def paimon_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("paimon"))
