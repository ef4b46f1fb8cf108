"""One option of a job, declared once as a field of a kind's options, for every interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.request.value import Value

_KEY = "option"


@dataclass(frozen=True)
class Option:
    """The declaration of an option for the command line, the operators and the documentation.

    :param value: type of its values
    :param help: purpose, in a few words
    :param flag: flag of the command line
    :param metavar: placeholder of a value in the help
    :param one: description of an item, if at least one must be given; None if the option may be left out
    :param templated: True if an operator's argument may be a template
    :param argument: operator's argument that provides it, if that is not an argument of its own
    """

    value: Value
    help: str
    flag: str | None = None
    metavar: str | None = None
    one: str | None = None
    templated: bool = True
    argument: str | None = None


def option(value: Value, help: str, *, default: Any = None, **known: Any) -> Any:
    """Return the field of an option.

    :param default: default value; None for the default of its type
    :param known: further values, see :class:`Option`
    """
    if default is None:
        default = value.default
    metadata = {_KEY: Option(value, help, **known)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)
