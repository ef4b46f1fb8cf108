"""The plugin: a tab on task instances, a page in the navigation, and the application that serves both.

Airflow imports it in every process, including workers, so the first request imports the slow modules.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

#: Path of the application, below the address of the API server.
PREFIX = "delta-provider"


@cache
def _application() -> Any:
    from airflow_delta_provider.plugins.application import application

    return application()


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request, as an ASGI application."""
    await _application()(scope, receive, send)


class DeltaPlugin(AirflowPlugin):  # type: ignore[misc]  # Airflow's own types are not followed
    """Plugin that shows reports next to the tasks in Airflow's UI."""

    name = "airflow_delta_provider"
    fastapi_apps: ClassVar[list[Any]] = [{"app": serve, "url_prefix": f"/{PREFIX}", "name": "Delta reports"}]
    # Addresses without a leading slash are relative to Airflow's own address.
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Delta",
            "href": f"{PREFIX}/dags/{{DAG_ID}}/runs/{{RUN_ID}}/tasks/{{TASK_ID}}?map_index={{MAP_INDEX}}",
            "destination": "task_instance",
            "url_route": "delta",
        },
        {
            "name": "Delta tables",
            "href": f"{PREFIX}/tables",
            "destination": "nav",
            "category": "browse",
            "url_route": "delta-tables",
        },
    ]
