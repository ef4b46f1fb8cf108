"""Options for the package ``deltalake`` from an Airflow connection of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.report.findings_table import FindingsTableError

_AMAZON, _GOOGLE = frozenset({"s3", "s3a", "s3n"}), frozenset({"gs", "gcs"})
_AZURE = frozenset({"abfs", "abfss", "az", "azure", "wasb", "wasbs"})
#: Ways to credentials that only Amazon's own packages know.
_ONLY_AMAZON = ("role_arn", "profile_name", "assume_role_with_web_identity_token_file")


def delta_options(conn_id: str, location: str) -> Mapping[str, str]:
    """Return the options with which ``deltalake`` reaches a location's store; empty for local files.

    :param conn_id: Airflow connection of the store
    :raises FindingsTableError: if the connection has something that ``deltalake`` cannot use, or fits no such store
    """
    scheme = location.partition("://")[0].lower()
    if scheme in ("file", location.lower()):
        return {}
    # This import takes seconds the first time, so it runs only if needed.
    from airflow.providers.common.compat.sdk import BaseHook

    connection = BaseHook.get_connection(conn_id)
    if connection.conn_type == "aws" and scheme in _AMAZON:
        options = _amazon(connection)
    elif connection.conn_type == "google_cloud_platform" and scheme in _GOOGLE:
        options = _google(connection)
    elif connection.conn_type in ("adls", "wasb", "azure_data_lake") and scheme in _AZURE:
        options = _azure(connection)
    else:
        raise _unusable(conn_id, f"is of type {connection.conn_type!r}, which has no options for {scheme}://")
    found = {name: str(value) for name, value in options.items() if value}
    if found.get("endpoint", "").startswith("http://"):
        found["allow_http"] = "true"
    return found


def _amazon(connection: Any) -> dict[str, Any]:
    extra = connection.extra_dejson
    if used := [field for field in _ONLY_AMAZON if extra.get(field)]:
        raise _unusable(connection.conn_id, f"has {used[0]}, which deltalake cannot use. Give keys")
    service = (extra.get("service_config") or {}).get("s3") or {}
    return {
        "access_key_id": connection.login or extra.get("aws_access_key_id"),
        "secret_access_key": connection.password or extra.get("aws_secret_access_key"),
        "session_token": extra.get("aws_session_token"),
        "region": extra.get("region_name"),
        "endpoint": service.get("endpoint_url") or extra.get("endpoint_url"),
    }


def _google(connection: Any) -> dict[str, Any]:
    key = _extra(connection, "keyfile_dict")
    return {
        "google_service_account_key": key if key is None or isinstance(key, str) else json.dumps(key),
        "google_service_account": _extra(connection, "key_path"),
    }


def _azure(connection: Any) -> dict[str, Any]:
    text = _extra(connection, "connection_string") or ""
    known = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    tenant = _extra(connection, "tenant_id")
    host = (connection.host or "").partition("://")[2] or connection.host or ""
    account = _extra(connection, "account_name") or known.get("AccountName") or host.partition(".")[0]
    sas = _extra(connection, "sas_token") or known.get("SharedAccessSignature")
    return {
        "account_name": account or (None if tenant else connection.login),
        "account_key": _extra(connection, "account_key")
        or known.get("AccountKey")
        or (None if tenant or sas else connection.password),
        "sas_token": None if sas is None else sas.lstrip("?"),
        "tenant_id": tenant,
        "client_id": connection.login if tenant else None,
        "client_secret": connection.password if tenant else None,
        "endpoint": known.get("BlobEndpoint"),
    }


def _extra(connection: Any, field: str) -> Any:
    """Return an extra field, also if it has the prefix of old connections."""
    extra = connection.extra_dejson
    return extra.get(field) or extra.get(f"extra__{connection.conn_type}__{field}")


def _unusable(conn_id: str, why: str) -> FindingsTableError:
    return FindingsTableError(f"the connection {conn_id!r} (storage_conn_id) {why}, or use the engine spark")
