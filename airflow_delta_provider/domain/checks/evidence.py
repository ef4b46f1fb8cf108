"""Evidence: what a finding says is wrong, as a sentence and as the facts in it.

The sentence is for people and may be reworded; whether a finding has changed is decided by the facts alone.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.visible import visible

#: Values of a fact: JSON.
Fact = Any


class Prose(str):
    """Text that goes into the sentence of an evidence, and is not a fact: no change of it makes a finding another."""

    __slots__ = ()


def sentence(template: str, facts: Mapping[str, Fact]) -> str:
    """Return the template with the facts in it.

    Lists are joined by commas. A noun as format counts: ``{files:file}`` gives ``1 file`` or ``3 files``,
    ``{keys:entry|entries}`` gives the second form where there is not exactly one. A fact that is no prose begins no
    line: its characters that do not print are written as in Python.
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
    """Return a number of things, whole or not; None is an unknown one."""
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
