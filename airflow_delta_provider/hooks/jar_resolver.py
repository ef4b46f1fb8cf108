"""Resolution of Maven coordinates by spark-submit, exactly as it would resolve them for the job."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.marker import MarkerReader
from airflow_delta_provider.exceptions import DeltaJobError
from airflow_delta_provider.hooks.workspace import Workspace


def resolved_jars(
    coordinates: str, command: Sequence[str], workspace: Workspace, environment: Mapping[str, str]
) -> list[str]:
    """Return the locations of the jars for Maven coordinates, with dependencies.

    No Spark context is started.

    :param command: spark-submit with the user's repositories and settings
    :param workspace: workspace of the submission
    :param environment: environment of spark-submit
    :raises DeltaJobError: if they could not be resolved
    """
    ran = subprocess.run(
        [
            *(*command, "--master", "local[1]", "--packages", coordinates),
            *("--py-files", str(workspace.archive), str(workspace.jar_resolver)),
            workspace.submission,
        ],
        capture_output=True,
        text=True,
        env=dict(environment),
        check=False,
    )
    reader = MarkerReader(workspace.submission)
    for line in ran.stdout.splitlines():
        for _, jars in reader.feed(line):
            return list(jars)
    tail = masked_text("\n".join(ran.stderr.splitlines()[-15:]))
    raise DeltaJobError(
        f"{coordinates} could not be resolved. Check the network and spark.jars.repositories, or set delta_jars "
        f"(--delta-jars) to a list of jars.\n{tail}"
    )
