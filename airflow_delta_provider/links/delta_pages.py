"""Links from a task to the pages of this provider's plugin.

They also work if Airflow's UI has no tab for them.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from airflow.providers.common.compat.sdk import BaseOperator, BaseOperatorLink

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
