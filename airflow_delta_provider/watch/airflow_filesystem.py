"""Filesystems of fsspec as Airflow makes them, with the credentials of its connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_delta_provider.watch.errors import DeltaLogUnreadableError, StorageSetupError
from airflow_delta_provider.watch.storage_address import StorageAddress

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def filesystem_of(address: StorageAddress, conn_id: str | None) -> AbstractFileSystem:
    """Return the filesystem of a place.

    :param conn_id: Airflow connection of the store; None takes credentials from the environment
    :raises DeltaLogUnreadableError: if there is no such connection
    :raises StorageSetupError: if Airflow has no such filesystem here, or the connection is of another account
    """
    # Seconds, the first time in a process: hence here, in the thread that reads.
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
    """Return Airflow's filesystem of a scheme and a connection, made where there is none yet."""
    from airflow.sdk.io import attach, get_fs

    store = attach(scheme, conn_id)
    if "fs" not in vars(store):
        # Its own way to make one is a cached_property, too: a store that hangs there would stop all others.
        store.fs = get_fs(scheme, conn_id)
    return store.fs
