"""Arguments of Airflow's Spark hook that this provider sets itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.exceptions import DeltaRequestError

#: Arguments of Airflow's hook that this provider's hook sets.
OWNED_ARGUMENTS = ("application", "java_class", "application_args")


def refuse_owned_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that this provider sets itself.

    :raises DeltaRequestError: naming the first one
    """
    for name in OWNED_ARGUMENTS:
        if arguments.get(name):
            raise DeltaRequestError(
                f"{name} is set by this provider: the job that runs is its own. Leave {name} out; to run code of your "
                "own on Spark use SparkSubmitOperator."
            )
