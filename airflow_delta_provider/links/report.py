"""Links from a task to its report and to the pages about its tables."""

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


#: Same as ``PREFIX`` of the plugin, which is not imported here.
_PREFIX = "delta-provider"


class DeltaPageLink(BaseOperatorLink):
    """Link to the page of a task's report."""

    name = "Delta page"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        """Return the address; empty if the task pushed no report.

        :param operator: the operator that ran
        :param ti_key: its task instance
        """
        if getattr(operator, "kept_report", None) is None or not operator.do_xcom_push:
            return ""
        return page_of_task(ti_key, ti_key.task_id)


class DeltaTablesLink(BaseOperatorLink):
    """Link to the list of all tables that tasks read."""

    name = "Delta tables"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:  # noqa: ARG002 the same for every operator
        """Return the address.

        :param operator: the operator that ran
        :param ti_key: its task instance
        """
        return _address(ti_key, "tables")


def page_of_task(instance: Any, task: str) -> str:
    """Return the address of a task's page in the same run as another task; empty if unknown.

    :param instance: the other task instance; a mapped one leads to the same map index
    """
    dag_id, run_id, task_id = (quote(part, safe="") for part in (instance.dag_id, instance.run_id, task))
    index = getattr(instance, "map_index", None)
    query = f"map_index={index}" if index is not None and index >= 0 else ""
    return _address(instance, f"dags/{dag_id}/runs/{run_id}/tasks/{task_id}", query)


def _address(instance: Any, page: str, query: str = "") -> str:
    """Return the address of a page. The log's address gives the address of the API server."""
    address = urlsplit(str(getattr(instance, "log_url", None) or ""))
    base, found, _ = address.path.rpartition("/dags/")
    if address.scheme not in ("http", "https") or not found:
        return ""
    return address._replace(path=f"{base}/{_PREFIX}/{page}", query=query, fragment="").geturl()
