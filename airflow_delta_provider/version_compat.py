"""Parts of Airflow that not all releases have.

They are used if they exist, and only through this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple


class Part(NamedTuple):
    """A part of Airflow.

    :param since: first release that has it
    :param without: features that are lost in earlier releases, as sentences for the docs
    """

    since: str
    name: str
    without: tuple[str, ...]


TASK_STATE = Part(
    "Airflow 3.3",
    "state of a task, kept between its processes",
    (
        "A retry runs all tables of the task again, not only those that failed.",
        "A try that follows a killed worker submits its driver on a cluster again.",
        "A sensor with `deferrable=False` holds its worker while storage fails; so does one that waits for the next "
        "snapshot, the next commit or a change from now on.",
        "Receipts of reports are kept only in XCom: after a clear, findings may be sent once more.",
    ),
)
ASSET_STATE = Part(
    "Airflow 3.3",
    "state of an asset's watchers",
    ("A `DeltaTableEventTrigger` begins with the version that it finds when the triggerer starts.",),
)
SHARED_STREAMS = Part(
    "Airflow 3.3",
    "streams that triggers share",
    ("Each `DeltaTableEventTrigger` polls for itself.",),
)
TEAM = Part(
    "Airflow 3.3",
    "team of a DAG run",
    ("`allowed_locations` and `report_path` of a team do not count; those of all teams do.",),
)
RESPONSE_TIMEOUT = Part(
    "standard provider 1.13",
    "time for an answer of people, apart from `execution_timeout`",
    ("`response_timeout` of `DeltaApproveMigrationOperator` is its `execution_timeout`.",),
)
#: All parts; the docs page about compatibility is generated from them.
PARTS = (TASK_STATE, ASSET_STATE, SHARED_STREAMS, TEAM, RESPONSE_TIMEOUT)


def task_state(context: Mapping[str, Any]) -> Any:
    """Return the store of :data:`TASK_STATE`; None if there is none."""
    return context.get("task_state_store")


def asset_states(trigger: Any) -> list[Any]:
    """Return the stores of :data:`ASSET_STATE`, one for each asset that a trigger watches."""
    accessors = getattr(trigger, "asset_state_store", None)
    found: list[Any] = []
    for name in ("_by_name", "_by_uri"):  # the accessors have no public way to list several stores
        found += getattr(accessors, name, {}).values()
    return found


def team_of(context: Mapping[str, Any]) -> str | None:
    """Return the :data:`TEAM` of a task's DAG run; None if it has none."""
    team: str | None = getattr(context.get("dag_run"), "team_name", None)
    return team


def answer_within(timeout: timedelta, parameters: Mapping[str, Any]) -> dict[str, timedelta]:
    """Return the argument that limits the wait for an answer: see :data:`RESPONSE_TIMEOUT`.

    :param parameters: parameters of ``HITLOperator``
    """
    return {"response_timeout" if "response_timeout" in parameters else "execution_timeout": timeout}
