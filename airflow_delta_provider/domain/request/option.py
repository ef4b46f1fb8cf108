"""One option of a job: declared once, as a field of a kind's options, for all who ask for jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.request.value import Value

_KEY = "option"


@dataclass(frozen=True)
class Option:
    """What the command line, the operators and the documentation know of an option.

    :param value: the type of its values
    :param help: what it is for, in a few words
    :param flag: of the command line
    :param metavar: placeholder of a value in the help
    :param one: an item of which at least one has to be given; None where the option may be left out
    :param templated: whether an operator's argument may be a template
    :param argument: the operator's argument that it comes from, where that is not an argument of its own
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

    :param default: value if it is not given; by default that of its type
    :param known: see :class:`Option`
    """
    if default is None:
        default = value.default
    metadata = {_KEY: Option(value, help, **known)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)
