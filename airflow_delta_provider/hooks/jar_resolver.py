"""Having spark-submit resolve Maven coordinates, exactly as it would for the job."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.marker import MarkerReader
from airflow_delta_provider.exceptions import DeltaJobError
from airflow_delta_provider.hooks.workspace import Workspace


class JarResolver:
    """Runs spark-submit for its resolution alone; no Spark context is started.

    :param command: spark-submit with the user's repositories and settings
    :param workspace: workspace of the submission
    :param environment: environment of spark-submit
    """

    def __init__(self, command: Sequence[str], workspace: Workspace, environment: Mapping[str, str]) -> None:
        self._command = command
        self._workspace = workspace
        self._environment = environment

    def __call__(self, coordinates: str) -> list[str]:
        """Return where the jars of ``coordinates``, and what they need, lie.

        :raises DeltaJobError: if they could not be resolved
        """
        ran = subprocess.run(
            [
                *(*self._command, "--master", "local[1]", "--packages", coordinates),
                *("--py-files", str(self._workspace.archive), str(self._workspace.jar_resolver)),
                self._workspace.submission,
            ],
            capture_output=True,
            text=True,
            env=dict(self._environment),
            check=False,
        )
        reader = MarkerReader(self._workspace.submission)
        for line in ran.stdout.splitlines():
            for _, jars in reader.feed(line):
                return list(jars)
        tail = masked_text("\n".join(ran.stderr.splitlines()[-15:]))
        raise DeltaJobError(
            f"{coordinates} could not be resolved. Check the network and spark.jars.repositories, or set delta_jars "
            f"(--delta-jars) to a list of jars.\n{tail}"
        )
