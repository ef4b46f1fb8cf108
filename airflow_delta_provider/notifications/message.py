"""The value ``delta`` in the context of notifiers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.notifications.alert import Alert
from airflow_delta_provider.notifications.formats import html, markdown, slack, text

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
        return text.render(self._alert)

    @cached_property
    def markdown(self) -> str:
        """The alert as CommonMark."""
        return markdown.render(self._alert)

    @cached_property
    def html(self) -> str:
        """The alert as a ``<div>`` for a mail."""
        return html.render(self._alert)

    @property
    def blocks(self) -> list[slack.Block]:
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
