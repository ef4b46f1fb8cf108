"""What the README and the docs show of reports is what jobs print of such tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_delta_provider.jobs.run.runner import run
from demo.samples import SAMPLES, Sample, make_lake, printed
from scripts.sample_blocks import all_shown

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Path:
    lake = tmp_path_factory.mktemp("lake")
    make_lake(spark, lake)
    return lake


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_pages_show_what_is_printed(lake: Path, session, sample: Sample) -> None:
    text = printed(sample, lake, lambda request: run(request, session))
    for page, found in all_shown()[sample.name]:
        assert found == text, f"{page.name} is stale: run `make docs`"


def test_pages_show_no_other_samples() -> None:
    assert all_shown().keys() == {sample.name for sample in SAMPLES}
