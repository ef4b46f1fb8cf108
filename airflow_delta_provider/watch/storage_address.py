"""Addresses of tables, in the spelling of Airflow's filesystems."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.request.table_name import TableName, TableNameError, normal_location

#: The package that contains a scheme's filesystem.
PACKAGES = {
    "s3": "apache-airflow-providers-amazon[s3fs]",
    "abfss": "apache-airflow-providers-microsoft-azure",
    "adl": "apache-airflow-providers-microsoft-azure",
    "gs": "apache-airflow-providers-google",
}
#: Schemes that Airflow does not have, or has under another name.
_SCHEMES = {"wasbs": "abfss", "gcs": "gs"}
_AZURE = "abfss"


@dataclass(frozen=True)
class StorageAddress:
    """A directory in a store.

    :param scheme: scheme of Airflow's filesystem; ``file`` for local paths
    :param url: address of the directory for ``ObjectStoragePath``
    :param account: Azure storage account in the location, or None
    """

    scheme: str
    url: str
    account: str | None = None

    @classmethod
    def of(cls, table: str) -> StorageAddress:
        """Return the address of ``table``.

        ``s3a://``, ``s3n://`` and ``s3://`` are equal, as are ``abfs://`` and ``abfss://``. For
        ``abfss://container@account.dfs.core.windows.net/path``, the address contains only the container. The account
        belongs to the connection, and is kept here for a comparison with it.

        :raises TableNameError: for a catalog name, a relative path, or credentials in the URI
        """
        name = TableName.parse(table)
        if name.location is None:
            raise TableNameError(
                f"{table!r} is a catalog name; resolving it needs a JVM, and this sensor never starts one. Give "
                "the table's location, a path or a URI: DESCRIBE DETAIL shows it."
            )
        if "://" not in name.location and not name.location.startswith(("/", "file:/")):
            raise TableNameError(
                f"{table!r} is relative to the folder of the process that reads it. Give an absolute path or a URI."
            )
        scheme, _, rest = normal_location(name.location).partition("://")
        scheme = _SCHEMES.get(scheme, scheme)
        authority, slash, path = rest.partition("/")
        if scheme == "file":
            return cls(scheme, slash + path)
        user, at, host = authority.rpartition("@")
        if at and scheme == _AZURE:
            return cls(scheme, f"{scheme}://{user}{slash}{path}", host.partition(".")[0])
        if at:
            raise TableNameError(
                f"a table on {host!r} is named together with a user or a connection before the @. Leave that out of "
                "the location and name the connection by storage_conn_id."
            )
        return cls(scheme, f"{scheme}://{authority}{slash}{path}")

    @property
    def package(self) -> str | None:
        """The package that contains this store's filesystem, or None if unknown."""
        return PACKAGES.get(self.scheme)
