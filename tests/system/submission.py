"""``python -m tests.system.submission REQUEST``: submit a request by the hook, as a task does; made to be killed."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(request: str) -> None:
    """Submit a request, and print its report.

    :param request: path of a file with its wire form, and the arguments of the hook under ``hook``
    """
    from airflow_delta_provider.domain.request.job_request import JobRequest
    from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook

    wire = json.loads(Path(request).read_text(encoding="utf-8"))
    arguments = wire.pop("hook", {})
    print(json.dumps(DeltaSparkSubmitHook(JobRequest.from_json(wire), **arguments).run().to_json()))


if __name__ == "__main__":
    main(sys.argv[1])
