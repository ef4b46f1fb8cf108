"""Evidence of findings: a sentence that describes the fault, and the facts in it.

The sentence is for people and may be reworded. Only the facts decide whether a finding has changed.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.visible import visible

#: A value of a fact: JSON.
Fact = Any


class Prose(str):
    """A string in the sentence that is not a fact: changing it does not create a new finding."""

    __slots__ = ()


def sentence(template: str, facts: Mapping[str, Fact]) -> str:
    """Return the template with the facts filled in.

    Lists are joined by commas. A noun as format counts: ``{files:file}`` gives ``1 file`` or ``3 files``, and
    ``{keys:entry|entries}`` uses the second form unless the number is 1. In facts that are not prose, unprintable
    characters are escaped as in Python, so that a fact cannot start a new line.
    """
    return _Sentence().vformat(template, (), facts)


def comparable(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts as JSON, without prose."""
    return {name: _json(value) for name, value in facts.items() if not isinstance(value, Prose)}


class _Sentence(string.Formatter):
    def format_field(self, value: Fact, format_spec: str) -> str:
        if isinstance(value, (list, tuple)):
            return ", ".join(visible(str(item)) for item in value)
        if format_spec[:1].isalpha() and format_spec not in _NUMBER_FORMATS:
            one, _, many = format_spec.partition("|")
            return f"{_number(value)} {one if value == 1 else many or f'{one}s'}"
        text = str(super().format_field(value, format_spec))
        return text if isinstance(value, Prose) else visible(text)


_NUMBER_FORMATS = frozenset("bcdeEfFgGnoxX")


def _number(value: Fact) -> str:
    """Return a number of things, whole or not; None is an unknown number."""
    if value is None:
        return "an unknown number of"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, (int, float)) else visible(str(value))


def _json(value: Fact) -> Fact:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json(item) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    return str(value)
