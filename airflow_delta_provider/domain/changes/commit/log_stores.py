"""Delta's log stores, and the schemes that they are safe for with concurrent writers.

Delta chooses a store by the scheme of the table's location (``DelegatingLogStore``), or from the session's
configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.report.finding import Finding

_RENAMING = frozenset({"file", "hdfs", "viewfs", "webhdfs", "swebhdfs"})
_AZURE = frozenset({"abfs", "abfss", "adl", "wasb", "wasbs"})
_S3 = frozenset({"s3", "s3a", "s3n"})

#: Packages of Delta's log stores. A class of the same name in another package may write differently.
_PACKAGES = frozenset({"io.delta.storage", "org.apache.spark.sql.delta.storage"})
#: Schemes that are safe for several writers, by class name of the log store. Delta uses ``HDFSLogStore`` for any
#: other scheme, even if renaming is not atomic there.
_SAFE: Mapping[str, frozenset[str]] = {
    "HDFSLogStore": _RENAMING | _AZURE,
    "LocalLogStore": frozenset({"file"}),
    "AzureLogStore": _AZURE | _RENAMING,
    "GCSLogStore": frozenset({"gs"}),
    "S3DynamoDBLogStore": _S3,
    "IBMCOSLogStore": frozenset({"cos"}),
    "OracleCloudLogStore": frozenset({"oci"}),
}

_REMEDY_ON_S3 = (
    "On S3, spark.delta.logStore.s3a.impl=io.delta.storage.S3DynamoDBLogStore is safe "
    "(io.delta:delta-storage-s3-dynamodb)."
)


def check_log_store(table: str, location: str, store: str) -> Finding | None:
    """Return a refusal if two writers may overwrite each other's commits.

    :param location: real location of the table as a URI, not a mount such as ``viewfs``
    :param store: class of the log store that Delta uses there
    """
    scheme = location.partition(":")[0].lower()
    package, _, name = store.rpartition(".")
    if package in _PACKAGES and scheme in _SAFE.get(name, ()):
        return None
    return requests.UNSAFE_LOG_STORE.found(
        "The log of {table} is written by {store}, which is not safe on {scheme}.",
        remedy=f"{_REMEDY_ON_S3} {requests.UNSAFE_LOG_STORE.remedy}" if scheme in _S3 else None,
        table=table,
        store=store,
        scheme=scheme,
    )
