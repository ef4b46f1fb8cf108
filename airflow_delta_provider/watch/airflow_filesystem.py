"""Airflow's fsspec filesystems, with the credentials of its connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_delta_provider.watch.errors import DeltaLogUnreadableError, StorageSetupError
from airflow_delta_provider.watch.storage_address import StorageAddress

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def filesystem_of(address: StorageAddress, conn_id: str | None) -> AbstractFileSystem:
    """Return the filesystem of a location.

    :param conn_id: Airflow connection of the store; with None, credentials come from the environment
    :raises DeltaLogUnreadableError: if there is no such connection
    :raises StorageSetupError: if Airflow has no such filesystem here, or the connection is for another account
    """
    # These imports take seconds the first time, so they run here, in the reading thread.
    from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook

    try:
        if conn_id is not None:
            BaseHook.get_connection(conn_id)  # Amazon's filesystem falls back to no credentials at all
        filesystem = _filesystem(address.scheme, conn_id)
    except AirflowNotFoundException as error:
        raise DeltaLogUnreadableError(
            f"storage_conn_id {conn_id!r} does not exist. Create the connection, name another, or leave it "
            "out to take credentials from the environment."
        ) from error
    except (ImportError, ValueError) as error:
        package = f"Install {address.package}" if address.package else "Install the provider that brings one"
        raise StorageSetupError(
            f"Airflow has no filesystem for {address.scheme}:// where this runs: {error}. {package} on workers "
            "and triggerers, or name the table by a scheme that it has."
        ) from error
    connected = getattr(filesystem, "account_name", None)
    if address.account and connected and connected != address.account:
        raise StorageSetupError(
            f"the table lies in the storage account {address.account!r}, and connection {conn_id!r} "
            f"is of {connected!r}. Name the connection of that account by storage_conn_id."
        )
    return filesystem


def _filesystem(scheme: str, conn_id: str | None) -> AbstractFileSystem:
    """Return Airflow's filesystem for a scheme and a connection, and create it on first use."""
    from airflow.sdk.io import attach, get_fs

    store = attach(scheme, conn_id)
    if "fs" not in vars(store):
        # ``store.fs`` is a cached_property: before Python 3.12, a store that hangs in it would block all others.
        store.fs = get_fs(scheme, conn_id)
    return store.fs
