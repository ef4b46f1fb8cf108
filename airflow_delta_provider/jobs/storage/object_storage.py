"""Object stores without a JVM: S3, Google Cloud Storage and Azure, through obstore."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow_delta_provider.jobs.storage.errors import (
    FileChangedError,
    MissingFileError,
    SilentStoreError,
    StorageError,
    UnconditionalError,
    UnreachableError,
    may_pass,
    reported,
)
from airflow_delta_provider.jobs.storage.remote_storage import RemoteStorage, StoreUri, persistent

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


def delta_options(scheme: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options for the package ``deltalake``, which reads credentials and regions from the environment.

    :param scheme: scheme of the location
    :param options: options that were given, with obstore's names
    """
    prefixes = _AZURE if _OPENED_BY[scheme] is _open_azure else _GOOGLE if _OPENED_BY[scheme] is _open_google else _AWS
    config = {name: value for name, value in _config(options, prefixes).items() if name not in _DEFAULTS}
    endpoint = next((config[name] for name in ("endpoint", "endpoint_url") if name in config), "")
    if prefixes is _AWS:
        endpoint = endpoint or next(filter(None, map(os.environ.get, _AWS_ENDPOINTS)), "")
    if prefixes is _AZURE:
        config = {**_azure_environment(), **config}
    if endpoint.startswith("http://"):
        config.setdefault("allow_http", "true")
    return {**_DEFAULTS, **config}


#: Stores that list names in order, and from a given name on.
_IN_ORDER = frozenset({"s3", "s3a", "s3n", "gs", "gcs"})
#: Ending of the names of buckets that list in no order: Amazon's directory buckets.
_UNORDERED = "--x-s3"
#: Seconds after which a bucket that never answered is given up, because it may hold many tables.
_PATIENCE = 5.0
#: Sorts after all names in a directory, or after all names with a given prefix.
_LAST = "\U0010fffd"
_PAGE = 1000

Opens = Callable[[StoreUri, Mapping[str, str]], Any]


@dataclass
class _Bucket:
    """The store of a bucket. It is given up if it never answered and has been failing for a while."""

    store: Any
    answered: bool = False
    failing_since: float | None = None

    def failed(self) -> None:
        """Record that it did not answer."""
        self.failing_since = self.failing_since or time.monotonic()

    def check(self, path: str) -> None:
        """Check that the bucket may still answer.

        :raises SilentStoreError: if it has been given up
        """
        if self.answered or self.failing_since is None:
            return
        if time.monotonic() - self.failing_since > _PATIENCE:
            raise SilentStoreError(path)


class ObjectStorage(RemoteStorage):
    """Lists, reads and writes objects as files. Stores have no directories: an empty one counts as missing.

    :param options: see :mod:`.object_stores`; by default everything comes from the environment
    :param opens: opens the store of a bucket
    """

    def __init__(self, options: Mapping[str, str] | None = None, opens: Opens = open_store) -> None:
        super().__init__()
        self._options = options or {}
        self._opens = opens
        self._buckets: dict[str, _Bucket] = {}
        self._opening = threading.Lock()

    @persistent(may_pass)
    def list_names(self, directory: str) -> list[str]:
        import obstore

        with self._asking(directory) as (store, key):
            found = obstore.list_with_delimiter(store, key or None)
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        # A directory may be marked by an empty object of its own name.
        names = dict.fromkeys(path.rsplit("/", 1)[-1] for path in paths if path != key)
        if not names and key:
            raise MissingFileError(directory)
        return list(names)

    @persistent(may_pass)
    def list_folders(self, directory: str) -> list[str]:
        """Return the names of the directories directly in ``directory`` that are not empty."""
        import obstore

        with self._asking(directory) as (store, key):
            found = obstore.list_with_delimiter(store, key or None)
        if key and not found["common_prefixes"] and not found["objects"]:
            raise MissingFileError(directory)
        return [path.rsplit("/", 1)[-1] for path in found["common_prefixes"]]

    @persistent(may_pass)
    def list_from(self, directory: str, name: str) -> list[str]:
        """Return the names directly in ``directory`` that are ``name`` or sort after it.

        Earlier names are not requested if the store can list from a name on.
        """
        uri = StoreUri.of(directory)
        if uri.scheme not in _IN_ORDER or uri.authority.endswith(_UNORDERED):
            return [found for found in self.list_names(directory) if found >= name]
        with self._asking(directory) as (store, key):
            names = [found for found in _scan(store, key, name) if found >= name]
            if not names and next(_scan(store, key, ""), None) is None:
                raise MissingFileError(directory)
        return names

    @persistent(may_pass)
    def read(self, path: str) -> bytes:
        return self._get(path)[0]

    @persistent(may_pass)
    def size(self, path: str) -> int:
        return int(self._head(path)["size"])

    @persistent(may_pass)
    def written_at(self, path: str) -> datetime:
        written: datetime = self._head(path)["last_modified"]
        return written.replace(microsecond=written.microsecond // 1000 * 1000)

    @persistent(may_pass)
    def read_range(self, path: str, start: int, end: int) -> bytes:
        import obstore

        if start >= end:
            return b""
        try:
            with self._asking(path) as (store, key):
                return bytes(obstore.get_range(store, key, start=start, end=end))
        except Exception:
            if self._head(path)["size"] <= start:  # each store reports such a range as a different error
                return b""
            raise

    @persistent(may_pass)
    def write(self, path: str, content: bytes) -> None:
        self._put(path, content, "overwrite")

    @persistent(may_pass)
    def read_stamped(self, path: str) -> tuple[bytes, str]:
        content, meta = self._get(path)
        stamp = {name: meta[name] for name in ("e_tag", "version") if meta.get(name)}
        return content, json.dumps(stamp) if stamp else ""

    @persistent(may_pass)
    def replace(self, path: str, content: bytes, stamp: str | None) -> bool:
        """Write a file if nobody else wrote it meanwhile; return True if it was written.

        The store checks and writes atomically. If a connection broke, the file may have been written although this
        returns False.

        :param stamp: stamp of the content that is replaced; None if the file must not exist. If the store gave no
            stamp, or has no conditional writes, the file is always written.
        """
        mode: Any = "create" if stamp is None else json.loads(stamp) if stamp else "overwrite"
        try:
            self._put(path, content, mode)
        except (FileChangedError, MissingFileError):
            return False
        except UnconditionalError:
            self.write(path, content)
        return True

    def _get(self, path: str) -> tuple[bytes, Mapping[str, Any]]:
        import obstore

        with self._asking(path) as (store, key):
            got = obstore.get(store, key)
            return bytes(got.bytes()), got.meta

    def _head(self, path: str) -> Mapping[str, Any]:
        import obstore

        with self._asking(path) as (store, key):
            meta: Mapping[str, Any] = obstore.head(store, key)
            return meta

    def _put(self, path: str, content: bytes, mode: Any) -> None:
        import obstore

        with self._asking(path) as (store, key):
            obstore.put(store, key, content, mode=mode)

    @contextmanager
    def _asking(self, path: str) -> Iterator[tuple[Any, str]]:
        """Yield the store of a path, and the key in it. Errors are translated to their meaning."""
        uri = StoreUri.of(path)
        bucket = self._bucket(uri)
        bucket.check(path)
        try:
            with reported(path):
                yield bucket.store, uri.key
        except UnreachableError:
            bucket.failed()
            raise
        except (MissingFileError, StorageError):
            bucket.answered = True
            raise
        bucket.answered = True

    def _bucket(self, uri: StoreUri) -> _Bucket:
        with self._opening:
            if uri.root not in self._buckets:
                with reported(str(uri)):
                    self._buckets[uri.root] = _Bucket(self._opens(uri, self._options))
            return self._buckets[uri.root]


def _scan(store: Any, key: str, name: str) -> Iterator[str]:
    """Yield names from about ``name`` on. Content of subdirectories is skipped, with one request for each."""
    import obstore

    below = f"{key}/" if key else ""
    after: str | None = below + _before(name)
    passed = ""
    while after is not None:
        pages = obstore.list(store, key or None, offset=after or None, chunk_size=_PAGE)
        after = None
        for item in (item for page in pages for item in page):
            found, deeper, _ = item["path"][len(below) :].partition("/")
            if not found or (deeper and found == passed):
                continue
            yield found
            if deeper:
                passed, after = found, f"{below}{found}/{_LAST}"
                break


def _before(name: str) -> str:
    """Return a string that sorts before ``name``, and after most smaller names."""
    return f"{name[:-1]}{chr(ord(name[-1]) - 1)}{_LAST}" if name > "!" and name[-1] > "!" else ""
