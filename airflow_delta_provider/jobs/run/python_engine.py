"""Runs requests in this process, without Spark or a JVM: jobs that read only logs, metadata and footers."""

from __future__ import annotations

from airflow_delta_provider.jobs.delta.delta_session import DeltaSession
from airflow_delta_provider.jobs.storage.storage import Storage
from airflow_delta_provider.jobs.storage.storages import Storages


def python_session(storage: Storage | None = None) -> DeltaSession:
    """Return a session that reads files itself.

    :param storage: storage of the tables; default: local files and object stores
    """
    return DeltaSession(storage or Storages())
