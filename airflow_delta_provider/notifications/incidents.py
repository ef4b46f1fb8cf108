"""Incidents: one for each open finding, which ends when the finding does."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import BaseNotifier, Context
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.report.report import ReportPlace
from airflow_delta_provider.domain.text import shortened
from airflow_delta_provider.exceptions import DeltaAlertError, DeltaRequestError
from airflow_delta_provider.notifications.alert import SEVERITIES, Item, News, Outcome, TableFinding
from airflow_delta_provider.notifications.incident_targets import MAX_FACT, Incident, IncidentTarget
from airflow_delta_provider.notifications.memory import Changes, SentFinding, StateFile, key_of
from airflow_delta_provider.notifications.outcome import outcome_of
from airflow_delta_provider.notifications.violation import NotifierArguments, SeverityName, checked_severities

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath

_ERRORS: tuple[SeverityName, ...] = ("ERROR",)


class DeltaIncidentNotifier(BaseNotifier):
    """Keep an incident for each open finding of a task: open it, and resolve it when the finding ends.

    For ``on_failure_callback`` and ``on_success_callback`` of a task, the same notifier in both: a finding ends in a
    task that succeeds.

    An incident is resolved when a later run checks the table and the finding is fixed, accepted by a waiver, of another
    severity, or not there any more. Runs that could not check a table leave its incidents open.

    :param targets: services that keep the incidents, see ``docs/guides/incidents.md``
    :param state_path: path or URI of a small JSON file that remembers the incidents, with one file for each task; read
        and written through Airflow's object storage. (templated)
    :param severities: severities of findings that lead to incidents
    """

    template_fields: Sequence[str] = ("state_path",)

    def __init__(
        self,
        *,
        targets: Sequence[IncidentTarget],
        state_path: str | ObjectStoragePath,
        severities: Collection[SeverityName] = _ERRORS,
        **kwargs: Unpack[NotifierArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.targets = _checked_targets(targets)
        self.state_path = state_path
        self.severities = checked_severities(severities)

    def __call__(self, *args: object) -> None:
        """Update the incidents from a copy of this notifier, since rendering changes the notifier's fields."""
        super(DeltaIncidentNotifier, copy.copy(self)).__call__(*args)

    def notify(self, context: Context) -> None:
        """Open and resolve incidents until every target has exactly those of the open findings.

        The file notes an incident before it is opened, and forgets it after it was resolved. So a process that dies in
        between leaves a note, and the next run repeats the call, which the targets recognize by its key.

        :raises DeltaAlertError: if a call failed, after all were made; the next run repeats it
        :raises DeltaRequestError: if the file is outside the allowed locations
        """
        Access.of(context).check_path("state_path", ReportPlace(str(self.state_path)).bare, used_here=True)
        outcome = outcome_of(context).of_severity(self.severities)
        state = StateFile(self.state_path)
        known = state.load().traces
        now, source = datetime.now(timezone.utc), outcome.origin.source
        worst_first = sorted(outcome.findings, key=lambda found: SEVERITIES.index(found.finding.severity))
        wanted = {key_of(found): found for found in worst_first if found.finding.is_open}
        errors: list[Exception] = []
        after: dict[str, SentFinding | None] = {}
        opening = [(target, key, found) for target in self.targets for key, found in wanted.items()]
        opening = [each for each in opening if _is_to_open(known.get(_note_key(each[0], each[1])))]
        notes = {_note_key(target, key): _note(outcome, found, source) for target, key, found in opening}
        self._apply(state, notes, errors)
        for target, key, found in opening:
            if self._done(target.open, _incident(outcome, key, found), errors):
                note = _note_key(target, key)
                after[note] = replace(notes[note], sent_at=now)
        for target, note, trace in self._ended(known, source, wanted, outcome.looked_at):
            key = note.removeprefix(_note_key(target, ""))
            ended = Incident(key, trace.table, trace.code or "", owner=trace.says or None)
            if self._done(target.resolve, ended, errors):
                after[note] = None
        self._apply(state, after, errors)
        if errors:
            raise DeltaAlertError(errors) from errors[0]

    def _ended(
        self,
        known: Mapping[str, SentFinding],
        source: str,
        wanted: Collection[str],
        looked_at: Collection[str],
    ) -> Iterator[tuple[IncidentTarget, str, SentFinding]]:
        """Yield the noted incidents whose findings have ended, for each target."""
        for target in self.targets:
            for note, trace in known.items():
                prefix = _note_key(target, "")
                if (
                    note.startswith(prefix)
                    and trace.source == source
                    and trace.table in looked_at
                    and note.removeprefix(prefix) not in wanted
                ):
                    yield target, note, trace

    def _done(self, call: Callable[[Incident], None], incident: Incident, errors: list[Exception]) -> bool:
        try:
            call(incident)
        except Exception as error:
            self.log.exception("%s of %s failed; the next run repeats it", incident.name, incident.table)
            errors.append(error)
            return False
        return True

    def _apply(self, state: StateFile, changes: Changes, errors: list[Exception]) -> None:
        """Write changes of the notes. If that fails, the calls are made all the same: an alert is worth more."""
        try:
            state.apply({None: changes})
        except Exception as error:
            self.log.exception("%s could not be written", self.state_path)
            errors.append(error)


def _is_to_open(trace: SentFinding | None) -> bool:
    """Return True if an incident was not opened, or if it is unknown whether the call reached the target."""
    return trace is None or trace.sent_at is None


def _note_key(target: IncidentTarget, key: str) -> str:
    return f"{target.name}:{key}"


def _note(outcome: Outcome, found: TableFinding, source: str) -> SentFinding:
    return SentFinding(
        found.table, source, None, was_open=True, says=_owner(outcome, found.table) or "", code=found.finding.code
    )


def _owner(outcome: Outcome, table: str) -> str | None:
    report = outcome.reports.get(table)
    owner = None if report is None else (report.evidence or {}).get("owner")
    return None if owner is None else str(owner)


def _incident(outcome: Outcome, key: str, found: TableFinding) -> Incident:
    finding, owner = found.finding, _owner(outcome, found.table)
    facts = {
        "table": found.table,
        "owner": owner,
        "version": finding.version,
        "since": finding.timestamp,
        "engine": finding.writer or finding.engine,
        "operation": finding.operation,
        "user": finding.user,
        "task": outcome.origin.task,
        "run": outcome.origin.run_id,
        "fingerprint": finding.fingerprint,
    }
    return Incident(
        key,
        found.table,
        finding.code,
        Item(found.table, finding, News.NEW).title,
        finding.severity,
        finding.message,
        owner,
        {label: shortened(str(value), MAX_FACT) for label, value in facts.items() if value is not None},
        outcome.origin.log_url,
    )


def _checked_targets(targets: object) -> tuple[IncidentTarget, ...]:
    """Return the targets.

    :raises DeltaRequestError: if there are none, one is something else, or two have the same name
    """
    if not isinstance(targets, Sequence) or not targets or not all(isinstance(t, IncidentTarget) for t in targets):
        raise DeltaRequestError(
            f"targets has to be a list of PagerDutyIncidents, OpsgenieIncidents or JiraIncidents, not {targets!r}."
        )
    names = [target.name for target in targets]
    if len(set(names)) < len(names):
        raise DeltaRequestError(f"targets have the names {', '.join(names)}. Give each a name of its own.")
    return tuple(targets)
