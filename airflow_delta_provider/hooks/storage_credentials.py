"""Hadoop settings from an Airflow connection of a store, for jobs that read the store with Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from airflow_delta_provider.domain.table_name import TableName, TableNameError
from airflow_delta_provider.exceptions import DeltaConnectionError

#: Function that writes a file that nobody else can read, from a name and a text.
Keep = Callable[[str, str], Path]

_PREFIX = "spark.hadoop."
_S3A = "org.apache.hadoop.fs.s3a"
_ABFS = "org.apache.hadoop.fs.azurebfs.oauth2"
_AMAZON = frozenset({"s3", "s3a", "s3n"})
_AZURE = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_GOOGLE = frozenset({"gs"})


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
    connection: StorageConnection, locations: Iterable[str], *, local: bool, keep: Keep
) -> dict[str, str]:
    """Return the Spark settings that give Hadoop the credentials and the endpoint of a connection.

    For S3 they apply only to the buckets of ``locations``, for Azure only to their accounts. If a location is a catalog
    name, its bucket is unknown here, so they apply to all of S3. Hadoop's connector for Google supports one account.

    :param locations: names of tables, and other places in the store
    :param local: True if all of Spark runs on this machine
    :param keep: function that writes a file, for values that Hadoop reads only from files
    :raises DeltaConnectionError: if the connection has another type or a field that Hadoop cannot use, or fits no
        location
    """
    kind = connection.conn_type
    hosts = tuple(dict.fromkeys(_host(location) for location in locations))
    if kind == "aws":
        settings = _of_buckets(_amazon(connection), _fitting(connection, hosts, _AMAZON), whole=("", "") in hosts)
    elif kind == "google_cloud_platform":
        _fitting(connection, hosts, _GOOGLE)
        settings = _google(connection, local=local, keep=keep)
    elif kind in ("adls", "wasb", "azure_data_lake"):
        settings = {}
        for scheme, host in _fitting(connection, hosts, _AZURE):
            settings |= _azure(connection, scheme, host)
    elif kind == "generic":
        settings = _generic(connection)
    else:
        raise _unusable(
            connection,
            f"is of type {kind!r}. Use aws, adls, wasb, google_cloud_platform, or generic with Hadoop's fs.*",
        )
    return {f"{_PREFIX}{name}": value for name, value in settings.items()}


def _host(location: str) -> tuple[str, str]:
    """Return the scheme and the authority of a location; both are empty for a catalog name."""
    try:
        name = TableName.parse(location).location
    except TableNameError:  # the table's own report has the error
        return "", ""
    scheme, separator, rest = (name or "").partition("://")
    if separator:
        return scheme.lower(), rest.partition("/")[0]
    return ("file", "") if name else ("", "")


def _fitting(
    connection: StorageConnection, hosts: Iterable[tuple[str, str]], schemes: frozenset[str]
) -> list[tuple[str, str]]:
    fitting = [(scheme, host) for scheme, host in hosts if scheme in schemes]
    if not fitting and ("", "") not in hosts:
        known = ", ".join(f"{scheme}://" for scheme in sorted(schemes))
        raise _unusable(connection, f"is of type {connection.conn_type!r}, and no table lies in {known}")
    if not fitting and schemes is _AZURE:
        raise _unusable(
            connection, "needs tables that are named by their URI: credentials of Azure are those of an account"
        )
    return fitting


def _amazon(connection: StorageConnection) -> dict[str, str]:
    extra = connection.extra_dejson
    for field in ("profile_name", "assume_role_with_web_identity_token_file"):
        if extra.get(field):
            raise _unusable(connection, f"has {field}, which Hadoop cannot use. Give keys, or role_arn")
    if extra.get("assume_role_method", "assume_role") != "assume_role":
        raise _unusable(connection, "has an assume_role_method that Hadoop cannot use. Only assume_role is known to it")
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


def _of_buckets(settings: Mapping[str, str], buckets: Iterable[tuple[str, str]], *, whole: bool) -> dict[str, str]:
    if whole:
        return {f"fs.s3a.{name}": value for name, value in settings.items()}
    return {f"fs.s3a.bucket.{bucket}.{name}": value for _, bucket in buckets for name, value in settings.items()}


def _azure(connection: StorageConnection, scheme: str, authority: str) -> dict[str, str]:
    container, at, host = authority.rpartition("@")
    if not at:
        raise _unusable(
            connection, f"needs the account in the table's URI: {scheme}://CONTAINER@ACCOUNT.dfs.core.windows.net/"
        )
    known = dict(
        part.split("=", 1) for part in (_extra(connection, "connection_string") or "").split(";") if "=" in part
    )
    account = _extra(connection, "account_name") or known.get("AccountName") or _account(connection)
    if account and account != host.partition(".")[0]:
        raise _unusable(connection, f"is of the storage account {account!r}, and a table lies in {host}")
    tenant = _extra(connection, "tenant_id")
    sas = (_extra(connection, "sas_token") or known.get("SharedAccessSignature") or "").lstrip("?")
    key = _extra(connection, "account_key") or known.get("AccountKey") or (None if tenant else connection.password)
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
    """Return the account named by a connection's host or, for type wasb with a key, by its login."""
    host = (connection.host or "").partition("://")[2] or connection.host or ""
    if host:
        return host.partition("/")[0].partition(".")[0]
    return connection.login if not _extra(connection, "tenant_id") else None


def _google(connection: StorageConnection, *, local: bool, keep: Keep) -> dict[str, str]:
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
        if not local:  # files of this machine are not available there
            return settings | {
                "fs.gs.auth.service.account.email": document["client_email"],
                "fs.gs.auth.service.account.private.key.id": document["private_key_id"],
                "fs.gs.auth.service.account.private.key": document["private_key"],
            }
        path = str(keep("google-key.json", json.dumps(document)))
    if path:
        settings |= {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", "fs.gs.auth.service.account.json.keyfile": path}
    return settings


def _generic(connection: StorageConnection) -> dict[str, str]:
    named = {name.removeprefix(_PREFIX): str(value) for name, value in connection.extra_dejson.items()}
    settings = {name: value for name, value in named.items() if name.startswith("fs.")}
    if not settings:
        raise _unusable(connection, "has no setting of Hadoop in its extra fields, such as fs.s3a.endpoint")
    return settings


def _extra(connection: StorageConnection, field: str) -> Any:
    """Return an extra field, also if it has the prefix of old connections."""
    extra = connection.extra_dejson
    return extra.get(field) or extra.get(f"extra__{connection.conn_type}__{field}")


def _unusable(connection: StorageConnection, why: str) -> DeltaConnectionError:
    return DeltaConnectionError(f"The connection {connection.conn_id!r} (storage_conn_id) {why}.")
