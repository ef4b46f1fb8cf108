"""Link from a task to its report."""

from __future__ import annotations

import logging
import os
import re
from typing import Any
from urllib.parse import quote, urlsplit

from airflow.providers.common.compat.sdk import BaseHook, BaseOperator, BaseOperatorLink

log = logging.getLogger(__name__)

_LOCATION = re.compile(r"(?P<scheme>[a-z0-9+.-]+)://(?:(?P<connection>[^/@]*)@)?(?P<bucket>[^/]+)/(?P<key>.+)")
#: Environment variables with the address of another S3 store, for Amazon's client.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_S3, _GCS = ("s3", "s3a", "s3n"), ("gs", "gcs")


class DeltaReportLink(BaseOperatorLink):
    """Link to the whole report of a task: to its file in the store's web console, if the store has one.

    Otherwise it leads to the task's XComs, whose ``report_path`` names the file. Without XComs, it leads to the log,
    which also names the file.
    """

    name = "Delta report"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """Return the address; empty if the task has no report.

        Airflow calls this in the task's process, at its end.

        :param operator: the operator that ran
        :param ti_key: its task instance
        """
        kept = getattr(operator, "kept_report", None)
        if kept is None:
            return ""
        return _console(kept.place.path or "") or _page(ti_key, has_xcoms=operator.do_xcom_push)


def _console(path: str) -> str | None:
    """Return the address of a file in the store's web console; None if unknown."""
    if path.startswith(("http://", "https://")):
        return path
    found = _LOCATION.fullmatch(path)
    if found is None:
        return None
    bucket, key = quote(found["bucket"]), found["key"]
    if found["scheme"] in _S3 and not _has_own_endpoint(found["connection"]):
        return f"https://console.aws.amazon.com/s3/object/{bucket}?prefix={quote(key, safe='')}"
    if found["scheme"] in _GCS:
        return f"https://console.cloud.google.com/storage/browser/_details/{bucket}/{quote(key)}"
    return None


def _has_own_endpoint(connection: str | None) -> bool:
    """Return True if an S3 store is not Amazon's, or its connection cannot be read."""
    if any(os.environ.get(name) for name in _ENDPOINTS):
        return True
    if not connection:
        return False
    try:
        extra = BaseHook.get_connection(connection).extra_dejson
    except Exception:
        log.exception("Connection %s could not be read", connection)
        return True
    own = (extra.get("service_config") or {}).get("s3") or {}
    return any(known.get("endpoint_url") for known in (own, extra)) or bool(extra.get("host"))


def _page(instance: Any, *, has_xcoms: bool) -> str:
    """Return the page of the task's XComs, or of its log."""
    log_url = str(getattr(instance, "log_url", None) or "")
    address = urlsplit(log_url)
    if not has_xcoms or address.scheme not in ("http", "https"):
        return log_url
    return address._replace(path=f"{address.path.rstrip('/')}/xcom").geturl()
