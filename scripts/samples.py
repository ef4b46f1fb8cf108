"""Writes what jobs print into the README and the docs: part of ``make docs``. Takes a Spark session, half a minute."""

from __future__ import annotations

import tempfile
from pathlib import Path

from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session
from demo.samples import SAMPLES, make_lake, printed
from scripts.sample_blocks import all_shown, pages, with_samples


def main() -> None:
    """Write them."""
    with tempfile.TemporaryDirectory() as folder:
        session = SparkDeltaSession(own_session("samples of the docs", "local[2]", "packages"))
        lake = Path(folder) / "lake"
        make_lake(session.spark, lake)

        def run_job(request: JobRequest) -> JobReport:
            return run(request, session, print)

        texts = {sample.name: printed(sample, lake, run_job) for sample in SAMPLES}
    unused = texts.keys() - all_shown().keys()
    print(*(f"--- no page shows {name}:\n{texts[name]}" for name in sorted(unused)), sep="\n")
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := with_samples(text, texts)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
