"""What can go wrong while a log is read through object storage."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_delta_provider.exceptions import DeltaProviderError


class DeltaLogUnreadableError(DeltaProviderError):
    """Storage, connection or log stayed unreadable; another try of the task may succeed."""


class DeltaWatchImpossibleError(DeltaProviderError, AirflowFailException):
    """What the log is read with is missing, or the log does not say; a retry does not help."""


class StorageSetupError(DeltaWatchImpossibleError):
    """A package that the storage or the checkpoint needs is not installed where the log is read."""


class CatalogManagedTableError(DeltaWatchImpossibleError):
    """The table is read through its catalog: its directory does not hold all of its commits."""


class UnhealthyTableError(DeltaWatchImpossibleError):
    """An audit found that the table breaks rules, or could not decide; the message names the findings."""
