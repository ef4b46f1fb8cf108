"""Checks of an Airflow connection to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_delta_provider.exceptions import DeltaConnectionError
from airflow_delta_provider.hooks.preflight import check_master


@contextmanager
def refused(conn_id: str) -> Iterator[None]:
    """Add the remedy to errors about a missing or unusable connection.

    :raises DeltaConnectionError: for the errors of Airflow's Spark provider
    """
    try:
        yield
    except AirflowNotFoundException as error:
        raise DeltaConnectionError(
            f"There is no connection {conn_id!r}. Create it with type spark and the master as its host, for "
            'instance {"conn_type": "spark", "host": "local[2]"}, or name another with conn_id.'
        ) from error
    except ValueError as error:  # from invalid extra fields
        raise DeltaConnectionError(f"The connection {conn_id!r} cannot be used: {error}") from error


def check_connection(connection: Mapping[str, Any], conn_id: str) -> None:
    """Check the settings that the Spark provider read from a connection.

    :raises DeltaConnectionError: if Spark has no such master, or the worker lacks the package to submit to it
    """
    master = connection["master"]
    if master in ("yarn://", "local://"):
        raise DeltaConnectionError(
            f"The connection {conn_id!r} has the master {master!r}, which Spark does not know: a URI cannot express "
            'it. Write the connection as JSON: {"conn_type": "spark", "host": "yarn"}.'
        )
    check_master(master, conn_id)
