"""Opens buckets and containers with obstore, from each cloud's usual environment variables and from options.

Options have obstore's names (``region``, ``endpoint``, ``account_name``, ``timeout``, …), optionally prefixed with
the cloud as in the environment (``aws_region``). Options of another cloud are ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow_delta_provider.jobs.storage.store_uri import StoreUri

#: Defaults: a server that answers slowly is waited for, one that sends nothing is not.
_DEFAULTS = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "600s"}
#: No retries in obstore: this package repeats a try only if that may help.
_ONCE = {"max_retries": 0}
_AWS, _AZURE, _GOOGLE = ("aws_",), ("azure_",), ("google_", "gcs_")
_AWS_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
#: Environment variables of Azure's own tools that obstore does not read.
_AZURE_NAMES = {"AZURE_STORAGE_ACCOUNT": "account_name", "AZURE_STORAGE_KEY": "account_key"}
#: Parts of an Azure connection string.
_AZURE_PARTS = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
_AZURE_CLOUD = ".core.windows.net"
#: Lifetime of credentials from a profile before the profile is read again.
_PROFILE_LIFETIME = timedelta(minutes=10)


def open_store(uri: StoreUri, options: Mapping[str, str]) -> Any:
    """Return obstore's store for the bucket or container of a URI.

    :raises ImportError: if obstore is not installed
    :raises Exception: obstore's own error, if options are invalid
    """
    return _OPENED_BY[uri.scheme](uri, options)


def _open_s3(uri: StoreUri, options: Mapping[str, str]) -> Any:
    from obstore.store import S3Store

    config = _config(options, _AWS)
    endpoint = next(filter(None, map(os.environ.get, _AWS_ENDPOINTS)), "")
    endpoint = next((config[name] for name in ("endpoint", "endpoint_url") if name in config), endpoint)
    if endpoint.startswith("http://"):
        config.setdefault("allow_http", "true")
    provider = None if _has_keys(config) else _of_profile(config)
    return S3Store(uri.container, config=config, retry_config=_ONCE, credential_provider=provider)


def _has_keys(config: Mapping[str, str]) -> bool:
    """Return True if options or environment contain credentials, or request none."""
    return bool({"access_key_id", "skip_signature"} & set(config)) or bool(
        {"AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE"} & set(os.environ)
    )


def _of_profile(config: dict[str, str]) -> Callable[[], Any] | None:
    """Return a provider of the credentials of an AWS profile; None without a profile, or without botocore.

    The profile's region is added to ``config`` unless another region is set.
    """
    files = (
        os.environ.get("AWS_CONFIG_FILE", "~/.aws/config"),
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
    )
    if not any(Path(file).expanduser().exists() for file in files):
        return None
    try:
        from botocore.session import Session
    except ImportError:
        return None
    session = Session()
    credentials = session.get_credentials()
    region = session.get_config_variable("region")
    if region and "region" not in config and "AWS_REGION" not in os.environ:
        config["region"] = region
    if credentials is None:
        return None

    def provided() -> dict[str, Any]:
        frozen = credentials.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(timezone.utc) + _PROFILE_LIFETIME,
        }

    return provided


def _open_azure(uri: StoreUri, options: Mapping[str, str]) -> Any:
    from obstore.store import AzureStore

    host = uri.authority.partition("@")[2]
    config = {**_azure_environment(), **_config(options, _AZURE)}
    if host:
        config["account_name"] = host.partition(".")[0]
    if host and not host.endswith(_AZURE_CLOUD):
        config.setdefault("endpoint", f"https://{host.replace('.dfs.', '.blob.', 1)}")
    if config.get("endpoint", "").startswith("http://"):
        config.setdefault("allow_http", "true")
    return AzureStore(uri.container, config=config, retry_config=_ONCE)


def _azure_environment() -> dict[str, str]:
    """Return options from the environment variables that obstore does not read itself."""
    found = {option: os.environ[name] for name, option in _AZURE_NAMES.items() if os.environ.get(name)}
    for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"):
        name, _, value = part.partition("=")
        if name in _AZURE_PARTS and value:
            found[_AZURE_PARTS[name]] = value
    return found


def _open_google(uri: StoreUri, options: Mapping[str, str]) -> Any:
    from obstore.store import GCSStore

    config = _config(options, _GOOGLE)
    if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):
        config = {**_emulated(emulator), **config}
    return GCSStore(uri.container, config=config, retry_config=_ONCE)


def _emulated(emulator: str) -> dict[str, str]:
    """Return options for a server that needs no token. ``skip_signature`` alone works only for reading."""
    address = emulator if "://" in emulator else f"http://{emulator}"
    account = {
        "gcs_base_url": address,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    return {"service_account_key": json.dumps(account), "skip_signature": "true", "allow_http": "true"}


def _config(options: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return the options of a cloud and the common options, without the cloud's prefix."""
    config = dict(_DEFAULTS)
    for name, value in options.items():
        lowered = name.lower()
        if own := next((prefix for prefix in prefixes if lowered.startswith(prefix)), ""):
            config[lowered.removeprefix(own)] = value
        elif not lowered.startswith(_AWS + _AZURE + _GOOGLE):
            config[lowered] = value
    return config


_OPENED_BY: Mapping[str, Callable[[StoreUri, Mapping[str, str]], Any]] = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _open_s3),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "wasb", "wasbs"), _open_azure),
    **dict.fromkeys(("gcs", "gs"), _open_google),
}
#: Schemes that obstore can open.
SCHEMES = frozenset(_OPENED_BY)
