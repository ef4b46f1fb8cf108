"""Alerts about findings, delivered through other notifiers."""

from __future__ import annotations

import copy
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from airflow.providers.common.compat.sdk import BaseNotifier, Context
from typing_extensions import Unpack

from airflow_delta_provider.configuration import Access
from airflow_delta_provider.domain.report.confirmation import identity
from airflow_delta_provider.domain.report.report import ReportPlace, Severity
from airflow_delta_provider.exceptions import DeltaAlertError, DeltaRequestError
from airflow_delta_provider.notifications import html, slack
from airflow_delta_provider.notifications.alert import SEVERITIES, Alert, Item, Outcome, worst_first
from airflow_delta_provider.notifications.alert_document import as_markdown, as_text
from airflow_delta_provider.notifications.delivery import NAME as DELIVERY
from airflow_delta_provider.notifications.delivery import Delivery
from airflow_delta_provider.notifications.memory import Changes, Memory, SentFindings, StateFile, key_of
from airflow_delta_provider.notifications.outcome import outcome_of

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import ObjectStoragePath


#: Name in the context.
NAME = "delta"
_OBJECTS = ("blocks", "findings", "counts")
_EXPRESSION = re.compile(r"\s*\{\{\s*" + NAME + r"\.(" + "|".join(_OBJECTS) + r")\s*\}\}\s*")


class Message:
    """An alert in every format; each format is written on first use."""

    def __init__(self, alert: Alert) -> None:
        self._alert = alert

    @property
    def quiet(self) -> bool:
        """True if there is nothing to send."""
        return self._alert.quiet

    @property
    def verdict(self) -> str | None:
        """Verdict of the report; None if there is no report."""
        return self._alert.verdict

    @property
    def subject(self) -> str:
        """One line for a mail's subject or a notification."""
        return self._alert.subject

    @property
    def counts(self) -> dict[str, int]:
        """Number of findings that are sent, by ``new``, ``changed``, ``reminder``, ``resolved``."""
        return dict(self._alert.counts)

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings that are written out, in the form of a report."""
        return [item.to_json() for item in self._alert.shown]

    @cached_property
    def text(self) -> str:
        """The alert as plain text."""
        return as_text(self._alert)

    @cached_property
    def markdown(self) -> str:
        """The alert as CommonMark."""
        return as_markdown(self._alert)

    def text_within(self, size: int) -> str:
        """Return the alert as plain text of at most ``size`` bytes.

        Findings that do not fit are counted by rule.
        """
        return as_text(self._alert, size)

    def markdown_within(self, size: int) -> str:
        """Return the alert as CommonMark of at most ``size`` bytes.

        Findings that do not fit are counted by rule.
        """
        return as_markdown(self._alert, size)

    @cached_property
    def html(self) -> str:
        """The alert as a ``<div>`` for a mail."""
        return html.render(self._alert)

    @property
    def blocks(self) -> list[slack.SlackBlock]:
        """The alert as Slack blocks."""
        return slack.render(self._alert)


@dataclass(frozen=True)
class ObjectField:
    """Placeholder for ``{{ delta.blocks }}`` in a notifier's field, until the notifier renders its fields.

    Jinja would turn the value into a string. Airflow asks an object with ``resolve`` for its value instead, and does
    not render the result, so no text from a table is ever read as a template.
    """

    name: str

    def resolve(self, context: Context) -> Any:
        """Return the object."""
        return getattr(context[NAME], self.name)  # type: ignore[literal-required]  # a key of ours


def with_objects(value: Any) -> Any:
    """Return ``value`` with an :class:`ObjectField` for each string such as ``{{ delta.blocks }}`` and nothing else.

    Searches lists, tuples and mappings.
    """
    if isinstance(value, str):
        found = _EXPRESSION.fullmatch(value)
        return ObjectField(found[1]) if found else value
    if value.__class__ in (list, tuple):
        return value.__class__(map(with_objects, value))
    if value.__class__ is dict:
        return {key: with_objects(item) for key, item in value.items()}
    return value


SeverityName = Literal["ERROR", "UNDECIDED", "WARNING"]


class NotifierArguments(TypedDict, total=False):
    """The arguments of ``BaseNotifier``."""

    context: Context | None


class DeltaViolationNotifier(BaseNotifier):
    """Send the findings of a task through other notifiers.

    For ``on_failure_callback``, ``on_success_callback``, ``on_skipped_callback`` and ``on_retry_callback`` of a task.
    It puts the alert into the context as ``delta``, with the attributes ``subject``, ``text``, ``markdown``, ``html``,
    ``blocks`` (Slack), ``findings``, ``counts`` and ``verdict``, and calls the notifiers with that context. If there is
    nothing to send, none is called, and ``delta.quiet`` is true for callbacks that come after this one.

    The report comes from the exception that ended the task, or else from the report that the task kept in this process
    or in its ``report_path``, or else from XCom. If there is no report, only the failure of a failed task is reported.
    Call this notifier, do not await it: Airflow passes no task, and so no report, to notifiers that it awaits (deadline
    alerts).

    A finding is sent when it is new or has changed, and when it is resolved. An accepted or fixed finding is not sent.
    Without ``state_path``, the status that an audit gave a finding decides, and a finding without a status is new each
    time.

    :param notifiers: notifiers, or any callables that accept a context. A template field that is exactly
        ``"{{ delta.blocks }}"`` (or ``findings``, ``counts``) gets the object itself, not its string.
    :param state_path: path or URI of a small JSON file that remembers the findings sent to each notifier, so that each
        gets a finding once; read and written through Airflow's object storage. (templated)
    :param remind_after: time after which a finding that is still open is sent again; needs ``state_path``
    :param severities: severities of the findings to send, from ``"ERROR"``, ``"UNDECIDED"``, ``"WARNING"``; all by
        default
    :param max_findings: largest number of findings that are written out with their messages, the worst first, and one
        of each rule before the second of any rule; the others are named with their tables
    """

    template_fields: Sequence[str] = ("state_path",)

    def __init__(
        self,
        *,
        notifiers: Sequence[Callable[[Context], Any]],
        state_path: str | ObjectStoragePath | None = None,
        remind_after: timedelta | None = None,
        severities: Collection[SeverityName] = ("ERROR", "UNDECIDED", "WARNING"),
        max_findings: int = 20,
        **kwargs: Unpack[NotifierArguments],
    ) -> None:
        super().__init__(**kwargs)
        self.notifiers = _checked_notifiers(notifiers)
        self.state_path = state_path
        self.remind_after = remind_after
        self.severities = checked_severities(severities)
        self.max_findings = max_findings
        #: Id of this notifier's recipients, the same in every copy of the notifier.
        self.recipients = uuid.uuid4().hex
        if remind_after is not None and state_path is None:
            raise DeltaRequestError("remind_after needs state_path, which records when findings were sent.")
        if max_findings < 1:
            raise DeltaRequestError(f"max_findings is {max_findings}; it has to be 1 or more.")

    def __call__(self, *args: Any) -> None:
        """Send a notification from a copy of this notifier, since rendering changes the notifier's fields."""
        super(DeltaViolationNotifier, copy.copy(self)).__call__(*args)

    def notify(self, context: Context) -> None:
        """Call every notifier if there is something to send, and remember the findings that were sent.

        :raises DeltaAlertError: if one of them failed, after all were called
        """
        whole = outcome_of(context)
        outcome = whole.of_severity(self.severities)
        refusals: list[Exception] = []
        state, remembered = self._remembered(context, refusals)
        recipients = self._recipients(outcome, remembered)
        alerts = list({id(each.alert): each.alert for each in recipients}.values())
        main = next((alert for alert in alerts if not alert.quiet), alerts[0])
        messages = {id(alert): Message(alert) for alert in alerts}
        context[NAME] = messages[id(main)]  # type: ignore[literal-required]  # a key of ours
        if main.quiet:
            self.log.info("%s, %d unchanged: nothing is sent", main.subject, main.unchanged)
        failed: dict[str, Exception] = {}
        for each in recipients:
            error = None if each.alert.quiet else self._error_of(each.notifier, context, messages[id(each.alert)])
            if error is not None:
                failed[each.name] = error
        errors = list(failed.values())
        if not errors:
            self._confirm(context, whole, frozenset().union(*(_left_out(alert, whole) for alert in alerts)))
        if state is not None:
            changes = {each.name: each.changes(whole, outcome, failed) for each in recipients}
            try:
                state.apply(remembered.changes(changes, failed))
            except Exception as error:
                self.log.exception("%s could not be written: what was sent now may be sent again", self.state_path)
                errors.append(error)
        errors += refusals
        if errors:
            raise DeltaAlertError(errors) from errors[0]

    def _confirm(self, context: Context, outcome: Outcome, left_out: Collection[str]) -> None:
        """Record the findings of the report that were sent; some may not have fitted."""
        delivery = context.get(DELIVERY)
        if not isinstance(delivery, Delivery) or outcome.verdict is None:
            return
        had: defaultdict[str, list[str]] = defaultdict(list)
        for found in outcome.findings:
            if key_of(found) not in left_out:
                had[found.table].append(identity(found.finding))
        delivery.reached(self.recipients, had if outcome.truncated or left_out else None)

    def _remembered(self, context: Context, refusals: list[Exception]) -> tuple[StateFile | None, SentFindings]:
        """Return the state file and its content. Without a usable file, findings may be sent twice.

        :param refusals: list that receives the error if the file is not allowed; it is then neither read nor written
        """
        if not self.state_path:
            return None, SentFindings()
        try:
            Access.of(context).check_path("state_path", ReportPlace(str(self.state_path)).bare, used_here=True)
        except DeltaRequestError as error:
            self.log.error("%s What was sent before may be sent again.", error)
            refusals.append(error)
            return None, SentFindings()
        try:
            state = StateFile(self.state_path)
            return state, state.load()
        except Exception:
            self.log.exception("%s could not be read: what was sent before may be sent again", self.state_path)
            return None, SentFindings()

    def _recipients(self, outcome: Outcome, remembered: SentFindings) -> list[_Recipient]:
        """Return the notifiers with their alerts.

        Notifiers that have received the same findings share an alert.
        """
        now, shared = datetime.now(timezone.utc), {}
        recipients = []
        for notifier, name in zip(self.notifiers, _names(self.notifiers), strict=True):
            known = name if name in remembered.missed else None
            if known not in shared:
                memory = Memory(remembered.of(name), outcome.origin.source, now)
                shared[known] = memory, self._alert(outcome, memory)
            recipients.append(_Recipient(name, notifier, *shared[known]))
        return recipients

    def _alert(self, outcome: Outcome, memory: Memory) -> Alert:
        findings = (*outcome.findings, *memory.ended(outcome.findings, outcome.looked_at))
        judged = [(found, memory.news_of(found, self.remind_after)) for found in findings]
        return Alert(
            **vars(outcome),
            items=worst_first(Item(each.table, each.finding, news) for each, news in judged if news is not None),
            unchanged=sum(found.finding.is_open and news is None for found, news in judged),
            limit=self.max_findings,
        )

    def _error_of(self, notifier: Callable[[Context], Any], context: Context, message: Message) -> Exception | None:
        """Call a notifier with a copy of the context; return its error."""
        try:
            _prepared(notifier)(cast("Context", {**context, NAME: message}))
        except Exception as error:
            self.log.exception("%s failed; the other notifiers are called all the same", _name(notifier))
            return error
        return None


@dataclass(frozen=True)
class _Recipient:
    """A notifier with its alert.

    :param name: its key in the state file, see :func:`_names`
    """

    name: str
    notifier: Callable[[Context], Any]
    memory: Memory
    alert: Alert

    def changes(self, whole: Outcome, outcome: Outcome, failed: Collection[str]) -> Changes:
        """Return the changes to remember for this notifier."""
        return self.memory.changes(
            (*outcome.findings, *self.memory.ended(outcome.findings, outcome.looked_at)),
            set(map(key_of, self.alert.sent)),
            outcome.looked_at,
            delivered=self.name not in failed,
            left_out=_left_out(self.alert, whole),
        )


def _left_out(alert: Alert, outcome: Outcome) -> frozenset[str]:
    """Return the keys of findings that did not fit, and of their consequences."""
    left = alert.items[len(alert.sent) :]
    causes = {(item.table, item.finding.fingerprint) for item in left} - {(item.table, None) for item in left}
    follows = (found for found in outcome.findings if (found.table, found.finding.caused_by) in causes)
    return frozenset(map(key_of, (*left, *follows)))


def _prepared(notifier: Callable[[Context], Any]) -> Callable[[Context], Any]:
    """Return a copy for rendering: the original keeps its templates, because the next task may use it."""
    prepared = copy.copy(notifier)
    for field in getattr(notifier, "template_fields", ()):
        if hasattr(notifier, field):
            setattr(prepared, field, with_objects(getattr(notifier, field)))
    return prepared


def _names(notifiers: Sequence[Callable[[Context], Any]]) -> list[str]:
    """Return the key of each notifier in a state file: its class, and its position among notifiers of that class.

    Arguments do not count: a notifier whose wrong channel is corrected still gets the findings that it missed.
    """
    names = list(map(_name, notifiers))
    return [f"{name} {names[: index + 1].count(name)}" for index, name in enumerate(names)]


def _name(notifier: Callable[[Context], Any]) -> str:
    return getattr(notifier, "__name__", None) or type(notifier).__name__


def _checked_notifiers(notifiers: Any) -> tuple[Callable[[Context], Any], ...]:
    """Return the notifiers.

    :raises DeltaRequestError: if there are none, or one cannot be called
    """
    if not isinstance(notifiers, Sequence) or isinstance(notifiers, str) or not notifiers:
        raise DeltaRequestError(f"notifiers has to be a list with one notifier or more, not {notifiers!r}.")
    for notifier in notifiers:
        if not callable(notifier) or isinstance(notifier, type):
            raise DeltaRequestError(f"{notifier!r} in notifiers is neither a notifier nor a function of the context.")
    return tuple(notifiers)


def checked_severities(severities: Collection[str]) -> frozenset[Severity]:
    """Return the severities.

    :raises DeltaRequestError: if one is unknown, or there are none
    """
    known = {severity.value for severity in SEVERITIES}
    listed = {severities} if isinstance(severities, str) else set(severities)
    if not listed or listed - known:
        raise DeltaRequestError(f"severities is {severities!r}; it has to list some of {', '.join(sorted(known))}.")
    return frozenset(map(Severity, listed))
