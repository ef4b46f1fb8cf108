"""Hadoop settings from an Airflow connection of a store, for jobs that read the store with Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from airflow_delta_provider.domain.table_name import TableName, TableNameError
from airflow_delta_provider.exceptions import DeltaConnectionError

#: Writes a text to a new file of a name, which only this user can read, and returns its path.
WritePrivateFile = Callable[[str, str], Path]

_PREFIX = "spark.hadoop."
_S3A = "org.apache.hadoop.fs.s3a"
_ABFS = "org.apache.hadoop.fs.azurebfs.oauth2"
_AMAZON = frozenset({"s3", "s3a", "s3n"})
_AZURE = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_GOOGLE = frozenset({"gs"})
#: Scheme and authority of a table that is named by a catalog.
_CATALOG_NAME = ("", "")


class StorageConnection(Protocol):
    """The attributes of an Airflow connection that are used here."""

    conn_id: str
    conn_type: str | None
    host: str | None
    login: str | None
    password: str | None

    @property
    def extra_dejson(self) -> dict[str, Any]: ...


def storage_settings(
    connection: StorageConnection, locations: Iterable[str], *, local: bool, write_file: WritePrivateFile
) -> dict[str, str]:
    """Return the Spark settings that give Hadoop the credentials and the endpoint of a connection.

    For S3 they apply only to the buckets of ``locations``, for Azure only to their accounts. If a location is a catalog
    name, its bucket is unknown here, so they apply to all of S3. Hadoop's connector for Google supports one account.
    Locations in other stores get no settings.

    :param locations: names of tables, and other places in the store
    :param local: True if all of Spark runs on this machine
    :param write_file: writes values that Hadoop reads only from files
    :raises DeltaConnectionError: if the connection has another type or a field that Hadoop cannot use, or fits no
        location
    """
    kind = connection.conn_type
    stores = tuple(dict.fromkeys(_scheme_and_authority(location) for location in locations))
    if kind == "aws":
        buckets = _matching(connection, stores, _AMAZON)
        settings = _for_buckets(_amazon(connection), buckets, all_buckets=_CATALOG_NAME in stores)
    elif kind == "google_cloud_platform":
        _matching(connection, stores, _GOOGLE)
        settings = _google(connection, local=local, write_file=write_file)
    elif kind in ("adls", "wasb", "azure_data_lake"):
        settings = {}
        for scheme, authority in _matching(connection, stores, _AZURE):
            settings |= _azure(connection, scheme, authority)
    elif kind == "generic":
        settings = _generic(connection)
    else:
        raise _unusable(
            connection,
            f"is of type {kind!r}. Use aws, adls, wasb, azure_data_lake, google_cloud_platform, or generic with "
            "Hadoop's fs.* settings as extra fields",
        )
    return {f"{_PREFIX}{name}": value for name, value in settings.items()}


def _scheme_and_authority(location: str) -> tuple[str, str]:
    """Return the scheme and the authority of a location, or ``_CATALOG_NAME``."""
    try:
        name = TableName.parse(location).location
    except TableNameError:  # the table's own report has the error
        return _CATALOG_NAME
    scheme, separator, rest = (name or "").partition("://")
    if separator:
        return scheme.lower(), rest.partition("/")[0]
    return ("file", "") if name else _CATALOG_NAME


def _matching(
    connection: StorageConnection, stores: Iterable[tuple[str, str]], schemes: frozenset[str]
) -> list[tuple[str, str]]:
    """Return the schemes and authorities for which a connection is; others need none of its settings.

    :raises DeltaConnectionError: if it is for none of them
    """
    matching = [(scheme, authority) for scheme, authority in stores if scheme in schemes]
    if not matching and _CATALOG_NAME not in stores:
        prefixes = ", ".join(f"{scheme}://" for scheme in sorted(schemes))
        raise _unusable(connection, f"is of type {connection.conn_type!r}, but no table's URI begins with {prefixes}")
    if not matching and schemes is _AZURE:
        raise _unusable(
            connection, "needs tables that are named by their URI, because Azure's credentials belong to one account"
        )
    return matching


def _amazon(connection: StorageConnection) -> dict[str, str]:
    extra = connection.extra_dejson
    for field in ("profile_name", "assume_role_with_web_identity_token_file"):
        if extra.get(field):
            raise _unusable(connection, f"has {field}, which Hadoop cannot use. Give keys, or role_arn")
    if extra.get("assume_role_method", "assume_role") != "assume_role":
        raise _unusable(connection, "has an assume_role_method that Hadoop cannot use. It supports only assume_role")
    key = connection.login or extra.get("aws_access_key_id")
    secret = connection.password or extra.get("aws_secret_access_key")
    token = extra.get("aws_session_token")
    settings: dict[str, Any] = {}
    if key and secret:
        provider = f"{_S3A}.{'Temporary' if token else 'Simple'}AWSCredentialsProvider"
        settings = {"aws.credentials.provider": provider, "access.key": key, "secret.key": secret}
        if token:
            settings["session.token"] = token
    elif key or secret:
        raise _unusable(connection, "has a key without its secret, or the other way round. Give both, or neither")
    if role := extra.get("role_arn"):
        if settings:
            settings["assumed.role.credentials.provider"] = settings["aws.credentials.provider"]
        settings |= {"aws.credentials.provider": f"{_S3A}.auth.AssumedRoleCredentialProvider", "assumed.role.arn": role}
        settings["assumed.role.external.id"] = (extra.get("assume_role_kwargs") or {}).get("ExternalId")
    service = (extra.get("service_config") or {}).get("s3") or {}
    if endpoint := service.get("endpoint_url") or extra.get("endpoint_url"):
        settings["endpoint"] = endpoint
        if "amazonaws.com" not in endpoint:
            settings["path.style.access"] = "true"
    settings["endpoint.region"] = extra.get("region_name")
    return {name: str(value) for name, value in settings.items() if value}


def _for_buckets(
    settings: Mapping[str, str], buckets: Iterable[tuple[str, str]], *, all_buckets: bool
) -> dict[str, str]:
    if all_buckets:
        return {f"fs.s3a.{name}": value for name, value in settings.items()}
    return {f"fs.s3a.bucket.{bucket}.{name}": value for _, bucket in buckets for name, value in settings.items()}


def _azure(connection: StorageConnection, scheme: str, authority: str) -> dict[str, str]:
    """Return the settings for one container.

    The first of these credentials that the connection has is used: SAS token, account key, service principal (with
    ``tenant_id``), managed identity.
    """
    container, at, host = authority.rpartition("@")
    if not at:
        raise _unusable(
            connection, f"needs the account in the table's URI: {scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/"
        )
    pairs = (_extra(connection, "connection_string") or "").split(";")
    named = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    account = _extra(connection, "account_name") or named.get("AccountName") or _account(connection)
    if account and account != host.partition(".")[0]:
        raise _unusable(connection, f"is for the storage account {account!r}, but a table is in {host}")
    tenant = _extra(connection, "tenant_id")
    sas = (_extra(connection, "sas_token") or named.get("SharedAccessSignature") or "").lstrip("?")
    key = _extra(connection, "account_key") or named.get("AccountKey") or (None if tenant else connection.password)
    if sas and scheme.startswith("wasb"):
        return {f"fs.azure.sas.{container}.{host}": sas}
    if sas:
        return {f"fs.azure.account.auth.type.{host}": "SAS", f"fs.azure.sas.fixed.token.{host}": sas}
    if key:
        return {f"fs.azure.account.auth.type.{host}": "SharedKey", f"fs.azure.account.key.{host}": key}
    oauth = {f"fs.azure.account.auth.type.{host}": "OAuth"}
    if tenant and connection.login and connection.password:
        return oauth | {
            f"fs.azure.account.oauth.provider.type.{host}": f"{_ABFS}.ClientCredsTokenProvider",
            f"fs.azure.account.oauth2.client.endpoint.{host}": f"https://login.microsoftonline.com/{tenant}/oauth2/token",
            f"fs.azure.account.oauth2.client.id.{host}": connection.login,
            f"fs.azure.account.oauth2.client.secret.{host}": connection.password,
        }
    if identity := _extra(connection, "managed_identity_client_id"):
        return oauth | {
            f"fs.azure.account.oauth.provider.type.{host}": f"{_ABFS}.MsiTokenProvider",
            f"fs.azure.account.oauth2.client.id.{host}": identity,
        }
    raise _unusable(connection, "has no key, SAS token, or tenant_id with login and password for Hadoop")


def _account(connection: StorageConnection) -> str | None:
    """Return the account that a connection names: by its host or, without ``tenant_id``, by its login."""
    host = (connection.host or "").partition("://")[2] or connection.host or ""
    if host:
        return host.partition("/")[0].partition(".")[0]
    return connection.login if not _extra(connection, "tenant_id") else None


def _google(connection: StorageConnection, *, local: bool, write_file: WritePrivateFile) -> dict[str, str]:
    settings = {}
    if project := _extra(connection, "project"):
        settings["fs.gs.project.id"] = project
    if endpoint := _extra(connection, "gcs.endpoint"):
        settings["fs.gs.storage.root.url"] = endpoint
    if _extra(connection, "is_anonymous"):
        return settings | {"fs.gs.auth.type": "UNAUTHENTICATED"}
    settings["fs.gs.auth.service.account.enable"] = "true"
    key, path = _extra(connection, "keyfile_dict"), _extra(connection, "key_path")
    if key:
        document = json.loads(key) if isinstance(key, str) else key
        if not local:  # the cluster cannot read files of this machine
            return settings | {
                "fs.gs.auth.service.account.email": document["client_email"],
                "fs.gs.auth.service.account.private.key.id": document["private_key_id"],
                "fs.gs.auth.service.account.private.key": document["private_key"],
            }
        path = str(write_file("google-key.json", json.dumps(document)))
    if path:
        settings |= {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", "fs.gs.auth.service.account.json.keyfile": path}
    return settings


def _generic(connection: StorageConnection) -> dict[str, str]:
    fields = {name.removeprefix(_PREFIX): str(value) for name, value in connection.extra_dejson.items()}
    settings = {name: value for name, value in fields.items() if name.startswith("fs.")}
    if not settings:
        raise _unusable(connection, "has no setting of Hadoop in its extra fields, such as fs.s3a.endpoint")
    return settings


def _extra(connection: StorageConnection, field: str) -> Any:
    """Return an extra field, with or without the prefix ``extra__TYPE__`` of older releases of Airflow."""
    extra = connection.extra_dejson
    return extra.get(field) or extra.get(f"extra__{connection.conn_type}__{field}")


def _unusable(connection: StorageConnection, why: str) -> DeltaConnectionError:
    return DeltaConnectionError(f"The connection {connection.conn_id!r} (storage_conn_id) {why}.")
