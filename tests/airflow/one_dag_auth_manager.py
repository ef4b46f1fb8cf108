"""An auth manager that keeps DAGs apart, which Airflow's simple one does not."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

MINE, OTHERS = "mine", "others"


class OneDagAuthManager(SimpleAuthManager):
    """``ann`` may read all of the DAG ``mine``; ``bob`` may read it but for its XComs; ``root`` may read everything."""

    def is_authorized_dag(self, *, user: Any, access_entity: Any = None, details: Any = None, **_: Any) -> bool:
        """Decide by the name of the user."""
        if user.username == "root":
            return True
        if details is None or details.id != MINE:
            return False
        return bool(user.username == "ann" or access_entity is not DagAccessEntity.XCOM)


def token_of(manager: Any, name: str) -> str:
    """Return the token with which a user signs in."""
    return str(manager.generate_jwt(SimpleAuthManagerUser(username=name, role="VIEWER")))
