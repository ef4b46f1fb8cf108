"""Services that keep incidents: PagerDuty, Opsgenie and Jira, through Airflow's own providers.

Each call may be repeated: a service recognizes the key of an incident, so that it neither opens nor resolves one twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.domain.text import printed, shortened, visible
from airflow_delta_provider.exceptions import DeltaRequestError

#: Name of this package in incidents, and prefix of their keys.
_SOURCE, _PREFIX = "airflow-delta-provider", "delta-"
#: Limits of the services for a title, in characters.
_MAX_PAGERDUTY, _MAX_OPSGENIE, _MAX_JIRA = 1024, 130, 255
#: Most characters of a message and of a fact. The description and the facts are then below the limits of all services:
#: Opsgenie's are 15,000 for the description, 8,000 for the facts, and 512 for the table.
_MAX_MESSAGE, MAX_FACT = 8000, 500


@dataclass(frozen=True)
class Incident:
    """An incident for one finding.

    :param key: key of the finding, the same as long as it is open; 32 hexadecimal digits
    :param owner: owner of the table, by the request; None if it names none
    :param facts: version, engine and further facts, by label
    :param log_url: address of the task's log
    """

    key: str
    table: str
    code: str
    title: str = ""
    severity: Severity = Severity.ERROR
    message: str = ""
    owner: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    log_url: str | None = None

    @property
    def name(self) -> str:
        """The key with a prefix: deduplication key, alias or label."""
        return f"{_PREFIX}{self.key}"

    @property
    def subject(self) -> str:
        """One line: rule and table."""
        return visible(f"{self.code} {self.title}: {self.table}")

    @property
    def text(self) -> str:
        """Message and facts as plain text."""
        message = shortened(self.message, _MAX_MESSAGE)
        lines = [*message.split("\n"), "", *(f"{label}: {value}" for label, value in self.facts.items())]
        return "\n".join(printed([*lines, *filter(None, [self.log_url])]))


class IncidentTarget(ABC):
    """A service that keeps incidents.

    :param name: name in the notifier's state; two targets of one notifier need different names
    """

    name: str

    @abstractmethod
    def open(self, incident: Incident) -> None:
        """Open an incident, unless the service has one with the same key that is open."""

    @abstractmethod
    def resolve(self, incident: Incident) -> None:
        """Resolve the open incident with the key, if there is one.

        Only key, table, code and owner of the incident are known.
        """


@dataclass(frozen=True)
class PagerDutyIncidents(IncidentTarget):
    """PagerDuty, by its Events API v2. Needs ``apache-airflow-providers-pagerduty``.

    :param conn_id: connection with the integration key of a service
    :param routes: connections of other services, by owner of the table
    :param name: name in the notifier's state
    """

    conn_id: str = "pagerduty_events_default"
    routes: Mapping[str, str] = field(default_factory=dict)
    name: str = "pagerduty"

    def open(self, incident: Incident) -> None:
        """Send a trigger event; PagerDuty adds it to the open alert with the same deduplication key."""
        level = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.UNDECIDED: "warning"}
        links = [{"href": incident.log_url, "text": "Log"}] if incident.log_url else None
        self._hook(incident).send_event(
            summary=shortened(incident.subject, _MAX_PAGERDUTY),
            severity=level[incident.severity],
            source=shortened(visible(incident.table), MAX_FACT),
            action="trigger",
            dedup_key=incident.name,
            custom_details={"message": incident.text, **incident.facts},
            component=shortened(visible(incident.table), MAX_FACT),
            group=incident.owner,
            class_type=incident.code,
            links=links,
        )

    def resolve(self, incident: Incident) -> None:
        """Send a resolve event; PagerDuty ignores it if no alert with the deduplication key is open."""
        self._hook(incident).send_event(
            summary=shortened(incident.subject, _MAX_PAGERDUTY),
            severity="info",
            source=shortened(visible(incident.table), MAX_FACT),
            action="resolve",
            dedup_key=incident.name,
        )

    def _hook(self, incident: Incident) -> Any:
        hook = _hook("pagerduty", "pagerduty.hooks.pagerduty_events:PagerdutyEventsHook")
        return hook(pagerduty_events_conn_id=self.routes.get(incident.owner or "", self.conn_id))


@dataclass(frozen=True)
class OpsgenieIncidents(IncidentTarget):
    """Opsgenie, by its Alert API. Needs ``apache-airflow-providers-opsgenie``.

    :param conn_id: connection with the API key
    :param routes: names of teams that respond, by owner of the table
    :param name: name in the notifier's state
    """

    conn_id: str = "opsgenie_default"
    routes: Mapping[str, str] = field(default_factory=dict)
    name: str = "opsgenie"

    def open(self, incident: Incident) -> None:
        """Create an alert; Opsgenie counts it for the open alert with the same alias."""
        priority = {Severity.ERROR: "P2", Severity.WARNING: "P4", Severity.UNDECIDED: "P3"}
        payload: dict[str, Any] = {
            "message": shortened(incident.subject, _MAX_OPSGENIE),
            "alias": incident.name,
            "description": incident.text,
            "source": _SOURCE,
            "entity": shortened(visible(incident.table), MAX_FACT),
            "tags": [_SOURCE, incident.code],
            "priority": priority[incident.severity],
            "details": dict(incident.facts),
        }
        if (team := self.routes.get(incident.owner or "")) is not None:
            payload["responders"] = [{"name": team, "type": "team"}]
        self._hook().create_alert(payload)

    def resolve(self, incident: Incident) -> None:
        """Close the alert with the alias; Opsgenie ignores it if none is open."""
        note = "The finding does not apply any more, or was accepted."
        self._hook().close_alert(
            identifier=incident.name, identifier_type="alias", payload={"source": _SOURCE, "note": note}
        )

    def _hook(self) -> Any:
        return _hook("opsgenie", "opsgenie.hooks.opsgenie:OpsgenieAlertHook")(opsgenie_conn_id=self.conn_id)


@dataclass(frozen=True)
class JiraIncidents(IncidentTarget):
    """Jira, by its REST API. Needs ``apache-airflow-providers-atlassian-jira``.

    An issue has the key of its finding as a label. Jira has no key of its own for this purpose, so issues are searched
    by the label first.

    :param project: key of the project
    :param conn_id: connection of Jira
    :param routes: keys of other projects, by owner of the table
    :param issue_type: type of new issues
    :param done: name of the status for resolved issues
    :param fields: further fields of new issues
    :param name: name in the notifier's state
    """

    project: str
    conn_id: str = "jira_default"
    routes: Mapping[str, str] = field(default_factory=dict)
    issue_type: str = "Bug"
    done: str = "Done"
    fields: Mapping[str, Any] = field(default_factory=dict)
    name: str = "jira"

    def open(self, incident: Incident) -> None:
        """Create an issue, unless one with the label is open."""
        client = self._client()
        if self._open_issues(client, incident):
            return
        client.issue_create(
            {
                **self.fields,
                "project": {"key": self.routes.get(incident.owner or "", self.project)},
                "issuetype": {"name": self.issue_type},
                "summary": shortened(incident.subject, _MAX_JIRA),
                "description": incident.text,
                "labels": [*self.fields.get("labels", ()), _SOURCE, incident.name],
            }
        )

    def resolve(self, incident: Incident) -> None:
        """Move each open issue with the label to the status for resolved issues."""
        client = self._client()
        for issue in self._open_issues(client, incident):
            client.set_issue_status(issue, self.done)

    def _client(self) -> Any:
        return _hook("atlassian-jira", "atlassian.jira.hooks.jira:JiraHook")(jira_conn_id=self.conn_id).get_conn()

    def _open_issues(self, client: Any, incident: Incident) -> list[str]:
        """Return the keys of the open issues of an incident."""
        found = client.jql(f'labels = "{incident.name}" AND statusCategory != Done', fields=["status"], limit=50)
        return [str(issue["key"]) for issue in found["issues"]]


def _hook(package: str, place: str) -> Callable[..., Any]:
    """Return the class of a provider's hook.

    :raises DeltaRequestError: if the provider is not installed
    """
    module, _, name = place.partition(":")
    try:
        return getattr(import_module(f"airflow.providers.{module}"), name)  # type: ignore[no-any-return]
    except ImportError as error:
        raise DeltaRequestError(f"Install apache-airflow-providers-{package} on the workers: {error}.") from error
