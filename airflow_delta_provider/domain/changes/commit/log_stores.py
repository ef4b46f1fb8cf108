"""Delta's log stores: with which of them a commit never takes the place of another one.

Delta chooses one by the scheme of the table's location (``DelegatingLogStore``), or as the session is configured.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.report.finding import Finding

_RENAMING = frozenset({"file", "hdfs", "viewfs", "webhdfs", "swebhdfs"})
_AZURE = frozenset({"abfs", "abfss", "adl", "wasb", "wasbs"})
_S3 = frozenset({"s3", "s3a", "s3n"})

#: The schemes on which a log store, by the name of its class, is safe for several writers. ``HDFSLogStore`` is what
#: any other scheme gets, whether its renaming is atomic or not: also viewfs, whatever that stands for.
_SAFE: Mapping[str, frozenset[str]] = {
    "HDFSLogStore": _RENAMING | _AZURE,
    "LocalLogStore": frozenset({"file"}),
    "AzureLogStore": _AZURE | _RENAMING,
    "GCSLogStore": frozenset({"gs"}),
    "S3DynamoDBLogStore": _S3,
    "IBMCOSLogStore": frozenset({"cos"}),
    "OracleCloudLogStore": frozenset({"oci"}),
}


def check_log_store(table: str, location: str, store: str) -> Finding | None:
    """Return a refusal where two writers may overwrite each other's commits.

    :param location: where the table lies, as a URI: not by a name of another file system such as ``viewfs``
    :param store: class of the log store that Delta uses there
    """
    scheme = location.partition(":")[0].lower()
    if scheme in _SAFE.get(store.rpartition(".")[2], ()):
        return None
    return requests.UNSAFE_LOG_STORE.finding(
        f"The log of {table} is written by {store} on {scheme}:, which is not known to keep writers in different "
        "processes from overwriting each other's commits. Configure a log store that does (for S3: "
        "spark.delta.logStore.s3a.impl=io.delta.storage.S3DynamoDBLogStore, of io.delta:delta-storage-s3-dynamodb), "
        "or, where no other process writes to the table meanwhile, repeat the request with "
        "allow_unsafe_log_store=True (--allow-unsafe-log-store)."
    )
