"""Each key of evidence, details, plans and usage is in the texts for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.rendering.page import render as html
from airflow_delta_provider.domain.rendering.presentation import Detail as Amount
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.text import render as text
from airflow_delta_provider.domain.report.answers import Detail, Evidence, Part, PlanAnswer, UsageAnswer
from airflow_delta_provider.domain.report.report import TableReport
from tests.unit.rendering.reports import found, report_of

PARTS: dict[str, type[Part]] = {"plan": PlanAnswer, "usage": UsageAnswer, "evidence": Evidence, "detail": Detail}


def value(hint: Any, known: Field[Any]) -> Any:
    """Return a value that nothing else in the report has."""
    if hint is Any or hint == Mapping[str, Any]:
        if known.name == "protocol":
            return Protocol(1, 2).to_json()
        return found(evidence=known.name).to_json() if known.name in ("lint", "locked_out") else {known.name: "x"}
    if get_origin(hint) is Mapping:
        return {known.name: value(get_args(hint)[1], known)}
    if get_origin(hint) is tuple:
        one = value(get_args(hint)[0], known)
        # The number of a step shows where steps share a commit.
        return [one, {"sql": None, "explanation": "other", "step": one["step"]}] if known.name == "steps" else [one]
    if get_args(hint):
        return value(next(choice for choice in get_args(hint) if choice is not NoneType), known)
    if isinstance(hint, type) and issubclass(hint, Part):
        return wire(hint)
    if isinstance(hint, type) and hasattr(hint, "__members__"):
        return next(iter(hint.__members__.values())).value
    named = {int: len(known.name) + 7, bool: False, str: f"<{known.name}>"}
    return known.metadata["schema"].get("enum", [named[hint]])[0]


def wire(part: type[Part]) -> dict[str, Any]:
    hints = get_type_hints(part)
    return {known.name: value(hints[known.name], known) for known in fields(part)}


def paths(part: type[Part]) -> Iterator[tuple[str | int, ...]]:
    """Yield the places of the keys that texts have, also in objects within."""
    hints = get_type_hints(part)
    for known in fields(part):
        if known.metadata["within"]:
            continue
        yield (known.name,)
        hint = hints[known.name]
        listed = get_origin(hint) is tuple
        for inner in (hint, *get_args(hint)):
            if isinstance(inner, type) and issubclass(inner, Part):
                yield from ((known.name, *([0] if listed else []), *path) for path in paths(inner))


def changed(whole: Any, path: tuple[str | int, ...]) -> Any:
    """Return a copy with another value at a place."""
    if not path:
        return another(whole)
    copy: Any = list(whole) if isinstance(whole, list) else dict(whole)
    copy[path[0]] = changed(whole[path[0]], path[1:])
    return copy


def another(old: Any) -> Any:
    match old:
        case bool():
            return not old
        case int():
            return old + 1000
        case str():
            return f"{old}another"
        case list():
            return []
        case dict():
            return {key: another(item) for key, item in old.items()}


def shown(key: str, answer: Mapping[str, Any]) -> tuple[str, str]:
    known: dict[str, Any] = {key: answer}
    report = report_of(TableReport.of_findings("/lake/t", version=1, **known))
    presentation = Presentation(detail=Amount.MUCH)
    return text(report, presentation), html(report, presentation)


@pytest.mark.parametrize(
    ("key", "path"),
    [(key, path) for key, part in PARTS.items() for path in paths(part)],
    ids=lambda each: each if isinstance(each, str) else ".".join(map(str, each)),
)
def test_what_a_key_holds_is_in_the_text_and_on_the_page(key: str, path: tuple[str | int, ...]) -> None:
    if path[0] == "not_checked":  # its sentence names each phrase once
        pytest.skip("see test_what_a_level_does_not_look_at_is_said_once")
    answer = wire(PARTS[key])
    before, after = shown(key, answer), shown(key, changed(answer, path))
    assert before[0] != after[0], "text"
    assert before[1] != after[1], "HTML"
