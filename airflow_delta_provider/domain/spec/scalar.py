"""Strings and booleans of a spec, and values that YAML reads as another type."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

from airflow_delta_provider.domain.spec.problem import Problems, Said, is_list, is_mapping


def read_text(said: Said, problems: Problems) -> str | None:
    """Return a string that is not empty; None, with a problem, for anything else."""
    value = said.value
    if not isinstance(value, str):
        problems.add(said, f"has to be a string, not {described(said)}")
    elif not value:
        problems.add(said, "is empty")
    elif not _is_unicode(value):
        problems.add(said, f"{value!a} has half of a character (a lone surrogate), which is not text")
    else:
        return value
    return None


def read_value(said: Said, problems: Problems) -> str | None:
    """Return the text of a string, boolean or number; None, with a problem, for anything else."""
    value = said.value
    if isinstance(value, str):
        return value if value == "" else read_text(said, problems)
    if isinstance(value, (bool, int, float)) and not (isinstance(value, float) and not math.isfinite(value)):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not said.text or said.text.lower() == text:
            return text
        problems.add(said, f"YAML reads {said.text} as {text}. Write that, or put it in quotes")
        return None
    problems.add(said, f"has to be a string, a number or a boolean, not {described(said)}")
    return None


def read_flag(said: Said, problems: Problems) -> bool:
    """Return a boolean; False, with a problem, for anything else."""
    if not isinstance(said.value, bool):
        problems.add(said, f"has to be true or false, not {described(said)}")
        return False
    return said.value


def read_texts(said: Said, problems: Problems) -> tuple[tuple[Said, str], ...]:
    """Return the unique strings of a list, each with its place; items with problems are left out."""
    if not is_list(said.value):
        if isinstance(said.value, str):
            problems.add(said, f"has to be a list: write [{said.value}]")
        else:
            problems.add(said, f"has to be a list, not {described(said)}")
        return ()
    found: dict[str, Said] = {}
    for item in said.items():
        text = read_text(item, problems)
        if text in found:
            problems.add(item, f"{text!r} is there twice")
        elif text is not None:
            found[text] = item
    return tuple((item, text) for text, item in found.items())


def described(said: Said) -> str:
    """Return a description of a value for people."""
    value = said.value
    if value is None:
        return "null"
    if is_mapping(value):
        return "a mapping"
    if is_list(value):
        return "a list"
    if isinstance(value, str):
        return f"{value!r:.60}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{said.text or value}, which is not a number"
    kind = _kind(value)
    if said.text:
        return f"{kind}: YAML reads {said.text:.60} as one. Put it in quotes"
    return f"{kind} ({value!r:.60})" if kind == "a number" else kind


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return f"a boolean ({str(value).lower()})"
    if isinstance(value, (int, float)):
        return "a number"
    return "a date" if isinstance(value, date) else f"{value!r:.60}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
