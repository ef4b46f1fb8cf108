"""Errors while a log is read through object storage."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_delta_provider.exceptions import DeltaProviderError


class DeltaLogUnreadableError(DeltaProviderError):
    """Storage, connection or log stayed unreadable; another try of the task may succeed."""


class DeltaWatchImpossibleError(DeltaProviderError, AirflowFailException):
    """A package for reading the log is missing, or the log cannot give the answer; a retry does not help."""


class StorageSetupError(DeltaWatchImpossibleError):
    """A package for the storage or the checkpoint is not installed where the log is read."""


class CatalogManagedTableError(DeltaWatchImpossibleError):
    """The table must be read through its catalog: its directory does not hold all of its commits."""


class UnhealthyTableError(DeltaWatchImpossibleError):
    """An audit found broken rules or could not decide; the message names the findings."""
